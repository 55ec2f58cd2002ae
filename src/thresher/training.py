"""Training from a stream: passes, progress, validation, and what happened along the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from thresher import parameters
from thresher.labels import LabelRuns, Labels, StrangeLabelError, as_words, shown, together, warn
from thresher.model import Model
from thresher.progress import Bar, progress_bar
from thresher.streams import Batch, DataError, Stream, open_stream
from thresher.streams.pipeline import default_threads
from thresher.streams.shuffling import shuffled

_Answer = TypeVar("_Answer")


@dataclass
class History:
    """What happened in training; a list has one entry for each point in time.

    Attributes
    ----------
    rows, seconds : list
        Rows learned so far, all passes together, and the time since training began.
    error, loss : list of float
        Share of rows misjudged just before they were learned, and their mean loss so far: the squared hinge of
        second-order methods, the hinge or perceptron loss of the others.
    validation : list of float or None
        Accuracy on the validation data; only at the end of a pass, and only where such data were given.
    skipped : list of str
        Lines that were passed over, and why; the first hundred.
    n_skipped, n_bytes : int
        How many lines were passed over, and how many bytes were read.
    interrupted : bool
        Whether Ctrl-C ended it early.
    """

    rows: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    validation: list[float | None] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    n_skipped: int = 0
    n_bytes: int = 0
    interrupted: bool = False


class Streamable(Protocol):
    """An estimator that lends its model to a training run."""

    def _lend_model(self) -> Model: ...

    def _take_back(self, model: Model) -> None: ...


def train(
    model: Model | Streamable,
    stream: Stream | str | os.PathLike[str],
    passes: int | None = None,
    validate: Stream | str | os.PathLike[str] | None = None,
    *,
    shuffle: bool | None = None,
    classes: ArrayLike | None = None,
    multiclass: bool = False,
    progress: bool = False,
    callback: Callable[[History], None] | None = None,
) -> History:
    """Train a model on a stream; reading, parsing and learning overlap.

    Parameters
    ----------
    model : estimator or Model
        One that was trained before goes on learning.
    stream : Stream or path
        What to learn from. A path is opened with `open_stream`.
    passes : int, optional
        How often to read it; by default the model's `n_passes`.
    validate : Stream or path, optional
        Data to measure accuracy on at the end of each pass.
    shuffle : bool, optional
        Take the rows in random order, seeded by the model's `random_state`; by default the model's `shuffle`.
    classes : array, optional
        The classes, where they are to be fixed up front. Without them two are expected, whichever turn up.
    multiclass : bool, default=False
        Look for the classes first, however many there are. That reads the stream once more; to name them with
        `classes` is faster.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.
    callback : callable, optional
        Called with the history at each point.

    Returns
    -------
    History

    Examples
    --------
    >>> from thresher import SOFS, datasets, train
    >>> model = SOFS(n_features_to_select=200)
    >>> history = train(model, datasets.make_x2(2_000, n_features=20_000, n_informative=200))
    >>> history.rows[-1], len(model.selected_)
    (2000, 200)
    """
    if isinstance(model, Model):
        return _run([model], stream, passes, validate, shuffle, classes, multiclass, progress, callback)[0]
    lent = _lent(model)
    try:
        return _run([lent], stream, passes, validate, shuffle, classes, multiclass, progress, callback)[0]
    finally:
        if lent.classes is not None:
            model._take_back(lent)


def train_many(
    models: Sequence[Model | Streamable],
    stream: Stream | str | os.PathLike[str],
    passes: int | None = None,
    validate: Stream | str | os.PathLike[str] | None = None,
    *,
    classes: ArrayLike | None = None,
    multiclass: bool = False,
    n_threads: int | None = None,
) -> list[History]:
    """Train several models on one read of a stream; each becomes what `train` alone would have made of it, to the bit.

    The models are spread over the cores: a batch is learned by all of them before the next one is taken, so it is read
    and parsed once and stays in the cache.

    Parameters
    ----------
    models : sequence of estimators or Models
        All new, or all trained before on data that count their ids alike. None may ask for a shuffle of its own.
    stream : Stream or path
        What to learn from, in its order.
    passes : int, optional
        How often to read it; by default the models' `n_passes`, which must then be the same.
    validate : Stream or path, optional
        Data to measure each model's accuracy on at the end of each pass.
    classes, multiclass
        As in `train`.
    n_threads : int, optional
        How many models learn at the same time; by default one a core.

    Returns
    -------
    list of History
        One a model, in their order. Their `seconds` are those of the whole run.

    Examples
    --------
    >>> from thresher import SOFS, datasets
    >>> from thresher.training import train_many
    >>> models = [SOFS(200, gamma=gamma) for gamma in (0.1, 1.0, 10.0)]
    >>> histories = train_many(models, datasets.make_x2(2_000, n_features=20_000, n_informative=200))
    >>> best = min(models, key=lambda model: model.n_mistakes_)
    """
    lent = [model if isinstance(model, Model) else _lent(model) for model in models]
    if len({id(model) for model in lent}) < len(lent):
        raise ValueError("a model can be trained only once at a time, but it is named twice.")
    for place, model in enumerate(lent):
        if model.parameters["shuffle"]:
            raise ValueError(f"models[{place}] has shuffle=True, but all models share one read: shuffle the stream.")
        if passes is None and model.parameters["n_passes"] != lent[0].parameters["n_passes"]:
            raise ValueError(
                f"models[{place}] has n_passes={model.parameters['n_passes']} and models[0] has "
                f"{lent[0].parameters['n_passes']}, but all models share one read: give passes=."
            )
        if (model.classes is None, model.id_base) != (lent[0].classes is None, lent[0].id_base):
            raise ValueError(f"models[{place}] and models[0] don't count ids alike: train them apart.")
    try:
        return _run(lent, stream, passes, validate, False, classes, multiclass, False, None, n_threads)
    finally:
        for lender, worked in zip(models, lent, strict=True):
            if not isinstance(lender, Model) and worked.classes is not None:
                lender._take_back(worked)


def accuracy(model: Model, stream: Stream, batches: Iterator[Batch] | None = None) -> float:
    """Return the share of rows whose label the model predicts; `batches` may be the stream's, watched on their way."""
    n_rows = n_right = 0
    for batch in batches_for(model, stream) if batches is None else batches:
        n_right += _n_right(model, batch)
        n_rows += batch.n_rows
    return _share(model, n_right, n_rows, stream)


