"""`train`: from a stream to a model, with passes, progress, validation and a history."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from thresher import parameters
from thresher.io.checkpoints import Saved
from thresher.messages import warn
from thresher.model.label_order import POOR_ON_GROUPED_ROWS, Grouping
from thresher.model.labels import Labels, as_labels, labels_read, together
from thresher.model.model import Model
from thresher.progress import progress_bar
from thresher.streams import Data, DataError, Stream, as_stream
from thresher.streams.position import Position
from thresher.streams.shuffling import shuffled
from thresher.training.checkpoint import Checkpoint
from thresher.training.column_scale import ScaleCheck
from thresher.training.history import History
from thresher.training.run import Run, SharedReading, Watch
from thresher.training.samples import Sample, demand_two_classes


class Estimator(Protocol):
    """An estimator of thresher: a shell around a model, which `train` trains."""

    def _model_to_train(self) -> AbstractContextManager[Model]: ...


def train(
    model: Model | Estimator,
    stream: Data,
    passes: int | None = None,
    validate: Data | None = None,
    *,
    shuffle: bool | Literal["auto"] = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool = False,
    progress: bool = False,
    callback: Callable[[History], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | int = "60s",
    resume: bool = False,
) -> History:
    """Train a model on a stream; reading, parsing and learning overlap.

    On an error, in the data, in `validate` or in `callback`, the model is as it was before. For that, what a trained
    model has learned is copied first, which takes 16 bytes per feature that has occurred, more with more than
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
    passes : int, optional
        How often to read it; by default the model's `n_passes`. Batch methods have one pass.
    validate : Stream or path, optional
        Data to measure accuracy on at the end of each pass.
    shuffle : bool or "auto", default="auto"
        Whether to take the rows in random order, a new one in each pass, seeded by the model's `random_state`. With
        "auto" they are taken in their order, unless it is grouped by label (docs/order.md): then a new model is trained
        again, with exactly the result of shuffle=True, and a warning says so. Where the stream can be read only once,
        or the model was trained before, there is only a warning. The model's own `shuffle` concerns `fit` alone. Batch
        methods do not depend on the order.
    classes : array, optional
        The classes, where they are to be fixed up front. Without them two are expected, whichever turn up.
    multiclass : bool, default=False
        Look for the classes first, however many there are. That reads the stream once more; to name them with
        `classes` is faster.
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
        from the beginning. The model, the data and the other parameters must be those of that run.

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
    with models_of([model]) as models:
        (done,) = run(
            models,
            stream,
            passes,
            validate,
            shuffle=shuffle,
            classes=classes,
            multiclass=multiclass,
            progress=progress,
            callback=callback,
            checkpoint=checkpoint,
            every=every,
            resume=resume,
        )
        return done.history


@contextmanager
def models_of(models: Sequence[Model | Estimator]) -> Iterator[list[Model]]:
    """Yield the models to train: those of estimators too, which have them, trained, when the block ends."""
    with ExitStack() as stack:
        yield [each if isinstance(each, Model) else stack.enter_context(_model_of(each)) for each in models]


def _model_of(estimator: Estimator) -> AbstractContextManager[Model]:
    if not hasattr(estimator, "_model_to_train"):
        raise TypeError(
            f"{type(estimator).__name__} can't learn batch by batch from a stream: use thresher's estimators."
        )
    return estimator._model_to_train()


