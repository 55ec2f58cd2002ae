"""The cost of each kind of memory in accuracy, bytes and time: memory.csv, memory-cost.csv and MEMORY.md."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments import config, data
from experiments.config import Config
from experiments.data import Rows
from experiments.processes import apart, megabytes, peak_megabytes
from experiments.reporting.tables import table
from experiments.store import Found, Methods, note_run, read_csv, write_csv
from thresher import datasets, train
from thresher.evaluation.tally import accuracy
from thresher.methods import METHODS, ONLINE
from thresher.model.model import Model
from thresher.progress import Steps
from thresher.streams.conversion import convert

NAMES = {method.estimator: method.name for method in ONLINE if method.sketch_kernels is not None}
BYTES_PER_COLUMN = 8  # of dense memory
ACCURACY = ("set", "budget", "method", "permutation", "share", "bytes", "dense", "sketch", "hashing")
COST = ("what", "method", "memory", "seconds", "mb", "accuracy")


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


def tasks(smallest: bool) -> list[tuple[Config, int, tuple[int, ...], int]]:
    """Return sets, budgets, the sketch's bytes as a divisor of dense memory's, and how many permutations."""
    if smallest:
        return [(config.read("news-random").smallest(), 20, (1,), 1)]
    shares = (2, 4, 8, 20, 50, 100)
    return [(config.read("news-random"), 5_000, shares, 3), (config.read("ccat"), 500, shares, 3)]


def run(folder: Path, bar: Steps, smallest: bool, only_accuracy: bool) -> None:
    """Measure everything and write the tables and the page; all data must be there."""
    size = SMALLEST if smallest else Size()
    found: list[Found] = []
    for done, task in enumerate(tasks(smallest)):
        bar.done(done, task[0].title)
        found += against_bytes(*task)
    write_csv(folder / "results" / "memory.csv", ACCURACY, found)
    if not only_accuracy:
        bar.done(len(tasks(smallest)), "time and memory")
        write_csv(folder / "results" / "memory-cost.csv", COST, costs(size, tasks(smallest)[0][0]))
    note_run("memory", Methods(tuple(NAMES), tuple(NAMES)), folder / "results")
    write_report(folder)


def against_bytes(of: Config, budget: int, shares: tuple[int, ...], n_permutations: int) -> Iterator[Found]:
    """Yield the accuracy of dense memory, of a sketch, and of feature hashing into as many bytes."""
    rows = data.needed(of)
    for permutation in range(n_permutations):
        training, test = data.split(rows, of, permutation)
        for name in NAMES:
            estimator = estimator_of(name)
            dense = score(estimator(budget, memory="dense"), training, test)
            for share in shares:
                n_bytes = max(rows.n_features * BYTES_PER_COLUMN // share, 4096)
                sketch = score(estimator(budget, memory="sketch", memory_bytes=n_bytes), training, test)
                buckets = n_bytes // BYTES_PER_COLUMN
                hashed = score(
                    estimator(budget, memory="dense"), *(folded(of_rows, buckets) for of_rows in (training, test))
                )
                values = (of.name, budget, name, permutation, share, n_bytes, dense, sketch, hashed)
                yield dict(zip(ACCURACY, values, strict=True))


def estimator_of(name: str) -> Any:
    """Return the class of an estimator."""
    return METHODS[NAMES[name]].load_estimator()


def new_model(name: str, budget: int, memory: str, size: Size) -> Model:
    """Return what the command line trains: it does without scikit-learn, which alone takes 100 MB."""
    n_bytes = size.sketch if memory == "sketch" else None
    return Model(NAMES[name], n_features_to_select=budget, memory=memory, memory_bytes=n_bytes)


def score(model: Any, training: Rows, test: Rows) -> float:
    """Return the accuracy on test rows, in percent."""
    return float(100 * model.fit(training.X, training.y).score(test.X, test.y))


def folded(rows: Rows, buckets: int) -> Rows:
    """Return the rows with id mod buckets for each id; features that meet are summed."""
    parts = rows.X.data.copy(), rows.X.indices % buckets, rows.X.indptr.copy()
    X = sp.csr_matrix(parts, shape=(rows.X.shape[0], buckets))
    X.sum_duplicates()  # in place
    return Rows(X, rows.y)


def costs(size: Size, news: Config) -> Iterator[Found]:
    """Yield seconds and megabytes of each memory where it matters."""
    for name in NAMES:
        yield from x1(name, size)
    for memory in ("dense", "hash"):
        yield _apart("x2", size, name="SOFS", memory=memory, n_rows=size.x2_first)
    for name in NAMES:
        for memory in ("dense", "sketch"):
            yield _apart("x2", size, name=name, memory=memory, n_rows=size.x2_rows)
    with tempfile.TemporaryDirectory() as folder:
        paths = plain_and_hashed(data.needed(news), folder)
        for name in NAMES:
            for what, path in paths.items():
                yield _apart("text", size, name=name, what=what, path=path)
    for name in NAMES:
        yield from _apart("flat", size, name=name)["found"]


def _apart(job: str, size: Size, **given: Any) -> Found:
    return apart("experiments.memory", job=job, size=size.__dict__, **given)


def x1(name: str, size: Size) -> Iterator[Found]:
    """Yield the least seconds of each memory on X1, in turns, so that other work disturbs all alike."""
    X, y = datasets.make_x1(size.x1_rows)
    estimator = estimator_of(name)
    seconds: dict[str, list[float]] = {"dense": [], "auto": [], "hash": [], "sketch": []}
    for _ in range(size.n_times):
        for memory, taken in seconds.items():
            start = time.perf_counter()
            estimator(200, memory=memory, shuffle=False).fit(X, y)
            taken.append(time.perf_counter() - start)
    for memory, taken in seconds.items():
        yield _cost(f"X1, {size.x1_rows:,} rows", name, memory, min(taken))


def x2(name: str, memory: str, n_rows: int, size: Size) -> Found:
    """Measure a run over X2 while it is generated."""
    model = new_model(name, 500, memory, size)
    start = time.perf_counter()
    train(model, datasets.make_x2(n_rows, n_features=size.x2_columns), shuffle=False)
    seconds, peak = time.perf_counter() - start, peak_megabytes()
    right = accuracy(model, datasets.make_x2(size.x2_test, n_features=size.x2_columns, start=size.x2_rows))
    return _cost(f"X2, {n_rows:,} rows", name, memory, seconds, peak, right)


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


def text(name: str, what: str, path: str, size: Size) -> Found:
    """Measure runs over a text file."""
    taken = []
    for _ in range(size.n_times):
        start = time.perf_counter()
        train(new_model(name, 5_000, "auto", size), path, shuffle=False)
        taken.append(time.perf_counter() - start)
    return _cost(f"news20 from text, {what}", name, "auto", min(taken), peak_megabytes())


def flat(name: str, size: Size) -> list[Found]:
    """Measure the memory after some rows and after many, each of five features that never came before."""
    random, n_done, piece, n_each = np.random.default_rng(0), 0, min(100_000, size.flat_rows[0]), 5
    model, found = new_model(name, 500, "sketch", size), []
    start = time.perf_counter()
    starts = np.arange(0, piece * n_each + 1, n_each)
    for n_rows in size.flat_rows:
        while n_done < n_rows:
            ids = np.arange(n_done * n_each, (n_done + piece) * n_each)
            X = sp.csr_matrix((np.ones(len(ids), dtype=np.float32), ids, starts), shape=(piece, 2**40))
            model.partial_fit(X, random.integers(0, 2, piece), classes=np.array([0, 1]))
            n_done += piece
        seconds = time.perf_counter() - start
        found.append(_cost(f"{n_rows:,} rows of new features", name, "sketch", seconds, megabytes()))
    return found


def _cost(what: str, method: str, memory: str, seconds: float, mb: float | None = None, right: Any = "") -> Found:
    values = (what, method, memory, round(seconds, 3), "" if mb is None else round(mb, 1), right)
    return dict(zip(COST, values, strict=True))


TEXT = """\
# What each kind of memory costs

