"""Samples of a stream's rows, chosen by a hash of the row's number: the same in any batching and in every pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.model.targets import Classes
from thresher.streams import DataError

Numbers = NDArray[np.int64]


class Sample(Protocol):
    """Which rows a model learns."""

    def learns(self, rows: Numbers) -> NDArray[np.bool_]:
        """Return whether the rows with these numbers, from 0, are learned."""


@dataclass(frozen=True)
class AllBut:
    """All rows except one of `n` folds."""

    fold: int
    n: int
    seed: int

    def __str__(self) -> str:
        return f"fold {self.fold + 1} of {self.n}"

    def learns(self, rows: Numbers) -> NDArray[np.bool_]:
        return np.asarray(fold_of(rows, self.n, self.seed) != self.fold)


@dataclass(frozen=True)
class Half:
    """About half of the rows; each `number` gives another half."""

    number: int
    seed: int

    def __str__(self) -> str:
        return f"random half {self.number + 1}"

    def learns(self, rows: Numbers) -> NDArray[np.bool_]:
        return (_hashes(rows, self.seed, 1 + self.number) >> np.uint64(63)).astype(bool)


def fold_of(rows: Numbers, n: int, seed: int) -> Numbers:
    """Return the fold of each row, from 0 to n - 1."""
    return (_hashes(rows, seed, 0) % np.uint64(n)).astype(np.int64)


def require_enough_rows(data: str, who_has: str, target: Classes | None, n_rows: Numbers) -> None:
    """Raise DataError unless so many rows by code are enough for a target; `data` is the name of the stream."""
    assert target is not None
    lacking = target.problem_with_sample(n_rows)
    if lacking is not None:
        raise DataError(f"{data}: {who_has} {lacking}: use fewer folds or samples, or more rows.")


def _hashes(rows: Numbers, seed: int, use: int) -> NDArray[np.uint64]:
    """Return 64 random bits for each row: the generator SplitMix64, which can start at any row."""
    stream = np.uint64((seed * 0xD1342543DE82EF95 + use * 0xAF251AF3B0F025B5) % 2**64)
    with np.errstate(over="ignore"):
        z = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + _mix(stream)
        return _mix(z)


def _mix(z: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
