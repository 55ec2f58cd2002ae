"""`thresher path`."""

from __future__ import annotations

import json as json_
from typing import Annotated, Any

import typer

from thresher.cli.data_options import NAMING, READING, open_data_and_test
from thresher.cli.method_options import LEARNING, METHOD, learning_options, model_for, new_model
from thresher.cli.options import Data, Json, Report, with_options
from thresher.cli.output import check_outputs, report_skipped, write_page, written_line

EXAMPLES = (
    "thresher path train.svm --features 50,100,200,500 --test test.svm --report path.html",
    "thresher path train.svm --features 50,100,200,500 --method sofs --json",
)


@with_options(METHOD, LEARNING, READING, NAMING, without=("n_features_to_select",))
def path(
    data: Data,
    features: Annotated[str, typer.Option("-k", "--features", metavar="N,N,…", help="The numbers of features to try.")],
    test: Annotated[
        str | None,
        typer.Option(help="Data to measure on.", show_default="each row, just before it is learned"),
    ] = None,
    report: Report = None,
    json: Json = False,
    *,
    chosen: dict[str, Any],
    learning: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Measure accuracy, or R² of numbers, with several numbers of features, and suggest one.

    The data are read once. Each point is that of a model which thresher train would have trained on its own. The
    suggestion is the smallest number within one standard error of the best. A report shows the curve, and the model
    with the suggested number of features.
    """
    from thresher.analysis import path as run

    budgets = _budgets(features)
    template = new_model({**chosen, "n_features_to_select": max(budgets)})
    options = learning_options(**learning)
    check_outputs({"--report": report})
    stream, held_out = open_data_and_test(data, test, [report], **reading)
    template = model_for(stream, template, chosen, learning)
    if stream.roles is not None and not json:
        print(stream.roles, end="\n\n", flush=True)
    curve = run(template, stream, budgets, held_out, **options, progress=not json)
    report_skipped(curve.history)
    if not json:
        print(curve, flush=True)  # it stays, should the report fail
    if report is not None:
        write_page(report, curve.model, stream, history=curve.history, curve=curve)
    if json:
        print(json_.dumps({**curve.to_dict(), "report": report}))
    elif report is not None:
        print(f"\n{written_line(report)}")


def _budgets(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise ValueError(f"-k must list whole numbers of at least 1, as 50,100,200. Got {text!r} instead.")
    return [int(word) for word in words]
