"""Streams from Python objects: any iterable of (X, y) or (X, y, weights)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch, DataError
from thresher.csr import check_rows
from thresher.model.class_weights import check_row_weights
from thresher.model.labels import as_labels, distinct_labels
from thresher.streams.numbered_rows import NumberedRows, blocks_with_rows, identity_of, number_rows
from thresher.streams.pipeline import ReadBlock
from thresher.streams.stream import Stream

# A large matrix is cut into batches of this many rows, so that there is a position after each.
_BATCH_ROWS = 4_096


def stream_of(items: Iterable[Any], labelled: bool, id_base: int | None) -> Stream:
    """Return an iterable of (X, y) or (X, y, weights) as a stream.

    A list or tuple can be read again and has positions and shards. Any other iterable is read from the start each time
    it is iterated; an iterator can be read only once.
    """
    base = 0 if id_base is None else id_base
    if isinstance(items, list | tuple):
        rows = ListRows(items, labelled)
        return Stream(rows.name, rows, id_base=base, n_features=_width(items, base))
    once = iter(items) is items
    name = "the iterator of batches" if once else "the iterable of batches"

    def batches() -> Iterator[Batch]:
        return number_rows(
            name, (to_batch(item, number, labelled) for number, item in enumerate(items)), skip_bad=False
        )

    return Stream(name, batches, id_base=base, only_once=name if once else None)


class ListRows(NumberedRows):
    """The rows of a list of batches."""

    def __init__(self, items: list[Any] | tuple[Any, ...], labelled: bool) -> None:
        self._sizes = []
        for number, item in enumerate(items):
            with _name_batch_in_errors(number):
                self._sizes.append(_matrix_of(item, labelled).shape[0])
        super().__init__("the list of batches", 0, sum(self._sizes), identity_of(self._sizes))
        self._items = items
        self._labelled = labelled

    def _reads(self, first: int, end: int) -> Iterator[ReadBlock]:
        for number, low, high in blocks_with_rows(self._sizes, first, end):
            batch = to_batch(self._items[number], number, self._labelled)
            for begin in range(low, high, _BATCH_ROWS):
                yield partial(batch.part, begin, min(begin + _BATCH_ROWS, high))


@contextmanager
def _name_batch_in_errors(number: int) -> Iterator[None]:
    """Add the number of the batch to errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise DataError(f"batch {number} of the iterable: {error}") from None


def to_batch(item: Any, number: int, labelled: bool) -> Batch:
    """Return (X, y) or (X, y, weights) as a batch; without labels, X alone is enough."""
    import scipy.sparse as sp

    with _name_batch_in_errors(number):
        matrix = _matrix_of(item, labelled)
        X, _ = check_rows(sp.csr_matrix(matrix if sp.issparse(matrix) else np.asarray(matrix)), "l2", 0)
        n_rows, ids = X.shape[0], X.indices
        parts = item if isinstance(item, tuple | list) else (item,)
        labels = np.full(n_rows, np.nan) if len(parts) == 1 else _labels(parts[1], n_rows)
        given = parts[2] if len(parts) == 3 else None
        weights = None if given is None else check_row_weights("weights", given, n_rows)
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(X.data, dtype=np.float32)
        if not np.isfinite(values).all():
            raise ValueError("a value is too large for a float32. Scale the data.")
    return Batch(
        X.indptr.astype(ids.dtype, copy=False), ids, values, labels, X.shape[1] - 1,
        zero_seen=bool((ids == 0).any()), row_weights=weights, n_lines=n_rows,
    )  # fmt: skip


def _matrix_of(item: Any, labelled: bool) -> Any:
    """Return X of (X, y) or (X, y, weights), or of X alone where there are no labels."""
    parts = item if isinstance(item, tuple | list) else (item,)
    if not 1 <= len(parts) <= 3 or (len(parts) == 1 and labelled):
        raise ValueError(f"it must be (X, y) or (X, y, weights). Got {_describe(item)} instead.")
    if not _is_matrix(parts[0]):
        raise ValueError(f"X must have two dimensions. Got {_describe(parts[0])} instead.")
    return parts[0]


def _width(items: list[Any] | tuple[Any, ...], id_base: int) -> int | None:
    parts = [item[0] if isinstance(item, tuple | list) and item else item for item in items]
    return max((max(int(X.shape[1]) - id_base, 0) for X in parts if _is_matrix(X)), default=None)


def _is_matrix(X: Any) -> bool:
    return len(getattr(X, "shape", ())) == 2


def _labels(y: Any, n_rows: int) -> NDArray[Any]:
    labels = as_labels(y)
    if labels.dtype.kind == "O":
        labels = as_labels(labels.tolist())
    if labels.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows, but y has shape {labels.shape}.")
    if labels.dtype.kind not in "biufU":
        raise ValueError(f"y has type {labels.dtype}; labels must be numbers or text.")
    distinct_labels("y", labels)
    return labels


def _describe(item: Any) -> str:
    shape = getattr(item, "shape", None)
    size = f"length {len(item)}" if isinstance(item, tuple | list) else None if shape is None else f"shape {shape}"
    return f"a {type(item).__name__}" + (f" of {size}" if size else "")
