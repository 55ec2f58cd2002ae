"""Training from a stream: passes, progress, validation, and what happened along the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from thresher import parameters
from thresher.labels import LabelRuns, Labels, StrangeLabelError, as_words, shown, together, warn
from thresher.model import Model
from thresher.progress import Bar, progress_bar
from thresher.streams import Batch, DataError, Stream, open_stream
from thresher.streams.shuffling import shuffled


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
        return _run(model, stream, passes, validate, shuffle, classes, multiclass, progress, callback)
    if not hasattr(model, "_lend_model"):
        raise TypeError(f"{type(model).__name__} can't learn from a stream: it needs all rows at once. Use its fit.")
    lent = model._lend_model()
    try:
        return _run(lent, stream, passes, validate, shuffle, classes, multiclass, progress, callback)
    finally:
        if lent.classes is not None:
            model._take_back(lent)


def accuracy(model: Model, stream: Stream, batches: Iterator[Batch] | None = None) -> float:
    """Return the share of rows whose label the model predicts; `batches` may be the stream's, watched on their way."""
    n_rows = n_right = 0
    for batch in batches_for(model, stream) if batches is None else batches:
        predicted, _ = model.predict_batch(batch)
        n_right += int(np.count_nonzero(_same(predicted, batch.labels)))
        n_rows += batch.n_rows
    if n_rows == 0:
        raise DataError(f"{stream.name}: there are no rows.")
    if n_right == 0:
        assert model.classes is not None
        known = ", ".join(shown(label) for label in model.classes[:5].tolist())
        warn(
            f"{stream.name}: not one row was right. The model's classes are {known}: are they those there?", UserWarning
        )
    return n_right / n_rows


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


def _same(predicted: Labels, labels: Labels) -> Any:
    if (predicted.dtype.kind == "U") == (labels.dtype.kind == "U"):
        return predicted == labels
    return as_words(predicted) == as_words(labels)


def _run(
    model: Model,
    data: Any,
    passes: int | None,
    validate: Any,
    shuffle: bool | None,
    classes: ArrayLike | None,
    multiclass: bool,
    progress: bool,
    callback: Callable[[History], None] | None,
) -> History:
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
    run = _Training(model, stream, callback)
    with progress_bar("training", stream, n_passes, progress) as bar:
        for _ in range(n_passes):
            model.begin_stream(classes)
            try:
                run.one_pass(bar)
            except KeyboardInterrupt:
                run.history.interrupted = True
            except BaseException:
                model.abandon_stream()
                raise
            try:
                model.end_stream(stream.id_base)
            except ValueError as error:
                model.abandon_stream()
                if run.history.interrupted:  # before there was anything to keep
                    raise KeyboardInterrupt from None
                raise DataError(f"{stream.name}: {error}") from None
            run.note()
            if held_out is not None and not run.history.interrupted:
                run.history.validation[-1] = accuracy(model, held_out)
            run.tell()
            if run.history.interrupted:
                break
    if stream.feature_names is not None and not run.goes_on:
        model.feature_names = stream.feature_names
    run.runs.warn_if_sorted(stream.name)
    return run.history


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

    def one_pass(self, bar: Bar) -> None:
        for batch in batches_for(self.model, self.stream):
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
            rows, mistakes, _ = self._so_far()
            bar.advance(batch.n_bytes, batch.n_rows, mistakes / max(1, rows))
            if rows >= self.next_note:
                self.next_note = rows + rows // 4
                self.note()
                self.tell()

    def note(self) -> None:
        rows, mistakes, loss = self._so_far()
        history = self.history
        history.rows.append(rows)
        history.seconds.append(time.perf_counter() - self.started)
        history.error.append(mistakes / max(1, rows))
        history.loss.append(loss / max(1, rows))
        history.validation.append(None)

    def tell(self) -> None:
        if self.callback is not None:
            self.callback(self.history)

    def _so_far(self) -> tuple[int, int, float]:
        now = self.model.counters
        return (
            now["n_samples"] - self.before["n_samples"],
            max(0, now["n_mistakes"] - self.before["n_mistakes"]),
            now["loss"] - self.before["loss"],
        )
