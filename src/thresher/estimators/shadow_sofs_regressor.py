"""ShadowSOFS for numbers."""

from __future__ import annotations

from collections.abc import Sequence

from thresher.estimators.online import WithDecoys
from thresher.estimators.regressor import OnlineRegressor


class ShadowSOFSRegressor(WithDecoys, OnlineRegressor):
    """`ShadowSOFS` for numbers: it selects features in one pass, and predicts a number from them.

    Two layers learn the same rows by squared loss (docs/shadow_sofs_regressor.md). The first selects
    `n_features_to_select` features by the cost of dropping each, μ²P, and learns weights for all other features too, so
    that a feature can enter later. The second is a linear regression on the selected features alone, which predicts:
    what else is in a row changes nothing. Dense columns must be centred and scaled first.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget B: how many features to select, or a share of the columns, strictly between 0 and 1.
    keep : list of int or str, optional
        Columns, by number or by name, that are selected in any case. They count in the budget.
    gamma : float or "auto", default=0.5
        Regularisation of the AROW step; larger values learn more slowly and more steadily. With "auto", learners with
        2^-7, 2^-5 … 2^7 and the default race on the same rows, and the one with the least squared errors wins. A race
        needs all rows: "auto" works in `fit` and `train`, not in `partial_fit`.
    refit : {"auto", True, False}, default="auto"
        Whether to end with a closing pass, which learns the weights again, on the selected features alone. "auto":
        always in `fit`; in `train` if the data can be read again.
    decoys : False, True, 1.0 or float, default=False
        Whether to learn decoys, which show what rank features reach by chance, and so give q-values (docs/how_sure.md).
        True: columns below 65,536 have one each, of the others, and with a sketch of all, one in eight. A number is the
        share of the columns that have one.
    max_fdr : float, optional
        Leaves only features with a q-value up to this one selected, at most B. It implies decoys.
    norm : {"mean", None}, default="mean"
        "mean" divides all rows by the mean length of the rows so far: over all features to select, over the selected
        ones to predict. None leaves them as they are. Rows are not scaled one by one, since a number depends on their
        length.
    fit_intercept : bool, default=True
        Adds an intercept, outside the budget.
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
    coef_ : scipy sparse matrix of shape (1, n_features)
        Weights in CSR, for the values as they are; nonzero in at most `n_features_to_select` columns.
    intercept_ : ndarray of shape (1,)
        The intercept: the mean of the numbers, and what is learned beside it.
    gamma_ : float
        The γ in use: `gamma`, or what "auto" chose.
    q_values_ : ndarray of float64
        With decoys or max_fdr, the q-value of each selected feature, in the order of `selected_`.
    n_samples_seen_ : int
        Rows learned, in all passes but the closing one.
    n_updates_ : int
        The same: every row is learned.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import ShadowSOFSRegressor
    >>> X = np.random.default_rng(0).normal(size=(1_000, 50))
    >>> y = 3 * X[:, 7] - 2 * X[:, 20] + 5
    >>> model = ShadowSOFSRegressor(2).fit(X[:800], y[:800])
    >>> sorted(model.selected_.tolist()), round(model.score(X[800:], y[800:]), 2)
    ([7, 20], 1.0)
    """

    _method = "shadow_sofs_regressor"

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        keep: Sequence[int] | Sequence[str] | None = None,
        gamma: float | str = 0.5,
        refit: str | bool = "auto",
        decoys: bool | float = False,
        max_fdr: float | None = None,
        norm: str | None = "mean",
        fit_intercept: bool = True,
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
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.memory = memory
        self.memory_bytes = memory_bytes
