"""`thresher show`."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.options import Json, ModelFile
from thresher.cli.output import join_names, say, written_line
from thresher.messages import value_text

if TYPE_CHECKING:
    from thresher.model.description import FeatureList

EXAMPLES = (
    "thresher show model.thresher -n 50",
    "thresher show model.thresher --json",
    "thresher show model.thresher -o features.csv",
)


def show(
    model: ModelFile,
    features: Annotated[int, typer.Option("-n", "--features", min=0, help="How many features to list.")] = 20,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the table of all selected features to a .csv, .jsonl or .parquet file instead.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show what a model is and which features it selected, best first.

    Weights are shown with four digits; --json has all.
    """
    from thresher.evaluation.feature_file import write_features
    from thresher.io.atomic import refuse_inputs
    from thresher.io.model_files import load_with_parameters
    from thresher.model.description import features_of, settings

    if output is not None:
        refuse_inputs(output, [model])
    trained, parameters = load_with_parameters(model)
    if output is not None:
        write_features(trained, output)
        say(written_line(output))
    about = settings(trained)
    changed = {name: value for name, value in parameters.items() if trained.parameters.get(name) != value}
    if changed:
        about["set_since_training"] = changed
    if json:
        features_shown = features_of(trained)
        chance = {} if features_shown.chance is None else {"selected_by_chance": features_shown.chance}
        print(json_.dumps({**about, **chance, "features": _features_as_json(features_shown)}))
    elif output is None:
        _print(about, features_of(trained, features))


def _setting_text(name: str, value: Any) -> str:
    """Return a setting or a result as text."""
    if name == "mistakes_while_learning" and value is None:
        return "not shown: the rows were grouped by label"
    if isinstance(value, list):
        words = [_setting_text(name, each) for each in value]
        return ", ".join(words) if name in ("keep", "text", "categorical", "numeric") else join_names(words)
    return f"{value:.4g}" if name in ("intercept", "threshold") else value_text(value)


def _features_as_json(features: FeatureList) -> list[dict[str, Any]]:
    """Return the features as values for JSON; with many classes, the weights are a list, one entry per class."""
    has_many = features.weights.shape[1] > 1
    columns: dict[str, list[Any]] = {"feature": features.names, "id": features.ids}
    columns["weights" if has_many else "weight"] = (features.weights if has_many else features.weights[:, 0]).tolist()
    if features.q_values is not None:
        columns["q_value"] = features.q_values
    if features.frequency is not None:
        columns["frequency"] = features.frequency
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _print(about: dict[str, Any], features: FeatureList) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for name, value in about.items():
        console.print(f"{name.replace('_', ' '):24} {_setting_text(name, value)}", highlight=False, markup=False)
    has_many = features.weights.shape[1] > 1
    table = Table()
    table.add_column("best first", justify="right")
    table.add_column("feature")
    table.add_column("weight", justify="right")
    if features.q_values is not None:
        table.add_column("q-value", justify="right")
    if features.frequency is not None:
        table.add_column("selected in", justify="right")
    if has_many:
        table.add_column("of class")
    for rank, feature in enumerate(features.for_strongest_class(), 1):
        cells = [f"{feature.weight:+.4g}"]
        if features.q_values is not None:
            cells.append("kept" if feature.q is None else f"{feature.q:.3f}")
        if feature.frequency is not None:
            cells.append(f"{feature.frequency:.0%}")
        of_class = [Text(about["classes"][feature.code])] if has_many else []
        table.add_row(str(rank), Text(feature.name), *cells, *of_class)
    if features.names:
        console.print(table)
        if features.n > len(features.names):
            console.print(f"… and {features.n - len(features.names):,} more (-n)", highlight=False)
        if features.chance is not None:
            console.print(
                f"With permuted labels features were selected in up to {features.chance:.0%} of the samples.",
                highlight=False,
            )
