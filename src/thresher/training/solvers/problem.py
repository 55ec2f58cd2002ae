"""The `Problem` that a solver of a batch method takes, and the `Solution` that it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from thresher.csr import check_rows

Columns = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Rows scaled as they should be, of float64, with no zeros stored and only the columns that occur."""

    X: Any
    columns: Columns  # of the user's matrix, ascending
    codes: NDArray[np.int32]
    n_classes: int
    budget: int
    keep: NDArray[np.intp]  # places in `columns` of those that are selected in any case

    def empty_solution(self) -> Solution:
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        return Solution(self.columns[:0], np.zeros((n_outputs, 0)), np.zeros(n_outputs))


@dataclass(frozen=True)
class Solution:
    """The selected columns and a linear classifier on them."""

    columns: Columns  # best first
    weights: Floats  # (1 or n_classes, n_columns)
    intercept: Floats  # (1 or n_classes,)
    extras: Mapping[str, Any] = field(default_factory=dict)  # what else was found, as the C of L1SVM


class Solver(Protocol):
    """The module of a method's solver."""

    BYTES_PER_VALUE: int  # what it takes at its peak for each nonzero of X

    def solve(self, problem: Problem, parameters: Mapping[str, Any]) -> Solution:
        """Select columns of the problem, and learn weights for them, by the method's parameters."""


def signs(problem: Problem) -> Floats:
    """Return y as ±1, a column for two classes; with more, a column for each class against the rest."""
    of_class = np.arange(problem.n_classes) if problem.n_classes > 2 else np.array([1])
    return np.where(problem.codes[:, np.newaxis] == of_class, 1.0, -1.0)


def by_size(columns: Columns, weights: Floats, intercept: Floats) -> Solution:
    """Return a solution ordered by the size of the weights, without the columns whose weights are zero."""
    size = np.sqrt(np.square(weights).sum(axis=0))
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    return Solution(columns[order], np.ascontiguousarray(weights[:, order]), intercept)


def add_kept_columns(found: Solution, keep: Columns) -> Solution:
    """Return a solution in which all columns to keep are; those that it lacks come last, with weights of zero."""
    lacking = np.setdiff1d(keep, found.columns)
    weights = np.hstack([found.weights, np.zeros((len(found.weights), len(lacking)))])
    return replace(found, columns=np.concatenate([found.columns, lacking]), weights=weights)


def problem_of(
    rows: Any, norm: str | None, codes: NDArray[np.int32], n_classes: int, budget: int, keep: Columns
) -> Problem:
    """Return the problem of some rows: `codes` stand for their labels, `keep` are columns to select in any case."""
    rows = check_rows(rows, norm or "none", 0)[0]
    values = rows.data.astype(np.float64)
    if norm is not None:
        lengths = _lengths(sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape))
        values /= np.repeat(lengths, np.diff(rows.indptr))
    ids, starts = rows.indices, rows.indptr.astype(np.int64)
    stored = values != 0
    if not stored.all():
        starts = np.concatenate([[0], np.cumsum(stored)])[starts]
        values, ids = values[stored], ids[stored]
    columns, ids = _occurring_columns(ids, rows.shape[1])
    X = sp.csr_matrix((values, ids, starts), shape=(rows.shape[0], len(columns)))
    occurring = np.isin(keep, columns)
    n_absent = int(np.count_nonzero(~occurring))  # a kept column takes a place of the budget even if it is all zero
    budget = min(budget, len(columns) + n_absent) - n_absent
    return Problem(X, columns, codes, n_classes, budget, np.searchsorted(columns, keep[occurring]))


def _occurring_columns(ids: NDArray[Any], n_columns: int) -> tuple[Columns, NDArray[np.int32]]:
    """Return the columns that occur, and each id's place among them; without an array as long as X is wide."""
    if n_columns > 4 * len(ids) + 1_000:
        columns, places = np.unique(ids, return_inverse=True)
        return columns.astype(np.int64), places.astype(np.int32)
    occurs = np.zeros(n_columns, dtype=bool)
    occurs[ids] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs, dtype=np.int32) - 1)[ids].astype(np.int32, copy=False)


def _lengths(rows: Any) -> Floats:
    """Return the length of each row, 1 for an empty one."""
    lengths: Floats = row_norms(rows)
    lengths[lengths == 0] = 1.0
    return lengths
