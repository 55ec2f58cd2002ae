"""What the batch estimators share: all rows at once in, selected columns and a linear classifier on them out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.extmath import row_norms

from thresher import _core, methods, parameters
from thresher.batch import as_batch, checked
from thresher.estimators.base import FeatureSelector
from thresher.estimators.memory import check_memory
from thresher.model.kept_features import ids_as_written, ids_of_columns
from thresher.model.labels import Labels, encode
from thresher.model.model import Model
from thresher.model.names import Naming

# What a value takes while a stream is collected: an id and a value as they were read, and once more in the matrix.
_BYTES_TO_COLLECT = 24

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


@dataclass(frozen=True)
class Selection:
    """What was learned: the selected columns and a linear classifier on them."""

    columns: Columns  # best first
    weights: Floats  # (1 or n_classes, n_columns)
    intercept: Floats  # (1 or n_classes,)


class BatchSelector(FeatureSelector):
    """An estimator that sees all rows at once.

    A subclass names its method and turns a `Problem` into a `Selection` whose columns are those of the problem.
    tools/write_estimators.py writes its `__init__`, from the method's parameters.
    """

    n_features_to_select: int | float
    norm: str | None
    progress: bool
    _bytes_per_value: ClassVar[int]  # what `_select` takes at its peak for each nonzero of X

    @abstractmethod
    def _select(self, problem: Problem) -> Selection:
        """Select columns of the problem, and learn weights for them."""

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Select columns of X and learn a linear classifier on them.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features)
            All rows.
        y : array of shape (n_samples,)
            Their labels, of two classes or more.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._lock, self._unchanged_on_error(BaseException):  # on Ctrl-C too, nothing is kept
            rows, labels = self._validated(X, y, reset=True)
            self._learn(rows, labels, 0, self._names_in())
        return self

    def _learn(self, rows: Any, labels: Labels, id_base: int, names: list[str] | Naming | None) -> None:
        """Learn all rows; only when that is done does anything of the estimator change."""
        codes, classes = encode(labels, None)
        given = methods.find(self._method).complete(self.get_params(deep=False))
        if self._written_keep:
            given["keep"] = (ids_as_written(self._written_keep, names, id_base) - id_base).tolist()
            rows.resize(rows.shape[0], max(rows.shape[1], *(column + 1 for column in given["keep"])))
        budget = parameters.budget(given, rows.shape[1])
        parameters.check_keep(given, budget)
        keep = ids_of_columns(given["keep"] or [], 0, names, rows.shape[1])
        n_outputs = 1 if len(classes) == 2 else len(classes)
        bytes_per_output = 64 * rows.shape[0] + 32 * min(rows.nnz, rows.shape[1])
        n_bytes = self._bytes_per_value * rows.nnz + n_outputs * bytes_per_output
        check_memory(type(self).__name__, n_bytes, f"the {rows.nnz:,} values of X")
        problem = _problem(rows, self.norm, codes, len(classes), budget, keep)
        nothing = Selection(problem.columns[:0], np.zeros((n_outputs, 0)), np.zeros(n_outputs))
        found = _with(self._select(problem) if problem.budget > 0 else nothing, keep)
        selected = _core.ColumnIndex(found.columns)
        counters = {"n_samples": len(codes), "n_with_member": selected.count_rows_with(as_batch(rows, 0))}
        # Predictions and files go by what was learned, whatever is set later.
        learned_with = {**given, "progress": False}
        self._model = Model.of_selection(
            self._method, learned_with, classes, rows.shape[1],
            found.columns, found.weights, found.intercept, id_base=id_base, counters=counters,
        )  # fmt: skip
        if isinstance(names, Naming):
            self._model.naming = names
        else:
            self._model.feature_names = names
        self.classes_ = classes

    # What `thresher.train` needs of a method that holds all rows at once.

    _written_keep: list[str] | None = None

    def _keep_as_written(self, names: list[str]) -> None:
        """Set features to keep by what the data call them; see `Model.keep_as_written`."""
        parameters.check_keep({"keep": names}, parameters.budget(self.get_params(deep=False), None))
        self._written_keep = names

    def _check_room(self, n_values: float, n_read: int, what: str) -> None:
        """Raise ValueError if so many values, of which some are in memory by now, will not fit while they are learned.

        Better now than in the middle of the work.
        """
        needed = (_BYTES_TO_COLLECT + self._bytes_per_value) * n_values - _BYTES_TO_COLLECT // 2 * n_read
        check_memory(type(self).__name__, needed, what)

    def _fit_stream(self, X: Any, y: Labels, id_base: int, names: list[str] | Naming | None) -> None:
        """Learn all rows of a stream, whose column 0 has the id `id_base`."""
        self._check_parameters()
        with self._lock, self._unchanged_on_error(BaseException):
            self._learn(X, y, id_base, names)
            self._note_model(self._model)


def signs(problem: Problem) -> Floats:
    """Return y as ±1, a column for two classes; with more, a column for each class against the rest."""
    of_class = np.arange(problem.n_classes) if problem.n_classes > 2 else np.array([1])
    return np.where(problem.codes[:, np.newaxis] == of_class, 1.0, -1.0)


def by_size(columns: Columns, weights: Floats, intercept: Floats) -> Selection:
    """Return a selection ordered by the size of the weights, without the columns whose weights are zero."""
    size = np.sqrt(np.square(weights).sum(axis=0))
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    return Selection(columns[order], np.ascontiguousarray(weights[:, order]), intercept)


def _with(found: Selection, keep: Columns) -> Selection:
    """Return a selection in which all columns to keep are; those that it lacks come last, with weights of zero."""
    lacking = np.setdiff1d(keep, found.columns)
    weights = np.hstack([found.weights, np.zeros((len(found.weights), len(lacking)))])
    return Selection(np.concatenate([found.columns, lacking]), weights, found.intercept)


def _problem(
    rows: Any, norm: str | None, codes: NDArray[np.int32], n_classes: int, budget: int, keep: Columns
) -> Problem:
    rows = checked(rows, norm or "none", 0)[0]
    values = rows.data.astype(np.float64)
    if norm is not None:
        lengths = _lengths(sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape))
        values /= np.repeat(lengths, np.diff(rows.indptr))
    ids, starts = rows.indices, rows.indptr.astype(np.int64)
    stored = values != 0
    if not stored.all():
        starts = np.concatenate([[0], np.cumsum(stored)])[starts]
        values, ids = values[stored], ids[stored]
    columns, ids = _occurring(ids, rows.shape[1])
    X = sp.csr_matrix((values, ids, starts), shape=(rows.shape[0], len(columns)))
    occurring = np.isin(keep, columns)
    n_absent = int(np.count_nonzero(~occurring))  # a kept column takes a place of the budget even if it is all zero
    budget = min(budget, len(columns) + n_absent) - n_absent
    return Problem(X, columns, codes, n_classes, budget, np.searchsorted(columns, keep[occurring]))


def _occurring(ids: NDArray[Any], n_columns: int) -> tuple[Columns, NDArray[np.int32]]:
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