def batches_for(model: Model, stream: Stream) -> Iterator[Batch]:
    """Yield a stream's batches with ids as a trained model counts them; columns with names must be the model's."""
    _check_names(model, stream)
    shift = 0 if stream.id_base is None or model.classes is None else model.id_base - stream.id_base
    n_rows, zero_seen = 0, False
    for batch in stream.batches():
        if shift < 0 and batch.zero_seen:
            raise DataError(f"{batch.file}: id 0 occurs, but zero_based=False says that ids count from 1.")
        if shift:
            batch.indices = batch.indices.astype(np.int64) + shift
            batch.indptr = batch.indptr.astype(np.int64)
            batch.largest_id += shift
        n_rows, zero_seen = n_rows + batch.n_rows, zero_seen or batch.zero_seen
        yield batch
    if model.classes is not None and model.id_base == 0 and stream.id_base is None and not zero_seen and n_rows >= 100:
        warn(
            f"{stream.name}: the model counts ids from 0, but id 0 does not occur in these {n_rows:,} rows. "
            "If they count from 1, say so with zero_based=False (--one-based).",
            UserWarning,
        )


def _check_names(model: Model, stream: Stream) -> None:
    names, known = stream.feature_names, model.feature_names
    if names is None or known is None:
        return
    expected = known if isinstance(known, dict) else dict(enumerate(known))
    for column, name in expected.items():
        found = names[column] if column < len(names) else None
        if found != name:
            place = "there is no such column" if found is None else f"it is {found!r} there"
            raise DataError(f"{stream.name}: column {column + 1} must be {name!r}, as the model learned it; {place}.")


def _lent(model: Streamable) -> Model:
    if not hasattr(model, "_lend_model"):
        raise TypeError(f"{type(model).__name__} can't learn from a stream: it needs all rows at once. Use its fit.")
    return model._lend_model()


