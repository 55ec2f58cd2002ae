"""`thresher train`."""

from __future__ import annotations

import json as json_
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.console import listed, report_skipped, say
from thresher.cli.learning import (
    Classes,
    ClassWeight,
    Eta,
    Features,
    Gamma,
    Intercept,
    Keep,
    Lam,
    Loss,
    Memory,
    MemoryBytes,
    MethodName,
    Multiclass,
    Norm,
    Passes,
    Seed,
    Shuffle,
    chosen_of,
    class_names,
    given_values,
    new_model,
)
from thresher.cli.options import NAMING, READING, Data, Json, flag, open_data, with_options
from thresher.messages import counted
from thresher.parameters import check

if TYPE_CHECKING:
    from thresher.evaluation import Evaluation
    from thresher.model import Model
    from thresher.streams import Stream
    from thresher.training import History

EXAMPLES = (
    "thresher train train.svm -k 200 --test test.svm -o model.thresher",
    "thresher train train.svm -k 200 --method sofs --passes 2 --shuffle",
    "thresher train mail.jsonl.xz -k 200 --label label --text text --ngrams 1-3",
)


@with_options(READING, NAMING)
def train(
    data: Data,
    features: Features = None,
    method: MethodName = None,
    gamma: Gamma = None,
    eta: Eta = None,
    lam: Lam = None,
    loss: Loss = None,
    norm: Norm = None,
    intercept: Intercept = None,
    keep: Keep = None,
    class_weight: ClassWeight = None,
    memory: Memory = None,
    memory_bytes: MemoryBytes = None,
    test: Annotated[
        str | None, typer.Option(help="Data to measure accuracy on at the end.", show_default=False)
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="f1|precision=P",
            help="With --test: choose the margin above which the second of two classes is predicted, for the best F1 "
            "or for a precision of at least P.",
            show_default=False,
        ),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(help="Cross-validate with so many folds, 2 to 100, in the same reading.", show_default=False),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(
            help="Measure how the selection changes over so many random halves of the rows, 2 to 1000, in the same "
            "reading.",
            show_default=False,
        ),
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
    passes: Passes = None,
    shuffle: Shuffle = None,
    seed: Seed = None,
    classes: Classes = None,
    multiclass: Multiclass = False,
    json: Json = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Select features and train a classifier on them, in one pass over the data.

    Prints what was selected. With -o it also writes the model, for predict, evaluate, transform, show and --from.
    """
    given = given_values(
        n_features_to_select=features, gamma=gamma, eta=eta, lam=lam, loss=loss, norm=norm, fit_intercept=intercept,
        n_passes=passes, random_state=seed, class_weight=class_weight, memory=memory, memory_bytes=memory_bytes,
    )  # fmt: skip
    if multiclass and from_:
        raise ValueError("--multiclass can't be used with --from: the classes are known.")
    named = class_names(classes, multiclass)
    if threshold is not None:
        from thresher.analysis.threshold import check_target

        check_target(threshold)
        if test is None:
            raise ValueError("--threshold needs --test FILE: it is chosen on rows that the model has not learned.")
        if named is not None and len(named) > 2:
            raise ValueError(f"--threshold needs two classes. Got --classes {classes} instead.")
    _check_samples(cv, stability)
    if from_ and (cv or stability or keep):
        refused = "--keep" if keep else "--cv" if cv else "--stability"
        why = "the model keeps its own features" if keep else "it needs new models"
        raise ValueError(f"{refused} can't be used with --from: {why}.")
    learner = _continued(from_, method, given) if from_ else new_model(method, given, keep, full=full, shuffle=shuffle)
    if output is not None:
        _check_place(output)
    naming = learner.naming if from_ else None
    stream = open_data(data, **reading, naming=naming)
    held_out = open_data(test, **reading, naming=stream.naming) if test else None
    if output is not None:
        from thresher.io.atomic import refuse_inputs

        # A model that learning continues from may be replaced by what it becomes.
        refuse_inputs(output, [*stream.files, *(held_out.files if held_out else [])])
    full = full or from_ is not None  # a model that could continue learning can do so again

    options: dict[str, Any] = {
        "passes": passes, "shuffle": "auto" if shuffle is None else shuffle, "classes": named,
        "multiclass": multiclass, "progress": not json,
    }  # fmt: skip
    found: dict[str, Any] = {}
    if cv or stability:
        from thresher.analysis.cross_validation import of_folds
        from thresher.analysis.nogueira import of_halves
        from thresher.analysis.resampling import resample

        resampled = resample(learner, stream, n_folds=cv or 0, n_halves=stability or 0, **options)
        learner, history = resampled.model, resampled.history
        if not history.interrupted:
            found |= {"cv": of_folds(resampled)} if cv else {}
            found |= {"stability": of_halves(resampled)} if stability else {}
    else:
        from thresher.training import train as run

        history = run(learner, stream, **options)
    report_skipped(history.skipped, history.n_skipped)
    _finish(learner, history, found, stream, held_out, threshold, output, full, json)


def _check_samples(cv: int | None, stability: int | None) -> None:
    if cv is None and stability is None:
        return
    from thresher.analysis.cross_validation import FOLDS
    from thresher.analysis.nogueira import SAMPLES

    for option, value, allowed in (("--cv", cv, FOLDS), ("--stability", stability, SAMPLES)):
        if value is not None:
            check(option, value, allowed)


def _finish(
    learner: Any, history: History, found: dict[str, Any], stream: Stream, held_out: Stream | None,
    threshold: str | None, output: str | None, full: bool, as_json: bool,
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
        with _still_written(output):
            if threshold is not None:
                from thresher.analysis import set_threshold

                set_threshold(model, held_out, threshold, progress=not as_json)
                if output is not None:
                    save_model(model, output, compact=not full)
            tested = evaluate(model, held_out, progress=not as_json)
        report_skipped(tested.skipped, tested.n_skipped)
    report = _report(model, history, tested, output) | {name: each.to_dict() for name, each in found.items()}
    if as_json:
        print(json_.dumps(report))
    else:
        print(_in_words(report, stream.name, held_out.name if held_out else None))
        for each in found.values():
            print(f"\n{each}")
    if output is None:
        say("the model was not saved: use -o FILE to save it.")
    if history.interrupted:
        where = f" and was written to {output}" if output else ""
        say(f"stopped by Ctrl-C: the model has learned {counted(report['rows'], 'row')}{where}.")
        sys.exit(130)


@contextmanager
def _still_written(output: str | None) -> Iterator[None]:
    """Add to an error that the model, which was trained before it, is there."""
    try:
        yield
    except (ValueError, OSError) as error:
        where = "" if output is None else f" The model was trained and written to {output}."
        raise ValueError(f"{error}{where}") from None


def _continued(path: str, method: str | None, given: dict[str, Any]) -> Model:
    """Return a model to continue with; its parameters are its own, how to read the data is this run's."""
    chosen = chosen_of(given)
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


def _report(model: Model, history: History, tested: Evaluation | None, output: str | None) -> dict[str, Any]:
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
        "accuracy_on_test": None if tested is None else tested.accuracy,
        "threshold": model.threshold,
        "chosen_gamma": model.chosen_gamma if history.race else None,  # by gamma="auto", in this run
        "n_features": model.n_features,
        "named": model.naming is not None,  # features are hashes of names
        "name_clashes": model.name_clashes[0],
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
    first = report["selected"][:10]
    if report["named"]:  # names can have spaces and commas in them
        best = ", ".join(repr(name) if "," in name or name != name.strip() else name for name in first)
    else:
        best = " ".join(first)
    best += " …" if report["n_selected"] > 10 else ""
    columns = "named features" if report["named"] else counted(report["n_features"], "column")
    lines = [
        f"{data}: {counted(report['rows'], 'row')}{in_passes}{in_order}, {columns}, "
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
    if report["threshold"] != 0.0:
        lines.append(f"{report['classes'][1]} is predicted above a margin of {report['threshold']:.4g}")
    speed = f", {report['megabytes_per_second']:,.0f} MB/s" if report["megabytes_per_second"] else ""
    lines.append(f"{report['seconds']:.2f} s{speed}")
    if report["model"]:
        lines.append(f"wrote {report['model']}, {Path(report['model']).stat().st_size:,} bytes")
    return "\n".join(lines)
