"""The paper's X2: a million rows of a billion columns, learned while they are generated.

Each method is trained in a process of its own, which also reports its peak memory. γ and η are chosen by prequential
error on the first rows of the training stream; test rows are not used. A billion columns would cost gigabytes for each
value tried, so for this the ids of those rows are renumbered in their order: a method uses only the identity and the
order of ids, so its mistakes are the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.data import Rows
from experiments.methods import METHODS, TABLE_2_METHODS, Parameters
from experiments.processes import apart, peak_megabytes
from experiments.store import Found, Store
from thresher import datasets, evaluate
from thresher.progress import Steps
from thresher.streams import Batch
from thresher.training import train, train_many

TRIED = ("set", "method", "parameters", "n_mistakes", "n_rows")
MEASURED = (
    "set", "method", "parameters", "accuracy", "seconds", "learning_seconds", "sparsity", "n_selected", "n_updates",
    "peak_mb",
)  # fmt: skip


@dataclass(frozen=True)
class Size:
    """How large X2 is; `prefix` rows are used to choose parameters."""

    n_train: int = 1_000_000
    n_test: int = 100_000
    n_features: int = 1_000_000_000
    budget: int = 500
    prefix: int = 20_000
    probes: int = 10_000_000  # random columns for estimating the share of zero weights

    def stream(self, start: int, n_rows: int) -> Any:
        """Return some of the rows."""
        return datasets.make_x2(n_rows, n_features=self.n_features, start=start)


SMALLEST = Size(2_000, 1_000, 1_000_000, 500, 500, 100_000)
SIZES = (Size(), SMALLEST)

Tables = tuple[list[Found], list[Found]]


def run(size: Size, store: Store, bar: Steps, methods: Sequence[str] = TABLE_2_METHODS) -> Tables:
    """Choose parameters for every method and measure it; return what was tried and measured, as rows of tables."""
    tried, measured = [], []
    for n_done, name in enumerate(methods):
        bar.done(n_done, f"{name}: {size.n_train:,} rows")
        found = store.get("x2", name)
        if found is None:
            points = _tried(name, size)
            found = {"tried": points, "measured": apart(measure, name, chosen(points), size)}
            store.put(("x2", name), found)
        tried += [{"set": "x2", "method": name, **row} for row in found["tried"]]
        measured.append({"set": "x2", "method": name, **found["measured"]})
    bar.done(len(methods), "")
    return tried, measured


def chosen(tried: list[Found]) -> Parameters:
    """Return the parameters with the fewest mistakes."""
    parameters: Parameters = json.loads(min(tried, key=lambda row: row["n_mistakes"])["parameters"])
    return parameters


def renumbered(X: Any) -> Any:
    """Return the same rows with the ids that occur renumbered 0, 1, 2 … in their order."""
    ids, places = np.unique(X.indices, return_inverse=True)
    return type(X)((X.data, places.astype(np.int32), X.indptr), shape=(X.shape[0], len(ids)))


@cache
def _prefix(size: Size) -> Rows:
    parts = list(size.stream(0, size.prefix))
    return Rows(renumbered(sp.vstack([X for X, _ in parts], format="csr")), np.concatenate([y for _, y in parts]))


def _tried(name: str, size: Size) -> list[Found]:
    grid = METHODS[name].grid(("l2",))
    if len(grid) == 1:
        return [{"parameters": json.dumps(grid[0]), "n_mistakes": "", "n_rows": size.prefix}]
    models = [METHODS[name].make(size.budget, parameters) for parameters in grid]
    train_many(models, _prefix(size).stream(), shuffle=False)
    return [
        {"parameters": json.dumps(parameters), "n_mistakes": model.n_mistakes_, "n_rows": size.prefix}
        for parameters, model in zip(grid, models, strict=True)
    ]


def measure(name: str, parameters: Parameters, size: Size) -> Found:
    """Train and test one method; rows are generated on a thread of their own, as the paper loads its data."""
    model = METHODS[name].make(size.budget, parameters)
    wall, cpu = time.perf_counter(), time.thread_time()
    train(model, size.stream(0, size.n_train))
    seconds, learning = time.perf_counter() - wall, time.thread_time() - cpu
    n_selected: Any = len(model.selected_) if METHODS[name].has_budget else ""
    zeros = _share_of_zeros(model, size) if n_selected == "" else 1 - n_selected / size.n_features
    return {
        "parameters": json.dumps(parameters),
        "accuracy": evaluate(model, size.stream(size.n_train, size.n_test)).accuracy,
        "seconds": round(seconds, 3),
        "learning_seconds": round(learning, 3),
        "sparsity": round(100 * zeros, 6),
        "n_selected": n_selected,
        "n_updates": model.n_updates_,
        "peak_mb": round(peak_megabytes()),
    }


def _share_of_zeros(model: Any, size: Size) -> float:
    """Return the share of columns with weight 0, from columns drawn at random: all of them would take gigabytes.

    The margin of a row with a single 1 is the weight of its column.
    """
    random, n_zeros, piece = np.random.default_rng(0), 0, 100_000
    starts = np.arange(piece + 1, dtype=np.int64)
    ones, labels = np.ones(piece, dtype=np.float32), np.zeros(piece)
    for _ in range(size.probes // piece):
        ids = random.integers(0, size.n_features, piece)
        margins = model._model.score_batch(Batch(starts, ids, ones, labels, int(ids.max()), zero_seen=True))
        n_zeros += int(np.count_nonzero(margins == 0))
    return n_zeros / (size.probes // piece * piece)
