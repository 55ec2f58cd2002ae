"""The base of the online estimators: the scikit-learn interface of a `Model`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.estimators.base import FeatureSelector
from thresher.estimators.classifier import Classifier
from thresher.model import learning
from thresher.training.column_scale import check_matrix


class OnlineSelector(FeatureSelector):
    """An estimator on top of a `Model`.

    A subclass names its method; tools/write_estimators.py writes its `__init__`, from the method's parameters.
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Start again and learn the rows of X, in random order unless shuffle=False.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features)
            A CSR matrix with sorted, unique ids is not copied.
        y : array of shape (n_samples,)
            Labels of two classes or more, or numbers.
        sample_weight : array of shape (n_samples,), optional
            Rows of weight 0 are skipped.

        Returns
        -------
        self
        """
        model = self._new_model()
        with self._lock, self._unchanged_on_error(BaseException):  # on Ctrl-C too, nothing is kept
            rows, labels = self._validate(X, y, reset=True)
            learning.fit(model, rows, labels, sample_weight, self._names_in())
            check_matrix(rows, self._names_in(), model.norm)
            self._set_model(model)
        return self

    def _learn_more(self, X: Any, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        model = self._new_model()  # raises for parameters that are not allowed
        with self._lock, self._unchanged_on_error():
            first = not self.__sklearn_is_fitted__()
            rows, labels = self._validate(X, y, reset=first)
            model = model if first else self._model.with_parameters(self.get_params(deep=False))
            try:
                learning.partial_fit(model, rows, labels, classes, sample_weight, self._names_in())
            except KeyboardInterrupt:  # the rows learned until then are kept
                self._keep(model)
                raise
            self._keep(model)

    @property
    def n_samples_seen_(self) -> int:
        """Rows seen, with or without a loss; counted in each pass but a closing one, without rows of weight 0."""
        return int(self._fitted_model().counters["n_samples"])

    @property
    def n_updates_(self) -> int:
        """Rows that had a loss, so that the weights changed; for ShadowSOFS, the weights that select."""
        return int(self._fitted_model().counters["n_updates"])


class OnlineClassifier(Classifier, OnlineSelector):
    """The base of the online methods that predict classes."""

    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn more rows, in their order.

        Any split of the rows into batches gives exactly the same model, and the one of `fit` with shuffle=False (for
        ShadowSOFS with n_passes=1 and refit=False too), except with class_weight="balanced", which here counts the rows
        so far.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features)
            The next rows. If one of them is not valid, nothing is learned.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All classes, including classes of later rows; needed on the first call.
        sample_weight : array of shape (n_samples,), optional
            Rows of weight 0 are skipped; if all are, a fitted estimator does not change.

        Returns
        -------
        self
        """
        self._learn_more(X, y, classes, sample_weight)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class: σ(τ·s) of the score s, or with more classes softmax(τ·s).

        The scale τ is learned in the first pass, from the score that each row had just before it was learned. Those of
        ShadowSOFS are log odds already, so that τ stays near 1 on most data (docs/probabilities.md).

        Parameters
        ----------
        X : matrix, Stream or path
            As in `predict`.
        """
        model = self._fitted_model()
        return model.probabilities_of(self._margins(model, X))

    @property
    def n_mistakes_(self) -> int:
        """Rows that were predicted wrong just before they were learned (prequential).

        ShadowSOFS counts the rows that it reads for the first time, the other methods the rows of all passes.
        """
        return int(self._fitted_model().counters["n_mistakes"])


class SecondOrder(OnlineSelector):
    """The base of methods whose step depends on γ."""

    @property
    def gamma_(self) -> float:
        """The γ in use: the parameter, or with gamma="auto" the value that won the race."""
        gamma = self._fitted_model().gamma
        assert gamma is not None
        return gamma


class WithDecoys(SecondOrder):
    """The base of methods that can learn decoys."""

    @property
    def q_values_(self) -> NDArray[np.float64]:
        """The q-values of the selected features, in the order of `selected_`; NaN for those of `keep`.

        A q-value of 0.1 means: of the features that rank at least as high, about one in ten would also be selected if
        they had nothing to do with the labels. It needs decoys=True or max_fdr (docs/how_sure.md).
        """
        q_values = self._fitted_model().q_values()
        if q_values is None:
            raise AttributeError("q_values_ needs decoys: fit with decoys=True.")
        return q_values
