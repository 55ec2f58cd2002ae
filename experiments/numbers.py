"""Numbers as targets: prices of listings from text, hours of work, planted weights; numbers*.csv and NUMBERS.md."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments import data
from experiments.config import HOME
from experiments.data import Rows
from experiments.reporting.tables import NONE, table
from experiments.store import Found
from experiments.study import Step, Study, Table, means
from thresher import ShadowSOFSRegressor, datasets, open_stream

MERCARI, ADULT, W8A = "mercari, log price", "adult, hours per week", "w8a's columns, planted weights"
OURS, LASSO, F_TEST, SGD = "ShadowSOFSRegressor", "lasso path (celer), ridge", "F-test, ridge", "SGDRegressor, l1"
ALL_COLUMNS = "all columns, ridge"
LEVELS = (0.05, 0.1, 0.2)
MOST_OF_LASSO = 1_000  # features: the path to more takes several times as long
FEW_ROWS = 5  # peers see the columns that occur in so many training rows


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    sets: Mapping[str, tuple[int, ...]]  # their budgets
    n_seeds: int = 3
    x1_rows: int = 20_000


FULL = Size({MERCARI: (50, 200, 1_000, 5_000), ADULT: (10, 20, 50), W8A: (20, 50, 100)})
SMALLEST = Size({"generated": (5, 20)}, 1, 1_000)


@cache
def rows_of(name: str) -> Rows:
    """Return the rows of a set, with columns from 0 on."""
    if name == "generated":
        return planted(datasets.make_x1(600)[0], 30)
    if name == W8A:
        return planted(open_stream(data.find("w8a.svm.xz")).to_csr()[0], 100)
    if name == MERCARI:
        stream = open_stream(
            data.find("mercari.parquet"), label="price", text=["name", "item_description"], ngrams=(1, 2),
            categorical=["category_name", "brand_name", "item_condition_id", "shipping"],
            ignore=["train_id", "__index_level_0__"],
        )  # fmt: skip
        X, y, _ = stream.to_csr()
        return Rows(_numbered(X), np.log1p(y))
    import pandas as pd  # type: ignore[import-untyped]  # pandas has no types

    found = pd.read_csv(data.find("adult.csv.xz"))
    y = found.pop("hours_per_week").to_numpy(np.float64)
    numeric = found.select_dtypes("number").columns
    found[numeric] = (found[numeric] - found[numeric].mean()) / found[numeric].std()
    return Rows(sp.csr_matrix(pd.get_dummies(found).to_numpy(np.float32)), y)


def _numbered(X: Any) -> Any:
    columns, places = np.unique(X.indices, return_inverse=True)
    numbered = sp.csr_matrix((X.data, places.astype(np.int32), X.indptr.astype(np.int32)), (X.shape[0], len(columns)))
    numbered.sort_indices()
    return numbered


def planted(X: Any, n_columns: int, seed: int = 0) -> Rows:
    """Return rows with numbers that some columns decide, and noise of the same size."""
    random = np.random.default_rng(seed)
    X = _numbered(sp.csr_matrix(X))
    weights = np.zeros(X.shape[1])
    weights[random.choice(X.shape[1], n_columns, replace=False)] = random.standard_normal(n_columns)
    signal = X @ weights
    return Rows(X, signal + signal.std() * random.standard_normal(X.shape[0]))


def of_ours(train: Rows, budget: int, seed: int) -> Any:
    """Return our model."""
    return ShadowSOFSRegressor(budget, random_state=seed).fit(train.X, train.y)


class OnColumns:
    """A ridge on some columns of the rows."""

    def __init__(self, columns: NDArray[np.intp], train: Rows) -> None:
        from sklearn.linear_model import Ridge

        self.columns = np.sort(columns)
        self.ridge = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-4).fit(train.X[:, self.columns], train.y)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the numbers of rows."""
        return np.asarray(self.ridge.predict(X[:, self.columns]))


