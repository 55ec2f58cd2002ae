"""The cost of each kind of memory in accuracy, bytes and time: memory.csv, memory-cost.csv and MEMORY.md."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments import config, data
from experiments.config import HOME, Config
from experiments.data import Rows
from experiments.methods import METHODS
from experiments.processes import apart, cost, least_seconds, megabytes, peak_megabytes
from experiments.reporting.tables import table
from experiments.store import Found
from experiments.study import Step, Study, Table, means
from thresher import convert, datasets, evaluate, methods, train
from thresher.model.learning import partial_fit
from thresher.model.model import Model

NAMES = tuple(method.estimator for method in methods.ONLINE if method.sketch_kernels is not None)
BYTES_PER_COLUMN = 8  # of dense memory
CELL, KINDS = ("set", "budget", "method", "share", "bytes"), ("dense", "sketch", "hashing")


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    x1_rows: int = 50_000
    x2_first: int = 20_000
    x2_rows: int = 1_000_000
    x2_columns: int = 1_000_000_000
    x2_test: int = 100_000
    sketch: int = 64 << 20
    flat_rows: tuple[int, int] = (1_000_000, 10_000_000)
    n_times: int = 7


SMALLEST = Size(500, 500, 2_000, 1_000_000, 500, 1 << 16, (1_000, 5_000), 1)


def accuracy_steps(smallest: bool) -> list[Step]:
    """Return sets, budgets, the sketch's bytes as a divisor of dense memory's, and how many permutations."""
    shares = (1,) if smallest else (2, 4, 8, 20, 50, 100)
    tasks = [(config.read("news-random"), 5_000, shares, 3), (config.read("ccat"), 500, shares, 3)]
    if smallest:
        tasks = [(config.read("news-random").smallest(), 20, shares, 1)]
    return [(task[0].title, partial(against_bytes, *task)) for task in tasks]


def against_bytes(of: Config, budget: int, shares: tuple[int, ...], n_permutations: int) -> Iterator[Found]:
    """Yield the accuracy of dense memory, of a sketch, and of feature hashing into as many bytes."""
    rows = data.load(of)
    for permutation in range(n_permutations):
        parts = data.split(rows, of, permutation)
        for name in NAMES:
            dense = score(name, budget, *parts, memory="dense")
            for share in shares:
                n_bytes = max(rows.n_features * BYTES_PER_COLUMN // share, 4096)
                hashed = (folded(part, n_bytes // BYTES_PER_COLUMN) for part in parts)
                yield {
                    "set": of.name, "budget": budget, "method": name, "permutation": permutation, "share": share,
                    "bytes": n_bytes, "dense": dense,
                    "sketch": score(name, budget, *parts, memory="sketch", memory_bytes=n_bytes),
                    "hashing": score(name, budget, *hashed, memory="dense"),
                }  # fmt: skip


def new_model(name: str, budget: int, memory: str, size: Size) -> Model:
    """Return what the command line trains: it does without scikit-learn, which alone takes 100 MB."""
    n_bytes = size.sketch if memory == "sketch" else None
    return Model(METHODS[name].of.name, n_features_to_select=budget, memory=memory, memory_bytes=n_bytes)


def score(name: str, budget: int, training: Rows, test: Rows, **memory: Any) -> float:
    """Return the accuracy on test rows, in percent."""
    model = METHODS[name].estimator(budget, **memory).fit(training.X, training.y)
    return float(100 * model.score(test.X, test.y))


def folded(rows: Rows, buckets: int) -> Rows:
    """Return the rows with id mod buckets for each id; features that meet are summed."""
    parts = rows.X.data.copy(), rows.X.indices % buckets, rows.X.indptr.copy()
    X = sp.csr_matrix(parts, shape=(rows.X.shape[0], buckets))
    X.sum_duplicates()  # in place
    return Rows(X, rows.y)


def cost_steps(smallest: bool) -> list[Step]:
    """Return what measures seconds and megabytes of each memory where it matters."""
    size = SMALLEST if smallest else Size()
    return [(of.__name__, partial(of, size)) for of in (x1, x2, text, flat)]


def x1(size: Size) -> Iterator[Found]:
    """Yield the least seconds of each memory on X1."""
    X, y = datasets.make_x1(size.x1_rows)
    for name in NAMES:
        fits = {
            memory: partial(METHODS[name].estimator(200, memory=memory, shuffle=False).fit, X, y)
            for memory in ("dense", "auto", "hash", "sketch")
        }
        for memory, seconds in least_seconds(fits, size.n_times).items():
            yield _row(f"X1, {size.x1_rows:,} rows", name, memory, seconds)


def x2(size: Size) -> Iterator[Found]:
    """Yield the cost of runs over X2 while it is generated."""
    for memory in ("dense", "hash"):
        yield apart(one_of_x2, "SOFS", memory, size.x2_first, size)
    for name in NAMES:
        for memory in ("dense", "sketch"):
            yield apart(one_of_x2, name, memory, size.x2_rows, size)


def one_of_x2(name: str, memory: str, n_rows: int, size: Size) -> Found:
    """Measure one of them."""
    model = new_model(name, 500, memory, size)
    found = cost(lambda: train(model, datasets.make_x2(n_rows, n_features=size.x2_columns), shuffle=False))
    test = datasets.make_x2(size.x2_test, n_features=size.x2_columns, start=size.x2_rows)
    return _row(f"X2, {n_rows:,} rows", name, memory, **found, right=evaluate(model, test).accuracy)


def text(size: Size) -> Iterator[Found]:
    """Yield the cost of runs over text files."""
    of = config.read("news-random")
    with tempfile.TemporaryDirectory() as folder:
        paths = plain_and_hashed(data.load(of.smallest() if size == SMALLEST else of), folder)
        for name in NAMES:
            for what, path in paths.items():
                yield apart(one_text, name, what, path, size)


def one_text(name: str, what: str, path: str, size: Size) -> Found:
    """Measure one of them."""
    taken = least_seconds(
        {name: lambda: train(new_model(name, 5_000, "auto", size), path, shuffle=False)}, size.n_times
    )
    return _row(f"news20 from text, {what}", name, "auto", taken[name], peak_megabytes())


def plain_and_hashed(rows: Rows, folder: str) -> dict[str, str]:
    """Write the rows, shuffled, as text: with their ids, and with ids hashed to 32 bits."""
    rows = rows.take(np.random.default_rng(1).permutation(len(rows.y)))
    ids = np.random.default_rng(0).permutation(2**24)[: rows.n_features].astype(np.int64)
    ids = ids * 255 + ids % 251  # distinct, anywhere below 2^32
    X = sp.csr_matrix((rows.X.data, ids[rows.X.indices], rows.X.indptr.astype(np.int64)), shape=(len(rows.y), 2**32))
    X.sort_indices()
    paths = {}
    for what, of in (("its own ids", rows), ("ids of 32 bits", Rows(X, rows.y))):
        paths[what] = f"{folder}/{what.replace(' ', '-')}.svm"
        convert(of.stream(), paths[what])
    return paths


def flat(size: Size) -> Iterator[Found]:
    """Yield the memory after some rows and after many, each of five features that never came before."""
    for name in NAMES:
        yield from apart(one_flat, name, size)


def one_flat(name: str, size: Size) -> list[Found]:
    """Measure one of them."""
    random, n_done, piece, n_each = np.random.default_rng(0), 0, min(100_000, size.flat_rows[0]), 5
    model, found = new_model(name, 500, "sketch", size), []
    start = time.perf_counter()
    starts = np.arange(0, piece * n_each + 1, n_each)
    for n_rows in size.flat_rows:
        while n_done < n_rows:
            ids = np.arange(n_done * n_each, (n_done + piece) * n_each)
            X = sp.csr_matrix((np.ones(len(ids), dtype=np.float32), ids, starts), shape=(piece, 2**40))
            partial_fit(model, X, random.integers(0, 2, piece), classes=np.array([0, 1]))
            n_done += piece
        seconds = time.perf_counter() - start
        found.append(_row(f"{n_rows:,} rows of new features", name, "sketch", seconds, megabytes()))
    return found


def _row(what: str, method: str, memory: str, seconds: float, mb: float | None = None, right: Any = "") -> Found:
    shown = {"seconds": round(seconds, 3), "mb": "" if mb is None else round(mb, 1), "accuracy": right}
    return {"what": what, "method": method, "memory": memory, **shown}


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of MEMORY.md, whose figure is drawn by `figures.draw_memory`."""
    head = ["set", "B", "method", "bytes", "of dense", "dense", "sketch", "feature hashing"]
    cells = [
        [name, budget, method, f"{int(n_bytes):,}", f"1/{share}", *(f"{value:.1f}" for value in values)]
        for (name, budget, method, share, n_bytes), values in means(tables["memory"], CELL, KINDS)
    ]
    costs = [
        [row["what"], row["method"], row["memory"], f"{float(row['seconds']):.2f}", row["mb"],
         f"{100 * float(row['accuracy']):.2f}" if row["accuracy"] else ""]
        for row in tables["memory-cost"]
    ]  # fmt: skip
    costs_head = ["rows", "method", "memory", "seconds", "MB", "accuracy"]
    return {"accuracy": table(head, cells), "costs": table(costs_head, costs)}


STUDY = Study(
    "memory", "what dense memory, hash tables and sketches cost", HOME / "MEMORY.md", NAMES,
    {"memory": accuracy_steps, "memory-cost": cost_steps}, placeholders,
)  # fmt: skip
