"""L1SVM: LIBLINEAR's l1-regularised SVM, and the search for the C that leaves as many features as asked for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from thresher.messages import warn
from thresher.progress import Steps, steps_bar
from thresher.training.solvers.interruptible import interruptible
from thresher.training.solvers.problem import Floats, Problem, Solution, by_size, signs

BYTES_PER_VALUE = 60

_GROWTH = 4.0  # of C, until there are too many features
_FARTHEST = 2.0**18  # times the least C that selects anything; above it a fit takes long and changes little
_PRECISION = 1.01  # how near C is to the largest that is allowed, as a ratio


def solve(problem: Problem, parameters: Mapping[str, Any]) -> Solution:
    """Fit with the largest C that leaves at most B features."""
    if problem.budget == len(problem.keep):  # there is no choice
        columns, X = problem.columns[problem.keep], problem.X[:, problem.keep]
        problem = replace(problem, X=X, columns=columns, keep=problem.keep[:0])
    least = _least_c(problem, parameters["fit_intercept"])
    with warnings.catch_warnings(), steps_bar("selecting", None, parameters["progress"]) as bar:
        # LIBLINEAR warns of each fit that is given up; here that only means a smaller C.
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = _search_c(problem, parameters, least, bar) if math.isfinite(least) else _Fit(least, 0, 0)
    extras = {"C": best.C, "n_iter": best.n_iter}
    if best.weights is None or best.intercept is None:
        if math.isfinite(least):
            warn(
                f"No fit with a feature converged in max_iter={parameters['max_iter']} iterations, so none is "
                "selected: raise max_iter.",
                ConvergenceWarning,
            )
        return replace(problem.empty_solution(), extras=extras)
    return replace(by_size(problem.columns, best.weights, best.intercept), extras=extras)


@dataclass(frozen=True)
class _Fit:
    C: float
    n_iter: int
    n_features: int  # without those to keep
    weights: Floats | None = None
    intercept: Floats | None = None


def _search_c(problem: Problem, parameters: Mapping[str, Any], least: float, bar: Steps) -> _Fit:
    """Return the fit of the largest C with at most B features, found by bisecting log C."""
    low, high = _Fit(least, 0, 0), math.inf
    n_fits = 0
    n_others = len(problem.columns) - len(problem.keep)
    while high > _PRECISION * low.C and _FARTHEST * least > low.C and low.n_features < max(1, n_others):
        C = low.C * _GROWTH if math.isinf(high) else math.sqrt(low.C * high)
        fit = _fit(problem, parameters, C)
        n_fits += 1
        bar.done(n_fits, f"C = {C:.3g}, " + (f"{fit.n_features:,} features" if fit else "not converged"))
        if fit is None or fit.n_features > problem.budget - len(problem.keep):
            high = C
        else:
            low = fit
    return low


def _fit(problem: Problem, parameters: Mapping[str, Any], C: float) -> _Fit | None:
    """Return what LIBLINEAR finds, or None if it did not converge."""
    given = {name: parameters[name] for name in ("fit_intercept", "max_iter", "random_state")}
    svm = LinearSVC(penalty="l1", dual=False, C=C, **given)
    interruptible(svm.fit, problem.X, problem.codes)
    if svm.n_iter_ >= parameters["max_iter"]:
        return None
    intercept = np.broadcast_to(np.asarray(svm.intercept_, dtype=np.float64), len(svm.coef_)).copy()
    is_used = svm.coef_.any(axis=0)
    is_used[problem.keep] = False
    return _Fit(C, int(svm.n_iter_), int(np.count_nonzero(is_used)), svm.coef_, intercept)


def _least_c(problem: Problem, fit_intercept: bool) -> float:
    """Return the C up to which all weights are zero: at w = 0 the gradient of the loss, times C, stays within ±1."""
    Y = signs(problem)
    pull = max(np.abs(problem.X.T @ Y).max(initial=0.0), np.abs(Y.sum(axis=0)).max() if fit_intercept else 0.0)
    # Gradients that are only rounding errors count as zero: then zero weights are best for every C.
    return float(0.5 / pull) if pull > 1e-12 * np.abs(problem.X.data).sum() else math.inf