def _n_right(model: Model, batch: Batch) -> int:
    predicted, _ = model.predict_batch(batch)
    return int(np.count_nonzero(_same(predicted, batch.labels)))


def _share(model: Model, n_right: int, n_rows: int, stream: Stream) -> float:
    if n_rows == 0:
        raise DataError(f"{stream.name}: there are no rows.")
    if n_right == 0 and model.classes is not None:
        known = ", ".join(shown(label) for label in model.classes[:5].tolist())
        warn(f"{stream.name}: not one row was right. Are the model's classes, {known}, those there?", UserWarning)
    return n_right / n_rows


def _same(predicted: Labels, labels: Labels) -> Any:
    if (predicted.dtype.kind == "U") == (labels.dtype.kind == "U"):
        return predicted == labels
    return as_words(predicted) == as_words(labels)


def _run(
    models: Sequence[Model],
    data: Any,
    passes: int | None,
    validate: Any,
    shuffle: bool | None,
    classes: ArrayLike | None,
    multiclass: bool,
    progress: bool,
    callback: Callable[[History], None] | None,
    n_threads: int | None = None,
) -> list[History]:
    """Train models on one read; what is asked of the first stands for all, since they agree on it."""
    if not models:
        return []
    model = models[0]
    stream = data if isinstance(data, Stream) else open_stream(data)
    held_out = validate if validate is None or isinstance(validate, Stream) else open_stream(validate)
    n_passes = model.parameters["n_passes"] if passes is None else passes
    parameters.check("passes", n_passes, parameters.Whole(1))
    if n_passes > 1 and not stream.can_be_read_again:
        raise DataError(f"{stream.name} can be read only once, but passes={n_passes}: write it to a file first.")
    if multiclass and classes is None and model.classes is None:
        classes = _find_classes(stream, progress)
    if model.parameters["shuffle"] if shuffle is None else shuffle:
        stream = shuffled(stream, parameters.random_generator(model.parameters["random_state"]))
    team = _Team([_Training(each, stream, callback) for each in models], n_threads)
    with progress_bar("training", stream, n_passes, progress) as bar, team:
        for _ in range(n_passes):
            for each in models:
                each.begin_stream(classes)
            try:
                team.one_pass(bar)
            except KeyboardInterrupt:
                team.interrupt()
            except BaseException:
                team.abandon()
                raise
            team.end_pass()
            if held_out is not None and not team.interrupted:
                team.validate(held_out)
            team.tell()
            if team.interrupted:
                break
    for run in team.runs:
        if stream.feature_names is not None and not run.goes_on:
            run.model.feature_names = stream.feature_names
    team.runs[0].runs.warn_if_sorted(stream.name)
    return [run.history for run in team.runs]


def _find_classes(stream: Stream, progress: bool) -> Labels | None:
    """Read a stream for its labels alone: a learner must know up front how many classes there are.

    Fewer than two are none; the training will say what is wrong with that.
    """
    if not stream.can_be_read_again:
        raise DataError(
            f"{stream.name} can be read only once, so its classes can't be looked for first: "
            "name them with classes= (--classes a,b,c)."
        )
    found: list[Labels] = []
    with progress_bar("looking for classes", stream, 1, progress) as bar:
        for batch in stream.batches():
            found = [np.unique(together([*found, batch.labels]))]
            bar.advance(batch.n_bytes, batch.n_rows, None)
    classes = together(found)
    return classes if len(classes) > 1 else None


