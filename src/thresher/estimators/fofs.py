"""FOFS: first-order online feature selection by sparse projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thresher.estimators.online import OnlineClassifier


class FOFS(OnlineClassifier):
    """First-order online feature selection by sparse projection.

    On a loss the weights decay, the row is added, the weights are scaled into a ball of radius 1/√lam, and all but the
    `n_features_to_select` largest become 0. The time per row depends on its nonzeros, not on the number of
    columns.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to select, or a share of the columns, strictly between 0 and 1.
    keep : list of int or str, optional
        Columns, by number or by name, that are selected in any case. They count in the budget.
    eta : float, default=0.2
        The size of a step. eta times lam must be below 1.
    lam : float, default=0.01
        λ: how fast the weights decay; their norm stays at most 1/√lam.
    loss : {"perceptron", "hinge"}, default="hinge"
        Which rows are learned: those predicted wrong, or all with a margin below 1.
    norm : {"l2", None}, default="l2"
        "l2" scales each row to unit length first, in training and in prediction.
    fit_intercept : bool, default=False
        Adds an intercept, outside the budget.
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
        Columns of the selected features, best first.
    coef_ : scipy sparse matrix of shape (1, n_features) or (n_classes, n_features)
        Weights, in CSR; nonzero in at most `n_features_to_select` columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_samples_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that had a loss, and rows that were predicted wrong before they were learned.

    Examples
    --------
    >>> from thresher import FOFS, datasets
    >>> X, y = datasets.make_x1(n_samples=5_000, random_state=0)
    >>> model = FOFS(n_features_to_select=200).fit(X, y)
    >>> model.coef_.nnz, model.transform(X).shape
    (200, (5000, 200))

    References
    ----------
    Wang, Zhao, Hoi, Jin. Online feature selection and its applications. IEEE TKDE 26(3), 2014.
    Wu, Hoi, Mei, Yu. Large-scale online feature selection for ultra-high dimensional sparse data. arXiv:1409.7794.
    """

    _method = "fofs"

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        keep: Sequence[int] | Sequence[str] | None = None,
        eta: float = 0.2,
        lam: float = 0.01,
        loss: str = "hinge",
        norm: str | None = "l2",
        fit_intercept: bool = False,
        class_weight: str | dict[Any, float] | None = None,
        n_passes: int = 1,
        shuffle: bool = True,
        random_state: int | None = 0,
        memory: str = "auto",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.keep = keep
        self.eta = eta
        self.lam = lam
        self.loss = loss
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.memory = memory
