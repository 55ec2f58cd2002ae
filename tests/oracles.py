"""Naive implementations that are obviously right: one feature at a time, every member looked at for every offer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp


@dataclass
class SofsOracle:
    """SOFS as docs/sofs.md states it, with state in `dtype` (float32 is what the product stores).

    With `shadow` it is ShadowSOFS: every feature has a mean, of which only the members' predict, and ranks are μ²P.
    """

    budget: int
    gamma: float = 1.0
    norm: str | None = "l2"
    fit_intercept: bool = False
    dtype: type = np.float32
    shadow: bool = False
    mean: dict[int, float] = field(default_factory=dict)
    excess: dict[int, float] = field(default_factory=dict)  # P − 1
    members: set[int] = field(default_factory=set)
    n_updates: int = 0
    n_mistakes: int = 0

    INTERCEPT = -1

    def fit(self, X: sp.csr_matrix, y: np.ndarray, importances: np.ndarray | None = None) -> SofsOracle:
        for r in range(X.shape[0]):
            row = slice(X.indptr[r], X.indptr[r + 1])
            importance = 1.0 if importances is None else importances[r]
            if importance > 0:
                self.step(X.indices[row].tolist(), X.data[row], 1.0 if y[r] > 0 else -1.0, importance)
        return self

    def scaled(self, values: np.ndarray) -> np.ndarray:
        x = values.astype(np.float32).astype(np.float64)
        length = np.sqrt(self.total(x * x))
        if self.norm == "l2" and length > 0:
            x = x * (1.0 / length)
        if self.fit_intercept:
            x = np.append(x, 1.0)
        return x.astype(self.dtype)

    @staticmethod
    def total(terms: np.ndarray) -> float:
        """Sum in 16 float64 lanes, position i in lane i mod 16, added by halves."""
        lanes = np.zeros(16)
        for i, term in enumerate(terms):
            lanes[i % 16] += float(term)
        for half in (8, 4, 2, 1):
            lanes = lanes[:half] + lanes[half:]
        return float(lanes[0])

    def step(self, ids: list[int], values: np.ndarray, y: float, importance: float) -> None:
        x = self.scaled(values)
        if self.fit_intercept:
            ids = [*ids, self.INTERCEPT]
        one, zero = self.dtype(1), self.dtype(0)
        mean = np.array([self.mean.get(j, zero) for j in ids], dtype=self.dtype)
        excess = np.array([self.excess.get(j, zero) for j in ids], dtype=self.dtype)
        gain = x / (one + excess)
        predicts = np.array([j in self.members or j == self.INTERCEPT for j in ids], dtype=bool)
        margin = self.total(np.where(predicts, mean, zero) * x)
        self.n_mistakes += (margin > 0) != (y > 0)
        loss = 1.0 - y * margin
        if loss <= 0:
            return
        self.n_updates += 1
        gamma = max(self.gamma / importance, 1e-30)
        alpha = self.dtype(y * loss / (self.total(x * gain) + gamma))
        moved = mean + alpha * gain
        grown = excess + x * x * self.dtype(1.0 / gamma)
        # First every touched feature takes the step …
        touched = [i for i in range(len(ids)) if x[i] != 0]
        outsiders = [i for i in touched if ids[i] not in self.members and ids[i] != self.INTERCEPT]
        for i in touched:
            self.excess[ids[i]] = grown[i]
            if i not in outsiders or self.shadow:
                self.mean[ids[i]] = moved[i]
        # … then the outsiders of this row are offered, in ascending order of id.
        for i in outsiders:
            if len(self.members) >= self.budget:
                lowest = min(self.members, key=lambda j: (self.rank(j), -j))
                if not self.rank(ids[i]) > self.rank(lowest):
                    continue
                self.members.remove(lowest)
                if not self.shadow:
                    del self.mean[lowest]
            self.members.add(ids[i])
            self.mean[ids[i]] = moved[i]

    def rank(self, j: int) -> float:
        if not self.shadow:
            return self.excess[j]
        return self.mean[j] * self.mean[j] * (self.dtype(1) + self.excess[j])

    @property
    def selected(self) -> list[int]:
        return sorted(self.members, key=lambda j: (-self.rank(j), j))

    @property
    def weights(self) -> np.ndarray:
        return np.array([self.mean[j] for j in self.selected], dtype=self.dtype)
