"""How training on shards grows: accuracy, bytes and time, in scale.csv, scale-time.csv and docs/scale.md."""

from __future__ import annotations

import json
import logging
import math
import pickle
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from experiments import config, data
from experiments.config import Config
from experiments.memory import estimator_of
from experiments.processes import apart
from experiments.reporting.tables import table
from experiments.store import Found, Methods, note_run, read_csv, write_csv
from thresher import ShadowSOFS, datasets, distributed, evaluate, open_stream
from thresher.batch import Batch
from thresher.progress import Steps
from thresher.streams.conversion import convert
from thresher.streams.writing import write_stream

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
TEMPLATE = Path(__file__).with_name("reporting") / "scale.md"
ACCURACY = (
    "set", "budget", "method", "permutation", "memory", "shards", "syncs", "sequential", "accuracy", "rows",
    "moved", "model",
)  # fmt: skip
TIME = ("what", "workers", "syncs", "megabytes", "seconds")


@dataclass(frozen=True)
class Size:
    """How much text Ray's workers read, and how often."""

    rows: int = 1_000_000
    shards: int = 16
    n_times: int = 2


SMALLEST = Size(2_000, 4, 1)


@dataclass(frozen=True)
class Task:
    """Training on shards of a set, beside one pass over all of its rows."""

    of: Config
    budget: int
    methods: tuple[str, ...]
    cuts: tuple[tuple[int, int], ...]  # shards and syncs
    n_permutations: int = 3
    memory_bytes: int | None = None  # of a sketch; None: memory="auto"


def tasks(smallest: bool) -> list[Task]:
    """Return what is measured; the smallest form has a few generated rows."""
    both = ("ShadowSOFS", "SOFS")
    if smallest:
        return [Task(config.read("news-random").smallest(), 20, both, ((4, 2),), 1)]
    x1, ccat, news = (config.read(name) for name in ("x1", "ccat", "news-random"))
    many = ((4, 16), (16, 1), (16, 4), (16, 16), (16, 64), (64, 16), (64, 64), (256, 16))
    return [
        Task(x1, 100, ("ShadowSOFS",), ((4, 16), (16, 16)), 1),
        Task(x1, 200, both, ((4, 16), (16, 16), (64, 16), (256, 16)), 1),
        Task(ccat, 500, both, many),
        Task(news, 5_000, both, ((16, 16),)),
        Task(news, 5_000, ("ShadowSOFS",), ((64, 16), (256, 16)), 1),
        Task(ccat, 500, ("ShadowSOFS",), ((16, 16),), 3, 1 << 16),
        Task(news, 5_000, ("ShadowSOFS",), ((16, 16),), 3, 1 << 20),
    ]


def run(folder: Path, page: Path, bar: Steps, smallest: bool, only_time: bool) -> None:
    """Measure everything, or the time only, and write the tables and the page; all data must be there."""
    found: list[Found] = []
    for done, task in enumerate(() if only_time else tasks(smallest)):
        bar.done(done, task.of.title)
        found += accuracies(task)
        write_csv(folder / "results" / "scale.csv", ACCURACY, found)
    bar.done(len(tasks(smallest)), "time on Ray")
    write_csv(folder / "results" / "scale-time.csv", TIME, times(SMALLEST if smallest else Size()))
    note_run("scale", Methods(("SOFS", "ShadowSOFS"), ("SOFS", "ShadowSOFS")), folder / "results")
    write_page(folder / "results", page)


def accuracies(task: Task) -> Iterator[Found]:
    """Yield the accuracy after one pass, over all rows in order and on shards."""
    rows = data.needed(task.of)
    given: dict[str, Any] = {}
    if task.memory_bytes is not None:
        given = {"memory": "sketch", "memory_bytes": task.memory_bytes}
    for permutation in range(task.n_permutations):
        training, test = data.split(rows, task.of, permutation)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.svm"
            convert(training.stream(), path)
            stream = open_stream(path, zero_based=False)
            for name in task.methods:
                estimator = estimator_of(name)
                sequential = estimator(task.budget, shuffle=False, **given).fit(training.X, training.y)
                for n_shards, syncs in task.cuts:
                    model = estimator(task.budget, **given)
                    history = distributed.train(
                        model, stream, n_shards=n_shards, syncs=syncs, engine="local", workers=1
                    )  # fmt: skip
                    yield {
                        "set": task.of.name, "budget": task.budget, "method": name, "permutation": permutation,
                        "memory": "auto" if task.memory_bytes is None else f"sketch of {task.memory_bytes:,} bytes",
                        "shards": n_shards, "syncs": syncs,
                        "sequential": round(100 * sequential.score(test.X, test.y), 3),
                        "accuracy": round(100 * evaluate(model, test.stream()).accuracy, 3),
                        "rows": history.rows[-1],
                        "moved": round(mean(each["bytes"] for each in history.merges) / n_shards),
                        "model": len(pickle.dumps(model, protocol=5)),
                    }  # fmt: skip


