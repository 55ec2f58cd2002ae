"""The batch methods again, dense and naive: obviously right, and slow."""

from __future__ import annotations

import numpy as np


def discretize(x: np.ndarray, how: str) -> np.ndarray:
    """Return the levels of one column."""
    if how == "auto":
        how = "presence" if (x >= 0).all() and 2 * np.count_nonzero(x) <= len(x) else "mean_std"
    if how == "presence":
        return (x != 0).astype(int)
    away, std = x - x.mean(), x.std() * (1 + 1e-9)
    return np.where(away > std, 1, np.where(away < -std, -1, 0))


def mutual_information(a: np.ndarray, b: np.ndarray) -> float:
    """Σ p(a, b) log2 p(a, b)/(p(a) p(b))."""
    total = 0.0
    for u in np.unique(a):
        for v in np.unique(b):
            both = np.mean((a == u) & (b == v))
            if both > 0:
                total += both * np.log2(both / (np.mean(a == u) * np.mean(b == v)))
    return float(total)


def mrmr(levels: np.ndarray, y: np.ndarray, budget: int, scheme: str) -> list[int]:
    """Compute every score again for every choice; of scores equal up to rounding, the smaller id wins."""
    open_ = [j for j in range(levels.shape[1]) if len(np.unique(levels[:, j])) > 1]
    relevance = {j: mutual_information(levels[:, j], y) for j in open_}
    chosen: list[int] = []
    while open_ and len(chosen) < budget:
        scores = {}
        for j in open_:
            redundancy = np.mean([mutual_information(levels[:, j], levels[:, s]) for s in chosen]) if chosen else 0.0
            if not chosen:
                scores[j] = relevance[j]
            elif scheme == "MID":
                scores[j] = relevance[j] - redundancy
            else:
                scores[j] = relevance[j] / (redundancy + 0.0001)
        best = max(scores.values())
        winner = min(j for j in open_ if scores[j] >= best - 1e-9 * max(1.0, abs(best)))
        chosen.append(winner)
        open_.remove(winner)
    return chosen