def run(
    models: Sequence[Model],
    data: Any,
    passes: int | None,
    validate: Any,
    *,
    shuffle: bool | str,
    classes: ArrayLike | None,
    multiclass: bool,
    progress: bool = False,
    callback: Callable[[History], None] | None = None,
    n_threads: int | None = None,
    samples: Sequence[Sample | None] | None = None,
    watch: Watch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | int = "60s",
    resume: bool = False,
) -> list[Run]:
    """Train models of one method in one reading; the first one's parameters stand for all, since they agree on them.

    `samples` say which rows each model learns; None stands for all rows. `watch` is called with the batches of the
    first pass, but not if that starts again on shuffled rows. Only a run of one online model can have checkpoints.
    """
    if not models:
        return []
    started = time.perf_counter()
    model = models[0]
    for each in models:
        _check_can_learn(each, passes, shuffle, checkpoint)
    task = opened(model, data, passes, validate)
    parameters.check("n_threads", n_threads, parameters.Whole(1), parameters.OneOf((None,)))
    parameters.check("shuffle", shuffle, parameters.OneOf(("auto", True, False)))
    stream, n_passes = task.stream, task.n_passes
    if n_passes > 1 and not stream.can_be_read_again:
        raise DataError(f"{stream.name} can be read only once, but passes={n_passes}: write it to a file first.")
    if model.target is None:
        stream.check_base()
    if resume and checkpoint is None:
        raise ValueError("resume needs checkpoint=, the file to resume from.")
    of_each = [None] * len(models) if samples is None else samples

    def runs_on(stream: Stream, n_bytes: int = 0) -> list[Run]:
        pairs = zip(models, of_each, strict=True)
        return [Run(each, stream, callback, started, n_bytes, sample) for each, sample in pairs]

    if model.is_batch:
        from thresher.training.batch_methods import learn_all_rows  # needs scipy, and its solvers scikit-learn

        runs = runs_on(stream)
        learn_all_rows(runs, task.held_out, classes=classes, multiclass=multiclass, progress=progress, watch=watch)
        return runs
    settings = {"passes": n_passes, "shuffle": shuffle, "multiclass": multiclass, "classes": _listed(classes)}
    saver = None if checkpoint is None else Checkpoint(checkpoint, every, model, stream, settings)
    saved = saver.read() if saver is not None and resume else None
    if saved is not None and saved.about["classes"] is not None:
        classes = labels_read(saved.about["classes"])
    elif multiclass and classes is None and model.target is None:
        classes = _find_classes(stream, progress)
    if saver is not None:
        saver.note(classes=_listed(classes), finished=False, grouping=None)
    in_passes = _Passes(n_passes, classes, task.held_out, progress, saver)
    reading = _learn_online(in_passes, model, stream, runs_on, shuffle, saved, n_threads, watch)
    for run in reading.runs:
        if stream.feature_names is not None and not run.is_continued:
            run.model.feature_names = stream.feature_names
        if run.sample is not None and not reading.interrupted:
            counts = run.model.class_weights.counts
            demand_two_classes(stream.name, f"the model of {run.sample} learns", counts, run.model.classes)
    return reading.runs


@dataclass(frozen=True)
class Task:
    """The data of a training run, how often they are read, and the data it is measured on."""

    stream: Stream
    n_passes: int
    held_out: Stream | None


def opened(model: Model, data: Any, passes: int | None, validate: Any) -> Task:
    """Open the data for a model; without `passes` it reads them as often as its parameter says, a batch method once."""
    stream = as_stream(data, naming=model.naming)
    held_out = None if validate is None else as_stream(validate, naming=stream.naming)
    n_passes = model.parameters.get("n_passes", 1) if passes is None else passes
    parameters.check("passes", n_passes, parameters.Whole(1))
    return Task(stream, n_passes, held_out)


def _check_can_learn(model: Model, passes: int | None, shuffle: bool | str, checkpoint: Any) -> None:
    """Raise ValueError for a model that can't learn from a stream, or not in this way."""
    if not model.is_batch or model.is_trained:
        model.check_can_learn("a stream")
        return
    name = model.method_row.estimator
    if checkpoint is not None:
        raise ValueError(f"checkpoint={checkpoint!r} can't be used with {name}, which sees all rows at once.")
    if passes not in (None, 1):
        raise ValueError(f"passes={passes!r} can't be used with {name}, which sees all rows at once: use passes=None.")
    if shuffle is True:
        raise ValueError(f"shuffle=True can't be used with {name}, which sees all rows at once: leave it out.")


def _learn_online(
    in_passes: _Passes,
    model: Model,
    in_order: Stream,
    runs_on: Callable[[Stream, int], list[Run]],
    shuffle: bool | str,
    saved: Saved | None,
    n_threads: int | None,
    watch: Watch | None,
) -> SharedReading:
    """Learn the rows in their order or shuffled; with "auto", a new model learns grouped rows again, shuffled."""
    is_new = model.target is None
    # Where a run that is resumed had started again on shuffled rows, so does this one.
    is_shuffled = shuffle is True or (saved is not None and saved.about["reading"]["shuffle"] is not None)
    can_restart = shuffle == "auto" and is_new and in_order.can_be_read_again and not is_shuffled
    stream = in_order
    if is_shuffled and not (saved is not None and saved.about["finished"]):
        stream = _shuffled_for(model, in_order, in_passes.progress)
    reading = SharedReading(runs_on(stream, 0), n_threads, watch, ScaleCheck(stream, model.norm))
    with reading:
        grouping = in_passes.learn(reading, stop_if_grouped=can_restart, saved=saved)
    if grouping is None:
        return reading
    if not can_restart or reading.interrupted:
        warn(f"{stream.name}: {grouping}. {POOR_ON_GROUPED_ROWS}: {_remedy(is_new, stream)}.", UserWarning)
        return reading
    warn(
        f"{stream.name}: {grouping}. Training starts again on a seeded shuffle of them; shuffle=True does so at once.",
        UserWarning,
    )
    before = reading.runs[0].history
    again = runs_on(_shuffled_for(model, in_order, in_passes.progress), before.n_bytes)
    again[0].history.resumed_at = before.resumed_at  # with a checkpoint there is one run
    reading = SharedReading(again, n_threads)  # nobody needs to watch: the shuffled rows can be read again
    with reading:
        in_passes.learn(reading, stop_if_grouped=False)
    return reading


