"""The end of `thresher train`: the model is saved and tested, and the run is reported."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.cli.output import join_names, report_skipped, say, write_page, written_line
from thresher.io.file_errors import error_text
from thresher.messages import count_noun
from thresher.progress import speed

if TYPE_CHECKING:
    from thresher.evaluation.base import Evaluation
    from thresher.model.model import Model
    from thresher.streams import Stream
    from thresher.training import History

_INTERRUPTED = ".interrupted"  # follows the name of a model whose training Ctrl-C ended


@dataclass(frozen=True)
class AfterTraining:
    """What is to be done once a model is trained.

    Attributes
    ----------
    held_out : Stream or None
        The data to test it on, and to choose a threshold on.
    threshold : str or None
        The target of `set_threshold`.
    positive : str or None
        The label that counts as found.
    output : str or None
        The file to write the model to.
    full : bool
        Whether it is to have all state there.
    page : str or None
        The file to write a report to.
    as_json : bool
        Whether the run is reported as JSON.
    """

    held_out: Stream | None
    threshold: str | None
    positive: str | None
    output: str | None
    full: bool
    page: str | None
    as_json: bool


def finish(
    model: Model, history: History, sample_results: dict[str, Any], stream: Stream, after: AfterTraining
) -> None:
    """Save, test and report. After Ctrl-C, an older model and an older page are not overwritten."""
    from thresher.evaluation.evaluation import evaluate
    from thresher.io.model_files import save_model

    output, page, held_out = after.output, after.page, after.held_out
    if history.interrupted:
        output = None if output is None else output + _INTERRUPTED
        page = held_out = None
    # The model is saved before anything else can fail.
    if output is not None:
        save_model(model, output, compact=not after.full)
    tested = None
    if held_out is not None:
        with _mention_saved_model(output):
            if after.threshold is not None:
                from thresher.analysis import set_threshold

                set_threshold(model, held_out, after.threshold, positive=after.positive, progress=not after.as_json)
                if output is not None:
                    save_model(model, output, compact=not after.full)
            tested = evaluate(model, held_out, positive=after.positive, progress=not after.as_json)
        report_skipped(tested)
    if page is not None:
        evaluations = [each for each in (tested, sample_results.get("cv")) if each is not None]
        with _mention_saved_model(output):
            write_page(
                page, model, stream, history=history, evaluation=evaluations, stability=sample_results.get("stability")
            )
    # Where rows that the model has not learned were measured, these count.
    remarks = tested.remarks if tested is not None else [] if "cv" in sample_results else history.remarks
    report = _report(model, history, tested, remarks, output, page) | {
        name: each.to_dict() for name, each in sample_results.items()
    }
    if stream.roles is not None:
        report["roles"] = stream.roles.to_dict()
    if after.as_json:
        print(json_.dumps(report))
    else:
        print(_summary(report, history, stream.name, tested, held_out.name if held_out else None))
        for each in sample_results.values():
            print(f"\n{each}")
    if output is None:
        say("the model was not saved: use -o FILE to save it.")
    elif not history.interrupted and Path(f"{output}{_INTERRUPTED}").exists():
        say(f"{output}{_INTERRUPTED} is still there, from a run that was stopped: remove it if you don't need it.")
    if history.interrupted:
        where = f" and was written to {output}" if output else ""
        say(f"stopped by Ctrl-C: the model has learned {count_noun(report['rows'], 'row')}{where}.")
        sys.exit(130)


@contextmanager
def _mention_saved_model(output: str | None) -> Iterator[None]:
    """Add to an error that the model was trained and written."""
    try:
        yield
    except (ValueError, OSError) as error:
        where = "" if output is None else f" The model was trained and written to {output}."
        raise ValueError(f"{error_text(error)}{where}") from None


def _report(
    model: Model,
    history: History,
    tested: Evaluation | None,
    remarks: list[str],
    output: str | None,
    page: str | None,
) -> dict[str, Any]:
    from thresher.model.description import features_of

    columns, weights = model.members()
    q_values = features_of(model).q_values
    seconds = history.seconds[-1]
    assert model.target is not None
    return {
        "rows": history.rows[-1],
        "passes": history.n_passes,
        "refitted": history.refitted,
        "seconds": seconds,
        "megabytes_per_second": history.n_bytes / 1e6 / max(seconds, 1e-9),
        **_while_learning(history),
        "loss_while_learning": None if history.score is None else history.loss[-1],
        "shuffled": history.shuffled,
        "grouped_by_label": history.grouped_by_label,
        f"{history.kind.main.name}_on_test": None if tested is None else tested.main,
        "test": None if tested is None else tested.to_dict(),
        "remarks": remarks,
        "threshold": model.threshold,
        "chosen_gamma": model.chosen_gamma if history.race else None,  # by gamma="auto", in this run
        "n_features": model.n_features,
        "named": model.naming is not None,  # features are hashes of names
        "name_clashes": model.names.clashes[0],
        "n_features_to_select": model.parameters.get("n_features_to_select"),  # None: the method has no budget
        "n_selected": len(columns),
        "selected": [model.name_of(column) for column in columns.tolist()],
        # One per feature; with more than two classes, one for each class.
        "weights": weights.astype(float).squeeze(axis=1).tolist() if model.n_vectors == 1 else weights.tolist(),
        **({} if q_values is None else {"q_values": q_values}),
        **model.target.describe(),
        "lines_skipped": history.n_skipped,
        "interrupted": history.interrupted,
        "resumed_at": history.resumed_at,
        "model": output,
        "report": page,
    }


def _while_learning(history: History) -> dict[str, float | None]:
    """Return the error while learning and its baseline for JSON: of numbers R², and both as RMSE.

    Batch methods have none; on rows grouped by label it says nothing.
    """
    known = history.score is not None
    if history.target == "numbers":
        return {
            "r2_while_learning": history.score,
            "rmse_while_learning": history.rmse[-1] if known else None,
            "baseline_while_learning": history.baseline if known else None,
        }
    return {
        "error_while_learning": history.error[-1] if known else None,
        "baseline_error_while_learning": 1.0 - history.baseline if known and history.baseline is not None else None,
    }


def _selection_text(report: dict[str, Any]) -> str:
    """Return how many features were selected, and the budget if it is larger."""
    n, most = report["n_selected"], report["n_features_to_select"]
    if most is None or n >= most:
        return count_noun(n, "feature")
    has_all = n == report["n_features"] > 1 and not report["named"]
    return f"{'all ' if has_all else ''}{count_noun(n, 'feature')} (fewer than -k {most:,})"


def _told_text(q_values: list[float | None]) -> str:
    """Return how many features have a q-value up to some limits."""
    told = [sum(q is not None and q <= limit for q in q_values) for limit in (0.05, 0.1, 0.2)]
    return f"{count_noun(told[0], 'feature')} at q ≤ 0.05, {told[1]:,} at q ≤ 0.1, {told[2]:,} at q ≤ 0.2"


def _summary(report: dict[str, Any], history: History, data: str, tested: Evaluation | None, test: str | None) -> str:
    in_passes = history.passes_in_words()
    in_order = f"{',' if in_passes else ''} in random order" if history.shuffled else ""
    first = report["selected"][:10]
    if report["named"]:  # names can have spaces and commas in them
        best = ", ".join(repr(name) if "," in name or name != name.strip() else name for name in first)
    else:
        best = " ".join(first)
    best += " …" if report["n_selected"] > 10 else ""
    columns = "named features" if report["named"] else count_noun(report["n_features"], "column")
    predicted = "numbers" if history.target == "numbers" else f"classes {join_names(report['classes'])}"
    lines = [
        f"{data}: {count_noun(history.n_rows_of_data(), 'row')}{in_passes}{in_order}, {columns}, {predicted}",
        f"selected {_selection_text(report)}" + (f", best first: {best}" if best else ""),
    ]
    if report.get("q_values"):
        lines.append(f"told from chance: {_told_text(report['q_values'])}")
    if report["chosen_gamma"] is not None:
        lines.append(f"chose gamma {report['chosen_gamma']:g}")
    if report["grouped_by_label"]:
        lines.append("error while learning: not shown, since the rows are grouped by label")
    if history.score is not None:
        lines.append(history.error_in_words())
    if tested is not None:
        main, baseline = history.kind.main, history.kind.baseline
        lines.append(f"{main.phrase(tested.main, f' on {test}')} ({baseline.phrase(tested.baseline)})")
        rows = [row for row in tested.rows_of_metrics() if row[0] not in (main.words, baseline.words)]
        lines += [", ".join(f"{words} {value}{of}" for words, value, of in rows)] if rows else []
    lines += report["remarks"]
    if report["threshold"] != 0.0:
        lines.append(f"{report['classes'][1]} is predicted above a margin of {report['threshold']:.4g}")
    seconds = report["seconds"]
    lines.append(f"{seconds:.2f} s{speed(report['megabytes_per_second'], seconds)}")
    for path in (report["model"], report["report"]):
        if path:
            lines.append(written_line(path))
    return "\n".join(lines)
