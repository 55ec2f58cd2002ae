"""How sure the weights of a second-order method are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.model.class_weights import ClassWeights


def z_scores(
    cells: NDArray[np.float32], gamma: float, counters: dict[str, Any], rows: ClassWeights
) -> NDArray[np.float64]:
    """Return z = μ·√(γ(P − 1)/s²) of features, by class.

    s² is the mean squared loss of the rows that had one, times their typical weight, times the number of passes.
    `cells` are the features' states by class: μ, and P − 1 with a sign that marks members.
    """
    mean_loss = counters["loss"] / max(1, counters["n_updates"])
    # A row that is learned again, or with a larger weight, is not more rows.
    n_rows = max(1, int(rows.counts.sum()))
    scale = mean_loss * rows.typical_weight * max(1.0, counters["n_samples"] / n_rows)
    mean, excess = np.moveaxis(cells.astype(np.float64), 2, 0)
    return mean * np.sqrt(gamma * np.abs(excess) / scale) if scale > 0 else np.zeros(mean.shape)
