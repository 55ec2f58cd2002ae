"""Training of batch methods: all rows of a stream into memory, then one fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from thresher.evaluation.tally import accuracy
from thresher.model.labels import Labels, StreamClasses, UnknownLabelError, as_labels, distinct
from thresher.model.model import Model
from thresher.model.names import Naming
from thresher.streams import Batch, DataError, Stream
from thresher.streams.column_scale import ScaleCheck
from thresher.streams.matrix import Matrix, collect
from thresher.streams.reading import Reading
from thresher.training.history import History


@runtime_checkable
class LearnsAtOnce(Protocol):
    """An estimator of a batch method."""

    norm: str | None
    _written_keep: list[str] | None

    def _keep_as_written(self, names: list[str]) -> None: ...

    def _check_parameters(self) -> None: ...

    def _check_room(self, n_values: float, n_read: int, what: str) -> None: ...

    def _fit_stream(self, X: Any, y: Labels, id_base: int, names: list[str] | Naming | None) -> None: ...

    def _fitted_model(self) -> Model: ...


def fit_at_once(
    estimator: LearnsAtOnce,
    stream: Stream,
    held_out: Stream | None,
    *,
    classes: ArrayLike | None,
    multiclass: bool,
    progress: bool,
    callback: Callable[[History], None] | None,
) -> History:
    """Fit a batch method on a stream; on an error or Ctrl-C the estimator stays as it was."""
    started = time.perf_counter()
    rows, history = read_at_once(estimator, stream, classes=classes, multiclass=multiclass, progress=progress)
    before = dict(vars(estimator))
    try:
        fit_rows(estimator, stream, rows)
        history.seconds.append(time.perf_counter() - started)
        history.validation.append(None if held_out is None else accuracy(estimator._fitted_model(), held_out))
        if callback is not None:
            callback(history)
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    return history


def read_at_once(
    estimator: LearnsAtOnce, stream: Stream, *, classes: ArrayLike | None, multiclass: bool, progress: bool
) -> tuple[Matrix, History]:
    """Read all rows of a stream for a batch method, after a check that they will fit in memory."""
    estimator._check_parameters()
    stream.check_base()
    if stream.naming is not None and not stream.can_be_read_again:
        raise DataError(
            f"{stream.name} can be read only once, but {type(estimator).__name__} reads it again for the names of the "
            "selected features: write it to a file first."
        )
    known = None if classes is None else distinct("classes", as_labels(classes))
    reading, history = Reading(), History()
    batches = _bounded(estimator, stream, reading.watch(stream, "reading", stream.batches(), progress), history)
    if known is not None or not multiclass:
        batches = _of_classes(StreamClasses(known), batches)
    rows = collect(stream, batches)
    if len(rows.y) == 0:
        raise DataError(f"{stream.name}: there are no rows.")
    history.n_passes = 1
    history.rows.append(len(rows.y))
    history.n_skipped, history.skipped = reading.n_skipped, reading.skipped
    return rows, history


def fit_rows(estimator: LearnsAtOnce, stream: Stream, rows: Matrix) -> None:
    """Fit a batch method on rows of a stream."""
    try:
        estimator._fit_stream(rows.X, rows.y, rows.id_base, stream.feature_names or stream.naming)
    except ValueError as error:
        raise DataError(f"{stream.name}: {error}") from None
    if stream.naming is not None and stream.can_be_read_again:
        model = estimator._fitted_model()
        model.set_names(stream.names(model.members()[0]))


def _bounded(estimator: LearnsAtOnce, stream: Stream, batches: Iterator[Batch], history: History) -> Iterator[Batch]:
    """Let batches pass while all rows will fit in memory, by the share of the stream that has been read."""
    n_values, scale = 0, ScaleCheck(stream, estimator.norm or "none")
    for batch in batches:
        if batch.importances is not None:
            raise DataError(
                f"{batch.file}: the rows have weights, which {type(estimator).__name__} can't use: "
                "remove them, or use an online method."
            )
        scale.look(batch)
        history.n_bytes += batch.n_bytes
        n_values += len(batch.data)
        share = min(1.0, history.n_bytes / stream.n_bytes) if stream.n_bytes else 1.0
        expected = n_values / share if share > 0 else n_values
        estimator._check_room(expected, n_values, f"the part of {stream.name} that has been read")
        yield batch


def _of_classes(classes: StreamClasses, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Let batches pass while their labels are among the classes, or the first two that turn up."""
    for batch in batches:
        try:
            classes.encode(batch.labels)
        except UnknownLabelError as error:
            raise DataError(f"{batch.place(error.row)}: {error}") from None
        yield batch
