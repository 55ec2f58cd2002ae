"""What q-values are worth, where it is known which columns matter: decoys-*.csv and docs/how_sure.md."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from experiments import data
from experiments.config import HOME
from experiments.data import Rows
from experiments.processes import least_seconds
from experiments.reporting.tables import table
from experiments.store import Found
from experiments.study import Step, Study, Table
from thresher import ShadowSOFS, datasets, open_stream, train

LEVELS = (0.05, 0.1, 0.2)
SETS = ("relathe", "pcmac", "ccat", "farm_ads", "allaml", "enron1")
ALL, SOME = 1.0, 0.125  # of the columns have a decoy


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_rows: tuple[int, ...] = (5_000, 20_000, 100_000)
    budgets: tuple[int, ...] = (400, 1_000)
    n_seeds: int = 20
    sets: tuple[str, ...] = SETS
    x2_rows: int = 1_000_000
    peer_rows: int = 2_000


SMALLEST = Size((2_000,), (50,), 2, ("generated",), 2_000, 300)


def planted(n_rows: int, dense_noise: int, seed: int) -> tuple[Rows, NDArray[np.int64]]:
    """Return rows of X1, and the columns that decide their labels."""
    X, y, informative = datasets.make_x1(n_rows, random_state=seed, dense_noise=dense_noise, return_informative=True)
    return Rows(X, y), informative


def told(model: ShadowSOFS, informative: NDArray[np.int64]) -> Found:
    """Return the share of chance finds, and of the informative columns found, up to each q-value."""
    out: Found = {}
    for level in LEVELS:
        found = model.selected_[model.q_values_ <= level]
        hits = int(np.isin(found, informative).sum())
        out[f"chance_{level}"] = f"{(len(found) - hits) / max(1, len(found)):.4f}"
        out[f"found_{level}"] = f"{hits / len(informative):.4f}"
    return out


def x1_steps(smallest: bool) -> list[Step]:
    """Return rows, noise and seeds."""
    size = SMALLEST if smallest else Size()
    return [
        (f"{n_rows:,} rows, seed {seed}", partial(on_x1, size, n_rows, dense_noise, seed))
        for n_rows in size.n_rows
        for dense_noise in (0, 400)
        for seed in range(size.n_seeds)
    ]


def on_x1(size: Size, n_rows: int, dense_noise: int, seed: int) -> Iterator[Found]:
    """Yield how good the q-values are on a draw of X1."""
    rows, informative = planted(n_rows, dense_noise, seed)
    for budget in size.budgets:
        for share in (ALL, SOME):
            for n_passes in (1, 3):
                model = ShadowSOFS(budget, decoys=share, n_passes=n_passes, refit=False).fit(rows.X, rows.y)
                yield {
                    "rows": n_rows, "dense_noise": dense_noise, "budget": budget, "decoys": share, "passes": n_passes,
                    "seed": seed, **told(model, informative),
                }  # fmt: skip


def rows_of(name: str) -> Rows:
    """Return the rows of a set."""
    if name == "generated":
        return planted(500, 0, 0)[0]
    if name == "allaml":
        X, y, _ = open_stream(data.find("allaml.csv.xz"), label="type").to_csr()
        return Rows(StandardScaler().fit_transform(X.toarray()).astype(np.float32), y)
    if name == "enron1":
        X, y, _ = open_stream(data.find("enron1.jsonl.xz"), label="label", text="text", ngrams="1-2").to_csr()
        columns, X.indices = np.unique(X.indices, return_inverse=True)
        X.resize(len(y), len(columns))
        return Rows(X, y)
    X, y, _ = open_stream(data.find(f"{name}.svm.xz"), "svmlight").to_csr()
    return Rows(X, y)


def permuted_steps(smallest: bool) -> list[Step]:
    """Return the sets."""
    size = SMALLEST if smallest else Size()
    return [(f"{name}, permuted labels", partial(permuted, name, size.n_seeds)) for name in size.sets]


def permuted(name: str, n_seeds: int) -> Iterator[Found]:
    """Yield how many features pass for told from chance where the labels are chance."""
    rows = rows_of(name)
    for seed in range(n_seeds):
        labels = np.random.default_rng(seed).permutation(rows.y)
        q_values = ShadowSOFS(100, decoys=True).fit(rows.X, labels).q_values_
        yield {"set": name, "seed": seed, "least": f"{q_values.min():.4f}", "n": int((q_values <= 0.1).sum())}


def real_steps(smallest: bool) -> list[Step]:
    """Return w8a at three budgets."""
    return [("w8a" if not smallest else "generated", partial(on_real, "generated" if smallest else "w8a"))]


def on_real(name: str) -> Iterator[Found]:
    """Yield how many features of a real set can be told from chance."""
    rows = rows_of(name)
    for budget in (20, 50, 100):
        q_values = ShadowSOFS(budget, decoys=True).fit(rows.X, rows.y).q_values_
        yield {"set": name, "budget": budget, **{str(level): int((q_values <= level).sum()) for level in LEVELS}}


def x2_steps(smallest: bool) -> list[Step]:
    """Return X2 with a sketch, and X1 trimmed."""
    size = SMALLEST if smallest else Size()
    steps = (("X2, sketch", on_x2), ("X1, trimmed", trimmed), ("X1, sketches", sketched))
    return [(title, partial(measure, size)) for title, measure in steps]


def on_x2(size: Size) -> Iterator[Found]:
    """Yield what is found among a billion columns with a sketch of 64 MiB."""
    stream, informative = datasets.make_x2(size.x2_rows, random_state=0, return_informative=True)
    model = ShadowSOFS(2_000, memory="sketch", memory_bytes=64 << 20, max_fdr=0.1)
    started = time.perf_counter()
    train(model, stream)
    seconds = time.perf_counter() - started
    hits = int(np.isin(model.selected_, informative).sum())
    yield {
        "what": "x2",
        "budget": 2_000,
        "selected": len(model.selected_),
        "hits": hits,
        "accuracy": "",
        "seconds": f"{seconds:.1f}",
    }


def trimmed(size: Size) -> Iterator[Found]:
    """Yield the accuracy of models that are trimmed, beside one with the right budget."""
    n = size.n_rows[-1]
    X, y, informative = datasets.make_x1(n + n // 10, random_state=0, return_informative=True)
    for budget, max_fdr in ((200, None), (400, None), (1_000, None), (400, 0.1), (1_000, 0.1)):
        model = ShadowSOFS(budget, max_fdr=max_fdr).fit(X[:n], y[:n])
        hits = int(np.isin(model.selected_, informative).sum())
        yield {
            "what": "x1" if max_fdr is None else "x1, max_fdr", "budget": budget, "selected": len(model.selected_),
            "hits": hits, "accuracy": f"{100 * model.score(X[n:], y[n:]):.2f}", "seconds": "",
        }  # fmt: skip


def sketched(size: Size) -> Iterator[Found]:
    """Yield what is found on X1 with sketches that have few slots for each column, and many."""
    rows, informative = planted(size.n_rows[len(size.n_rows) // 2], 0, 0)
    for kilobytes in (256, 1_024, 4_096):
        model = ShadowSOFS(400, memory="sketch", memory_bytes=kilobytes << 10, max_fdr=0.1).fit(rows.X, rows.y)
        hits = int(np.isin(model.selected_, informative).sum())
        yield {
            "what": f"x1, sketch of {kilobytes:,} KiB", "budget": 400, "selected": len(model.selected_), "hits": hits,
            "accuracy": "", "seconds": "",
        }  # fmt: skip


def time_steps(smallest: bool) -> list[Step]:
    """Return X1."""
    return [("time", partial(times, SMALLEST if smallest else Size()))]


def times(size: Size) -> Iterator[Found]:
    """Yield the seconds of a fit without decoys, with some, and with all."""
    rows, _ = planted(size.n_rows[-1], 0, 0)
    works = {share: partial(ShadowSOFS(200, decoys=share).fit, rows.X, rows.y) for share in (False, SOME, ALL)}
    for share, seconds in least_seconds(works, 5).items():
        yield {"decoys": share, "seconds": f"{seconds:.3f}"}


def peer_steps(smallest: bool) -> list[Step]:
    """Return X1 cut to 5,000 columns."""
    size = SMALLEST if smallest else Size()
    return [(f"beside other methods, seed {seed}", partial(peers, size, seed)) for seed in range(2 if smallest else 3)]


def peers(size: Size, seed: int) -> Iterator[Found]:
    """Yield what thresher and the T-Rex selector find at a false discovery rate of 0.1, with seconds."""
    n_columns = 5_000 if size.peer_rows > 1_000 else 400
    rows, informative = planted(size.peer_rows, 0, seed)
    X, informative = rows.X[:, :n_columns], informative[informative < n_columns]

    def by_thresher() -> NDArray[Any]:
        return np.asarray(ShadowSOFS(400, max_fdr=0.1).fit(X, rows.y).selected_)

    def by_trex() -> NDArray[Any]:
        from trexselector import trex

        dense = StandardScaler().fit_transform(X.toarray()).astype(np.float64)
        chosen = trex(dense, rows.y - rows.y.mean(), tFDR=0.1, max_num_dummies=1, seed=seed, verbose=False)
        return np.flatnonzero(chosen["selected_var"])

    for name, work in (("thresher", by_thresher), ("T-Rex", by_trex)):
        started = time.perf_counter()
        found = work()
        seconds = time.perf_counter() - started
        hits = int(np.isin(found, informative).sum())
        yield {
            "method": name, "rows": size.peer_rows, "columns": n_columns, "seed": seed, "n": len(found),
            "chance": f"{(len(found) - hits) / max(1, len(found)):.4f}", "found": f"{hits / len(informative):.4f}",
            "seconds": f"{seconds:.2f}",
        }  # fmt: skip


def share(value: str | float) -> str:
    """Return a share with three digits."""
    return f"{float(value):.3f}"


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the tables of how_sure.md."""
    return {
        "x1_once": _x1(tables["decoys-x1"], "1"),
        "x1_thrice": _x1(tables["decoys-x1"], "3"),
        "permuted": table(
            ["set", "runs", "runs with a feature at q ≤ 0.1", "least q of all runs"],
            [
                [name, str(len(runs)), str(sum(int(run["n"]) > 0 for run in runs)),
                 share(min(float(run["least"]) for run in runs))]
                for name, runs in _by(tables["decoys-permuted"], "set").items()
            ],
        ),
        "real": table(
            ["set", "B", *(f"q ≤ {level}" for level in LEVELS)],
            [[row["set"], row["budget"], *(row[str(level)] for level in LEVELS)] for row in tables["decoys-real"]],
        ),
        "wide": table(
            ["", "B", "selected", "of them informative", "accuracy, %", "seconds"],
            [
                [row["what"], f"{int(row['budget']):,}", f"{int(row['selected']):,}", row["hits"],
                 row["accuracy"] or "–", row["seconds"] or "–"]
                for row in tables["decoys-wide"]
            ],
        ),
        "time": _times(tables["decoys-time"]),
        "peers": table(
            ["method", "rows", "columns", "found", "chance finds", "share of the informative", "seconds"],
            [
                [name, runs[0]["rows"], runs[0]["columns"], f"{_mean(runs, 'n'):.0f}", share(_mean(runs, "chance")),
                 share(_mean(runs, "found")), f"{_mean(runs, 'seconds'):.2f}"]
                for name, runs in _by(tables["decoys-peers"], "method").items()
            ],
        ),
    }  # fmt: skip


