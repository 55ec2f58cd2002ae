"""ShadowSOFS: second-order selection by the cost of dropping a feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thresher.estimators.online import OnlineClassifier, WithDecoys


class ShadowSOFS(WithDecoys, OnlineClassifier):
    """Second-order online feature selection by the cost of dropping a feature.

    Two layers learn the same rows (docs/shadow_sofs.md). The first selects `n_features_to_select` features, as `SOFS`
    does in one pass, but ranks them by μ²P, the cost of dropping the feature, instead of by P alone. It learns weights
    for all other features too (shadow weights), so that a feature can enter later. The second layer is a logistic
    regression on the selected features alone, which predicts: what else is in a row changes nothing. It selects better
    features than `SOFS` for the same budget, also where noise is as frequent as the signal, and takes more time.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to select, or a share of the columns, strictly between 0 and 1.
    keep : list of int or str, optional
        Columns, by number or by name, that are selected in any case. They count in the budget.
    gamma : float or "auto", default=0.5
        Regularisation of the AROW step; larger values learn more slowly and more steadily. With "auto", learners with
        2^-7, 2^-5 … 2^7 and the default race on the same rows, and the one with the fewest mistakes wins. A race needs
        all rows: "auto" works in `fit` and `train`, not in `partial_fit`.
    refit : {"auto", True, False}, default="auto"
        Whether to end with a closing pass, which learns the weights again, on the selected features alone. "auto":
        always in `fit`; in `train` if the rows are read more than once anyway, or if there are more than two classes
        and the data can be read again.
    decoys : False, True, 1.0 or float, default=False
        Whether to learn decoys, which show what rank features reach by chance, and so give q-values (docs/how_sure.md).
        True: columns below 65,536 have one each, of the others, and with a sketch of all, one in eight. A number is the
        share of the columns that have one.
    max_fdr : float, optional
        Leaves only features with a q-value up to this one selected, at most B. It implies decoys.
    norm : {"l2", None}, default="l2"
        "l2" scales each row to unit length, in training and in prediction: over all features to select, over the
        selected ones to predict.
    fit_intercept : bool, default=True
        Adds an intercept, outside the budget.
    class_weight : "balanced" or dict, optional
        Weight of each class; "balanced" makes all classes count alike. `fit` then counts all rows first, `partial_fit`
        and `train` count the rows so far.
    n_passes : int or "auto", default="auto"
        The number of passes over the data. "auto" means 3 passes for data of up to 5,000 rows that can be read again,
        otherwise 1.
    shuffle : bool, default=True
        Whether `fit` takes the rows in a new random order in each pass. `partial_fit` takes them as they come, and
        `train` has a `shuffle` of its own.
    random_state : int, RandomState or None, default=0
        Seed of the shuffle.
    memory : {"auto", "dense", "hash", "sketch"}, default="auto"
        Where features are stored (docs/memory.md): by id, in a hash table, or the selected ones exactly and all others
        in a sketch of fixed size. "auto" takes dense or hash, whichever suits the ids; the result is the same.
    memory_bytes : int, optional
        The size of the sketch; 64 MiB by default.

    Attributes
    ----------
    selected_ : ndarray of int64
        Columns of the selected features, best first.
    coef_ : scipy sparse matrix of shape (1, n_features) or (n_classes, n_features)
        Weights of the logistic regression, in CSR; nonzero in at most `n_features_to_select` columns. They are for rows
        scaled to unit length over the selected columns, unless norm=None.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    gamma_ : float
        The γ in use: `gamma`, or what "auto" chose.
    q_values_ : ndarray of float64
        With decoys or max_fdr, the q-value of each selected feature, in the order of `selected_`.
    n_samples_seen_ : int
        Rows learned, in all passes but the closing one.
    n_updates_ : int
        Rows that had a loss in the layer that selects.
    n_mistakes_ : int
        Rows that were predicted wrong before they were learned, when they were read for the first time.

    Examples
    --------
    >>> from thresher import SOFS, ShadowSOFS, datasets
    >>> X, y = datasets.make_x1(n_samples=10_000)
    >>> X_test, y_test = datasets.make_x1(n_samples=2_000, start=10_000)
    >>> [round(method(50).fit(X, y).score(X_test, y_test), 1) for method in (SOFS, ShadowSOFS)]
    [0.6, 0.8]

    References
    ----------
    Wu, Hoi, Mei, Yu. Large-scale online feature selection for ultra-high dimensional sparse data. arXiv:1409.7794.
    """

    _method = "shadow_sofs"

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        keep: Sequence[int] | Sequence[str] | None = None,
        gamma: float | str = 0.5,
        refit: str | bool = "auto",
        decoys: bool | float = False,
        max_fdr: float | None = None,
        norm: str | None = "l2",
        fit_intercept: bool = True,
        class_weight: str | dict[Any, float] | None = None,
        n_passes: int | str = "auto",
        shuffle: bool = True,
        random_state: int | None = 0,
        memory: str = "auto",
        memory_bytes: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.keep = keep
        self.gamma = gamma
        self.refit = refit
        self.decoys = decoys
        self.max_fdr = max_fdr
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.memory = memory
        self.memory_bytes = memory_bytes
