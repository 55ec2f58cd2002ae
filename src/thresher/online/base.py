"""What the online estimators share: the scikit-learn face of a `Model`.

Nothing here costs time or memory in proportion to the number of columns, unless the caller asks for an answer of that
size (a boolean mask, a dense `inverse_transform`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from thresher import _core, parameters
from thresher.labels import Labels, warn
from thresher.model import Model
from thresher.rows import as_batch

# What the core reads without a copy. Whether values are finite is checked there too, while they are in cache.
_DTYPES = [np.float32, np.float64]


class OnlineSelector(SelectorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn classifier and feature selector in one, over a `Model`.

    A subclass names its method and lists the method's parameters in `__init__`.
    """

    _method: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    n_features_in_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_method" in vars(cls):
            cls._parameter_constraints = _constraints(cls._method)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows of X in their order.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features)
            A CSR matrix in canonical order is read where it lies.
        y : array of shape (n_samples,)
            Two classes.
        sample_weight : array of shape (n_samples,), optional
            Rows of weight 0 are passed over.

        Returns
        -------
        self
        """
        self._validate_params()
        with self._unchanged_on_error():
            rows, labels = self._validated(X, y, reset=True)
            self._model = self._new_model().fit(rows, labels, sample_weight)
            self._model.feature_names = self._names_in()
            self.classes_ = self._model.classes
        return self

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the rows of X after all those learned before; any cutting into batches gives the same bits as `fit`.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features)
            The next rows. If there is anything wrong with them, nothing is learned.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            The two classes; needed on the first call.
        sample_weight : array of shape (n_samples,), optional
            Rows of weight 0 are passed over.

        Returns
        -------
        self
        """
        self._validate_params()
        first = not self.__sklearn_is_fitted__()
        with self._unchanged_on_error():
            rows, labels = self._validated(X, y, reset=first)
            model = self._new_model() if first else self._model
            model.adopt_parameters(self.get_params(deep=False))
            try:
                model.partial_fit(rows, labels, classes, sample_weight)
            finally:
                if model.is_trained:  # after Ctrl-C too: the rows learned by then count
                    model.feature_names = self._names_in()
                    self._model = model
                    self.classes_ = model.classes
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin of each row; above 0 means `classes_[1]`.

        With norm="l2" it is the margin of the row scaled to unit length.
        """
        model = self._fitted_model()
        return model.decision_function(self._validated_rows(X))

    def predict(self, X: Any) -> Labels:
        """Return the label of each row."""
        model = self._fitted_model()
        return model.predict(self._validated_rows(X))

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, in column order as scikit-learn's selectors do."""
        model = self._fitted_model()
        columns = self._columns()
        if len(columns) == 0:
            warn("No features were selected: either the data hold none, or no row had a loss.", UserWarning)
        if _get_output_config("transform", self)["dense"] != "default" and hasattr(X, "columns"):
            # A frame goes out as it came in, each column with its own type.
            validate_data(self, X, reset=False, skip_check_array=True)
            return _safe_indexing(X, columns, axis=1)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=None, ensure_all_finite=not sp.issparse(X))
        if not sp.issparse(X):
            return X[:, columns]
        X = model.check_rows(X)
        starts, picked, places = _core.pick_columns(as_batch(X, 0), columns)
        return type(X)((X.data[places], picked, starts), shape=(X.shape[0], len(columns)))

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected columns back to where they were; all other columns are zero."""
        self._fitted_model()
        X = check_array(X, accept_sparse="csr", dtype=None, ensure_min_features=0)
        columns = self._columns()
        if X.shape[1] != len(columns):
            raise ValueError(f"X has {X.shape[1]} columns, but {len(columns)} features are selected.")
        shape = (X.shape[0], self.n_features_in_)
        if sp.issparse(X):
            if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < len(columns):
                raise ValueError(f"X has a column id outside 0 … {len(columns) - 1}.")
            return type(X)((X.data.copy(), columns[X.indices], X.indptr.copy()), shape=shape)
        whole = np.zeros(shape, dtype=X.dtype)
        whole[:, columns] = X
        return whole

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return the selected columns: a mask over all columns or, with `indices=True`, their ids, ascending."""
        columns = self._columns()
        if indices:
            return columns
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[columns] = True
        return mask

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self.get_support()

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the selected features, in column order.

        Parameters
        ----------
        input_features : array of str, optional
            The names of all columns; by default those seen in `fit`, or else x0, x1, …
        """
        columns = self._columns()
        seen: NDArray[np.object_] | None = getattr(self, "feature_names_in_", None)
        if input_features is None:
            if seen is None:
                known = self._fitted_model().feature_names
                names_of_members = known if isinstance(known, dict) else {}
                return np.array(
                    [names_of_members.get(column, f"x{column}") for column in columns.tolist()], dtype=object
                )
            return seen[columns]
        names: NDArray[np.object_] = np.asarray(input_features, dtype=object)
        if seen is not None and not np.array_equal(names, seen):
            raise ValueError("input_features is not equal to feature_names_in_")
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), "
                f"got {len(names)}"
            )
        return names[columns]

    @property
    def selected_(self) -> NDArray[np.int64]:
        """Columns of the selected features, best first."""
        return self._fitted_model().members()[0]

    @property
    def coef_(self) -> Any:
        """Weights as a CSR matrix of one row."""
        columns, weights = self._fitted_model().members()
        order = np.argsort(columns)
        return sp.csr_matrix((weights[order], columns[order], [0, len(columns)]), shape=(1, self.n_features_in_))

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept, an array of one; 0 without `fit_intercept`."""
        return np.array([self._fitted_model().intercept])

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned or found to need no learning; in each pass anew, without those of weight 0."""
        return int(self._fitted_model().counters["n_samples"])

    @property
    def n_updates_(self) -> int:
        """Rows that had a loss, so that the model changed."""
        return int(self._fitted_model().counters["n_updates"])

    @property
    def n_mistakes_(self) -> int:
        """Rows that the model misjudged just before it learned them (prequential)."""
        return int(self._fitted_model().counters["n_mistakes"])

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Undo what scikit-learn's validation notes about X, if the rows then turn out to be bad."""
        noted = {name: vars(self).get(name) for name in ("n_features_in_", "feature_names_in_")}
        try:
            yield
        except Exception:
            for name, value in noted.items():
                if value is None:
                    self.__dict__.pop(name, None)
                else:
                    self.__dict__[name] = value
            raise

    def _lend_model(self) -> Model:
        """Lend the model to `train`: a new one, or the one that goes on learning."""
        self._validate_params()
        return self._model if self.__sklearn_is_fitted__() else self._new_model()

    def _take_back(self, model: Model) -> None:
        """Take back a model that `train` has trained."""
        self._model = model
        self.classes_ = model.classes
        self.n_features_in_ = model.n_features or 0
        if isinstance(model.feature_names, list):
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)

    def _names_in(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _columns(self) -> NDArray[np.int64]:
        return np.sort(self._fitted_model().members()[0])

    def _new_model(self) -> Model:
        return Model(self._method, **self.get_params(deep=False))

    def _fitted_model(self) -> Model:
        check_is_fitted(self)
        return self._model

    def _validated(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, Labels]:
        X, labels = validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=_DTYPES, ensure_all_finite=False)
        check_classification_targets(labels)
        return _as_csr(X), labels

    def _validated_rows(self, X: Any) -> Any:
        return _as_csr(validate_data(self, X, reset=False, accept_sparse="csr", dtype=_DTYPES, ensure_all_finite=False))