def of_f_test(train: Rows, budget: int, _seed: int) -> Any:
    """Return a ridge on the columns of highest F."""
    from sklearn.feature_selection import f_regression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns
        scores = np.nan_to_num(f_regression(train.X, train.y)[0])
    return OnColumns(np.argsort(-scores, kind="stable")[:budget], train)


def of_sgd(train: Rows, budget: int, seed: int) -> Any:
    """Return the SGDRegressor with the weakest l1 penalty that keeps at most B weights."""
    from sklearn.linear_model import SGDRegressor

    for power in range(-16, 0):
        model = SGDRegressor(penalty="l1", alpha=2.0**power, random_state=seed, max_iter=5, tol=None)
        model.fit(train.X, train.y)
        if np.count_nonzero(model.coef_) <= budget:
            return model
    return None


class LassoPaths:
    """The columns of a lasso path at each budget; one path serves all of them."""

    def __init__(self) -> None:
        self._path: tuple[int, list[NDArray[np.intp]], list[float]] | None = None

    def of(self, train: Rows, budget: int, seed: int) -> Any:
        """Return a ridge on the most columns that the path has up to the budget."""
        if self._path is None or self._path[0] != id(train):
            self._path = (id(train), *self._follow(train))
        _, columns, _ = self._path
        fitting = [each for each in columns if 0 < len(each) <= budget]
        return OnColumns(max(fitting, key=len), train) if fitting else None

    def seconds_to(self, budget: int) -> float:
        """Return the time that the path took up to a budget."""
        assert self._path is not None
        return next((t for each, t in zip(*self._path[1:], strict=True) if len(each) > budget), self._path[2][-1])

    def _follow(self, train: Rows) -> tuple[list[NDArray[np.intp]], list[float]]:
        from celer import celer_path

        X, y = sp.csc_matrix(train.X, dtype=np.float64), train.y - train.y.mean()
        alpha, weights, started = float(np.abs(X.T @ y).max()) / len(y), None, time.perf_counter()
        columns: list[NDArray[np.intp]] = []
        seconds: list[float] = []
        while not columns or len(columns[-1]) <= min(MOST_OF_LASSO, train.n_features - 1):
            alpha *= 0.85
            _, found, _ = celer_path(X, y, "lasso", alphas=[alpha], coef_init=weights, tol=1e-3)
            weights = found[:, -1]
            columns.append(np.flatnonzero(weights))
            seconds.append(time.perf_counter() - started)
            if len(seconds) > 60:
                break
        return columns, seconds


def steps(smallest: bool) -> list[Step]:
    """Return sets and seeds."""
    size = SMALLEST if smallest else FULL
    return [
        (f"{name}, seed {seed}", partial(on_set, name, budgets, seed))
        for name, budgets in size.sets.items()
        for seed in range(size.n_seeds)
    ]


def on_set(name: str, budgets: tuple[int, ...], seed: int) -> Iterator[Found]:
    """Yield the error of each method on the last 30 % of a permutation of the rows."""
    rows = rows_of(name)
    order = np.random.default_rng(seed).permutation(len(rows.y))
    cut = len(order) * 7 // 10
    train, test = rows.take(order[:cut]), rows.take(order[cut:])
    counted = np.flatnonzero(np.bincount(train.X.indices, minlength=train.n_features) >= FEW_ROWS)
    few, test_of_few = Rows(train.X[:, counted], train.y), Rows(test.X[:, counted], test.y)
    lasso = LassoPaths()
    peers: dict[str, Callable[[Rows, int, int], Any]] = {LASSO: lasso.of, F_TEST: of_f_test, SGD: of_sgd}

    def row(method: str, budget: int, error: float, seconds: float) -> Found:
        return {
            "set": name, "method": method, "budget": budget, "seed": seed, "rmse": f"{error:.5f}",
            "seconds": f"{seconds:.3f}", "rows": len(train.y), "columns": train.n_features,
        }  # fmt: skip

    yield row("the mean", 0, rmse(np.full(len(test.y), train.y.mean()), test.y), 0.0)
    for budget in budgets:
        started = time.perf_counter()
        model = of_ours(train, budget, seed)
        seconds = time.perf_counter() - started
        yield row(OURS, budget, rmse(model.predict(test.X), test.y), seconds)
        for method, fit in peers.items():
            if method == LASSO and budget > MOST_OF_LASSO:
                continue
            started = time.perf_counter()
            model = fit(few, budget, seed)
            seconds = lasso.seconds_to(budget) if method == LASSO else time.perf_counter() - started
            if model is not None:
                yield row(method, budget, rmse(model.predict(test_of_few.X), test.y), seconds)