Written by `python -m experiments memory`. [docs/memory.md](../docs/memory.md) says what the kinds are.

## Accuracy against bytes

Means over permutations, in percent. *Sketch* has a table of so many bytes, and its members beside it. *Feature hashing*
is dense memory of as many bytes, for ids `id mod buckets`. Every method with its defaults.

{accuracy}

![accuracy against bytes](figures/memory.svg)

## Time and memory

Each line but X1's is a process of its own, as `thresher train` has one, Python included (60 MB); the memory is the
peak, and of new features what the process has at that row. X1 and text: the least of several runs.

{costs}
"""


def write_report(folder: Path) -> None:
    """Write MEMORY.md and its figure from the tables."""
    from experiments.figures import draw_memory

    rows = read_csv(folder / "results" / "memory.csv")
    draw_memory(rows, folder)
    head = ["set", "B", "method", "bytes", "of dense", "dense", "sketch", "feature hashing"]
    cells = [
        [name, budget, method, f"{int(n_bytes):,}", f"1/{share}", *(f"{value:.1f}" for value in values)]
        for (name, budget, method, share, n_bytes), values in means(rows)
    ]
    of_costs = [
        [
            row["what"],
            row["method"],
            row["memory"],
            f"{float(row['seconds']):.2f}",
            row["mb"],
            _percent(row["accuracy"]),
        ]
        for row in read_csv(folder / "results" / "memory-cost.csv")
    ]
    costs_head = ["rows", "method", "memory", "seconds", "MB", "accuracy"]
    (folder / "MEMORY.md").write_text(TEXT.format(accuracy=table(head, cells), costs=table(costs_head, of_costs)))


def means(rows: list[dict[str, str]]) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """Yield each cell with its mean accuracies: dense, sketch, hashing."""
    keys = ("set", "budget", "method", "share", "bytes")
    for key in dict.fromkeys(tuple(row[name] for name in keys) for row in rows):
        cell = [row for row in rows if tuple(row[name] for name in keys) == key]
        yield key, [mean(float(row[name]) for row in cell) for name in ("dense", "sketch", "hashing")]


def _percent(share: str) -> str:
    return f"{100 * float(share):.2f}" if share else ""


if __name__ == "__main__":
    JOBS: dict[str, Any] = {"x2": x2, "text": text, "flat": flat}
    order = json.loads(sys.argv[1])
    job, order["size"] = JOBS[order.pop("job")], Size(**order["size"])
    result = job(**order)
    print(json.dumps({"found": result} if isinstance(result, list) else result))
