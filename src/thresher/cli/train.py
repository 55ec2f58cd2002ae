"""`thresher train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.checkpoints import how_to_resume, refuse_to_overwrite, train_saving
from thresher.cli.console import report_skipped
from thresher.cli.method_options import (
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
    typed,
)
from thresher.cli.numbers import WHOLE
from thresher.cli.options import NAMING, ON_THIS_MACHINE, READING, Data, Json, flag, open_data, with_options
from thresher.cli.outputs import Report, check_apart, check_place, check_report
from thresher.cli.train_report import finish
from thresher.io.file_errors import refuse_empty
from thresher.methods import find
from thresher.parameters import Whole, check

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
        typer.Option(
            help="Cross-validate with this many folds (2 to 100), in the same reading.", show_default=False, **WHOLE
        ),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(
            help="Measure how the selection changes over this many random halves of the rows (2 to 1000), in the same "
            "reading.",
            show_default=False,
            **WHOLE,
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
    checkpoint: Annotated[
        str | None,
        typer.Option(
            help="Save the run to this file at intervals, so that it can be resumed. Without --resume, the "
            "checkpoint of a run that has not finished is not overwritten.",
            show_default=False,
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
            show_default=False,
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
            show_default=False,
        ),
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Train the shards in processes on this machine.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(help="With --local: how many processes.", show_default="one per core", **WHOLE),
    ] = None,
    report: Report = None,
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
    if multiclass and from_ is not None:
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
    if resume and checkpoint is None:
        raise ValueError("--resume needs --checkpoint FILE, the file to resume from.")
    if every is not None and checkpoint is None:
        raise ValueError("--every needs --checkpoint FILE, the file to save the run to.")
    if checkpoint is not None:
        from thresher.training.checkpoint import interval

        if cv or stability:
            raise ValueError(f"--checkpoint can't be used with {'--cv' if cv else '--stability'}.")
        try:
            interval(every or "60s")
        except ValueError as error:
            raise ValueError(f"--{error}") from None
        check_place("--checkpoint", checkpoint)
    others = {"--cv": cv, "--stability": stability, "--checkpoint": checkpoint, "--shuffle": shuffle}
    _check_shards(shards, syncs, ray, local, workers, [option for option, value in others.items() if value])
    if from_ is not None and (cv or stability or keep):
        refused = "--keep" if keep else "--cv" if cv else "--stability"
        why = "the model keeps its own features" if keep else "it needs new models"
        raise ValueError(f"{refused} can't be used with --from: {why}.")
    learner = (
        _continued(from_, method, given)
        if from_ is not None
        else new_model(method, given, keep, full=full, shuffle=shuffle, checkpoint=checkpoint is not None)
    )
    if output is not None:
        check_place("-o", output)
    elif full:
        raise ValueError("--full needs -o FILE, the file to write the model to.")
    check_apart({"-o": output, "--checkpoint": checkpoint, "--report": report})
    if report is not None:
        check_report(report)
    if test is not None:
        refuse_empty("--test", test)
    naming = learner.naming if from_ is not None else None
    stream = open_data(data, **reading, naming=naming)
    held_out = open_data(test, **reading, naming=stream.naming) if test is not None else None
    for written in (output, report, checkpoint):
        if written is not None:
            from thresher.io.atomic import refuse_inputs

            # A model that learning continues from may be replaced by what it becomes.
            refuse_inputs(written, [*stream.files, *(held_out.files if held_out else [])])
    if checkpoint is not None and not resume:
        refuse_to_overwrite(checkpoint)
    full = full or from_ is not None  # a model that could continue learning can do so again

    options: dict[str, Any] = {
        "passes": passes, "shuffle": "auto" if shuffle is None else shuffle, "classes": named,
        "multiclass": multiclass, "progress": not json,
    }  # fmt: skip
    found: dict[str, Any] = {}
    with how_to_resume(checkpoint, resume):
        if cv or stability:
            learner, history, found = _on_samples(learner, stream, cv, stability, options)
        elif shards is not None:
            from thresher.distributed import train as run_on_shards

            del options["shuffle"]
            history = run_on_shards(
                learner, stream, n_shards=shards, syncs=16 if syncs is None else syncs,
                engine="local" if local else "ray", address=None if ray == ON_THIS_MACHINE else ray, workers=workers,
                **options,
            )  # fmt: skip
        elif checkpoint is not None:
            history = train_saving(learner, stream, checkpoint, every or "60s", resume, options)
        else:
            from thresher.training import train as run

            history = run(learner, stream, **options)
        report_skipped(history.skipped, history.n_skipped)
        finish(learner, history, found, stream, held_out, threshold, output, full, report, json)


def _on_samples(
    learner: Any, stream: Stream, cv: int | None, stability: int | None, options: dict[str, Any]
) -> tuple[Any, History, dict[str, Any]]:
    """Train the model on all rows, and others on samples; return it, its history, and what the others show."""
    from thresher.analysis.agreement import of_halves
    from thresher.analysis.cross_validation import of_folds
    from thresher.analysis.resampling import resample

    resampled = resample(learner, stream, n_folds=cv or 0, n_halves=stability or 0, **options)
    found: dict[str, Any] = {}
    if not resampled.history.interrupted:
        found |= {"cv": of_folds(resampled)} if cv else {}
        found |= {"stability": of_halves(resampled)} if stability else {}
    return resampled.model, resampled.history, found


def _check_shards(
    shards: int | None, syncs: int | None, ray: str | None, local: bool, workers: int | None, others: list[str]
) -> None:
    where = [option for option, value in (("--ray", ray), ("--local", local)) if value]
    if workers is not None and not local:
        raise ValueError("--workers needs --local: a Ray cluster has its own number of workers.")
    check("--workers", 1 if workers is None else workers, Whole(1))
    if shards is None:
        needing = where + (["--syncs"] if syncs is not None else [])
        if needing:
            raise ValueError(f"{needing[0]} needs --shards N: in how many parts the data are cut.")
        return
    check("--shards", shards, Whole(1))
    check("--syncs", 1 if syncs is None else syncs, Whole(1))
    if len(where) != 1:
        raise ValueError("--shards needs either --ray or --local: where they learn.")
    if others:
        raise ValueError(f"{others[0]} can't be used with --shards.")


def _check_samples(cv: int | None, stability: int | None) -> None:
    if cv is None and stability is None:
        return
    from thresher.analysis.agreement import SAMPLES
    from thresher.analysis.cross_validation import FOLDS

    for option, value, allowed in (("--cv", cv, FOLDS), ("--stability", stability, SAMPLES)):
        if value is not None:
            check(option, value, allowed)


def _continued(path: str, method: str | None, given: dict[str, Any]) -> Model:
    """Return a model to continue with; its parameters are its own, how to read the data is this run's."""
    chosen = chosen_of(given)
    of_this_run: dict[str, Any] = {name: chosen.pop(name) for name in ("n_passes", "random_state") if name in chosen}
    refused = "--method" if method else next((flag(name) for name in chosen), None)
    if refused is not None:
        raise ValueError(f"{refused} can't be used with --from: the model keeps what it was trained with.")
    from thresher.io.model_files import load_with_parameters

    model, parameters = load_with_parameters(path)
    if model.is_batch:
        raise ValueError(f"--from {path}: {model.method} does not support incremental training; train without --from.")
    known = find(model.method).parameters
    for name, value in of_this_run.items():
        check(flag(name), value, *typed(known[name]))
    model.adopt_parameters(parameters)
    model.parameters |= {"n_passes": 1, **of_this_run}
    return model
