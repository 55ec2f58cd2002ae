"""What the batch estimators share: all rows at once in, selected columns and a linear classifier on them out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from thresher import _core, parameters
from thresher.batch.memory import demand
from thresher.csr import checked
from thresher.estimator import FeatureSelector, as_coef
from thresher.labels import Labels, encode
from thresher.model import Model

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


@dataclass(frozen=True)
class Selection:
    """What was learned: all that a fitted batch estimator consists of, beside its classes."""

    columns: Columns  # best first
    weights: Floats  # (1 or n_classes, n_columns)
    intercept: Floats  # (1 or n_classes,)


class BatchSelector(FeatureSelector):
    """An estimator that sees all rows at once.

    A subclass names its method, lists the method's parameters in `__init__`, and turns a `Problem` into a `Selection`
    whose columns are those of the problem.
    """

    n_features_to_select: int | float
    norm: str | None
    progress: bool
    _learned_with: dict[str, Any]  # the parameters of the last fit
    _id_base: int  # of the files it was trained on: the id of column 0
    _names: dict[int, str]  # of selected columns, from a model file
    _bytes_per_value: ClassVar[int]  # what `_select` takes at its peak for each nonzero of X

    @abstractmethod
    def _select(self, problem: Problem) -> Selection:
        """Select columns of the problem, and learn weights for them."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_selection")

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
            self._learn(rows, labels, id_base=0)
        return self

    def _learn(self, rows: Any, labels: Labels, id_base: int) -> None:
        """Learn all rows; only when that is done does anything of the estimator change."""
        codes, classes = encode(labels, None)
        budget = parameters.budget(self.get_params(deep=False), rows.shape[1])
        n_outputs = 1 if len(classes) == 2 else len(classes)
        bytes_per_output = 64 * rows.shape[0] + 32 * min(rows.nnz, rows.shape[1])
        n_bytes = self._bytes_per_value * rows.nnz + n_outputs * bytes_per_output
        demand(type(self).__name__, n_bytes, f"the {rows.nnz:,} values of X")
        found = self._select(_problem(rows, self.norm, codes, len(classes), budget))
        self.classes_ = classes
        # As precise as a model file is, so that nothing changes when it is saved and loaded.
        weights, intercept = (each.astype(np.float32).astype(np.float64) for each in (found.weights, found.intercept))
        self._selection = Selection(found.columns, weights, intercept)
        # Predictions and files go by what was learned, whatever is set later.
        self._learned_with = {**self.get_params(deep=False), "progress": False}
        self._n_rows = len(codes)
        self._id_base = id_base
        self._names = {}

    # What `thresher.train` needs of a method that holds all rows at once.

    def _check_room(self, n_values: float, n_read: int, what: str) -> None:
        """Raise ValueError if so many values, of which some are in memory by now, will not fit while they are learned.

        Better now than in the middle of the work.
        """
        needed = (_BYTES_TO_COLLECT + self._bytes_per_value) * n_values - _BYTES_TO_COLLECT // 2 * n_read
        demand(type(self).__name__, needed, what)

    def _fit_stream(self, X: Any, y: Labels, id_base: int, feature_names: list[str] | None) -> None:
        """Learn all rows of a stream, whose column 0 has the id `id_base`."""
        self._check_parameters()
        with self._lock, self._unchanged_on_error(BaseException):
            self._learn(X, y, id_base)
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if feature_names is not None:
                self.feature_names_in_ = np.array(feature_names, dtype=object)

    def decision_function(self, X: Any) -> Floats:
        """Return the margin of each row; above 0 means `classes_[1]`. With more classes, a margin for each of them.

        With norm="l2" it is the margin of the row scaled to unit length.
        """
        check_is_fitted(self)
        X, batch = checked(self._validated_rows(X), self._norm_of_rows, 0)
        order = np.argsort(self._selection.columns)
        starts, picked, places = _core.pick_columns(batch, self._selection.columns[order])
        Z = sp.csr_matrix((X.data[places].astype(np.float64), picked, starts), shape=(X.shape[0], len(order)))
        margins = Z @ self._selection.weights[:, order].T
        if self._norm_of_rows == "l2":
            margins /= _lengths(X.astype(np.float64, copy=False))[:, np.newaxis]
        margins += self._selection.intercept
        answer: Floats = margins[:, 0] if len(self._selection.weights) == 1 else margins
        return answer

    def predict(self, X: Any) -> Labels:
        """Return the label of each row."""
        margins = self.decision_function(X)
        codes = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        labels: Labels = self.classes_[codes]
        return labels

    @property
    def selected_(self) -> Columns:
        """Columns of the selected features, best first."""
        check_is_fitted(self)
        return self._selection.columns

    @property
    def coef_(self) -> Any:
        """Weights as a CSR matrix: one row or, with more than two classes, a row for each."""
        check_is_fitted(self)
        return as_coef(self._selection.columns, self._selection.weights, self.n_features_in_)

    @property
    def intercept_(self) -> Floats:
        """The intercept, an array of one or of one for each class; 0 without `fit_intercept`."""
        check_is_fitted(self)
        return self._selection.intercept

    @property
    def _norm_of_rows(self) -> str:
        check_is_fitted(self)
        return self._learned_with["norm"] or "none"

    def _known_names(self) -> dict[int, str]:
        return self._names

    def _fitted_model(self) -> Model:
        """Return what was selected as a model, which can be saved and scores streams."""
        check_is_fitted(self)
        found = self._selection
        model = Model.of_selection(
            self._method, self._learned_with, self.classes_, self.n_features_in_,
            found.columns, found.weights, found.intercept, id_base=self._id_base, n_rows=self._n_rows,
        )  # fmt: skip
        model.feature_names = self._names_in() or self._names or None
        return model

    def _take_back(self, model: Model) -> None:
        """Become what a model says, as if just fitted."""
        columns, weights = model.members()
        self._selection = Selection(columns, weights.T.astype(np.float64), model.intercept.astype(np.float64))
        self._learned_with = model.parameters
        self._n_rows = model.counters["n_samples"]
        self._id_base = model.id_base
        self._names = model.feature_names if isinstance(model.feature_names, dict) else {}
        self._note_model(model)


def signs(problem: Problem) -> Floats:
    """Return y as ±1, a column for two classes; with more, a column for each class against the rest."""
    of_class = np.arange(problem.n_classes) if problem.n_classes > 2 else np.array([1])
    return np.where(problem.codes[:, np.newaxis] == of_class, 1.0, -1.0)


def by_size(columns: Columns, weights: Floats, intercept: Floats) -> Selection:
    """Return a selection ordered by the size of the weights, without the columns whose weights are zero."""
    size = np.sqrt(np.square(weights).sum(axis=0))
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    return Selection(columns[order], np.ascontiguousarray(weights[:, order]), intercept)


def _problem(rows: Any, norm: str | None, codes: NDArray[np.int32], n_classes: int, budget: int) -> Problem:
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
    return Problem(X, columns, codes, n_classes, min(budget, len(columns)))


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
