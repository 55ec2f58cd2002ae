"""L1SVM: LIBLINEAR's l1-regularised SVM, with the C that leaves as many features as asked for."""

from __future__ import annotations

from collections.abc import Sequence

from thresher.estimators.batch_selector import BatchSelector


class L1SVM(BatchSelector):
    """The l1-regularised l2-loss support vector machine of LIBLINEAR.

    minimises ‖w‖₁ + C·Σ max(0, 1 − y w·x)². The l1 norm leaves most weights at zero, the more the smaller C is; the
    largest C is taken that leaves at most `n_features_to_select` features.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to select at most, or a share of the columns, strictly between 0 and 1.
    keep : list of int or str, optional
        Columns, by number or by name, that are selected in any case. They count in the budget. Their weights are
        regularised like all others, and can be zero.
    max_iter : int, default=20000
        Iterations after which a fit is given up. A fit that has not converged has too many nonzero weights, so it
        counts as one with too many features.
    random_state : int, RandomState or None, default=0
        Seed of the order in which LIBLINEAR takes the weights.
    norm : {"l2", None}, default="l2"
        "l2" scales each row to unit length first, in training and in prediction.
    fit_intercept : bool, default=False
        Adds an intercept, outside the budget. As in LIBLINEAR it is regularised like a weight.
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
    C_ : float
        The C that was found.
    n_iter_ : int
        Iterations of the fit with that C.
    classes_ : ndarray
        The labels.

    Examples
    --------
    >>> from thresher import L1SVM, datasets
    >>> X, y, informative = datasets.make_x1(n_samples=5_000, random_state=0, return_informative=True)
    >>> model = L1SVM(n_features_to_select=50).fit(X, y)
    >>> 40 <= len(model.selected_) <= 50, set(model.selected_) <= set(informative)
    (True, True)

    References
    ----------
    Fan, Chang, Hsieh, Wang, Lin. LIBLINEAR: a library for large linear classification. Journal of Machine Learning
    Research 9, 2008.
    """

    _method = "l1svm"
    C_: float
    n_iter_: int

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        keep: Sequence[int] | Sequence[str] | None = None,
        max_iter: int = 20000,
        random_state: int | None = 0,
        norm: str | None = "l2",
        fit_intercept: bool = False,
        progress: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.keep = keep
        self.max_iter = max_iter
        self.random_state = random_state
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.progress = progress