def times(size: Size) -> Iterator[Found]:
    """Yield the least seconds that one and two workers of Ray take for X1 as text, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x1.svm"
        write_x1(path, size.rows)
        megabytes = path.stat().st_size / 1e6
        cells = [(1, 16), (2, 16), (1, 1), (2, 1)]
        seconds: dict[tuple[int, int], list[float]] = {cell: [] for cell in cells}
        for _ in range(size.n_times):
            for workers, syncs in cells:
                order = {"path": str(path), "workers": workers, "syncs": syncs, "n_shards": size.shards}
                seconds[workers, syncs].append(apart("experiments.scale", **order)["seconds"])
        for (workers, syncs), taken in seconds.items():
            what = f"X1, {size.rows:,} rows, {size.shards} shards"
            yield dict(zip(TIME, (what, workers, syncs, round(megabytes, 1), min(taken)), strict=True))


def write_x1(path: Path, n_rows: int) -> None:
    """Write X1 as text, some rows at a time."""

    def batches() -> Iterator[Batch]:
        for start in range(0, n_rows, 10_000):
            X, y = datasets.make_x1(min(10_000, n_rows - start), start=start)
            yield Batch(X.indptr, X.indices, X.data.astype(np.float32), y, X.shape[1] - 1, zero_seen=True)

    write_stream(batches(), str(path), shift=1)


def on_ray(path: str, workers: int, syncs: int, n_shards: int) -> Found:
    """Train on a Ray with so many cores, one thread each; the seconds are without the time that Ray takes to start."""
    import ray

    ray.init(
        address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
    )
    try:
        warm_up = datasets.make_x2(2_000, n_features=1_000, n_informative=50)  # starts the workers
        distributed.train(ShadowSOFS(20), warm_up, n_shards=2 * workers, syncs=2)
        stream = open_stream(path, zero_based=False)
        history = distributed.train(ShadowSOFS(200), stream, n_shards=n_shards, syncs=syncs)
    finally:
        ray.shutdown()
    return {"seconds": round(history.seconds[-1], 2)}


def write_page(results: Path, page: Path = PAGE) -> None:
    """Write docs/scale.md from the tables."""
    rows, timed = read_csv(results / "scale.csv"), read_csv(results / "scale-time.csv")
    seconds = {(int(row["workers"]), int(row["syncs"])): float(row["seconds"]) for row in timed}
    cells = list(means(rows))
    page.write_text(
        TEMPLATE.read_text().format(
            accuracy=table(
                ["set", "B", "method", "memory", "shards", "syncs", "rows per shard and sync", "one pass in order",
                 "shards", "difference"],
                [
                    [*key, f"{of['rows'] / int(key[4]) / int(key[5]):,.0f}", f"{of['sequential']:.2f}",
                     f"{of['accuracy']:.2f}", f"{of['accuracy'] - of['sequential']:+.2f}"]
                    for key, of in cells
                ],
            ),
            moved=table(
                ["set", "B", "method", "memory", "shards", "syncs", "bytes of a shard's changes", "bytes of the model"],
                [[*key, f"{of['moved']:,.0f}", f"{of['model']:,.0f}"] for key, of in cells],
            ),
            time=table(
                ["", "workers", "syncs", "seconds", "MB/s"],
                [
                    [row["what"], row["workers"], row["syncs"], row["seconds"],
                     f"{float(row['megabytes']) / float(row['seconds']):,.0f}"]
                    for row in timed
                ],
            ),
            ratio=f"{seconds[2, 16] / seconds[1, 16]:.2f}",
            estimate=estimate(timed),
        )
    )  # fmt: skip


def means(rows: list[dict[str, str]]) -> Iterator[tuple[tuple[str, ...], dict[str, float]]]:
    """Yield each cell with the means of its figures."""
    keys = ("set", "budget", "method", "memory", "shards", "syncs")
    for key in dict.fromkeys(tuple(row[name] for name in keys) for row in rows):
        cell = [row for row in rows if tuple(row[name] for name in keys) == key]
        figures = ("rows", "sequential", "accuracy", "moved", "model")
        yield key, {name: mean(float(row[name]) for row in cell) for name in figures}


CORES, NETWORK = 16, 1.25e9  # of a node; bytes per second
SYNCS, CHANGES, MODEL = 64, 5e6, 50e6  # bytes
_NODES = (1, 4, 16, 64, 256, 1_000)
_DATA = (
    (1e9, "1 GB"),
    (1e10, "10 GB"),
    (1e11, "100 GB"),
    (1e12, "1 TB"),
    (1e13, "10 TB"),
    (1e14, "100 TB"),
    (1e15, "1 PB"),
)


def estimate(timed: list[dict[str, str]]) -> str:
    """Return a table of the time of a pass, by the bytes of the data and the number of nodes."""
    one = next(row for row in timed if row["workers"] == "1" and row["syncs"] == "1")
    speed = float(one["megabytes"]) * 1e6 / float(one["seconds"])
    rows = []
    for n_bytes, name in _DATA:
        rows.append([name, *(_shown(_seconds(n_bytes, nodes, speed)) for nodes in _NODES)])
    return table(["data", *(f"{nodes:,} node{'s' if nodes > 1 else ''}" for nodes in _NODES)], rows)


def _seconds(n_bytes: float, nodes: int, speed: float) -> float:
    n_shards = nodes * CORES
    depth = math.ceil(math.log(n_shards, 8))
    # Each merge task fetches the changes of eight; the model goes to every node, from node to node.
    merging = depth * 8 * CHANGES / NETWORK
    broadcast = math.ceil(math.log2(nodes + 1)) * MODEL / NETWORK
    return n_bytes / (n_shards * speed) + SYNCS * (merging + broadcast)


def _shown(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 100 * 3600 else f"{seconds / 86400:,.0f} days"


if __name__ == "__main__":
    print(json.dumps(on_ray(**json.loads(sys.argv[1]))))
