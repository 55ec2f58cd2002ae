"""A warning about columns with numbers so large that other features hardly count in rows of unit length."""

from __future__ import annotations

import numpy as np

from thresher.batch import Batch
from thresher.csr import scale_to_unit_length
from thresher.messages import warn
from thresher.model.names import Naming
from thresher.streams.stream import Stream

_FIRST_ROWS = 1_000
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
        self._name, self._naming = stream.name, stream.naming if norm == "l2" else None

    def check(self, batch: Batch) -> None:
        """Check a batch, if it is the first one with rows."""
        if self._naming is not None and batch.n_rows:
            who = large_columns(batch, self._naming)
            self._naming = None
            if who is not None:
                warn_of_scale(self._name, who)


def large_columns(batch: Batch, naming: Naming) -> str | None:
    """Return which columns have nearly all of the length of most rows, as the subject of a sentence, or None.

    Beside text and categories these are all numeric columns together, else the largest of them. Rows without other
    features do not count.
    """
    if not naming.numeric:
        return None
    n_rows = min(batch.n_rows, _FIRST_ROWS)
    starts = batch.indptr[: n_rows + 1].astype(np.int64)
    row_of = np.repeat(np.arange(n_rows), np.diff(starts))
    ids = batch.indices[starts[0] : starts[-1]]
    shares = scale_to_unit_length(batch.data[starts[0] : starts[-1]], row_of, n_rows) ** 2
    numeric_ids = naming.ids_of(list(naming.numeric))
    order = np.argsort(numeric_ids)
    places = order[np.minimum(np.searchsorted(numeric_ids, ids, sorter=order), len(order) - 1)]
    is_large = numeric_ids[places] == ids
    of_columns = np.bincount(places[is_large], shares[is_large], len(order))
    largest = int(np.argmax(of_columns))
    is_mixed = bool(naming.text or naming.categorical)
    if not is_mixed:
        is_large &= places == largest
    rest = np.bincount(row_of[~is_large], shares[~is_large], n_rows)
    n_with_others, n_small = np.count_nonzero(rest), np.count_nonzero((rest > 0) & (rest < _LEFT))
    if 2 * n_small <= n_with_others:
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
