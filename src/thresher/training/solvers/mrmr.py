"""MRMR: features one by one, of much relevance and little redundancy, and a linear classifier on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import Perceptron

from thresher import _core
from thresher.progress import steps_bar
from thresher.training.solvers.interruptible import interruptible
from thresher.training.solvers.problem import Columns, Problem, Solution

BYTES_PER_VALUE = 48

# Entries of the matrix that are counted between two checks for Ctrl-C: some 20 ms.
_PIECE = 5_000_000


def solve(problem: Problem, parameters: Mapping[str, Any]) -> Solution:
    """Take the feature of the highest score, again and again, then train the classifier."""
    starts, ids, levels = discretize(problem.X, parameters["discretize"])
    choice = _core.Mrmr(
        starts, ids, levels, len(problem.columns), problem.codes, problem.n_classes, parameters["scheme"], problem.keep
    )
    with steps_bar("selecting", problem.budget, parameters["progress"]) as bar:
        while len(choice.chosen) < problem.budget and not choice.exhausted:
            choice.work(_PIECE, problem.budget)
            bar.done(len(choice.chosen), f"{len(choice.chosen):,} features")
    return _fit_classifier(problem, choice.chosen, parameters)


def _fit_classifier(problem: Problem, chosen: Columns, parameters: Mapping[str, Any]) -> Solution:
    """Return the chosen columns with the weights of the classifier."""
    columns = problem.columns[chosen]
    if len(chosen) == 0:
        return problem.empty_solution()
    given = parameters["classifier"]
    classifier = (
        Perceptron(fit_intercept=parameters["fit_intercept"], random_state=parameters["random_state"])
        if isinstance(given, str)
        else clone(given)
    )
    interruptible(classifier.fit, problem.X[:, chosen], problem.codes)
    if not hasattr(classifier, "coef_"):
        raise ValueError(
            f"classifier must be linear: {type(classifier).__name__} has no coef_. "
            'Use classifier="perceptron", or train it on what transform returns.'
        )
    weights = np.atleast_2d(np.asarray(classifier.coef_, dtype=np.float64))
    intercept = np.asarray(classifier.intercept_, dtype=np.float64)
    return Solution(columns, weights, np.broadcast_to(intercept, len(weights)).copy())


def discretize(X: Any, how: str) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]:
    """Return row starts, column ids and levels 1 or 2 of the entries that differ from an absent one, which is level 0.

    X holds no zeros. Mutual information does not depend on the numbers of levels, so an absent entry has level 0 in
    every column, on whichever side of its column's mean it lies.
    """
    n_rows, n_columns = X.shape
    ids, values, starts = X.indices, X.data, X.indptr.astype(np.int64)
    count = np.bincount(ids, minlength=n_columns)
    if how == "auto":
        by_presence = 2 * count <= n_rows
        by_presence[ids[values < 0]] = False
    else:
        by_presence = np.full(n_columns, how == "presence")
    if by_presence.all():
        return starts, ids, np.ones(len(ids), dtype=np.uint8)
    mean = np.bincount(ids, weights=values, minlength=n_columns) / n_rows
    squares = np.bincount(ids, weights=np.square(values - mean[ids]), minlength=n_columns)
    # A value at mean ± std in exact numbers is between, however the sums were rounded.
    reach = (1 + 1e-9) * np.sqrt((squares + (n_rows - count) * mean * mean) / n_rows)
    low, high = mean - reach, mean + reach
    levels = _side(values, low[ids], high[ids]) - _side(0.0, low, high)[ids]
    levels %= 3
    levels[by_presence[ids]] = 1
    differs = levels != 0
    starts = np.concatenate([[0], np.cumsum(differs)])[starts]
    return starts, ids[differs], levels[differs].astype(np.uint8)


def _side(values: Any, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.int8]:
    sides: NDArray[np.int8] = np.greater(values, high).view(np.int8) - np.less(values, low).view(np.int8)
    return sides
