"""The base of all estimators: the scikit-learn interface of a linear model that selects columns.

Nothing here costs time or memory in proportion to the number of columns, unless the caller asks for a result of that
size (a boolean mask, a dense `inverse_transform`).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from thresher import _core, parameters
from thresher.charts import bars
from thresher.csr import as_batch, check_rows, in_configured_type
from thresher.evaluation.explanation import check_n, explained_rows
from thresher.evaluation.prediction import explanations_of, margins_of
from thresher.evaluation.transform import selected_rows
from thresher.messages import count_noun, shorten, warn
from thresher.model.description import feature_table, features_of
from thresher.model.labels import Labels, as_labels, label_text, refuse_missing
from thresher.model.model import Model
from thresher.model.targets import Target
from thresher.streams import Stream, is_table
from thresher.streams.tables import is_pandas
from thresher.threads import ForkSafeLock

# Types that the core reads without a copy. It also checks that values are finite, while they are in cache.
_DTYPES = [np.float32, np.float64]
_MOST_DENSE_COLUMNS = 1 << 40  # of an array; a terabyte


class FeatureSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A scikit-learn feature selector that predicts with what it selects.

    What it predicts is in `Classifier` and `OnlineRegressor`. A subclass names its method, whose parameters
    `thresher.methods` lists.
    """

    _method: ClassVar[str]
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def predict(self, X: Any) -> Labels:
        """Return the label of each row, or the number.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features), or Stream, or path
            A path is opened with `open_stream(path, labelled=False)`. For a model whose features have names
            (docs/names.md) a data frame or other table is read as the training data were; it need not have labels.
        """
        model = self._fitted_model()  # once: another thread can fit meanwhile
        return model.labels_of(self._margins(model, X))

    @property
    def selected_(self) -> NDArray[np.int64]:
        """Columns of the selected features, best first."""
        return self._fitted_model().members()[0]

    @property
    def selected_names_(self) -> list[str]:
        """Names of the selected features, best first; of columns without names, their ids as in the data."""
        model = self._fitted_model()
        return [model.name_of(column) for column in model.members()[0].tolist()]

    @property
    def coef_(self) -> Any:
        """Weights in CSR with one row; with more than two classes, one row per class."""
        columns, weights = self._fitted_model().members()
        return as_coef(columns, weights.T, self.n_features_in_)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept, an array of length 1, or one per class; 0 without `fit_intercept`."""
        return self._fitted_model().intercept

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, in column order and of X's type as scikit-learn's selectors do.

        Parameters
        ----------
        X : matrix, Stream or path
            As in `predict`; what is read as a stream becomes CSR. `thresher.write_selected` writes it to a
            file instead.
        """
        columns = self._columns()
        if hasattr(X, "columns") and not self._is_read(X) and not self._takes_any_width:
            # A data frame: scikit-learn decides whether to return one, in which each column keeps its type.
            return super().transform(X)
        if len(columns) == 0:
            warn(
                "No features were selected: all values are zero, no row had a loss, or max_fdr left none.", UserWarning
            )
        if self._is_read(X):
            return selected_rows(self._fitted_model(), X)
        X = self._check_rows(X, dtype=None, ensure_all_finite=not sp.issparse(X))
        if not sp.issparse(X):
            picked = np.zeros((X.shape[0], len(columns)), dtype=X.dtype)
            present = columns < X.shape[1]  # a model that takes any width can have more columns
            picked[:, present] = X[:, columns[present]]
            return picked
        X = check_rows(X, self._fitted_model().norm, 0)[0]
        starts, picked, places = _core.ColumnIndex(columns).pick(as_batch(X, 0))
        return type(X)((X.data[places], picked, starts), shape=(X.shape[0], len(columns)))

    def inverse_transform(self, X: Any) -> Any:
        """Put the selected columns back to their original positions; all other columns are zero."""
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=None, ensure_min_features=0)
        columns = self._columns()
        if X.shape[1] != len(columns):
            raise ValueError(f"X has {X.shape[1]} columns, but {len(columns)} features are selected.")
        shape = (X.shape[0], self.n_features_in_)
        if sp.issparse(X):
            if X.nnz and not 0 <= X.indices.min() <= X.indices.max() < len(columns):
                raise ValueError(f"X has a column id outside 0 … {len(columns) - 1}.")
            return in_configured_type(type(X)((X.data.copy(), columns[X.indices], X.indptr.copy()), shape=shape))
        self._refuse_width("inverse_transform returns all columns", "give it a sparse matrix")
        whole = np.zeros(shape, dtype=X.dtype)
        whole[:, columns] = X
        return whole

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return the selected columns: a mask over all columns or, with `indices=True`, their ids, ascending."""
        columns = self._columns()
        if indices:
            return columns
        self._refuse_width("get_support() returns a mask over all columns", "use get_support(indices=True)")
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[columns] = True
        return mask

    def _refuse_width(self, what: str, remedy: str) -> None:
        if self.n_features_in_ > _MOST_DENSE_COLUMNS:
            raise ValueError(f"{what}, and there are {self.n_features_in_:,}: {remedy}.")

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
                known = self._known_names()
                return np.array([known.get(column, f"x{column}") for column in columns.tolist()], dtype=object)
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

    def feature_table(self) -> Any:
        """Return a table of the selected features, best first.

        `write_features` writes it to a file. docs/explaining.md says more about its columns; those that are not known
        are left out.

        Returns
        -------
        dict of columns, or data frame
            A frame where `set_output(transform="pandas")` (or "polars") is set, of the estimator or of scikit-learn.

            - name: as in `selected_names_`, or the name of the column.
            - column: as in `selected_`.
            - weight: as in `coef_`. With more than two classes weight_A, weight_B …, one for each.
            - rank: what the features are ordered by, the highest first.
            - q_value: as in `q_values_`, with decoys.
            - frequency: in what share of the samples it was selected, if `stability` has counted it.
            - n_rows: in how many rows of training it occurred, with a value that is not 0, if a closing pass
              (ShadowSOFS) or a batch method has counted it.
        """
        table = feature_table(self._fitted_model())
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        return table if kind == "default" else importlib.import_module(kind).DataFrame(table)

    def explain(self, X: Any, n: int | None = 5) -> list[list[tuple[str, float]]]:
        """Return what the features of each row add to its score, and so to the prediction.

        A part is the weight of a feature times its value in the row, scaled as `decision_function` scales it. With two
        classes a part above 0 is for `classes_[1]`; with more, the parts are those of the score of the predicted class.
        Features that are not selected have no part. All parts, with the intercept, add up to `decision_function`:
        docs/explaining.md says in which order to the last bit.

        Parameters
        ----------
        X : matrix, Stream or path
            As in `predict`.
        n : int or None, default=5
            How many features of each row, those with the largest parts; None for all.

        Returns
        -------
        list of list of (name, part)
            One list for each row, the largest `|part|` first. The last one is ("intercept", part).

        Examples
        --------
        >>> from thresher import SOFS
        >>> model = SOFS(2, norm=None, fit_intercept=True).fit([[1.0, 0.0], [0.0, 2.0]] * 20, [0, 1] * 20)
        >>> [[name for name, _ in row] for row in model.explain([[1.0, 0.5], [0.0, 0.5]])]
        [['0', '1', 'intercept'], ['1', 'intercept']]
        """
        check_n(n)
        model = self._fitted_model()
        if self._is_read(X):
            return explanations_of(model, X, n)
        return explained_rows(model, model.parts(self._validate_rows(X)), n)

    def plot_features(self, n: int = 20, *, ax: Any = None) -> Any:
        """Draw the weights of the selected features, best first, with matplotlib.

        With more than two classes, each bar is the weight of the class for which the feature counts most.

        Parameters
        ----------
        n : int, default=20
            How many features.
        ax : matplotlib Axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        parameters.check("n", n, parameters.Whole(1))
        model = self._fitted_model()
        features = features_of(model, n)
        strongest = features.for_strongest_class()
        weights = [feature.weight for feature in strongest]
        assert model.target is not None
        classes = [label_text(label) for label in model.target.by_code]
        names, label = features.names, "weight: what a value of 1 adds"
        if classes:
            label = f"weight: above 0 for {classes[-1]}, below for {classes[0]}"
        if model.n_vectors > 1:
            names = [f"{feature.name} ({classes[feature.code]})" for feature in strongest]
            label = "weight of the class in brackets"
        first = f", the first {len(names)}" if features.n > len(names) else ""
        return bars(names, weights, f"{count_noun(features.n, 'selected feature')}{first}", label, ax)

    def _known_names(self) -> dict[int, str]:
        model = self._fitted_model()
        if model.names.by_id:
            return {id_ - model.id_base: name for id_, name in model.names.by_id.items()}
        return model.feature_names if isinstance(model.feature_names, dict) else {}

    def _fitted_model(self) -> Model:
        check_is_fitted(self)
        return self._model

    def _new_model(self) -> Model:
        """Return a new model; ValueError for the first parameter that is not allowed."""
        return Model(self._method, **self.get_params(deep=False))

    @contextmanager
    def _model_to_train(self) -> Iterator[Model]:
        """Yield the model for `train`: the trained one, if it can continue, or else a new one.

        When the block ends, it becomes the estimator's model, unless it is new and has learned nothing. Other threads
        that train the estimator wait until then.
        """
        model = self._new_model()  # raises for parameters that are not allowed
        with self._lock:
            if self.__sklearn_is_fitted__() and not model.method.is_batch:
                model = self._model.with_parameters(self.get_params(deep=False))
            try:
                yield model
            finally:
                self._keep(model)

    def _keep(self, model: Model) -> None:
        """Use a trained model; one with other parameters is dropped if it has learned no rows with them."""
        own = getattr(self, "_model", model)
        continues = model is not own and not model.method.is_batch
        if model.target is None or (continues and model.counters["n_samples"] == own.counters["n_samples"]):
            return
        self._set_model(model)

    def _set_model(self, model: Model) -> None:
        """Use a trained model, and set the attributes that scikit-learn expects."""
        assert model.target is not None
        self._model = model
        for name, value in model.extras.items():
            setattr(self, f"{name}_", value)
        self._take_target(model.target)
        self.n_features_in_ = model.n_features or 0
        if isinstance(model.feature_names, list):
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _take_target(self, target: Target) -> None:
        """Set what scikit-learn expects of what is predicted."""

    def _check_labels(self, labels: Labels) -> None:
        """Raise ValueError for labels that are not what is predicted."""

    def _columns(self) -> NDArray[np.int64]:
        check_is_fitted(self)
        return np.sort(self.selected_)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_lock_", None)
        return state

    @property
    def _lock(self) -> ForkSafeLock:
        """Lets only one thread change the estimator; created on first use, since `__init__` only stores parameters."""
        # setdefault is atomic, so two threads never get different locks.
        lock: ForkSafeLock = self.__dict__.setdefault("_lock_", ForkSafeLock())
        return lock

    @contextmanager
    def _unchanged_on_error(self, error: type[BaseException] = Exception) -> Iterator[None]:
        """Restore the attributes that scikit-learn's validation sets, if the rows turn out to be bad."""
        noted = {name: vars(self).get(name) for name in ("n_features_in_", "feature_names_in_")}
        try:
            yield
        except error:
            for name, value in noted.items():
                if value is None:
                    self.__dict__.pop(name, None)
                else:
                    self.__dict__[name] = value
            raise

    def _names_in(self) -> list[str] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _validate(self, X: Any, y: ArrayLike, *, reset: bool) -> tuple[Any, Labels]:
        if y is not None:
            y = as_labels(y) if isinstance(y, list | tuple) else y
            refuse_missing(np.asarray(y))
        rules: dict[str, Any] = {"accept_sparse": "csr", "dtype": _DTYPES, "ensure_all_finite": False}
        try:
            if not reset and self._takes_any_width:
                X, labels = check_X_y(X, y, **rules)
            else:
                X, labels = validate_data(self, X, y, reset=reset, **rules)
        except ValueError as error:  # scikit-learn's message does not name the column
            raise _word_error(X) or error from None
        self._check_labels(labels)
        return _as_csr(X), labels

    def _validate_rows(self, X: Any) -> Any:
        return _as_csr(self._check_rows(X, dtype=_DTYPES, ensure_all_finite=False))

    def _margins(self, model: Model, X: Any) -> NDArray[np.float64]:
        return margins_of(model, X) if self._is_read(X) else model.decision_function(self._validate_rows(X))

    def _is_read(self, X: Any) -> bool:
        """Return whether X is read as a stream; a table is, if the model's features have names."""
        return isinstance(X, Stream | str | os.PathLike) or (self._fitted_model().naming is not None and is_table(X))

    def _check_can_score(self, X: Any, sample_weight: ArrayLike | None) -> None:
        """Raise ValueError unless X is read as a stream, which has labels and weights of its own."""
        if not self._is_read(X):
            raise ValueError("y is None: score needs the label of each row of X.")
        if sample_weight is not None:
            raise ValueError("sample_weight can't be used without y: give score the labels too.")

    def _check_rows(self, X: Any, **rules: Any) -> Any:
        """Check rows for a fitted model, and that they have its columns, unless it takes any width."""
        if self._takes_any_width:
            return check_array(X, accept_sparse="csr", **rules)
        return validate_data(self, X, accept_sparse="csr", reset=False, **rules)

    @property
    def _takes_any_width(self) -> bool:
        """Whether X can have any number of columns; columns with names must be the same as in `fit`."""
        has_names = hasattr(self, "feature_names_in_")
        return not has_names and self.__sklearn_is_fitted__() and self._fitted_model().takes_any_width


