"""`thresher train`."""

from __future__ import annotations

import json as json_
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import listed, report_skipped, say
from thresher.cli.options import (
    Data,
    Delimiter,
    Format,
    Json,
    Label,
    OnBadLine,
    Threads,
    ZeroBased,
    check_choice,
    flag,
    method_option,
    open_data,
)
from thresher.messages import counted
from thresher.methods import METHODS, Method, find_for_cli
from thresher.parameters import check

if TYPE_CHECKING:
    from thresher.model import Model
    from thresher.streams import Stream
    from thresher.training import History

EXAMPLES = (
    "thresher train train.svm -k 200 --test test.svm -o model.thresher",
    "thresher train train.svm -k 200 --method sofs --passes 2 --shuffle",
)

METHOD = "The method"
PASSES = "Passes and classes"
DEFAULT = next(iter(METHODS.values()))


def train(
    data: Data,
    features: Annotated[int | None, method_option("n_features_to_select", "-k", "--features", panel=METHOD)] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=", ".join(f"{each.cli} ({each.help})" for each in METHODS.values()) + ".",
            show_default=DEFAULT.cli,
            rich_help_panel=METHOD,
        ),
    ] = None,
    gamma: Annotated[str | None, method_option("gamma", panel=METHOD, metavar="FLOAT|auto")] = None,
    eta: Annotated[float | None, method_option("eta", panel=METHOD)] = None,
    lam: Annotated[float | None, method_option("lam", panel=METHOD)] = None,
    loss: Annotated[str | None, method_option("loss", panel=METHOD)] = None,
    norm: Annotated[str | None, method_option("norm", panel=METHOD)] = None,
    intercept: Annotated[
        bool | None,
        method_option("fit_intercept", "--intercept/--no-intercept", panel=METHOD),
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Data to measure accuracy on at the end.", show_default=False)
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="The file to write the model to.", show_default=False)
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Write all state, so that learning can continue, as with --from; else the selected features only.",
        ),
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="MODEL", help="Continue with this model, written with --full.", show_default=False
        ),
    ] = None,
    passes: Annotated[int | None, method_option("n_passes", panel=PASSES)] = None,
    shuffle: Annotated[
        bool | None,
        typer.Option(
            "--shuffle/--no-shuffle",
            help="Take the rows in random order, or in their order.",
            show_default="in their order; if that is grouped by label, train again in random order",
            rich_help_panel=PASSES,
        ),
    ] = None,
    seed: Annotated[int | None, method_option("random_state", panel=PASSES)] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="The classes, as A,B,C; any number.", show_default="the two that occur", rich_help_panel=PASSES
        ),
    ] = None,
    multiclass: Annotated[
        bool,
        typer.Option(
            "--multiclass",
            help="Look for the classes first, however many; reads the data once more.",
            rich_help_panel=PASSES,
        ),
    ] = False,
    label: Label = None,
    delimiter: Delimiter = None,
    format: Format = "auto",
    zero_based: ZeroBased = None,
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Select features and train a classifier on them, in one pass over the data.

    Prints what was selected. With -o it also writes the model, for predict, evaluate, transform, show and --from.
    """
    given = {
        "n_features_to_select": features, "gamma": _number_or_word(gamma), "eta": eta, "lam": lam, "loss": loss,
        "norm": norm, "fit_intercept": intercept, "n_passes": passes, "random_state": seed,
    }  # fmt: skip
    if multiclass and (classes is not None or from_):
        known_by = "--from" if from_ else "--classes"
        raise ValueError(f"--multiclass can't be used with {known_by}: the classes are known.")
    named = _classes(classes)
    learner = _continued(from_, method, given) if from_ else _new(method, given, full, shuffle)
    if output is not None:
        _check_place(output)
    reading: dict[str, Any] = {
        "format": format, "label": label, "delimiter": delimiter, "on_bad_line": on_bad_line, "zero_based": zero_based,
        "threads": threads,
    }  # fmt: skip
    stream, held_out = open_data(data, **reading), open_data(test, **reading) if test else None
    if output is not None:
        from thresher.io.atomic import refuse_inputs

        # A model that learning continues from may be replaced by what it becomes.
        refuse_inputs(output, [*stream.files, *(held_out.files if held_out else [])])
    full = full or from_ is not None  # a model that could continue learning can do so again

    from thresher.training import train as run

    history = run(
        learner, stream, passes, shuffle="auto" if shuffle is None else shuffle, classes=named, multiclass=multiclass,
        progress=not json,
    )  # fmt: skip
    report_skipped(history.skipped, history.n_skipped)
    _finish(learner, history, stream, held_out, output, full, json)


def _finish(
    learner: Any, history: History, stream: Stream, held_out: Stream | None, output: str | None, full: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Save, test and report. A run that Ctrl-C ended leaves an older model alone."""
    from thresher.evaluation import evaluate
    from thresher.io.model_files import save_model
    from thresher.prediction import as_model

    model = as_model(learner)
    if output is not None and history.interrupted:
        output += ".interrupted"
    # What was learned is safe before anything else can go wrong.
    if output is not None:
        save_model(model, output, compact=not full)
    tested = None
    if held_out is not None and not history.interrupted:
        found = evaluate(model, held_out, progress=not as_json)
        report_skipped(found.skipped, found.n_skipped)
        tested = found.accuracy
    report = _report(model, history, tested, output)
    print(json_.dumps(report) if as_json else _in_words(report, stream.name, held_out.name if held_out else None))
    if output is None:
        say("the model was not saved: use -o FILE to save it.")
    if history.interrupted:
        where = f" and was written to {output}" if output else ""
        say(f"stopped by Ctrl-C: the model has learned {counted(report['rows'], 'row')}{where}.")
        sys.exit(130)


