"""Reads a whole stream into one matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch, DataError
from thresher.messages import parameter
from thresher.model.labels import Labels, concatenate_labels
from thresher.streams.stream import Stream


class Matrix(NamedTuple):
    """All rows of a stream: canonical CSR, labels, weights if any row has one, and the id of the first column."""

    X: Any
    y: Labels
    weights: NDArray[np.float64] | None
    id_base: int

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some of the rows."""
        X = self.X[rows]
        X.has_canonical_format = True
        return Matrix(X, self.y[rows], None if self.weights is None else self.weights[rows], self.id_base)


def _without_names(batch: Batch) -> Batch:
    batch.names = None
    return batch


def collect(stream: Stream, batches: Iterator[Batch] | None = None) -> Matrix:
    """Read all rows of a stream; `batches` are its batches, if the caller iterates them itself.

    This needs at most twice the memory of the matrix: each batch is deleted as soon as it is copied.
    """
    import scipy.sparse as sp

    stream.check_base()
    parts = [_without_names(batch) for batch in (stream.batches() if batches is None else batches)]
    zero = next((part.file for part in parts if part.zero_seen), None)
    if zero is not None and stream.id_base == 1:
        raise DataError(f"{zero}: id 0 occurs, but {parameter('zero_based', False)} says that ids count from 1.")
    id_base = stream.id_base if stream.id_base is not None else 1 if zero is None else 0
    width = max((part.largest_id + 1 - id_base for part in parts), default=0)
    width = max(width, 0) if stream.n_features is None else stream.n_features
    n_rows, n_values = sum(part.n_rows for part in parts), sum(len(part.data) for part in parts)
    labels = concatenate_labels([part.labels for part in parts])
    weights = None
    if any(part.row_weights is not None for part in parts):
        each = (np.ones(part.n_rows) if part.row_weights is None else part.row_weights for part in parts)
        weights = np.concatenate(list(each))
    kind = np.dtype(np.int32 if max(width, n_values) < 2**31 else np.int64)
    starts = np.zeros(n_rows + 1, kind)
    ids, values = np.empty(n_values, kind), np.empty(n_values, np.float32)
    row = at = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        end = at + len(part.data)
        starts[row + 1 : row + 1 + part.n_rows] = part.indptr[1:]
        starts[row + 1 : row + 1 + part.n_rows] += kind.type(at)
        np.subtract(part.indices, id_base, out=ids[at:end], casting="same_kind")
        values[at:end] = part.data
        row, at = row + part.n_rows, end
    X = sp.csr_matrix((values, ids, starts), shape=(n_rows, width))
    X.has_canonical_format = True
    return Matrix(X, labels, weights, id_base)
