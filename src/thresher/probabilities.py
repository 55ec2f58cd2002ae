"""The probability of each class.

The weights are N(μ, Σ), so a margin m of variance v is above 0 with probability Φ(m/√v).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher import _core

_Floats = NDArray[np.float64]


def of_two(margins: _Floats, variances: _Floats) -> _Floats:
    """Return the probabilities of the first and the second class, from the margin of the second."""
    second = _above_zero(margins, variances)
    return np.column_stack([1.0 - second, second])


def of_many(scores: _Floats, variances: _Floats) -> _Floats:
    """Return for each class the probability that it scores above the best other class, scaled to sum to 1."""
    chances = _above_zero(*_against_rivals(scores, variances))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _above_zero(margins: _Floats, variances: _Floats) -> _Floats:
    z = np.divide(margins, np.sqrt(variances), out=np.zeros_like(margins), where=variances > 0)
    return _core.normal_cdf(z.reshape(-1)).reshape(z.shape)


def _against_rivals(scores: _Floats, variances: _Floats) -> tuple[_Floats, _Floats]:
    """Return by how much each class is above the best of the others, and the variance of that difference."""
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    others = scores.copy()
    others[rows, best] = -np.inf
    second = others.argmax(axis=1)
    rivals = np.repeat(best[:, np.newaxis], scores.shape[1], axis=1)
    rivals[rows, best] = second
    return (
        scores - np.take_along_axis(scores, rivals, axis=1),
        variances + np.take_along_axis(variances, rivals, axis=1),
    )
