"""The base of estimators that predict classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from thresher import parameters
from thresher.estimators.base import FeatureSelector
from thresher.evaluation.evaluation import evaluate
from thresher.model.classes import Classes
from thresher.model.labels import Labels, as_labels
from thresher.model.targets import Target


class Classifier(ClassifierMixin, FeatureSelector):  # type: ignore[misc]  # scikit-learn has no types
    """A scikit-learn classifier that selects features."""

    classes_: Any

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin of each row; above 0 means `classes_[1]`. With more than two classes, the score of each.

        With norm="l2" the row is scaled to unit length first; by ShadowSOFS over its selected columns, so that no other
        column counts. Its margins and scores are log odds.

        Parameters
        ----------
        X : matrix, Stream or path
            As in `predict`.
        """
        return self._margins(self._fitted_model(), X)

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows whose label is predicted.

        Parameters
        ----------
        X : matrix, Stream or path
            As in `predict`.
        y : array of shape (n_samples,), optional
            The labels. They can be left out if X is read as a stream, which has its own; `evaluate` has more metrics.
        sample_weight : array of shape (n_samples,), optional
            The weight of each row, if y is given.
        """
        if y is not None:
            return float(super().score(X, as_labels(y) if isinstance(y, list | tuple) else y, sample_weight))
        self._check_can_score(X, sample_weight)
        accuracy: float = evaluate(self, X).accuracy
        return accuracy

    @property
    def threshold_(self) -> float:
        """The margin above which `predict` gives the second of two classes; 0 unless `set_threshold` chose another."""
        return self._fitted_model().threshold

    @threshold_.setter
    def threshold_(self, margin: float) -> None:
        model, margin = self._fitted_model(), parameters.plain(margin)
        parameters.check("threshold_", margin, parameters.Between(float("-inf"), float("inf")))
        assert model.target is not None
        model.target.check_can_have_threshold()
        model.threshold = float(margin)

    def _take_target(self, target: Target) -> None:
        assert isinstance(target, Classes)
        self.classes_ = target.labels

    def _check_labels(self, labels: Labels) -> None:
        check_classification_targets(labels)