def _new(cli_name: str | None, given: dict[str, Any], full: bool, shuffle: bool | None) -> Any:
    """Return a new model, or the estimator of a batch method, once its options are known to be good."""
    method = find_for_cli(cli_name or DEFAULT.cli)
    values = _checked(method, {"norm": "l2", **_chosen(given)})
    if method.is_batch:
        for option, is_set in (("--full", full), ("--shuffle", shuffle)):
            if is_set:
                raise ValueError(f"{option} can't be used with --method {method.cli}: it sees all rows at once.")
        return method.load_estimator()(**values, progress=True)
    from thresher.model import Model

    return Model(method.name, **values)


def _continued(path: str, method: str | None, given: dict[str, Any]) -> Model:
    """Return a model to continue with; its parameters are its own, how to read the data is this run's."""
    chosen = _chosen(given)
    of_this_run: dict[str, Any] = {name: chosen.pop(name) for name in ("n_passes", "random_state") if name in chosen}
    refused = "--method" if method else next((flag(name) for name in chosen), None)
    if refused is not None:
        raise ValueError(f"{refused} can't be used with --from: the model keeps what it was trained with.")
    from thresher.io.model_files import load_model

    model = load_model(path)
    if model.is_batch:
        raise ValueError(f"--from {path}: {model.method} does not support incremental training; train without --from.")
    model.parameters |= {"n_passes": 1, **of_this_run}
    return model


def _number_or_word(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _chosen(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _checked(method: Method, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a method's parameters; an error names the option."""
    check_choice("--norm", chosen["norm"], ("l2", "none"))
    values = {**chosen, "norm": None if chosen["norm"] == "none" else chosen["norm"]}
    known = method.parameters
    if method.is_batch and values.get("n_passes") == 1:
        del values["n_passes"]  # it reads the data once in any case
    for name, value in values.items():
        if name in known:
            check(f"{flag(name)} of --method {method.cli}", value, *known[name].allowed)
            continue
        if name == "n_features_to_select":
            reason = ": it keeps all features"
        elif method.is_batch and name == "n_passes":
            reason = ": it sees all rows at once"
        else:
            # A parameter without help, such as C of fgm, has no option.
            others = [flag(own) for own, each in method.own.items() if each.help and own != "n_features_to_select"]
            reason = f": it has {', '.join(others)}" if others else ""
        raise ValueError(f"{flag(name)} can't be used with --method {method.cli}{reason}.")
    method.complete(values)
    return values


def _check_place(output: str) -> None:
    """Find out before the training whether a model can be written there."""
    if output == "-":
        raise ValueError("-o -: a model can't be written to standard output; name a file.")
    if Path(output).is_dir():
        raise IsADirectoryError(f"{output}: this is a folder; name a file in it.")
    if not Path(output).parent.is_dir():
        raise FileNotFoundError(f"{output}: the folder {Path(output).parent} does not exist.")
    if not os.access(Path(output).parent, os.W_OK):
        raise PermissionError(f"{output}: permission denied.")


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
    from thresher.labels import shown

    columns, weights = model.members()
    seconds = history.seconds[-1]
    assert model.classes is not None
    return {
        "rows": history.rows[-1],
        "passes": history.n_passes,
        "seconds": seconds,
        "megabytes_per_second": history.n_bytes / 1e6 / max(seconds, 1e-9),
        # A batch method makes no mistakes on its way; on rows grouped by label they say nothing.
        "error_while_learning": history.error[-1] if history.error and not history.grouped_by_label else None,
        "loss_while_learning": history.loss[-1] if history.loss and not history.grouped_by_label else None,
        "shuffled": history.shuffled,
        "grouped_by_label": history.grouped_by_label,
        "accuracy_on_test": tested,
        "chosen_gamma": model.chosen_gamma,  # by gamma="auto"
        "n_features": model.n_features,
        "n_selected": len(columns),
        "selected": [model.name_of(column) for column in columns.tolist()],
        # One per feature; with more than two classes, one for each class.
        "weights": weights.astype(float).squeeze(axis=1).tolist() if model.n_vectors == 1 else weights.tolist(),
        "classes": [shown(label) for label in model.classes.tolist()],
        "lines_skipped": history.n_skipped,
        "interrupted": history.interrupted,
        "model": output,
    }


def _in_words(report: dict[str, Any], data: str, test: str | None) -> str:
    in_passes = f" in {report['passes']} passes" if report["passes"] > 1 else ""
    in_order = " in random order" if report["shuffled"] else ""
    best = " ".join(report["selected"][:10]) + (" …" if report["n_selected"] > 10 else "")
    lines = [
        f"{data}: {counted(report['rows'], 'row')}{in_passes}{in_order}, {counted(report['n_features'], 'column')}, "
        f"classes {listed(report['classes'])}",
        f"kept {counted(report['n_selected'], 'feature')}" + (f", best first: {best}" if best else ""),
    ]
    if report["chosen_gamma"] is not None:
        lines.append(f"chose gamma {report['chosen_gamma']:g}")
    if report["grouped_by_label"]:
        lines.append("error while learning: not shown, since the rows are grouped by label")
    if report["error_while_learning"] is not None:
        lines.append(f"error while learning {report['error_while_learning']:.2%}")
    if report["accuracy_on_test"] is not None:
        lines.append(f"accuracy on {test} {report['accuracy_on_test']:.2%}")
    speed = f", {report['megabytes_per_second']:,.0f} MB/s" if report["megabytes_per_second"] else ""
    lines.append(f"{report['seconds']:.2f} s{speed}")
    if report["model"]:
        lines.append(f"wrote {report['model']}, {Path(report['model']).stat().st_size:,} bytes")
    return "\n".join(lines)