def as_coef(columns: NDArray[np.int64], weights: NDArray[Any], n_features: int) -> Any:
    """Return weights, one row per output, in CSR over all columns."""
    order = np.argsort(columns)
    starts = np.arange(len(weights) + 1) * len(columns)
    ids = np.tile(columns[order], len(weights))
    return in_configured_type(
        sp.csr_matrix((weights[:, order].reshape(-1), ids, starts), shape=(len(weights), n_features))
    )


def _as_csr(X: Any) -> Any:
    return X if sp.issparse(X) else sp.csr_matrix(X)


def _word_error(X: Any) -> ValueError | None:
    """Return an error for the first value of a data frame that is text, with the name of its column."""
    if not hasattr(X, "columns"):
        return None
    # pyarrow has the columns themselves in `columns`.
    for name in X.columns if is_pandas(X) else getattr(X, "column_names", X.columns):
        column = np.asarray(X[name])
        word = next((each for each in column.flat if _is_word(each)), None) if column.dtype.kind in "OUT" else None
        if word is not None:
            return ValueError(
                f"X: column {name!r} has the value {shorten(str(word))!r}, which is not a number: use "
                "train(model, open_stream(X, label=…, text=…, categorical=…)), or thresher.features.ColumnHasher in a "
                "pipeline (docs/names.md)."
            )
    return None


def _is_word(value: Any) -> bool:
    """Return whether a value is a string that is not a number."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False
