"""FGM: the feature generating machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thresher.estimators.batch_selector import BatchSelector


class FGM(BatchSelector):
    """The feature generating machine: an SVM that asks for its features group by group.

    A round looks for the features that would change the SVM most, with the largest `|Σ_i α_i y_i x_ij|`, adds them as a
    new group, and trains the SVM on all groups so far: it minimises ½ (Σ_t ‖w_t‖)² + C/2·Σ max(0, 1 − y w·x)² over
    the groups t, and α_i = C·max(0, 1 − y_i w·x_i) of its solution says which features are missing.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to select, or a share of the columns, strictly between 0 and 1.
    keep : list of int or str, optional
        Columns, by number or by name, that are selected in any case. They count in the budget.
    group_size : int, optional
        Features that a round adds; by default max(1, B // 10). The last group is cut at B.
    C : float, default=10.0
        Weight of the loss; 10 in the paper.
    tol : float, default=0.0001
        No more groups are added once a round lowers the objective by less than this share of its value at w = 0.
    norm : {"l2", None}, default="l2"
        "l2" scales each row to unit length first, in training and in prediction.
    fit_intercept : bool, default=False
        Adds an intercept, outside the budget.
    progress : bool, default=False
        Whether to show a progress bar, on stderr and only on a terminal.

    Attributes
    ----------
    selected_ : ndarray of int64
        Columns of the selected features, largest weight first.
    coef_ : scipy sparse matrix of shape (1, n_features) or (n_classes, n_features)
        Weights, in CSR; nonzero in at most `n_features_to_select` columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    objective_ : ndarray
        The objective at w = 0 and after each round; it never rises.
    classes_ : ndarray
        The labels.

    Examples
    --------
    >>> from thresher import FGM, datasets
    >>> X, y, informative = datasets.make_x1(n_samples=5_000, random_state=0, return_informative=True)
    >>> model = FGM(n_features_to_select=50).fit(X, y)
    >>> len(model.selected_), set(model.selected_) <= set(informative)
    (50, True)

    References
    ----------
    Tan, Tsang, Wang. Towards ultrahigh dimensional feature selection for big data. Journal of Machine Learning
    Research 15, 2014.
    """

    _method = "fgm"
    objective_: NDArray[np.float64]

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        keep: Sequence[int] | Sequence[str] | None = None,
        group_size: int | None = None,
        C: float = 10.0,
        tol: float = 0.0001,
        norm: str | None = "l2",
        fit_intercept: bool = False,
        progress: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.keep = keep
        self.group_size = group_size
        self.C = C
        self.tol = tol
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.progress = progress
