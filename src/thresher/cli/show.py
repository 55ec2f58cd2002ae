"""`thresher show`."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.options import Json, ModelFile

if TYPE_CHECKING:
    from thresher.model import Model

# Parameters that say nothing about the model: `train` has a shuffle of its own.
_OF_FIT = ("progress", "shuffle")

EXAMPLES = ("thresher show model.thresher -n 50", "thresher show model.thresher --json")


def show(
    model: ModelFile,
    features: Annotated[int, typer.Option("-n", "--features", min=0, help="How many features to list.")] = 20,
    json: Json = False,
) -> None:
    """Show what a model is and which features it selected, best first."""
    from thresher.io.model_files import load_model

    trained = load_model(model)
    about = _about(trained)
    columns, weights = trained.members()
    names = [trained.name_of(column) for column in columns.tolist()]
    if json:
        key, each = ("weights", weights.tolist()) if trained.n_vectors > 1 else ("weight", weights[:, 0].tolist())
        listed = [{"feature": name, key: weight} for name, weight in zip(names, each, strict=True)]
        print(json_.dumps({**about, "features": listed}))
    else:
        _print(about, names, weights, features)


def _about(model: Model) -> dict[str, Any]:
    """Return all that is known of a model but its features."""
    from thresher.labels import shown

    assert model.classes is not None
    counters = model.counters
    learned = {}
    if not model.is_batch:
        learned = {
            "rows_with_a_loss": counters["n_updates"],
            "mistakes_while_learning": None if model.grouped_by_label else counters["n_mistakes"],
            "grouped_by_label": model.grouped_by_label,
        }
    return {
        "method": model.method,
        **{name: value for name, value in model.parameters.items() if value is not None and name not in _OF_FIT},
        **({} if model.chosen_gamma is None else {"chosen_gamma": model.chosen_gamma}),
        "classes": [shown(label) for label in model.classes.tolist()],
        "columns": model.n_features,
        "ids_count_from": model.id_base,
        "selected": len(model.members()[0]),
        "intercept": model.intercept.tolist() if model.n_vectors > 1 else float(model.intercept[0]),
        "rows_seen": counters["n_samples"],
        **learned,
        "can_continue_learning": not model.compact,
    }


def _print(about: dict[str, Any], names: list[str], weights: Any, n_features: int) -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from thresher.cli.console import listed

    console = Console()
    for name, value in about.items():
        words = listed([str(item) for item in value]) if isinstance(value, list) else value
        if value is None:
            words = "not shown: the rows were grouped by label"
        console.print(f"{name.replace('_', ' '):24} {words}", highlight=False, markup=False)
    has_many = weights.shape[1] > 1
    table = Table()
    table.add_column("best first", justify="right")
    table.add_column("feature")
    table.add_column("weight", justify="right")
    if has_many:
        table.add_column("of class")
    for rank, (name, row) in enumerate(zip(names[:n_features], weights, strict=False), start=1):
        # Of many classes, the one for which the feature counts most.
        c = int(np.abs(row).argmax())
        of_class = [Text(about["classes"][c])] if has_many else []
        table.add_row(str(rank), Text(name), f"{row[c]:+.5f}", *of_class)
    if n_features:
        console.print(table)
    if len(names) > n_features > 0:
        console.print(f"… and {len(names) - n_features:,} more (-n)", highlight=False)
