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
    z = trained.z_scores() if trained.has_z_scores else None
    known = trained.selection_frequency
    frequency = None if known is None else [known.get(column, 0.0) for column in columns.tolist()]
    if json:
        ids = (columns + trained.id_base).tolist()
        print(json_.dumps({**about, "features": _listed(names, ids, weights, z, frequency)}))
    else:
        _print(about, names, weights, z, frequency, features)


def _words(name: str, values: list[Any]) -> str:
    from thresher.cli.console import listed

    are_names = name in ("keep", "text", "categorical", "numeric")
    return ", ".join(values) if are_names else listed([str(value) for value in values])


def _kept(model: Model) -> list[str]:
    """Return the features that were to be kept, as the data call them."""
    return [each if isinstance(each, str) else model.name_of(each) for each in model.parameters["keep"]]


def _listed(
    names: list[str], ids: list[int], weights: Any, z: Any, frequency: list[float] | None
) -> list[dict[str, Any]]:
    """Return the features as values for JSON; with many classes, weight and z are lists, one entry per class."""
    has_many = weights.shape[1] > 1
    columns: dict[str, list[Any]] = {"feature": names, "id": ids}
    columns["weights" if has_many else "weight"] = (weights if has_many else weights[:, 0]).tolist()
    if z is not None:
        columns["z"] = z.tolist()
    if frequency is not None:
        columns["frequency"] = frequency
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


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
        **({"keep": _kept(model)} if model.parameters.get("keep") else {}),
        **({} if model.chosen_gamma is None else {"chosen_gamma": model.chosen_gamma}),
        "classes": [shown(label) for label in model.classes.tolist()],
        **_columns(model),
        "selected": len(model.members()[0]),
        "intercept": model.intercept.tolist() if model.n_vectors > 1 else float(model.intercept[0]),
        **({} if model.threshold == 0.0 else {"threshold": model.threshold}),
        "rows_seen": counters["n_samples"],
        **learned,
        "can_continue_learning": not model.compact,
    }


def _columns(model: Model) -> dict[str, Any]:
    """Return what is known of the columns, or how features were named."""
    if model.naming is None:
        return {"columns": model.n_features, "ids_count_from": model.id_base}
    naming = model.naming
    roles = {role: list(names) for role in ("text", "categorical", "numeric") if (names := getattr(naming, role))}
    of_text = {}
    if naming.text:
        least, most = naming.ngrams
        of_text = {
            "ngrams": str(least) if least == most else f"{least}-{most}", "analyzer": naming.analyzer,
            "counts": naming.counts, "lowercase": naming.lowercase,
        }  # fmt: skip
    of_vw = {} if roles else {"hash": naming.hash}
    return {"columns": "hashes of names", **roles, **of_text, **of_vw, "name_clashes": model.name_clashes[0]}


def _print(
    about: dict[str, Any], names: list[str], weights: Any, z: Any, frequency: list[float] | None, n_features: int
) -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for name, value in about.items():
        words = _words(name, value) if isinstance(value, list) else value
        if name == "mistakes_while_learning" and value is None:
            words = "not shown: the rows were grouped by label"
        console.print(f"{name.replace('_', ' '):24} {words}", highlight=False, markup=False)
    has_many = weights.shape[1] > 1
    table = Table()
    table.add_column("best first", justify="right")
    table.add_column("feature")
    table.add_column("weight", justify="right")
    if z is not None:
        table.add_column("z", justify="right")
    if frequency is not None:
        table.add_column("selected in", justify="right")
    if has_many:
        table.add_column("of class")
    for rank, name in enumerate(names[:n_features]):
        # Of many classes, the one for which the feature counts most.
        c = int(np.abs(weights[rank]).argmax())
        cells = [f"{weights[rank, c]:+.5f}"]
        if z is not None:
            cells.append(f"{z[rank, c] if has_many else z[rank]:+.1f}")
        if frequency is not None:
            cells.append(f"{frequency[rank]:.0%}")
        of_class = [Text(about["classes"][c])] if has_many else []
        table.add_row(str(rank + 1), Text(name), *cells, *of_class)
    if n_features:
        console.print(table)
    if len(names) > n_features > 0:
        console.print(f"… and {len(names) - n_features:,} more (-n)", highlight=False)
