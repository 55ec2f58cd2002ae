"""OGD: online gradient descent, on all features."""

from __future__ import annotations

from typing import Any

from thresher.estimators.online import OnlineClassifier


class OGD(OnlineClassifier):
    """Online gradient descent, on all features.

    The paper's first-order baseline: the hinge loss, with step size eta/√t at row t. It keeps every feature that a row
    with a loss has touched.

    Parameters
    ----------
    eta : float, default=1.0
        The size of the first step; the t-th row's is eta/√t.
    norm : {"l2", None}, default="l2"
        "l2" scales each row to unit length first, in training and in prediction.
    fit_intercept : bool, default=False
        Adds an intercept.
    class_weight : "balanced" or dict, optional
        Weight of each class; "balanced" makes all classes count alike. `fit` then counts all rows first, `partial_fit`
        and `train` count the rows so far.
    n_passes : int, default=1
        The number of passes of `fit` over the data.
    shuffle : bool, default=True
        Whether `fit` takes the rows in a new random order in each pass. `partial_fit` takes them as they come, and
        `train` has a `shuffle` of its own.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle.
    memory : {"auto", "dense", "hash"}, default="auto"
        Where features are stored (docs/memory.md): by id, or in a hash table. "auto" takes the one that suits the ids;
        the result is the same.

    Attributes
    ----------
    selected_ : ndarray of int64
        Columns of the features that were touched, best first.
    coef_ : scipy sparse matrix of shape (1, n_features) or (n_classes, n_features)
        Weights, in CSR; nonzero only where a feature was touched.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_samples_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that had a loss, and rows that were predicted wrong before they were learned.

    Examples
    --------
    >>> from thresher import OGD, datasets
    >>> X, y = datasets.make_x1(n_samples=5_000, random_state=0)
    >>> OGD().fit(X, y).coef_.nnz
    20000

    References
    ----------
    Zinkevich. Online convex programming and generalized infinitesimal gradient ascent. ICML 2003.
    """

    _method = "ogd"

    def __init__(
        self,
        *,
        eta: float = 1.0,
        norm: str | None = "l2",
        fit_intercept: bool = False,
        class_weight: str | dict[Any, float] | None = None,
        n_passes: int = 1,
        shuffle: bool = True,
        random_state: int | None = 0,
        memory: str = "auto",
    ) -> None:
        self.eta = eta
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.memory = memory
