"""`thresher train`."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from thresher import methods
from thresher.cli.console import say, skipped_lines, told_together, watched
from thresher.evaluation import accuracy
from thresher.io.model_files import load_model, save_model
from thresher.labels import shown
from thresher.model import Model
from thresher.streams import Stream
from thresher.training import History, train

BATCH = {method.cli: method.name for method in methods.BATCH}
METHODS = {method.cli: method.name for method in methods.METHODS.values()}

# Learns a stream, of given classes or of many.
Learn = Callable[[Stream, list[Any] | None, bool], tuple[Model, History]]


def run(
    open_data: Callable[[Any], Stream],
    data: list[str],
    method: str,
    own: dict[str, Any],
    shared: dict[str, Any],
    *,
    test: str | None,
    output: str | None,
    full: bool,
    start_from: str | None,
    classes: str | None,
    multiclass: bool,
    as_json: bool,
) -> None:
    """Train, report, write the model. Of a method's own parameters those that are None have their defaults."""
    method = methods.find_for_cli(method).cli
    if multiclass and (classes is not None or start_from):
        known_by = "--from" if start_from else "--classes"
        raise ValueError(f"--multiclass can't be used with {known_by}: the classes are known.")
    if method in BATCH:
        learn = _batch(method, own, shared, full)
    else:
        learn = _online(method, own, shared, start_from, progress=not as_json)
    if output is not None:
        _check_place(output)
    stream, held_out = open_data(data), open_data(test) if test else None
    model, history = learn(stream, _classes(classes), multiclass)
    # What was learned is safe before anything else can go wrong.
    if output is not None:
        save_model(model, output, compact=not full)
    tested = None
    if held_out is not None and not history.interrupted:
        tested = accuracy(model, held_out, watched(held_out, "testing", model))
    report = _report(model, history, tested, output)
    print(json.dumps(report) if as_json else _told(report, stream.name, test))
    if history.interrupted:
        say(f"stopped by Ctrl-C after {report['rows']:,} rows; the model has learned those.")
        sys.exit(130)


def _online(method: str, own: dict[str, Any], shared: dict[str, Any], start_from: str | None, progress: bool) -> Learn:
    """Return how an online method learns a stream, once its options are known to be good."""
    if start_from:
        model = load_model(start_from)
        _keep_parameters(model, shared)
    else:
        model = Model(METHODS[method], **_applicable(method, own), **shared)

    def learn(stream: Stream, classes: list[Any] | None, multiclass: bool) -> tuple[Model, History]:
        history = train(model, stream, classes=classes, multiclass=multiclass, progress=progress)
        skipped_lines(history.skipped, history.n_skipped)
        return model, history

    return learn


def _batch(method: str, own: dict[str, Any], shared: dict[str, Any], full: bool) -> Learn:
    """Return how a batch method learns a stream, once its options are known to be good."""
    for option, is_used in (("--passes", shared["n_passes"] != 1), ("--shuffle", shared["shuffle"]), ("--full", full)):
        if is_used:
            raise ValueError(f"{option} can't be used with --method {method}: it sees all rows at once.")
    known = methods.find(METHODS[method]).parameters
    usable = {name: value for name, value in shared.items() if name in known}
    given = methods.find(METHODS[method]).complete({**_applicable(method, own), **usable, "progress": True})

    def learn(stream: Stream, classes: list[Any] | None, multiclass: bool) -> tuple[Model, History]:
        from thresher.cli import batch_training  # scikit-learn takes a second to import

        return batch_training.fit(METHODS[method], given, stream, watched(stream, "reading"), classes, multiclass)

    return learn


def _check_place(output: str) -> None:
    """Find out before the training whether a model can be written there."""
    if output == "-":
        raise ValueError("-o - : a model is no text for standard output; name a file.")
    if Path(output).is_dir():
        raise IsADirectoryError(f"{output}: this is a folder; name a file in it.")
    if not Path(output).parent.is_dir():
        raise FileNotFoundError(f"{output}: there is no folder {Path(output).parent}.")
    if not os.access(Path(output).parent, os.W_OK):
        raise PermissionError(f"{output}: may not be written.")


def _applicable(method: str, given: dict[str, Any]) -> dict[str, Any]:
    known = methods.find(METHODS[method]).parameters
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in known:
            if name == "n_features_to_select":
                raise ValueError(f"-k can't be used with --method {method}: it keeps all features.")
            others = [f"--{other}" for other in known if other in given and other != "n_features_to_select"]
            raise ValueError(
                f"--{name} can't be used with --method {method}" + (f": it has {', '.join(others)}." if others else ".")
            )
    return chosen


def _keep_parameters(model: Model, given: dict[str, Any]) -> None:
    """Let a model go on with its own parameters; what is asked of this run is how to read the data."""
    for name in ("n_passes", "shuffle", "random_state"):
        model.parameters[name] = given[name]


def _classes(text: str | None) -> list[Any] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise ValueError(f"--classes must name two classes or more, as A,B. Got {text!r} instead.")
    try:
        numbers = [float(name) for name in names if "_" not in name]
    except ValueError:
        return names
    return numbers if len(numbers) == len(names) and all(map(math.isfinite, numbers)) else names


def _report(model: Model, history: History, tested: float | None, output: str | None) -> dict[str, Any]:
    columns, weights = model.members()
    seconds = history.seconds[-1]
    assert model.classes is not None
    return {
        "rows": history.rows[-1],
        "passes": 1 if methods.find(model.method).is_batch else model.parameters["n_passes"],
        "seconds": seconds,
        "megabytes_per_second": history.n_bytes / 1e6 / max(seconds, 1e-9),
        # A batch method makes no mistakes on its way.
        "error_while_learning": history.error[-1] if history.error else None,
        "loss_while_learning": history.loss[-1] if history.loss else None,
        "accuracy_on_test": tested,
        "n_features": model.n_features,
        "n_selected": len(columns),
        "selected": [model.name_of(column) for column in columns.tolist()],
        # One a feature; with more than two classes, one for each class.
        "weights": weights.astype(float).squeeze(axis=1).tolist() if model.n_vectors == 1 else weights.tolist(),
        "classes": [shown(label) for label in model.classes.tolist()],
        "lines_skipped": history.n_skipped,
        "interrupted": history.interrupted,
        "model": output,
    }


def _in_passes(n_passes: int) -> str:
    return f" in {n_passes} passes" if n_passes > 1 else ""


def _told(report: dict[str, Any], data: str, test: str | None) -> str:
    lines = [
        f"{data}: {report['rows']:,} rows{_in_passes(report['passes'])}, {report['n_features']:,} columns, "
        f"classes {told_together(report['classes'])}",
        f"kept {report['n_selected']:,} features, best first: {' '.join(report['selected'][:10])}"
        + (" …" if report["n_selected"] > 10 else ""),
    ]
    if report["error_while_learning"] is not None:
        lines.append(f"error while learning {report['error_while_learning']:.2%}")
    if report["accuracy_on_test"] is not None:
        lines.append(f"accuracy on {test} {report['accuracy_on_test']:.2%}")
    speed = f", {report['megabytes_per_second']:,.0f} MB/s" if report["megabytes_per_second"] else ""
    lines.append(f"{report['seconds']:.2f} s{speed}")
    if report["model"]:
        lines.append(f"wrote {report['model']}, {Path(report['model']).stat().st_size:,} bytes")
    return "\n".join(lines)
