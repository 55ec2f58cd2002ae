"""The size of a merge: the one with the least loss on the rows that come next.

After the last rows the first ones come again, which were learned long ago. The loss of a layer that selects is the
squared hinge, and of a layer that predicts log loss; of numbers both are squared errors. The predicting layer goes
second, since the first one selects its members.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch
from thresher.csr import scale_to_unit_length
from thresher.model.merging import MergeSizes, merge_preview
from thresher.model.model import Model

# Of a layer that predicts, what shards have learned adds up already: 1 is all of it.
_PREDICTING = tuple(2.0 ** (k / 2) for k in range(-4, 3))


def best_sizes(model: Model, changes: Any, sample: list[Batch], n_shards: int) -> MergeSizes:
    """Return the sizes with the least mean loss on a sample; the smaller one, if two are equal.

    The rows are as the model scales them, and their labels are codes of classes, or numbers.
    """
    arrays = ((np.diff(batch.indptr), batch.indices, batch.data, batch.labels) for batch in sample)
    rows = tuple(map(np.concatenate, zip(*arrays, strict=True)))
    # 1 is the mean of the shards' moves; then 2, 4 … times it, up to their sum.
    tried = [MergeSizes(selecting=float(2**k)) for k in range(n_shards.bit_length())]
    first = _best_for_layer(model, changes, rows, tried, 0)
    if n_shards == 1 or not model.method.predicts_apart:
        return first
    return _best_for_layer(model, changes, rows, [MergeSizes(first.selecting, size) for size in _PREDICTING], 1)


def _best_for_layer(
    model: Model, changes: Any, rows: tuple[NDArray[Any], ...], tried: list[MergeSizes], layer: int
) -> MergeSizes:
    """Return the sizes with which a layer has the least loss."""
    lengths, ids_of_values, values, codes = rows
    # Without a budget, all features of the sample have weights.
    wanted = np.zeros(0, np.int64) if model.method.has_budget else np.unique(ids_of_values)
    previews = {size: merge_preview(model, changes, size, wanted) for size in tried}
    features = np.unique(np.concatenate([ids for ids, _ in previews.values()]))
    if len(features) == 0:
        return min(previews)
    # The values of features that matter for some size, found once for all sizes.
    places = np.minimum(np.searchsorted(features, ids_of_values), len(features) - 1)
    matters = features[places] == ids_of_values
    row_of = np.repeat(np.arange(len(codes)), lengths)[matters]
    values, places = values[matters], places[matters]
    losses = []
    for size, (ids, layers) in previews.items():
        weights, intercept = layers[layer]
        table = np.zeros((len(features), len(intercept)), np.float32)
        where = np.searchsorted(features, ids)
        table[where] = weights.reshape(len(ids), -1)
        x: NDArray[Any] = values
        if layer == 1 and model.norm == "l2":  # as the layer that predicts sees them: of unit length over the members
            x = scale_to_unit_length(np.where(np.isin(places, where), values, 0.0), row_of, len(codes))
        scores = [
            np.bincount(row_of, x * table[places, k], len(codes)) + float(intercept[k]) for k in range(len(intercept))
        ]
        loss = (_squared_hinge, _log_loss)[layer] if model.method.predicts == "classes" else _squared_error
        losses.append((loss(np.stack(scores, axis=1), codes), size))
    return min(losses)[1]


def _squared_error(predictions: NDArray[np.float64], numbers: NDArray[Any]) -> float:
    return float(((predictions[:, 0] - numbers) ** 2).mean())


def _squared_hinge(scores: NDArray[np.float64], codes: NDArray[Any]) -> float:
    return float((np.maximum(0.0, 1.0 - _margins(scores, codes)) ** 2).mean())


def _log_loss(scores: NDArray[np.float64], codes: NDArray[Any]) -> float:
    if scores.shape[1] == 1:
        return float(np.logaddexp(0.0, -_margins(scores, codes)).mean())
    highest = scores.max(axis=1, keepdims=True)
    total = np.log(np.exp(scores - highest).sum(axis=1)) + highest[:, 0]
    return float((total - scores[np.arange(len(codes)), codes]).mean())


def _margins(scores: NDArray[np.float64], codes: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far the true class is ahead of the best other one."""
    if scores.shape[1] == 1:
        return np.where(codes == 1, scores[:, 0], -scores[:, 0])
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    others = scores.copy()
    others[rows, codes] = -np.inf
    margins: NDArray[np.float64] = own - others.max(axis=1)
    return margins