def _x1(rows: Table, n_passes: str) -> str:
    """Return mean shares of chance finds and of informative columns found."""
    keys = ("rows", "dense_noise", "budget", "decoys")
    cells: dict[tuple[str, ...], Table] = {}
    for row in rows:
        if row["passes"] == n_passes:
            cells.setdefault(tuple(row[key] for key in keys), []).append(row)
    return table(
        ["rows", "dense noise", "B", "decoys for", *(f"q ≤ {level}" for level in LEVELS)],
        [
            [f"{int(n):,}", noise, f"{int(budget):,}", "all" if float(decoys) == 1.0 else "one in eight",
             *(f"{share(_mean(runs, f'chance_{level}'))}, {share(_mean(runs, f'found_{level}'))}" for level in LEVELS)]
            for (n, noise, budget, decoys), runs in cells.items()
        ],
    )  # fmt: skip


def _times(rows: Table) -> str:
    without = next((float(row["seconds"]) for row in rows if row["decoys"] == "False"), 1.0)
    names = {"False": "none", str(SOME): "one in eight", str(ALL): "all"}
    cells = [[names[row["decoys"]], row["seconds"], f"{float(row['seconds']) / without:.2f}"] for row in rows]
    return table(["decoys for", "seconds", "times that without"], cells)


def _by(rows: Table, key: str) -> dict[str, Table]:
    groups: dict[str, Table] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return groups


def _mean(rows: Table, figure: str) -> float:
    return statistics.fmean(float(row[figure]) for row in rows)


STUDY = Study(
    "decoys", "what q-values are worth", HOME.parent / "docs" / "how_sure.md", ("ShadowSOFS",),
    {
        "decoys-x1": x1_steps, "decoys-permuted": permuted_steps, "decoys-real": real_steps, "decoys-wide": x2_steps,
        "decoys-time": time_steps, "decoys-peers": peer_steps,
    },
    placeholders,
)  # fmt: skip
