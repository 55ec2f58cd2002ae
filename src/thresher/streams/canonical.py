"""Rows in canonical form: ids in ascending order, each at most once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def in_ascending_order(
    starts: NDArray[np.int64], ids: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Sort the ids of each row and sum repeated ones; the given arrays can be modified.

    Only the rows that need it are sorted.
    """
    rising = np.ones(len(ids), bool)
    np.greater(ids[1:], ids[:-1], out=rising[1:])
    rising[starts[:-1][starts[:-1] < len(ids)]] = True  # the first id of a row has none before it
    falls = np.flatnonzero(~rising)
    if len(falls) == 0:
        return starts, ids, values
    rows = np.unique(np.searchsorted(starts, falls, side="right") - 1)
    lengths = np.diff(starts)
    at, row = _places(starts[rows], lengths[rows])
    order = _order(row, ids[at])
    some_ids, some_values = ids[at][order], values[at][order].astype(np.float64)
    first = np.concatenate([[True], (np.diff(some_ids) != 0) | (np.diff(row) != 0)])
    n_left = np.bincount(row[first], minlength=len(rows))
    into, _ = _places(starts[rows], n_left)
    ids[into] = some_ids[first]
    with np.errstate(over="ignore"):  # the caller checks for infinite values
        values[into] = np.add.reduceat(some_values, np.flatnonzero(first))
    if len(into) == len(at):
        return starts, ids, values
    stays = np.ones(len(ids), bool)
    stays[at], stays[into] = False, True
    lengths[rows] = n_left
    return np.concatenate([[0], np.cumsum(lengths)]), ids[stays], values[stays]


def _places(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of all values in runs that start at `starts`, and for each value the number of its run."""
    run = np.repeat(np.arange(len(starts)), lengths)
    return (starts - (np.cumsum(lengths) - lengths))[run] + np.arange(len(run)), run


def _order(row: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a stable order by row, then id; rows are in order already."""
    n_bits = int(ids.max()).bit_length()
    if n_bits + len(row).bit_length() < 63:
        return np.argsort(row << n_bits | ids, kind="stable")
    return np.lexsort((ids, row))
