"""The base of the batch estimators, which learn all rows at once."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from thresher.estimators.classifier import Classifier
from thresher.training.all_rows import fit_all_rows
from thresher.training.column_scale import check_matrix


class BatchSelector(Classifier):
    """An estimator that sees all rows at once.

    A subclass names its method, whose solver is in `training/solvers/`; tools/write_estimators.py writes its
    `__init__` from the method's parameters.
    """

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
        model = self._new_model()
        with self._lock, self._unchanged_on_error(BaseException):  # on Ctrl-C too, nothing is kept
            rows, labels = self._validate(X, y, reset=True)
            fit_all_rows(model, rows, labels, 0, self._names_in())
            check_matrix(rows, self._names_in(), model.norm)
            self._set_model(model)
        return self
