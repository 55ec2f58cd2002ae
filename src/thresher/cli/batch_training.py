"""`thresher train` with a batch method: all rows into memory, then `fit`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher import methods
from thresher.batch.base import BatchSelector
from thresher.batch.memory import demand
from thresher.labels import ClassesOfAStream, Labels, StrangeLabelError, distinct, encode, together
from thresher.model import Model
from thresher.streams import Batch, DataError, Stream
from thresher.training import History

# What a value takes while rows are put together: an id and a value as they were read, and once more in the matrix.
_BYTES_PER_VALUE = 24


def fit(
    method: str, given: dict[str, Any], stream: Stream, batches: Iterator[Batch], classes: list[Any] | None, many: bool
) -> tuple[Model, History]:
    """Fit on a stream's batches; two classes are expected, or those given, or many."""
    estimator: Any = methods.find(method).load_estimator()(**given)
    started = time.perf_counter()
    history = History()
    known = None if classes is None else distinct("classes", np.array(classes))
    checked = batches if many else _of_classes(ClassesOfAStream(known), batches)
    X, labels, id_base = _all_rows(estimator, stream, checked, history)
    try:
        # Codes in place of labels: scikit-learn takes 0.5 and 1.5 for measurements, not for classes.
        codes, found = encode(labels, None)
        estimator.fit(X, codes)
        estimator.classes_ = found
        model = estimator._fitted_model(id_base)
    except ValueError as error:
        raise DataError(f"{stream.name}: {error}") from None
    model.feature_names = stream.feature_names
    history.rows.append(len(labels))
    history.seconds.append(time.perf_counter() - started)
    return model, history


def _of_classes(classes: ClassesOfAStream, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Let batches pass while their labels are among the classes, or the first two that turn up."""
    for batch in batches:
        try:
            classes.encode(batch.labels)
        except StrangeLabelError as error:
            raise DataError(f"{batch.place(error.row)}: {error}") from None
        yield batch


def _all_rows(
    estimator: BatchSelector, stream: Stream, batches: Iterator[Batch], history: History
) -> tuple[Any, Labels, int]:
    """Return all rows, their labels, and the id of the first column."""
    parts: list[Batch] = []
    n_values, zero_seen = 0, False
    for batch in batches:
        if batch.importances is not None:
            raise DataError(
                f"{batch.file}: the rows have importances, which {type(estimator).__name__} can't use: "
                "leave them out, or take an online method."
            )
        parts.append(batch)
        n_values, zero_seen = n_values + len(batch.data), zero_seen or batch.zero_seen
        history.n_bytes += batch.n_bytes
        history.n_skipped += len(batch.skipped)
        _check_memory(estimator, stream, n_values, history.n_bytes)
    if not parts or not any(part.n_rows for part in parts):
        raise DataError(f"{stream.name}: there are no rows.")
    if stream.id_base == 1 and zero_seen:
        raise DataError(f"{stream.name}: id 0 occurs, but zero_based=False says that ids count from 1.")
    id_base = (0 if zero_seen else 1) if stream.id_base is None else stream.id_base
    largest = max(part.largest_id for part in parts)
    kind: Any = np.int32 if max(largest, n_values) < 2**31 else np.int64
    labels = together([part.labels for part in parts])
    ids = np.concatenate([part.indices.astype(kind, copy=False) for part in parts]) - kind(id_base)
    values = np.concatenate([part.data for part in parts])
    lengths: NDArray[Any] = np.concatenate([np.diff(part.indptr) for part in parts])
    parts.clear()
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
    return sp.csr_matrix((values, ids, starts), shape=(len(labels), max(1, largest + 1 - id_base))), labels, id_base


def _check_memory(estimator: BatchSelector, stream: Stream, n_values: int, n_bytes: int) -> None:
    """See whether all rows will find room, by those read so far; better now than in the middle of the work."""
    share = min(1.0, n_bytes / stream.n_bytes) if stream.n_bytes else 1.0
    expected = n_values / share if share > 0 else n_values
    left = (_BYTES_PER_VALUE + estimator._bytes_per_value) * expected - _BYTES_PER_VALUE // 2 * n_values
    demand(type(estimator).__name__, left, f"what it has read of {stream.name}")
