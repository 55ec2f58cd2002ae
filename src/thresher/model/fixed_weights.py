"""The weights of a batch method, which predict like a learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _core


class FixedWeights:
    """The selected ids of a batch method, best first, with weights and intercept; the core predicts with them."""

    def __init__(
        self,
        norm: str,
        ids: NDArray[np.int64],
        weights: NDArray[np.float32],
        intercept: NDArray[np.float32],
        counters: dict[str, Any],
    ) -> None:
        self._made_of = (norm, ids, weights, intercept, counters)
        self._scorer = _core.LinearScorer(len(intercept), norm, np.ascontiguousarray(ids), weights, intercept)
        self.score, self.members, self.parts = self._scorer.score, self._scorer.members, self._scorer.parts
        self.intercept = intercept
        self.counters = {name: counters[name] for name in ("n_samples", "n_with_member")}

    def __reduce__(self) -> Any:
        return FixedWeights, self._made_of
