"""`thresher train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.checkpoints import how_to_resume, refuse_to_overwrite, train_saving
from thresher.cli.method_options import LEARNING, METHOD, learning_options, new_model, values_of
from thresher.cli.options import ON_THIS_MACHINE, WHOLE, Data, Json, Report, with_options
from thresher.cli.output import check_outputs, report_skipped
from thresher.cli.reading import NAMING, READING, open_data_and_test
from thresher.cli.train_report import finish
from thresher.parameters import check

if TYPE_CHECKING:
    from thresher.model.model import Model
    from thresher.streams import Stream
    from thresher.training import History

EXAMPLES = (
    "thresher train train.svm -k 200 --test test.svm -o model.thresher",
    "thresher train train.svm -k 200 --method sofs --passes 2 --shuffle",
    "thresher train mail.jsonl.xz -k 200 --label label --text text --ngrams 1-3",
    "thresher train train.svm -k 200 --test test.svm --report run.html",
    "thresher train train.svm -k 200 --checkpoint run.ckpt --every 60s --resume -o model.thresher",
)


@with_options(METHOD, LEARNING, READING, NAMING)
def train(
    data: Data,
    test: Annotated[str | None, typer.Option(help="Data to measure accuracy on at the end.")] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="f1|precision=P",
            help="With --test: choose the margin above which the second of two classes is predicted, for the best F1 "
            "or for a precision of at least P.",
        ),
    ] = None,
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
    checkpoint: Annotated[
        str | None,
        typer.Option(
            help="Save the run to this file at intervals, so that it can be resumed. Without --resume, the "
            "checkpoint of a run that has not finished is not overwritten.",
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="60s|ROWS",
            help="With --checkpoint: how often to save: a time, as 60s, 5m or 1h, or a number of rows.",
            show_default="60s",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume from the checkpoint; if there is none yet, start from the beginning."),
    ] = False,
    shards: Annotated[
        int | None,
        typer.Option(
            help="Cut the data into this many parts, which learn side by side and are merged; with --ray or --local.",
            **WHOLE,
        ),
    ] = None,
    syncs: Annotated[
        int | None,
        typer.Option(help="With --shards: how often they are merged in a pass.", show_default="16", **WHOLE),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]",
            help="Train the shards on the Ray cluster at ADDRESS; without one, on a Ray of its own on this machine.",
        ),
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Train the shards in processes on this machine.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(help="With --local: how many processes.", show_default="one per core", **WHOLE),
    ] = None,
    report: Report = None,
    json: Json = False,
    *,
    chosen: dict[str, Any],
    learning: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    """Select features and train a classifier on them, in one pass over the data.

    Prints what was selected. With -o it also writes the model, for predict, evaluate, transform, show and --from.
    """
    options = {**learning_options(**learning), "progress": not json}
    _check_before_the_work(threshold, options["classes"], cv, stability)
    learner = new_model(chosen) if from_ is None else _continued(from_, chosen)
    check_outputs({"-o": output, "--checkpoint": checkpoint, "--report": report})
    naming = None if from_ is None else learner.naming
    stream, held_out = open_data_and_test(data, test, [output, report, checkpoint], **reading, naming=naming)
    if checkpoint is not None and not resume:
        refuse_to_overwrite(checkpoint)

    found: dict[str, Any] = {}
    with how_to_resume(checkpoint, resume):
        if cv or stability:
            learner, history, found = _on_samples(learner, stream, cv, stability, options)
        elif shards is not None:
            from thresher.distributed import train as train_on_shards

            del options["shuffle"]  # a shard learns its rows in their order
            history = train_on_shards(
                learner, stream, n_shards=shards, syncs=16 if syncs is None else syncs,
                engine="local" if ray is None else "ray", address=None if ray == ON_THIS_MACHINE else ray,
                workers=workers, **options,
            )  # fmt: skip
        else:
            history = train_saving(learner, stream, checkpoint, every, resume, options)
        report_skipped(history.skipped, history.n_skipped)
        full = full or from_ is not None  # a model that could continue learning can do so again
        finish(learner, history, found, stream, held_out, threshold, output, full, report, json)


def _check_before_the_work(
    threshold: str | None, classes: list[Any] | None, cv: int | None, stability: int | None
) -> None:
    """Raise ValueError for what the library would refuse only when the model is trained, or by another name."""
    if threshold is not None:
        from thresher.analysis.threshold import check_target

        check_target(threshold)
        if classes is not None and len(classes) > 2:
            names = ",".join(map(str, classes))
            raise ValueError(f"--threshold needs two classes. Got --classes {names} instead.")
    if cv is not None or stability is not None:
        from thresher.analysis.agreement import SAMPLES
        from thresher.analysis.cross_validation import FOLDS

        for option, value, allowed in (("--cv", cv, FOLDS), ("--stability", stability, SAMPLES)):
            if value is not None:
                check(option, value, allowed)


def _continued(path: str, chosen: dict[str, Any]) -> Model:
    """Return a model to continue with; its parameters are its own, how to read the data is this run's."""
    from thresher.io.model_files import load_with_parameters

    model, parameters = load_with_parameters(path)
    if model.method.is_batch:
        name = model.method.name
        raise ValueError(f"--from {path}: {name} does not support incremental training; train without --from.")
    model.adopt_parameters(parameters)
    model.parameters |= {"n_passes": 1, **values_of(model.method, chosen)}
    return model


def _on_samples(
    learner: Any, stream: Stream, cv: int | None, stability: int | None, options: dict[str, Any]
) -> tuple[Any, History, dict[str, Any]]:
    """Train the model on all rows, and others on samples; return it, its history, and what the others show."""
    from thresher.analysis.agreement import of_halves
    from thresher.analysis.cross_validation import of_folds
    from thresher.analysis.resampling import resample
    from thresher.training.request import Request

    resampled = resample(learner, stream, Request(**options), n_folds=cv or 0, n_halves=stability or 0)
    found: dict[str, Any] = {}
    if not resampled.history.interrupted:
        found |= {"cv": of_folds(resampled)} if cv else {}
        found |= {"stability": of_halves(resampled)} if stability else {}
    return resampled.model, resampled.history, found
