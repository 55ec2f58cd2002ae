"""`thresher train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.checkpoints import (
    SAVING,
    explain_how_to_resume,
    naming_of_checkpoint,
    refuse_to_overwrite,
    train_with_checkpoint,
)
from thresher.cli.data_options import NAMING, READING, like, open_data_and_test
from thresher.cli.method_options import LEARNING, METHOD, learning_options, model_for, new_model, values_of
from thresher.cli.options import WHOLE, Data, Json, Positive, Report, with_options
from thresher.cli.output import check_outputs, report_skipped
from thresher.cli.shards import SHARDING, train_on_shards
from thresher.cli.train_report import AfterTraining, finish
from thresher.parameters import check

if TYPE_CHECKING:
    from thresher.model.model import Model
    from thresher.streams import Stream
    from thresher.training import History

EXAMPLES = (
    "thresher train train.svm -k 200 --test test.svm -o model.thresher",
    "thresher train train.svm -k 200 --method sofs --passes 2 --shuffle",
    "thresher train table.csv --label y -k 100 --ignore id --categorical zip",
    "thresher train mail.jsonl.xz -k 200 --label label --text text --ngrams 1-3",
    "thresher train train.svm -k 200 --test test.svm --report run.html",
    "thresher train prices.csv -k 200 --label price --target number --cv 5",
    "thresher train train.svm -k 200 --checkpoint run.ckpt --every 60s --resume -o model.thresher",
)


@with_options(METHOD, LEARNING, SAVING, SHARDING, READING, NAMING)
def train(
    data: Data,
    test: Annotated[str | None, typer.Option(help="Data to measure the model on at the end.")] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="f1|precision=P",
            help="With --test: choose the margin above which the second of two classes is predicted, for the best F1 "
            "of that class, or of --positive, or for a precision of at least P.",
        ),
    ] = None,
    positive: Positive = None,
    cv: Annotated[
        int | None,
        typer.Option(help="Cross-validate with this many folds (2 to 100), in the same reading.", **WHOLE),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(
            help="Measure how the selection changes over this many random halves of the rows (2 to 1000), in the same "
            "reading.",
            **WHOLE,
        ),
    ] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="The file to write the model to.")] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Write all state, so that learning can continue, as with --from; else the selected features only.",
        ),
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="MODEL", help="Continue with this model, written with --full."),
    ] = None,
    report: Report = None,
    json: Json = False,
    *,
    chosen: dict[str, Any],
    learning: dict[str, Any],
    saving: dict[str, Any],
    sharding: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Select features and train a linear model on them, in one pass over the data.

    Prints what was selected. With -o it also writes the model, for predict, evaluate, transform, show and --from.
    """
    options = {**learning_options(**learning), "progress": not json}
    if threshold is not None:
        _check_threshold(threshold, options["classes"])
    model = new_model(chosen) if from_ is None else _load_to_continue(from_, chosen)
    if threshold is not None and model.target is not None:
        model.target.check_can_have_threshold()
    if positive is not None:
        _check_positive(positive, model, options["classes"])
    checkpoint = saving["checkpoint"]
    check_outputs({"-o": output, "--checkpoint": checkpoint, "--report": report})
    if from_ is not None:
        reading = like(model.naming, reading)
    elif (naming := naming_of_checkpoint(**saving)) is not None:
        reading = like(naming, reading)
    stream, held_out = open_data_and_test(data, test, [output, report, checkpoint], **reading)
    if stream.roles is not None and not json:
        print(stream.roles, end="\n\n", flush=True)
    refuse_to_overwrite(**saving)
    if from_ is None and positive is None and threshold is None:
        model = model_for(stream, model, chosen, learning)

    sample_results: dict[str, Any] = {}
    with explain_how_to_resume(**saving):
        if cv is not None or stability is not None:
            model, history, sample_results = _train_with_samples(model, stream, cv, stability, positive, options)
        elif sharding["shards"] is not None:
            history = train_on_shards(model, stream, sharding, options)
        else:
            history = train_with_checkpoint(model, stream, saving, options)
        report_skipped(history)
        full = full or from_ is not None  # a model that could continue learning can do so again
        after = AfterTraining(held_out, threshold, positive, output, full, report, json)
        finish(model, history, sample_results, stream, after)


def _check_threshold(threshold: str, classes: list[Any] | None) -> None:
    """Raise ValueError at once for errors that the library would find only after training."""
    from thresher.analysis.threshold import check_target

    check_target(threshold)
    if classes is not None and len(classes) > 2:
        raise ValueError(f"--threshold needs two classes. Got --classes {','.join(map(str, classes))} instead.")


def _check_positive(positive: str, model: Model, classes: list[Any] | None) -> None:
    """Raise ValueError for a label that is not one of two classes, where these are known before training."""
    from thresher.model.targets import target_for

    if classes is not None or model.target is not None:
        target_for(model, classes).code_of_positive(positive)


def _load_to_continue(path: str, chosen: dict[str, Any]) -> Model:
    """Return a model to continue with: it keeps its parameters, but not how its data were read."""
    from thresher.io.model_files import load_with_parameters

    model, parameters = load_with_parameters(path)
    if model.method.is_batch:
        name = model.method.name
        raise ValueError(f"--from {path}: {name} does not support incremental training; train without --from.")
    if model.compact:
        raise ValueError(
            f"--from {path}: the model was saved compact, with its selected features only, and can't continue "
            "learning: train it with --full."
        )
    model = model.with_parameters(parameters)
    # How the new rows are read changes nothing of what was learned.
    model.parameters = model.method.complete({**parameters, "n_passes": 1, **values_of(model.method, chosen)})
    return model


def _train_with_samples(
    model: Model,
    stream: Stream,
    cv: int | None,
    stability: int | None,
    positive: str | None,
    options: dict[str, Any],
) -> tuple[Model, History, dict[str, Any]]:
    """Train the model on all rows, and others on samples; return it, its history, and what the others show."""
    from thresher.analysis.cross_validation import FOLDS, cross_validation_of_folds
    from thresher.analysis.resampling import resample
    from thresher.analysis.selection_stability import SAMPLES, stability_of_halves
    from thresher.training.job import Request

    for option, value, allowed in (("--cv", cv, FOLDS), ("--stability", stability, SAMPLES)):
        if value is not None:
            check(option, value, allowed)
    resampled = resample(model, stream, Request(**options), n_folds=cv or 0, n_halves=stability or 0, positive=positive)
    sample_results: dict[str, Any] = {}
    if not resampled.history.interrupted:
        sample_results |= {"cv": cross_validation_of_folds(resampled)} if cv else {}
        sample_results |= {"stability": stability_of_halves(resampled)} if stability else {}
    return resampled.model, resampled.history, sample_results
