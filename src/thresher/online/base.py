"""What the online estimators share: the scikit-learn face of a `Model`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from thresher.estimator import FeatureSelector, as_coef
from thresher.labels import Labels
from thresher.model import Model


class OnlineSelector(FeatureSelector):
    """An estimator over a `Model`.

    A subclass names its method and lists the method's parameters in `__init__`.
    """

    def __init__(
        self,
        *,
        norm: str | None,
        fit_intercept: bool,
        class_weight: dict[Any, float] | str | None,
        n_passes: int,
        shuffle: bool,
        random_state: int | None,
    ) -> None:
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows of X in their order.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features)
            A CSR matrix in canonical order is read where it lies.
        y : array of shape (n_samples,)
            Two classes or more.
        sample_weight : array of shape (n_samples,), optional
            Rows of weight 0 are passed over.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._lock, self._unchanged_on_error():
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
            All classes there will be; needed on the first call.
        sample_weight : array of shape (n_samples,), optional
            Rows of weight 0 are passed over.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._lock, self._unchanged_on_error():
            first = not self.__sklearn_is_fitted__()
            rows, labels = self._validated(X, y, reset=first)
            model = self._new_model() if first else self._model
            before = model.parameters
            model.adopt_parameters(self.get_params(deep=False))
            try:
                model.partial_fit(rows, labels, classes, sample_weight)
            except Exception:
                model.adopt_parameters(before)
                raise
            except BaseException:  # Ctrl-C: the rows learned by then count
                if model.is_trained:
                    self._keep(model)
                raise
            self._keep(model)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin of each row; above 0 means `classes_[1]`. With more than two classes, the score of each.

        With norm="l2" it is that of the row scaled to unit length.
        """
        model = self._fitted_model()
        return model.decision_function(self._validated_rows(X))

    def predict(self, X: Any) -> Labels:
        """Return the label of each row."""
        model = self._fitted_model()
        return model.predict(self._validated_rows(X))

    @property
    def selected_(self) -> NDArray[np.int64]:
        """Columns of the selected features, best first."""
        return self._fitted_model().members()[0]

    @property
    def coef_(self) -> Any:
        """Weights as a CSR matrix of one row, or of one per class if there are more than two."""
        columns, weights = self._fitted_model().members()
        return as_coef(columns, weights.T, self.n_features_in_)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept, an array of one, or of one per class; 0 without `fit_intercept`."""
        return self._fitted_model().intercept.astype(np.float64)

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned or found to need no learning; counted again in each pass, without those of weight 0."""
        return int(self._fitted_model().counters["n_samples"])

    @property
    def n_updates_(self) -> int:
        """Rows that had a loss, so that the model changed."""
        return int(self._fitted_model().counters["n_updates"])

    @property
    def n_mistakes_(self) -> int:
        """Rows that the model misjudged just before it learned them (prequential)."""
        return int(self._fitted_model().counters["n_mistakes"])

    def _keep(self, model: Model) -> None:
        model.feature_names = self._names_in()
        self._model = model
        self.classes_ = model.classes

    def _lend_model(self) -> Model:
        """Lend the model to `train`: a new one, or the one that goes on learning."""
        self._check_parameters()
        if not self.__sklearn_is_fitted__():
            return self._new_model()
        self._model.adopt_parameters(self.get_params(deep=False))
        return self._model

    def _take_back(self, model: Model) -> None:
        """Take back a model that `train` has trained."""
        self._model = model
        self._note_model(model)

    def _known_names(self) -> dict[int, str]:
        known = self._fitted_model().feature_names
        return known if isinstance(known, dict) else {}

    @property
    def _norm_of_rows(self) -> str:
        return self._fitted_model().norm

    def _new_model(self) -> Model:
        return Model(self._method, **self.get_params(deep=False))

    def _fitted_model(self) -> Model:
        check_is_fitted(self)
        return self._model


class SecondOrderSelector(OnlineSelector):
    """For methods that know how sure they are of each weight."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class: Φ(m/√v) over the selected features, since the weights are N(μ, Σ).

        With more than two classes, that of a class is in proportion to the probability that it beats its strongest
        rival.
        """
        model = self._fitted_model()
        return model.predict_proba(self._validated_rows(X))
