"""How training on shards grows: accuracy, bytes and time, in scale.csv, scale-time.csv and docs/scale.md."""

from __future__ import annotations

import logging
import math
import pickle
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from experiments import config, data
from experiments.config import HOME, Config
from experiments.methods import METHODS
from experiments.processes import apart
from experiments.reporting.tables import table
from experiments.store import Found
from experiments.study import Step, Study, Table, means
from thresher import ShadowSOFS, convert, datasets, distributed, evaluate, open_stream
from thresher.batch import Batch
from thresher.streams.writing import write_stream

CELL = ("set", "budget", "method", "memory", "shards", "syncs")


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


def accuracy_steps(smallest: bool) -> list[Step]:
    """Return a step for each task."""
    return [(task.of.title, partial(accuracies, task)) for task in tasks(smallest)]


def accuracies(task: Task) -> Iterator[Found]:
    """Yield the accuracy after one pass, over all rows in order and on shards."""
    rows = data.load(task.of)
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
                estimator = METHODS[name].estimator
                once = given | {"n_passes": 1} | ({"refit": False} if METHODS[name].of.predicts_apart else {})
                sequential = estimator(task.budget, shuffle=False, **once).fit(training.X, training.y)
                for n_shards, syncs in task.cuts:
                    model = estimator(task.budget, **once)
                    cut: dict[str, Any] = {"n_shards": n_shards, "syncs": syncs}
                    history = distributed.train(model, stream, **cut, engine="local", workers=1)
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


def time_steps(smallest: bool) -> list[Step]:
    """Return the only step."""
    return [("time on Ray", partial(times, SMALLEST if smallest else Size()))]


def times(size: Size) -> Iterator[Found]:
    """Yield the least seconds that one and two workers of Ray take for X1 as text, in turns."""
    cells = [(1, 16), (2, 16), (1, 1), (2, 1)]  # workers and syncs
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x1.svm"
        write_x1(path, size.rows)
        megabytes = round(path.stat().st_size / 1e6, 1)
        turns = [[apart(on_ray, str(path), *cell, size.shards) for cell in cells] for _ in range(size.n_times)]
    for (workers, syncs), *taken in zip(cells, *turns, strict=True):
        what = f"X1, {size.rows:,} rows, {size.shards} shards"
        yield {"what": what, "workers": workers, "syncs": syncs, "megabytes": megabytes, "seconds": min(taken)}


def write_x1(path: Path, n_rows: int) -> None:
    """Write X1 as text, some rows at a time."""

    def batches() -> Iterator[Batch]:
        for start in range(0, n_rows, 10_000):
            X, y = datasets.make_x1(min(10_000, n_rows - start), start=start)
            yield Batch(X.indptr, X.indices, X.data.astype(np.float32), y, X.shape[1] - 1, zero_seen=True)

    write_stream(batches(), str(path), shift=1)


def on_ray(path: str, workers: int, syncs: int, n_shards: int) -> float:
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
    return round(history.seconds[-1], 2)


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of docs/scale.md."""
    timed = tables["scale-time"]
    seconds = {(int(row["workers"]), int(row["syncs"])): float(row["seconds"]) for row in timed}
    head = ["set", "B", "method", "memory", "shards", "syncs"]
    accuracy, moved = [], []
    figures = ("rows", "sequential", "accuracy", "moved", "model")
    for key, (rows, sequential, sharded, n_moved, model) in means(tables["scale"], CELL, figures):
        per_sync = f"{rows / int(key[4]) / int(key[5]):,.0f}"
        accuracy.append([*key, per_sync, f"{sequential:.2f}", f"{sharded:.2f}", f"{sharded - sequential:+.2f}"])
        moved.append([*key, f"{n_moved:,.0f}", f"{model:,.0f}"])
    times = [
        [row["what"], row["workers"], row["syncs"], row["seconds"],
         f"{float(row['megabytes']) / float(row['seconds']):,.0f}"]
        for row in timed
    ]  # fmt: skip
    return {
        "accuracy": table([*head, "rows per shard and sync", "one pass in order", "shards", "difference"], accuracy),
        "moved": table([*head, "bytes of a shard's changes", "bytes of the model"], moved),
        "time": table(["", "workers", "syncs", "seconds", "MB/s"], times),
        "ratio": f"{seconds[2, 16] / seconds[1, 16]:.2f}",
        "estimate": estimate(timed),
    }


CORES, NETWORK = 16, 1.25e9  # of a node; bytes per second
SYNCS, CHANGES, MODEL = 64, 5e6, 50e6  # bytes
_NODES = (1, 4, 16, 64, 256, 1_000)
_DATA = {"1 GB": 1e9, "10 GB": 1e10, "100 GB": 1e11, "1 TB": 1e12, "10 TB": 1e13, "100 TB": 1e14, "1 PB": 1e15}


def estimate(timed: Table) -> str:
    """Return a table of the time of a pass, by the bytes of the data and the number of nodes."""
    one = next(row for row in timed if row["workers"] == "1" and row["syncs"] == "1")
    speed = float(one["megabytes"]) * 1e6 / float(one["seconds"])
    rows = [[name, *(_shown(_seconds(n, nodes, speed)) for nodes in _NODES)] for name, n in _DATA.items()]
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


STUDY = Study(
    "scale", "what training on shards costs and gives", HOME.parent / "docs" / "scale.md", ("SOFS", "ShadowSOFS"),
    {"scale": accuracy_steps, "scale-time": time_steps}, placeholders,
)  # fmt: skip
