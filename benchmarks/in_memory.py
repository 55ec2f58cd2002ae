"""Learning in memory, beside peers and the floor: float32 CSR of unit rows, learned in their order, by all alike.

What the shuffle adds is measured apart, and so is ShadowSOFS with its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from measure import Bar, Cost, Effort, Section, least_costs, online_estimators, same_work, table, unit_rows
from river import linear_model, optim
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from thresher import SOFS, ShadowSOFS, datasets

FLOOR = "scipy `X @ w` (floor)"
SGD = "scikit-learn SGD hinge l1, one `partial_fit`"
SGD_IN_ORDER = "the same with `shuffle=False`: rows in their order, as ours"
SHUFFLED = "thresher SOFS with `shuffle=True`"
INTERCEPT = "thresher ShadowSOFS, with an intercept"
DEFAULTS = "thresher ShadowSOFS with its defaults: shuffled, scaled, an intercept"
RIVER_ROWS = 2_000  # it learns row by row, from dicts, and takes hundreds of times as long


def x1(permute: bool, effort: Effort) -> Section:
    """Measure on X1 at B = 200."""
    n_rows, n_test = effort.pick((100_000, 10_000), (100_000, 10_000), (1_000, 500))
    train = unit_rows(*datasets.make_x1(n_rows, permute=permute))
    test = unit_rows(*datasets.make_x1(n_test, permute=permute, start=n_rows))
    name = "X1, ids permuted" if permute else "X1"
    peers: dict[str, Callable[[], Any]] = {
        SGD: lambda: _sgd("hinge", *train),
        SGD_IN_ORDER: lambda: _sgd("hinge", *train, shuffle=False),
        "scikit-learn SGD log l1, one `partial_fit`": lambda: _sgd("log_loss", *train),
    }
    seconds, lines = _compare(name, train, test, 200, peers, effort, effort.pick(7, 3, 1))
    sofs, limit = seconds["thresher SOFS"], 0.5 if permute else 0.42
    bars = [
        Bar(f"SOFS / scikit-learn SGD hinge l1, {name}", sofs / seconds[SGD], limit),
        Bar(
            f"SOFS / SGD hinge l1 with `shuffle=False`, {name}",
            sofs / seconds[SGD_IN_ORDER],
            limit,
            why="Most of what SOFS takes is the gather and the write-back of its cells.",
        ),
        Bar(f"ShadowSOFS / SOFS, {name}", seconds["thresher ShadowSOFS"] / sofs, 1.5),
        Bar(
            f"ShadowSOFS with an intercept / without, {name}", seconds[INTERCEPT] / seconds["thresher ShadowSOFS"], 1.08
        ),
    ]
    if not permute:
        bars.insert(0, Bar("SOFS `fit`, input checks included / scipy `X @ w`, X1", sofs / seconds[FLOOR], 2.5))
        bars.append(Bar("SOFS `fit`, shuffled / in order, X1", seconds[SHUFFLED] / sofs, 1.3))
    return Section(lines, bars)


def ccat(effort: Effort) -> Section:
    """Measure on ccat at B = 500: few nonzeros per row, many changes of membership."""
    try:
        X, y = datasets.make_x1(1_000) if effort is Effort.SMALLEST else datasets.load("ccat")
    except OSError as error:
        return Section(["## ccat", "", f"Not measured: {error}", ""], [])
    X, y = unit_rows(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    n_train = effort.pick(23_000, 23_000, 800)
    train, test = (X[order[:n_train]], y[order[:n_train]]), (X[order[n_train:]], y[order[n_train:]])
    peers: dict[str, Callable[[], Any]] = {
        SGD: lambda: _sgd("hinge", *train),
        SGD_IN_ORDER: lambda: _sgd("hinge", *train, shuffle=False),
    }
    seconds, lines = _compare("ccat", train, test, 500, peers, effort, effort.pick(30, 10, 1))
    ratio = seconds["thresher ShadowSOFS"] / seconds["thresher SOFS"]
    return Section(lines, [Bar("ShadowSOFS / SOFS, ccat at B = 500", ratio, 2.0)])


def _compare(
    name: str, train: Any, test: Any, budget: int, peers: dict[str, Callable[[], Any]], effort: Effort, rounds: int
) -> tuple[dict[str, float], list[str]]:
    (X, y), w = train, np.zeros(train[0].shape[1], dtype=np.float32)
    fitted: dict[str, Any] = {}

    def keep(who: str, fit: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            fitted[who] = fit()

        return run

    ours = {f"thresher {name}": _ours(of, budget, X, y) for name, of in online_estimators().items()}
    ours[INTERCEPT] = _ours(ShadowSOFS, budget, X, y, fit_intercept=True)
    ours[SHUFFLED] = _ours(SOFS, budget, X, y, shuffle=True)
    ours[DEFAULTS] = lambda: ShadowSOFS(budget).fit(X, y)
    contenders: dict[str, Callable[[], object]] = {FLOOR: lambda: X @ w}
    contenders |= {who: keep(who, fit) for who, fit in (ours | peers).items()}
    costs = least_costs(contenders, rounds)
    floor = costs[FLOOR].wall / X.nnz
    rows = [_row(who, cost, X.nnz, floor, _quality(fitted.get(who), test)) for who, cost in costs.items()]
    if effort is not Effort.QUICK and name != "ccat":
        rows += _slow_peers(train, test, floor)
    head = ["", "ns per nonzero", "× floor", "CPU s", "MB beyond the data", "accuracy, held out", "features"]
    title = f"## {name}, B = {budget}: {X.shape[0]:,} rows, {X.nnz / 1e6:.1f}M nonzeros, in memory"
    return {who: cost.wall for who, cost in costs.items()}, [title, "", *table(head, rows)]


def _row(who: str, cost: Cost, nonzeros: int, floor: float, quality: Sequence[str]) -> list[str]:
    each = cost.wall / nonzeros
    return [who, f"{each * 1e9:.2f}", f"{each / floor:.2f}", f"{cost.cpu:.3f}", f"{cost.memory:.0f}", *quality]


def _slow_peers(train: Any, test: Any, floor: float) -> list[list[str]]:
    """Measure peers that take too long for several rounds, or for all rows."""
    (X, y), fitted = train, {}

    def svm() -> None:
        fitted["svm"] = LinearSVC(penalty="l1", dual=False, C=0.1).fit(X, y)

    def river() -> None:
        for row, label in zip(rows, labels, strict=True):
            model.learn_one(row, label)

    n_rows = min(RIVER_ROWS, len(y))
    rows, labels = _dicts(X, n_rows), (y[:n_rows] > 0).tolist()
    model = linear_model.LogisticRegression(optim.SGD(1.0), l1=1e-3)
    costs = least_costs({"svm": svm, "river": river}, 1)
    named = {
        "svm": ("scikit-learn `LinearSVC(penalty='l1', C=0.1)`, until it converges", X.nnz),
        "river": (f"river logistic l1, `learn_one`, the first {n_rows:,} rows", int(X.indptr[n_rows])),
    }
    n_test = min(RIVER_ROWS, len(test[1]))
    right = np.mean([model.predict_one(row) for row in _dicts(test[0], n_test)] == (test[1][:n_test] > 0))
    kept = sum(weight != 0 for weight in model.weights.values())
    quality = {"svm": _quality(fitted["svm"], test), "river": (f"{right:.4f}", f"{kept:,}")}
    return [_row(f"{name}, once", costs[who], nonzeros, floor, quality[who]) for who, (name, nonzeros) in named.items()]


def _ours(estimator: Any, budget: int, X: Any, y: Any, **others: Any) -> Callable[[], Any]:
    parameters = same_work(estimator, budget) | others
    return lambda: estimator(**parameters).fit(X, y)


def _sgd(loss: str, X: Any, y: Any, shuffle: bool = True) -> SGDClassifier:
    model = SGDClassifier(loss=loss, penalty="l1", shuffle=shuffle, random_state=0)
    return model.partial_fit(X, y, classes=np.unique(y))


def _quality(model: Any, test: Any) -> Sequence[str]:
    if model is None:
        return "––"
    coef = model.coef_
    kept = coef.nnz if hasattr(coef, "nnz") else np.count_nonzero(coef)
    return f"{model.score(*test):.4f}", f"{kept:,}"


def _dicts(X: Any, n: int) -> list[dict[int, float]]:
    bounds = zip(X.indptr[:n], X.indptr[1 : n + 1], strict=True)
    return [dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)) for a, b in bounds]
