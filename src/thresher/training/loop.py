"""`train` and `train_many`: from a stream to models, with passes, progress, validation and a history."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Literal, Protocol

from numpy.typing import ArrayLike

from thresher import parameters
from thresher.messages import parameter
from thresher.model.model import Model
from thresher.streams import Data, DataError, Stream
from thresher.training.history import History
from thresher.training.job import Request, open_job
from thresher.training.passes import Passes
from thresher.training.run import Run


class Estimator(Protocol):
    """An estimator of thresher: a shell around a model, which `train` trains."""

    def _model_to_train(self) -> AbstractContextManager[Model]: ...


def train(
    model: Model | Estimator,
    stream: Data,
    passes: int | Literal["auto"] | None = None,
    validate: Data | None = None,
    *,
    shuffle: bool | Literal["auto"] = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool | int = False,
    progress: bool = False,
    callback: Callable[[History], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | int = "60s",
    resume: bool = False,
) -> History:
    """Train a model on a stream; reading, parsing and learning overlap.

    On an error, in the data, in `validate` or in `callback`, the model is as it was before. For that, what a trained
    model has learned is copied first, which takes 16 bytes per feature that has occurred, and more with more than
    two classes (docs/memory.md). To learn few rows often, use `partial_fit`: it checks them first and copies nothing.

    Parameters
    ----------
    model : estimator or Model
        An online one that was trained before continues. The estimator of a batch method (MRMR, L1SVM, FGM) holds
        all rows in memory: it is fitted once, after a check that they will fit.
    stream : Stream, path, or anything else that `open_stream` takes
        What to learn from. A path is opened with `open_stream`. The columns of a matrix, or of a table with a column
        per feature, are all counted, also those in which no row has a value; other data are as wide as their largest
        id. A model that was trained on fewer columns grows, where `partial_fit` would refuse; one that was trained on
        more keeps its own.
    passes : int or "auto", optional
        How often to read it; by default the model's `n_passes`. Batch methods have one pass. ShadowSOFS can end with a
        closing pass, not counted here (`refit`), and with "auto" learns few rows three times; a model that was trained
        before has one pass, and no closing one unless refit=True.
    validate : Stream or path, optional
        Data to measure accuracy on at the end of each pass.
    shuffle : bool or "auto", default="auto"
        Whether to take the rows in random order, a new one in each pass, seeded by the model's `random_state`. With
        "auto" they are taken in their order, unless it is grouped by label (docs/order.md): then a new model is trained
        again, with exactly the result of shuffle=True, and a warning says so. Where the stream can be read only once,
        or the model was trained before, there is only a warning. The model's own `shuffle` concerns `fit` alone. Batch
        methods do not depend on the order.
    classes : array, optional
        The classes, if they are fixed in advance. By default the two that occur; a third is an error.
    multiclass : bool or int, default=False
        Find all classes in a separate pass first: up to 1,000, or up to this number. Naming them with `classes` is
        faster.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.
    callback : callable, optional
        Called with the history at each point, and when a run is resumed, with the points that it had by then; with a
        new history, if training starts again on shuffled rows.
    checkpoint : path, optional
        A file to save the run to at intervals, and when the process is asked to stop (docs/resuming.md).
    every : str or int, default="60s"
        How often: "60s", "5m", "1h", or a number of rows. Saving takes at most a twentieth of the time.
    resume : bool, default=False
        Resume from the checkpoint, with exactly the result of a run that never stopped; if there is none yet, start
        from the beginning. The model, the data and the other parameters must be the same as in that run.

    Returns
    -------
    History
        Where Ctrl-C ends the training of an online method early, the model has learned the rows up to there, and the
        history says so. A batch method has learned nothing by then: KeyboardInterrupt is raised.

    Examples
    --------
    >>> from thresher import SOFS, datasets, train
    >>> model = SOFS(n_features_to_select=200)
    >>> history = train(model, datasets.make_x2(2_000, n_features=20_000, n_informative=200))
    >>> history.rows[-1], len(model.selected_)
    (2000, 200)
    """
    request = Request(
        passes=passes, validate=validate, shuffle=shuffle, classes=classes, multiclass=multiclass, progress=progress,
        callback=callback, checkpoint=checkpoint, every=every, resume=resume,
    )  # fmt: skip
    with models_of([model]) as models:
        (done,) = run(models, stream, request)
        return done.history


def train_many(
    models: Sequence[Model | Estimator],
    stream: Data,
    passes: int | Literal["auto"] | None = None,
    validate: Data | None = None,
    *,
    shuffle: bool | Literal["auto"] = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool | int = False,
    n_threads: int | None = None,
) -> list[History]:
    """Train several models while a stream is read once; each gets exactly the same result as with `train` alone.

    The models are distributed over the cores. All of them learn a batch before the next one is read, so each batch is
    read and parsed once and stays in the cache.

    Parameters
    ----------
    models : sequence of estimators or Models
        All new, or all trained before on data whose ids count from the same base.
    stream : Stream, path, or anything else that `open_stream` takes
        The training data.
    passes : int or "auto", optional
        As in `train`; by default the models' `n_passes`, which must then be equal.
    validate : Stream or path, optional
        Data on which the accuracy of each model is measured at the end of each pass.
    shuffle : bool or "auto", default="auto"
        As in `train`, the same for all models. If the rows can be shuffled, all need the same `random_state`.
    classes, multiclass
        As in `train`.
    n_threads : int, optional
        How many models learn at the same time; by default one per core.

    Returns
    -------
    list of History
        One per model, in the same order. `seconds` counts the whole run.

    Examples
    --------
    >>> from thresher import SOFS, datasets, train_many
    >>> models = [SOFS(200, gamma=gamma) for gamma in (0.1, 1.0, 10.0)]
    >>> histories = train_many(models, datasets.make_x2(2_000, n_features=20_000, n_informative=200))
    >>> best = min(models, key=lambda model: model.n_mistakes_)
    """
    request = Request(
        passes=passes, validate=validate, shuffle=shuffle, classes=classes, multiclass=multiclass, n_threads=n_threads
    )
    with models_of(models) as each:
        _check_together(each, request)
        return [done.history for done in run(each, stream, request)]


@contextmanager
def models_of(models: Sequence[Model | Estimator]) -> Iterator[list[Model]]:
    """Yield the models to train; estimators get theirs back when the block ends."""
    with ExitStack() as stack:
        # In the same order in all threads: an estimator is locked while it is trained.
        opened = {
            id(given): given if isinstance(given, Model) else stack.enter_context(_model_of(given))
            for given in sorted(models, key=id)
        }
        yield [opened[id(given)] for given in models]


def _model_of(estimator: Estimator) -> AbstractContextManager[Model]:
    if not hasattr(estimator, "_model_to_train"):
        raise TypeError(
            f"{type(estimator).__name__} can't learn batch by batch from a stream: use thresher's estimators."
        )
    return estimator._model_to_train()


def run(models: Sequence[Model], data: Any, request: Request) -> list[Run]:
    """Train models of one method in one reading. Parameters that all must share are taken from the first one.

    Only a run of one online model can have checkpoints.
    """
    if not models:
        return []
    started = time.perf_counter()
    model = models[0]
    for each in models:
        _check_can_learn(each, request)
    job = open_job(model, data, request)
    parameters.check("n_threads", request.n_threads, parameters.Whole(1), parameters.OneOf((None,)))
    parameters.check("shuffle", request.shuffle, parameters.OneOf(("auto", True, False)))
    if not job.stream.can_be_read_again:
        refits = any(each.parameters.get("refit") is True for each in models)
        for asked, is_more in ((("passes", job.n_passes), job.n_passes != 1), (("refit", True), refits)):
            if is_more:
                raise DataError(
                    f"{job.stream.name} can be read only once, but {parameter(*asked)}: write it to a file first."
                )
    if model.target is None:
        job.stream.check_base()
    if request.resume and request.checkpoint is None:
        raise ValueError(f"{parameter('resume')} needs {parameter('checkpoint', ...)}, the file to resume from.")
    samples = [None] * len(models) if request.samples is None else request.samples

    def runs_on(stream: Stream, n_bytes: int = 0) -> list[Run]:
        pairs = zip(models, samples, strict=True)
        return [Run(each, stream, request.callback, started, n_bytes, sample) for each, sample in pairs]

    if model.method.is_batch:
        from thresher.training.all_rows import train_on_all_rows  # needs scipy, and its solvers scikit-learn

        return train_on_all_rows(runs_on(job.stream), job)
    return Passes(model, job, runs_on).learn()


def _check_can_learn(model: Model, request: Request) -> None:
    """Raise ValueError for a model that can't learn from a stream, or not in this way."""
    if model.method.predicts == "numbers" and request.multiclass:
        asked = parameter("multiclass", request.multiclass)
        raise ValueError(f"{asked} can't be used where numbers are predicted: leave it out.")
    if not model.method.is_batch or model.is_trained:
        model.check_can_learn()
        return
    for name, value, is_refused in (
        ("checkpoint", request.checkpoint, request.checkpoint is not None),
        ("passes", request.passes, request.passes not in (None, 1)),
        ("shuffle", request.shuffle, request.shuffle is True),
    ):
        if is_refused:
            raise ValueError(
                f"{parameter(name, value)} can't be used with {model.method.estimator}, which sees all rows at once: "
                "leave it out."
            )


