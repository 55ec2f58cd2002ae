"""MRMR: features of much relevance and little redundancy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thresher.estimators.batch_selector import BatchSelector


class MRMR(BatchSelector):
    """Greedy selection by mutual information: much relevance, little redundancy.

    Takes the feature with the most information about the labels; then, again and again, the one with the most about the
    labels and the least about the features taken before it. A linear classifier is trained on the features taken.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to select, or a share of the columns, strictly between 0 and 1.
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