@dataclass
class _Passes:
    """How a stream is learned, pass after pass."""

    n_passes: int
    classes: ArrayLike | None
    held_out: Stream | None
    progress: bool
    saver: Checkpoint | None

    def learn(
        self, reading: SharedReading, *, stop_if_grouped: bool, saved: Saved | None = None
    ) -> Grouping | str | None:
        """Learn all passes, or the rest of them; return how the rows were grouped by label, if they were.

        With `stop_if_grouped` the models are then as new, after the first pass. It takes the whole pass to know: rows
        that are grouped at first can be a small part of a stream that is not.
        """
        grouping: Grouping | str | None = None
        first, start = 0, None
        if saved is not None:
            grouping = saved.about["grouping"]
            start = self._resume(reading, saved)
            if saved.about["finished"]:
                return grouping
            if reading.runs[0].history.rows:
                reading.call_back()
            first = reading.runs[0].history.n_passes - 1
        with (
            progress_bar("training", reading.runs[0].stream, self.n_passes, self.progress) as bar,
            nullcontext() if self.saver is None else self.saver.requests,
        ):
            for turn in range(first, self.n_passes):
                if saved is None or turn > first:
                    reading.begin_pass(self.classes)
                    start = None
                try:
                    reading.one_pass(bar, start, None if self.saver is None else self.saver.after_batch)
                except KeyboardInterrupt:
                    reading.interrupt()
                if turn == 0:
                    grouping = reading.grouping()
                    if grouping is not None and stop_if_grouped and not reading.interrupted:
                        reading.revert()
                        return grouping
                reading.end_pass()
                if grouping is not None:
                    reading.note_grouped()
                if self.held_out is not None and not reading.interrupted:
                    reading.validate(self.held_out)
                reading.call_back()
                if reading.interrupted:
                    break
                if self.saver is not None:
                    self.saver.note(grouping=None if grouping is None else str(grouping))
        if self.saver is not None and not reading.interrupted:
            self.saver.note(finished=True)
            self.saver.save(reading, reading.state())
            if self.saver.requests.received is not None:  # after the last batch
                self.saver.requests.pass_on()
        return grouping

    def _resume(self, reading: SharedReading, saved: Saved) -> Position | None:
        """Put the run where the checkpoint was written; return where to continue reading."""
        assert self.saver is not None
        self.saver.note(grouping=saved.about["grouping"])
        run = reading.runs[0]
        with saved.used():
            run.model.restore(saved.state)
            position = reading.resume(saved.about["reading"])
            if position is not None and not saved.about["finished"]:
                run.stream.batches(position)  # which checks it
            return position


def _listed(classes: ArrayLike | None) -> list[Any] | None:
    return None if classes is None else as_labels(classes).tolist()


def _shuffled_for(model: Model, stream: Stream, progress: bool) -> Stream:
    return shuffled(stream, parameters.random_generator(model.parameters["random_state"]), progress=progress)


def _remedy(is_new: bool, stream: Stream) -> str:
    if not stream.can_be_read_again:
        return "write them to a file, and train on that"
    if not is_new:
        return "start from the earlier model again, with shuffle=True"
    return "use shuffle=True"


def _find_classes(stream: Stream, progress: bool) -> Labels | None:
    """Read a stream for its labels alone: a learner must know up front how many classes there are.

    Fewer than two are none; the training will say what is wrong with that.
    """
    if not stream.can_be_read_again:
        raise DataError(
            f"{stream.name} can be read only once, so its classes can't be looked for first: "
            "name them with classes=['a', 'b', 'c']."
        )
    found: list[Labels] = []
    with progress_bar("looking for classes", stream, 1, progress) as bar:
        for batch in stream.batches():
            found = [np.unique(together([*found, batch.labels]))]
            bar.advance(batch.n_bytes, batch.n_rows, None)
    classes = together(found)
    return classes if len(classes) > 1 else None
