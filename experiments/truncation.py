"""The cost of PET and FOFS if they truncated as the paper writes it: a scan of all d weights after every update.

Ours do no such work, so their times can't show what the paper's figures show. This measures one full truncation, with
numpy and in the cheapest way there is: |w| for all d, the places that are not zero, and the B largest among those.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from experiments.store import Found

TRUNCATIONS = ("set", "n_features", "budget", "seconds")

ADDED_TO = {"PET", "FOFS"}

_LEAST_SECONDS = 0.05  # for each point, so that short ones are repeated


def truncation_seconds(n_features: int, budget: int, row_size: int) -> float:
    """Return the CPU seconds of one truncation of d weights to B, as a mean over many."""
    random = np.random.default_rng(0)
    weights = np.zeros(n_features, dtype=np.float32)
    # After a step B weights and a row's are nonzero.
    places = random.choice(n_features, min(n_features, budget + row_size), replace=False)
    values = random.normal(size=len(places)).astype(np.float32)
    weights[places] = values
    spent, n_done = 0.0, 0
    while spent < _LEAST_SECONDS or n_done < 3:
        begin = time.process_time()
        truncate(weights, budget)
        spent += time.process_time() - begin
        n_done += 1
        weights[places] = values  # the next row's
    return spent / n_done


def truncate(weights: NDArray[np.float32], budget: int) -> None:
    """Set to zero all weights but the B largest, whatever their sign."""
    nonzero = np.flatnonzero(np.abs(weights))
    if budget < len(nonzero):
        leavers = nonzero[np.argpartition(np.abs(weights[nonzero]), len(nonzero) - budget)[: len(nonzero) - budget]]
        weights[leavers] = 0


def truncations(name: str, n_features: int, row_size: int, budgets: list[int]) -> list[Found]:
    """Measure all budgets of a data set."""
    return [
        {
            "set": name,
            "n_features": n_features,
            "budget": budget,
            "seconds": f"{truncation_seconds(n_features, budget, row_size):.3g}",
        }
        for budget in budgets
    ]
