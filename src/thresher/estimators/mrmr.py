"""MRMR: features of much relevance and little redundancy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import Perceptron

from thresher import _core
from thresher.estimators.batch_method import BatchSelector, Columns, Problem, Selection
from thresher.estimators.interruptible import interruptible
from thresher.progress import steps_bar

# Entries of the matrix that are counted between two checks for Ctrl-C: some 20 ms.
_PIECE = 5_000_000


class MRMR(BatchSelector):
    """Greedy selection by mutual information: much relevance, little redundancy.

    Takes the feature with the most information about the labels; then, again and again, the one with the most about the
    labels and the least about the features taken before it. A linear classifier is trained on the features taken.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to keep, or a share of the columns, strictly between 0 and 1.
    keep : list of int or str, optional
        Columns, by number or by name, that are selected in any case. They count in the budget.
    scheme : {"MID", "MIQ"}, default="MID"
        "MID" takes relevance minus mean redundancy, "MIQ" relevance divided by (mean redundancy + 0.0001), in bits.
    discretize : {"auto", "presence", "mean_std"}, default="auto"
        Mutual information needs few values. "presence" asks whether a value is zero; "mean_std" whether it is below
        mean − std of its column, above mean + std, or between. "auto" takes presence for columns that have no negative
        value and are zero in at least half of the rows, and mean_std for the others.
    classifier : "perceptron" or a linear scikit-learn classifier, default="perceptron"
        What is trained on the selected features. It must have `coef_` and `intercept_` after `fit`.
    random_state : int, RandomState or None, default=0
        Seed of the Perceptron's shuffle.
    norm : {"l2", None}, default="l2"
        "l2" scales each row to unit length first, in training and in prediction.
    fit_intercept : bool, default=False
        Whether the Perceptron has an intercept.
    progress : bool, default=False
        Whether to show a progress bar, on stderr and only on a terminal.

    Attributes
    ----------
    selected_ : ndarray of int64
        Columns of the selected features, in the order in which they were taken.
    coef_ : scipy sparse matrix of shape (1, n_features) or (n_classes, n_features)
        Weights, in CSR; nonzero in at most `n_features_to_select` columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    classes_ : ndarray
        The labels.

    Examples
    --------
    >>> from thresher import MRMR, datasets
    >>> X, y, informative = datasets.make_x1(n_samples=5_000, random_state=0, return_informative=True)
    >>> model = MRMR(n_features_to_select=50).fit(X, y)
    >>> len(model.selected_), set(model.selected_) <= set(informative)
    (50, True)
    >>> model.transform(X).shape
    (5000, 50)

    References
    ----------
    Peng, Long, Ding. Feature selection based on mutual information: criteria of max-dependency, max-relevance, and
    min-redundancy. IEEE Transactions on Pattern Analysis and Machine Intelligence 27(8), 2005.
    """

    _method = "mrmr"
    _bytes_per_value = 48

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        keep: Sequence[int] | Sequence[str] | None = None,
        scheme: str = "MID",
        discretize: str = "auto",
        classifier: Any = "perceptron",
        random_state: int | None = 0,
        norm: str | None = "l2",
        fit_intercept: bool = False,
        progress: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.keep = keep
        self.scheme = scheme
        self.discretize = discretize
        self.classifier = classifier
        self.random_state = random_state
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.progress = progress

    def _select(self, problem: Problem) -> Selection:
        starts, ids, levels = discretized(problem.X, self.discretize)
        choice = _core.Mrmr(
            starts, ids, levels, len(problem.columns), problem.codes, problem.n_classes, self.scheme, problem.keep
        )
        with steps_bar("selecting", problem.budget, self.progress) as bar:
            while len(choice.chosen) < problem.budget and not choice.exhausted:
                choice.work(_PIECE, problem.budget)
                bar.done(len(choice.chosen), f"{len(choice.chosen):,} features")
        return self._classify(problem, choice.chosen)

    def _classify(self, problem: Problem, chosen: Columns) -> Selection:
        columns = problem.columns[chosen]
        if len(chosen) == 0:
            n_rows = 1 if problem.n_classes == 2 else problem.n_classes
            return Selection(columns, np.zeros((n_rows, 0)), np.zeros(n_rows))
        classifier = (
            Perceptron(fit_intercept=self.fit_intercept, random_state=self.random_state)
            if isinstance(self.classifier, str)
            else clone(self.classifier)
        )
        interruptible(classifier.fit, problem.X[:, chosen], problem.codes)
        if not hasattr(classifier, "coef_"):
            raise ValueError(
                f"classifier must be linear: {type(classifier).__name__} has no coef_. "
                'Use classifier="perceptron", or train it on what transform returns.'
            )
        weights = np.atleast_2d(np.asarray(classifier.coef_, dtype=np.float64))
        intercept = np.asarray(classifier.intercept_, dtype=np.float64)
        return Selection(columns, weights, np.broadcast_to(intercept, len(weights)).copy())


def discretized(X: Any, how: str) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]:
    """Return row starts, column ids and levels 1 or 2 of the entries that differ from an absent one, which is level 0.

    X holds no zeros. Mutual information does not care which level has which name, so an absent entry has level 0 in
    every column, on whatever side of its column's mean it lies.
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