class SecondOrderSelector(OnlineSelector):
    """For methods that know how sure they are of each weight."""

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        gamma: float = 1.0,
        norm: str | None = "l2",
        fit_intercept: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        n_passes: int = 1,
        shuffle: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class: Φ(m/√v) over the selected features, since the weights are N(μ, Σ)."""
        model = self._fitted_model()
        return model.predict_proba(self._validated_rows(X))


def _as_csr(X: Any) -> Any:
    return X if sp.issparse(X) else sp.csr_matrix(X)


def _constraints(method: str) -> dict[str, list[Any]]:
    """Return scikit-learn's form of the method's parameter table."""
    return {
        name: [constraint for kind in parameter.allowed for constraint in _constraint(kind, parameter.allowed)]
        for name, parameter in parameters.table(method).items()
    }


def _constraint(kind: parameters.Allowed, beside: tuple[parameters.Allowed, ...]) -> list[Any]:
    match kind:
        case parameters.Whole(low=low):
            return [Interval(Integral, low, None, closed="left")]
        case parameters.Between(low=low, high=high):
            # Beside whole numbers, scikit-learn wants to hear that the reals are meant without them.
            numbers = RealNotInt if any(isinstance(other, parameters.Whole) for other in beside) else Real
            return [Interval(numbers, low, high, closed="neither")]
        case parameters.OneOf(values=(True, False)):
            return ["boolean"]
        case parameters.OneOf(values=values):
            return [None if value is None else StrOptions({str(value)}) for value in values]
        case parameters.Instance(type=type_):
            return [type_]