def rmse(predicted: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((predicted - true) ** 2)))


def chance_steps(smallest: bool) -> list[Step]:
    """Return draws of X1."""
    size = SMALLEST if smallest else FULL
    return [
        (f"decoys, seed {seed}", partial(chance_finds, size.x1_rows, seed)) for seed in range(8 if not smallest else 1)
    ]


def chance_finds(n_rows: int, seed: int) -> Iterator[Found]:
    """Yield the share of chance finds up to each q-value: the label is a sum of the informative columns, and noise."""
    X, _, informative = datasets.make_x1(n_rows, random_state=seed, return_informative=True)
    random = np.random.default_rng(seed)
    signal = X[:, informative] @ random.standard_normal(len(informative))
    y = signal + signal.std() * random.standard_normal(n_rows)
    model = ShadowSOFSRegressor(400, decoys=True, n_passes=1, random_state=seed).fit(X, y)
    out: Found = {"rows": n_rows, "seed": seed}
    for level in LEVELS:
        found = model.selected_[model.q_values_ <= level]
        hits = int(np.isin(found, informative).sum())
        out[f"chance_{level}"] = f"{(len(found) - hits) / max(1, len(found)):.4f}"
        out[f"found_{level}"] = f"{hits / len(informative):.4f}"
    yield out


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of NUMBERS.md."""
    found = dict(means(tables["numbers"], ("set", "method", "budget"), ("rmse", "seconds")))
    parts = []
    for name in dict.fromkeys(key[0] for key in found):
        of_set = {key[1:]: figures for key, figures in found.items() if key[0] == name}
        budgets = list(dict.fromkeys(budget for _, budget in of_set if budget != "0"))
        first = next(row for row in tables["numbers"] if row["set"] == name)
        lines = []
        for method in dict.fromkeys(method for method, budget in of_set if budget != "0"):
            cells = [of_set.get((method, budget)) for budget in budgets]
            lines.append([method, *(NONE if each is None else f"{each[0]:.4f}, {each[1]:.3g} s" for each in cells)])
        of_mean = of_set["the mean", "0"][0]
        rows, columns = (f"{int(first[what]):,}" for what in ("rows", "columns"))
        parts += [
            f"## {name}", "",
            f"{rows} training rows, {columns} columns. Always predicting the mean has an RMSE of {of_mean:.4f}.", "",
            table(["RMSE, seconds", *(f"B = {int(budget):,}" for budget in budgets)], lines), "",
        ]  # fmt: skip
    head = ["q ≤", "chance finds", "informative columns found"]
    measured = [f"{what}_{level}" for level in LEVELS for what in ("chance", "found")]
    (_, figures), *_ = means([{"all": "", **row} for row in tables["numbers-decoys"]], ("all",), measured)
    lines = [[f"{level}", f"{figures[2 * k]:.3f}", f"{figures[2 * k + 1]:.3f}"] for k, level in enumerate(LEVELS)]
    return {
        "sets": "\n".join(parts).rstrip(), "chance": table(head, lines), "few": str(FEW_ROWS),
        "seeds": str(len({row["seed"] for row in tables["numbers"]})), "draws": str(len(tables["numbers-decoys"])),
    }  # fmt: skip


STUDY = Study(
    "numbers", "errors of numbers beside other selectors", HOME / "NUMBERS.md", (OURS,),
    {"numbers": steps, "numbers-decoys": chance_steps}, placeholders,
)  # fmt: skip
