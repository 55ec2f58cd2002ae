"""The base of online estimators that predict numbers."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from thresher.estimators.online import OnlineSelector
from thresher.evaluation.evaluation import evaluate


class OnlineRegressor(RegressorMixin, OnlineSelector):  # type: ignore[misc]  # scikit-learn has no types
    """A scikit-learn regressor that selects features."""

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn more rows, in their order.

        Any split of the rows into batches gives exactly the same model, and the one of `fit` with shuffle=False,
        n_passes=1 and refit=False.

        Parameters
        ----------
        X : CSR matrix, array or data frame of shape (n_samples, n_features)
            The next rows. If one of them is not valid, nothing is learned.
        y : array of shape (n_samples,)
            Their numbers.
        sample_weight : array of shape (n_samples,), optional
            Rows of weight 0 are skipped; if all are, a fitted estimator does not change.

        Returns
        -------
        self
        """
        self._learn_more(X, y, None, sample_weight)
        return self

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return R², the share of the variance of the numbers that is predicted.

        Parameters
        ----------
        X : matrix, Stream or path
            As in `predict`.
        y : array of shape (n_samples,), optional
            The numbers. They can be left out if X is read as a stream, which has its own; `evaluate` has more metrics.
        sample_weight : array of shape (n_samples,), optional
            The weight of each row, if y is given.
        """
        if y is not None:
            return float(super().score(X, y, sample_weight))
        self._check_can_score(X, sample_weight)
        r2: float = evaluate(self, X).r2
        return r2
