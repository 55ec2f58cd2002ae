"""How far a merge goes: the size of the move with the least loss on the rows that come next.

After the last rows those are the first ones, which were learned long ago.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.distributed.shards import SampleRows
from thresher.model.merging import merge_preview
from thresher.model.model import Model


def sizes(n_shards: int) -> list[float]:
    """Return what is tried: 1, the mean of the shards' moves, then 2, 4 … times it, up to their sum."""
    return [float(2**k) for k in range(n_shards.bit_length())]


def best_size(model: Model, changes: Any, sample: SampleRows, n_shards: int) -> float:
    """Return the size of the move with the least mean squared hinge on a sample; the smaller one, if two are equal."""
    # Without a budget, all features of the sample have weights.
    wanted = np.zeros(0, np.int64) if model.method.has_budget else np.unique(sample.ids)
    previews = {size: merge_preview(model, changes, size, wanted) for size in sizes(n_shards)}
    features = np.unique(np.concatenate([ids for ids, _, _ in previews.values()]))
    if len(features) == 0:
        return min(previews)
    # The values of features that matter for some size, found once for all sizes.
    places = np.minimum(np.searchsorted(features, sample.ids), len(features) - 1)
    matters = features[places] == sample.ids
    row_of = np.repeat(np.arange(len(sample.codes)), np.diff(sample.starts))[matters]
    values, places = sample.values[matters], places[matters]
    losses = []
    for size, (ids, weights, intercept) in previews.items():
        table = np.zeros((len(features), len(intercept)), np.float32)
        table[np.searchsorted(features, ids)] = weights.reshape(len(ids), -1)
        scores = [
            np.bincount(row_of, values * table[places, k], len(sample.codes)) + float(intercept[k])
            for k in range(len(intercept))
        ]
        margins = _margins(np.stack(scores, axis=1), sample.codes)
        losses.append((float((np.maximum(0.0, 1.0 - margins) ** 2).mean()), size))
    return min(losses)[1]


def _margins(scores: NDArray[np.float64], codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return how far the true class is ahead of the best other one."""
    if scores.shape[1] == 1:
        return np.where(codes == 1, scores[:, 0], -scores[:, 0])
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    others = scores.copy()
    others[rows, codes] = -np.inf
    margins: NDArray[np.float64] = own - others.max(axis=1)
    return margins
