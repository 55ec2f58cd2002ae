"""L1SVM: LIBLINEAR's l1-regularised SVM, with the C that leaves as many features as asked for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from thresher.estimators.batch_method import BatchSelector, Floats, Problem, Selection, by_size, signs
from thresher.estimators.interruptible import interruptible
from thresher.messages import warn
from thresher.progress import Steps, steps_bar

_GROWTH = 4.0  # of C, until there are too many features
_FARTHEST = 2.0**18  # times the least C that selects anything; beyond it a fit takes long and changes little
_PRECISION = 1.01  # how near C is to the largest that is allowed, as a ratio


class L1SVM(BatchSelector):
    """The l1-regularised l2-loss support vector machine of LIBLINEAR.

    minimises ‖w‖₁ + C·Σ max(0, 1 − y w·x)². The l1 norm leaves most weights at zero, the more the smaller C is; the
    largest C is taken that leaves at most `n_features_to_select` features.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to keep at most, or a share of the columns, strictly between 0 and 1.
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
    _bytes_per_value = 60

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

    def _select(self, problem: Problem) -> Selection:
        if problem.budget == len(problem.keep):  # there is no choice
            columns, X = problem.columns[problem.keep], problem.X[:, problem.keep]
            problem = replace(problem, X=X, columns=columns, keep=problem.keep[:0])
        least = _least_c(problem, self.fit_intercept)
        with warnings.catch_warnings(), steps_bar("selecting", None, self.progress) as bar:
            # Said by LIBLINEAR of each fit that is given up; here that only means a smaller C.
            warnings.simplefilter("ignore", ConvergenceWarning)
            best = self._search(problem, least, bar) if math.isfinite(least) else _Fit(least, 0, 0)
        self.C_, self.n_iter_ = best.C, best.n_iter
        n_outputs = 1 if problem.n_classes == 2 else problem.n_classes
        if best.weights is None or best.intercept is None:
            if math.isfinite(least):
                warn(
                    f"No fit with a feature converged in max_iter={self.max_iter} iterations, so none is selected: "
                    "raise max_iter.",
                    ConvergenceWarning,
                )
            return Selection(problem.columns[:0], np.zeros((n_outputs, 0)), np.zeros(n_outputs))
        return by_size(problem.columns, best.weights, best.intercept)

    def _search(self, problem: Problem, least: float, bar: Steps) -> _Fit:
        """Return the fit of the largest C with at most B features, found by bisecting log C."""
        low, high = _Fit(least, 0, 0), math.inf
        n_fits = 0
        n_others = len(problem.columns) - len(problem.keep)
        while high > _PRECISION * low.C and _FARTHEST * least > low.C and low.n_features < max(1, n_others):
            C = low.C * _GROWTH if math.isinf(high) else math.sqrt(low.C * high)
            fit = self._fit(problem, C)
            n_fits += 1
            bar.done(n_fits, f"C = {C:.3g}, " + (f"{fit.n_features:,} features" if fit else "not converged"))
            if fit is None or fit.n_features > problem.budget - len(problem.keep):
                high = C
            else:
                low = fit
        return low

    def _fit(self, problem: Problem, C: float) -> _Fit | None:
        """Return what LIBLINEAR finds, or None if it did not converge."""
        svm = LinearSVC(
            penalty="l1",
            dual=False,
            C=C,
            fit_intercept=self.fit_intercept,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        interruptible(svm.fit, problem.X, problem.codes)
        if svm.n_iter_ >= self.max_iter:
            return None
        intercept = np.broadcast_to(np.asarray(svm.intercept_, dtype=np.float64), len(svm.coef_)).copy()
        is_used = svm.coef_.any(axis=0)
        is_used[problem.keep] = False
        return _Fit(C, int(svm.n_iter_), int(np.count_nonzero(is_used)), svm.coef_, intercept)


@dataclass(frozen=True)
class _Fit:
    C: float
    n_iter: int
    n_features: int  # without those to keep
    weights: Floats | None = None
    intercept: Floats | None = None


def _least_c(problem: Problem, fit_intercept: bool) -> float:
    """Return the C up to which all weights are zero: at w = 0 the gradient of the loss, times C, stays within ±1."""
    Y = signs(problem)
    pull = max(np.abs(problem.X.T @ Y).max(initial=0.0), np.abs(Y.sum(axis=0)).max() if fit_intercept else 0.0)
    # A pull that is only rounding is none: then zero weights are best whatever C is.
    return float(0.5 / pull) if pull > 1e-12 * np.abs(problem.X.data).sum() else math.inf
