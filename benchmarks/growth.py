"""How the cost grows: with the number of columns, the budget, the nonzeros of a row, and the threads that parse."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from measure import (
    THRESHER,
    Bar,
    Effort,
    Section,
    least_costs,
    least_process_costs,
    process,
    same_work,
    table,
    unit_rows,
)

from thresher import SOFS, ShadowSOFS, datasets

CURVES = (SOFS, ShadowSOFS)  # one line each in every table

_WHY = "358,000 changes of membership, each a walk through a heap and two cells that are in no cache."

Curves = dict[str, dict[float, float]]  # the cost at each point, for each method


def section(effort: Effort, by_threads: dict[float, float]) -> Section:
    """Measure; `by_threads` was measured while this process was small."""
    by_columns, by_budget = columns(effort), budgets(effort)
    curves = {
        "columns, the same rows spread out": by_columns,
        "budget B, news20": by_budget,
        "nonzeros per row": nonzeros(effort),
        "threads that parse, from text": {"SOFS": by_threads},
    }
    lines = ["## Growth", ""]
    for name, curve in curves.items():
        lines += _table(name, "s" if name.startswith("threads") else "ns per nonzero", curve)
    sofs = by_columns["SOFS"]
    bars = [Bar("SOFS at 1e8 columns / at 1e4, the same rows with ids spread out", sofs[1e8] / sofs[1e4], 8.0)]
    if by_budget:
        sofs = by_budget["SOFS"]
        bars.append(Bar("SOFS at B = 1e5 / at B = 100, news20", sofs[1e5] / sofs[100], 2.0, why=_WHY))
        bars.append(Bar("ShadowSOFS / SOFS at B = 1e5, news20", by_budget["ShadowSOFS"][1e5] / sofs[1e5], 4.0))
    return Section(lines, bars)


def columns(effort: Effort) -> Curves:
    """Learn the same rows with their ids spread over ever more columns, in the same order."""
    X, y = unit_rows(*datasets.make_x1(effort.pick(100_000, 30_000, 500), n_features=10_000))
    curves: Curves = {method.__name__: {} for method in CURVES}
    for width in effort.pick((1e4, 1e5, 1e6, 1e7, 1e8, 1e9), (1e4, 1e8), (1e4, 1e8)):
        places = _spread(10_000, int(width))
        spread = sp.csr_matrix((X.data, places[X.indices], X.indptr), shape=(X.shape[0], int(width)))
        spread.has_canonical_format = True
        _add_point(curves, width, spread, y, 200, effort.pick(3, 2, 1))
    return curves


def budgets(effort: Effort) -> Curves:
    """Learn news20 at ever larger budgets."""
    try:
        X, y = datasets.make_x1(500) if effort is Effort.SMALLEST else datasets.load("news20")
    except OSError:
        return {}
    order = np.random.default_rng(0).permutation(len(y))
    X, y = unit_rows(X[order], y[order])
    curves: Curves = {method.__name__: {} for method in CURVES}
    for budget in effort.pick((10, 100, 1e3, 1e4, 1e5, 1e6), (100, 1e5), (100, 1e5)):
        _add_point(curves, budget, X, y, int(budget), effort.pick(5, 3, 1))
    return curves


def nonzeros(effort: Effort) -> Curves:
    """Learn rows of ever more nonzeros, with the same total."""
    curves: Curves = {method.__name__: {} for method in CURVES}
    for size in effort.pick((10, 30, 100, 300, 1_000, 3_000, 10_000), (100, 1_000), (100, 1_000)):
        rows, informative = effort.pick(20_000_000, 20_000_000, 200_000) // size, size // 3
        X, y = datasets.make_x1(rows, n_informative=informative, n_noise=size - informative)
        _add_point(curves, size, *unit_rows(X, y), 200, effort.pick(3, 2, 1))
    return curves


def threads(effort: Effort) -> dict[float, float]:
    """Train from text with one thread that parses, two, four … up to twice the cores."""
    counts = [2**power for power in range((os.cpu_count() or 1).bit_length() + 1)]
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        text = str(Path(folder) / "x1.svm")
        process(THRESHER, "synth", "x1", "-o", text, "--rows", str(effort.pick(50_000, 20_000, 500)))
        command = (THRESHER, "train", text, "-k", "200", "--method", "sofs", "--json", "--threads")
        costs = least_process_costs({str(count): (*command, str(count)) for count in counts}, effort.pick(3, 3, 1))
    return {count: json.loads(costs[str(count)].output)["seconds"] for count in counts}


def _add_point(curves: Curves, at: float, X: Any, y: Any, budget: int, rounds: int) -> None:
    def fit(method: Any) -> Any:
        return lambda: method(**same_work(method, budget)).fit(X, y)

    for name, cost in least_costs({method.__name__: fit(method) for method in CURVES}, rounds).items():
        curves[name][at] = cost.wall / X.nnz * 1e9


def _spread(n: int, width: int) -> Any:
    """Return n places among `width`, ascending: one at random in each of n equal parts."""
    part = width // n
    return (np.arange(n) * part + np.random.default_rng(0).integers(0, part, n)).astype(np.int32)


def _table(name: str, unit: str, curves: Curves) -> list[str]:
    if not curves:
        return [f"Against {name}: not measured, the data are not present.", ""]
    points = list(next(iter(curves.values())))
    rows = ([method, *(f"{curve[point]:.2f}" for point in points)] for method, curve in curves.items())
    return table([f"{unit}, against {name}", *map(_short, points)], rows)


def _short(point: float) -> str:
    return f"{point:,.0f}" if point < 1e5 else f"{point:.0e}".replace("e+0", "e")
