"""A warning about columns with numbers so large that other features hardly count in rows of unit length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch
from thresher.csr import scale_to_unit_length
from thresher.messages import warn
from thresher.model.names import Naming
from thresher.streams.stream import Stream

_FIRST_ROWS, _FIRST_VALUES = 1_000, 1 << 18
_FEWEST_ROWS = 100  # of a matrix: fewer show little
_LEFT = 0.01  # the share of a row's squared length that all other features have together


class ScaleCheck:
    """Checks the first rows that are learned, and warns if numeric columns outweigh the other features.

    Parameters
    ----------
    stream : Stream
        The training data.
    norm : str
        How the model scales rows, in the core's terms. Only rows of unit length need the check.
    """

    def __init__(self, stream: Stream, norm: str) -> None:
        self._stream = stream if norm == "l2" else None

    def check(self, batch: Batch) -> None:
        """Check a batch, if it is the first one with rows."""
        if self._stream is not None and batch.n_rows:
            stream, self._stream = self._stream, None
            who = None
            if stream.naming is not None:
                who = large_columns(batch, stream.naming)
            elif stream.feature_names is not None:
                who = _large_column(batch.indptr, batch.indices, batch.data, stream.feature_names)
            if who is not None:
                warn_of_scale(stream.name, who)


def check_matrix(X: Any, names: list[str] | None, norm: str) -> None:
    """Warn if a column of a matrix in CSR outweighs the others in the first rows, as `ScaleCheck` does."""
    if norm != "l2" or X.shape[0] < _FEWEST_ROWS:
        return
    who = _large_column(X.indptr, X.indices, X.data, names)
    if who is not None:
        warn_of_scale("X", who)


def _large_column(
    indptr: NDArray[Any], ids: NDArray[Any], values: NDArray[Any], names: Sequence[str] | None
) -> str | None:
    """Return which column has nearly all of the length of most rows, as the subject of a sentence, or None."""
    row_of, ids, shares, n_rows = _first_shares(indptr, ids, values)
    columns, places = np.unique(ids, return_inverse=True)
    if len(columns) < 2:
        return None
    largest = int(np.argmax(np.bincount(places, shares)))
    is_other = places != largest
    if not _are_small(np.bincount(row_of[is_other], shares[is_other], n_rows)):
        return None
    column = int(columns[largest])
    return f"column {column if names is None else repr(names[column])} has"


def _first_shares(
    indptr: NDArray[Any], ids: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.float64], int]:
    """Return the values of the first rows as shares of the squared length of these, their rows and ids."""
    n_rows = min(len(indptr) - 1, _FIRST_ROWS, max(1, int(np.searchsorted(indptr, indptr[0] + _FIRST_VALUES))))
    starts = indptr[: n_rows + 1].astype(np.int64)
    row_of = np.repeat(np.arange(n_rows), np.diff(starts))
    shares = scale_to_unit_length(values[starts[0] : starts[-1]], row_of, n_rows) ** 2
    return row_of, ids[starts[0] : starts[-1]], shares, n_rows


def _are_small(rest: NDArray[Any]) -> bool:
    """Return whether little is left in most rows, of those with other features."""
    n_with_others, n_small = np.count_nonzero(rest), np.count_nonzero((rest > 0) & (rest < _LEFT))
    return bool(2 * n_small > n_with_others)


def large_columns(batch: Batch, naming: Naming) -> str | None:
    """Return which columns have nearly all of the length of most rows, as the subject of a sentence, or None.

    Beside text and categories these are all numeric columns together, else the largest of them. Rows without other
    features do not count.
    """
    if not naming.numeric:
        return None
    row_of, ids, shares, n_rows = _first_shares(batch.indptr, batch.indices, batch.data)
    numeric_ids = naming.ids_of(list(naming.numeric))
    order = np.argsort(numeric_ids)
    places = order[np.minimum(np.searchsorted(numeric_ids, ids, sorter=order), len(order) - 1)]
    is_large = numeric_ids[places] == ids
    of_columns = np.bincount(places[is_large], shares[is_large], len(order))
    largest = int(np.argmax(of_columns))
    is_mixed = bool(naming.text or naming.categorical)
    if not is_mixed:
        is_large &= places == largest
    if not _are_small(np.bincount(row_of[~is_large], shares[~is_large], n_rows)):
        return None
    name = naming.numeric[largest]
    return f"the numeric columns, most of all {name!r}, have" if is_mixed and len(order) > 1 else f"column {name!r} has"


def warn_of_scale(stream: str, who: str) -> None:
    """Warn of columns that leave little of the others; `who` is what `large_columns` returned."""
    warn(
        f"{stream}: {who} more than 99% of the squared length of most rows, which are scaled to unit length, so that "
        "little is left of the other features: scale such numbers to about 1 first, or leave them out "
        "(docs/dense_tables.md).",
        UserWarning,
    )