def _check_together(models: Sequence[Model], request: Request) -> None:
    for model in models:
        if model.method.is_batch:
            name = model.method.estimator
            raise TypeError(f"{name} can't learn batch by batch from a stream: train it alone, with train.")
    if len({id(model) for model in models}) < len(models):
        raise ValueError("models contains the same model twice: pass each model once.")
    if not models:
        return
    first = models[0]
    n_passes, first_seed = first.parameters["n_passes"], first.parameters["random_state"]
    can_shuffle = request.shuffle is True or (request.shuffle == "auto" and first.target is None)
    for place, model in enumerate(models):
        if request.passes is None and model.parameters["n_passes"] != n_passes:
            raise ValueError(
                f"models[{place}] has {parameter('n_passes', model.parameters['n_passes'])} and models[0] has "
                f"{n_passes}, but all models read the stream equally often: give {parameter('passes', ...)}."
            )
        seed = model.parameters["random_state"]
        if can_shuffle and seed is not first_seed and seed != first_seed:
            raise ValueError(
                f"models[{place}] has {parameter('random_state', seed)} and models[0] has {first_seed!r}, but all "
                f"models read the rows in the same order: use the same, or {parameter('shuffle', False)}."
            )
        if (model.target is None, model.id_base) != (first.target is None, first.id_base):
            raise ValueError(f"models[{place}] and models[0] count ids from different bases: train them separately.")