class _Team:
    """Training runs that share one read: each batch goes to all of them, spread over threads."""

    def __init__(self, runs: list[_Training], n_threads: int | None) -> None:
        self.runs = runs
        self._n_threads = min(len(runs), default_threads() if n_threads is None else n_threads)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> None:
        # One run stays on the caller's thread, where Ctrl-C is heard between two blocks of a batch.
        if self._n_threads > 1:
            self._pool = ThreadPoolExecutor(self._n_threads, thread_name_prefix="thresher-learn")

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def one_pass(self, bar: Bar) -> None:
        first = self.runs[0]
        for batch in batches_for(first.model, first.stream):
            self._each(lambda run, batch=batch: run.learn(batch))  # type: ignore[misc]
            rows, mistakes, _ = first.so_far()
            bar.advance(batch.n_bytes, batch.n_rows, mistakes / max(1, rows))
            for run in self.runs:
                run.note_now_and_then()

    def end_pass(self) -> None:
        stream = self.runs[0].stream
        try:
            for run in self.runs:
                run.model.end_stream(stream.id_base)
        except ValueError as error:
            self.abandon()
            if self.interrupted:  # before there was anything to keep
                raise KeyboardInterrupt from None
            raise DataError(f"{stream.name}: {error}") from None
        for run in self.runs:
            run.note()

    def validate(self, held_out: Stream) -> None:
        """Measure the accuracy of all models on one read."""
        n_rows, n_right = 0, [0] * len(self.runs)
        for batch in batches_for(self.runs[0].model, held_out):
            found = self._each(lambda run, batch=batch: _n_right(run.model, batch))  # type: ignore[misc]
            n_right = [before + more for before, more in zip(n_right, found, strict=True)]
            n_rows += batch.n_rows
        for run, right in zip(self.runs, n_right, strict=True):
            run.history.validation[-1] = _share(run.model, right, n_rows, held_out)

    def interrupt(self) -> None:
        for run in self.runs:
            run.history.interrupted = True

    @property
    def interrupted(self) -> bool:
        return self.runs[0].history.interrupted

    def abandon(self) -> None:
        for run in self.runs:
            run.model.abandon_stream()

    def tell(self) -> None:
        for run in self.runs:
            run.tell()

    def _each(self, work: Callable[[_Training], _Answer]) -> list[_Answer]:
        if self._pool is None:
            return [work(run) for run in self.runs]
        jobs = [self._pool.submit(work, run) for run in self.runs]
        try:
            return [job.result() for job in jobs]
        finally:
            # On an error or Ctrl-C too no batch is left half learned by some.
            wait(jobs)


class _Training:
    """A training run: hands batches to the model and keeps the history."""

    def __init__(self, model: Model, stream: Stream, callback: Callable[[History], None] | None) -> None:
        self.model = model
        self.stream = stream
        self.callback = callback
        self.history = History()
        self.started = time.perf_counter()
        self.before = dict(model.counters) if model.is_trained else {"n_samples": 0, "n_mistakes": 0, "loss": 0.0}
        self.next_note = 1_000
        self.goes_on = model.classes is not None
        self.runs = LabelRuns()

    def learn(self, batch: Batch) -> None:
        self.history.n_skipped += len(batch.skipped)
        self.history.skipped += batch.skipped[: 100 - len(self.history.skipped)]
        if batch.zero_seen and (self.stream.id_base == 1 or (self.goes_on and self.model.id_base == 1)):
            says = "zero_based=False says" if self.stream.id_base == 1 else "the model has learned"
            raise DataError(f"{batch.file}: id 0 occurs, but {says} that ids count from 1.")
        try:
            codes = self.model.learn_batch(batch)
        except StrangeLabelError as error:
            raise DataError(f"{batch.place(error.row)}: {error}") from None
        self.runs.add(codes)
        self.history.n_bytes += batch.n_bytes

    def note_now_and_then(self) -> None:
        rows, _, _ = self.so_far()
        if rows >= self.next_note:
            self.next_note = rows + rows // 4
            self.note()
            self.tell()

    def note(self) -> None:
        rows, mistakes, loss = self.so_far()
        history = self.history
        history.rows.append(rows)
        history.seconds.append(time.perf_counter() - self.started)
        history.error.append(mistakes / max(1, rows))
        history.loss.append(loss / max(1, rows))
        history.validation.append(None)

    def tell(self) -> None:
        if self.callback is not None:
            self.callback(self.history)

    def so_far(self) -> tuple[int, int, float]:
        now = self.model.counters
        return (
            now["n_samples"] - self.before["n_samples"],
            max(0, now["n_mistakes"] - self.before["n_mistakes"]),
            now["loss"] - self.before["loss"],
        )
