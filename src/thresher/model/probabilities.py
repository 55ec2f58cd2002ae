"""Probabilities of classes, from margins that were brought to the scale of log odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


def sigmoid_pair(log_odds: _Floats) -> _Floats:
    """Return the probabilities of both classes: σ(−m) and σ(m)."""
    return softmax(np.column_stack([np.zeros_like(log_odds), log_odds]))


def softmax(log_odds: _Floats) -> _Floats:
    """Return the softmax of each row. The first of the largest log odds is also the first of the largest results."""
    chances = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    # Log odds that differ by less than a rounding error have equal results; then the right one gets the last bit.
    best = log_odds.argmax(axis=1)
    (tied,) = np.nonzero(chances.argmax(axis=1) != best)
    chances[tied, best[tied]] = np.nextafter(chances[tied, best[tied]], 1.0)
    return np.asarray(chances)
