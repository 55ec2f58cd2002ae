"""Samples of a stream's rows, chosen by a hash of the row's number: the same in any batching and in every pass."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.model.labels import Labels, labels_from_values
from thresher.model.numbers import numbers_of
from thresher.model.targets import Target
from thresher.streams import Batch, DataError

Numbers = NDArray[np.int64]


class Sample(Protocol):
    """Which rows a model learns."""

    def learns(self, rows: Numbers) -> NDArray[np.bool_]:
        """Return whether the rows with these numbers, from 0, are learned."""

    @property
    def permuted(self) -> PermutedLabels | None:
        """Other labels for the rows, or None for their own."""


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

    @property
    def permuted(self) -> None:
        """The rows have their own labels."""


@dataclass(frozen=True)
class Half:
    """About half of the rows; each `number` gives another half."""

    number: int
    seed: int
    permuted: PermutedLabels | None = None

    def __str__(self) -> str:
        return f"random half {self.number + 1}" + (" with permuted labels" if self.permuted is not None else "")

    def learns(self, rows: Numbers) -> NDArray[np.bool_]:
        return (_hashes(rows, self.seed, 1 + self.number) >> np.uint64(63)).astype(bool)


class PermutedLabels:
    """Labels that say nothing about their rows: those of the rows of a batch, in a seeded order.

    A row has the same label in all passes. Batches have the same rows in each, unless they are shuffled: then labels
    are remembered by the number of the row.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._lock = Lock()
        self._last: tuple[Batch | None, Batch | None] = (None, None)  # a batch, and the same with permuted labels
        self._classes: dict[Any, int] = {}
        self._codes = np.zeros(0, np.int32)  # by row; -1 for one that was not seen yet

    def of_batch(self, batch: Batch, rows: Numbers, *, are_shuffled: bool) -> Batch:
        """Return a batch with other labels; threads that ask for the same batch get the same."""
        with self._lock:
            if self._last[0] is not batch:
                other = copy.copy(batch)
                other.labels = self._remembered(batch, rows) if are_shuffled else self.of_rows(batch.labels, rows)
                self._last = batch, other
            assert self._last[1] is not None
            return self._last[1]

    def of_rows(self, labels: Labels, rows: Numbers) -> Labels:
        """Return the labels of rows that are read together, in another order."""
        return np.asarray(labels[np.argsort(_hashes(rows, self._seed, -1), kind="stable")])

    def _remembered(self, batch: Batch, rows: Numbers) -> Labels:
        n_known = len(self._codes)
        if (n_rows := int(rows.max(initial=-1)) + 1) > n_known:
            self._codes = np.pad(self._codes, (0, max(n_rows, 2 * n_known) - n_known), constant_values=-1)
        if np.any(self._codes[rows] < 0):
            permuted = self.of_rows(batch.labels, rows).tolist()
            self._codes[rows] = [self._classes.setdefault(label, len(self._classes)) for label in permuted]
        return np.asarray(labels_from_values(list(self._classes))[self._codes[rows]])


class PermutedNumbers(PermutedLabels):
    """The same of numbers, which are remembered as they are."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._numbers = np.zeros(0)  # by row; NaN for one that was not seen yet

    def of_rows(self, labels: Labels, rows: Numbers) -> Labels:
        """Return the numbers of rows that are read together, in another order."""
        return super().of_rows(numbers_of(labels), rows)

    def _remembered(self, batch: Batch, rows: Numbers) -> Labels:
        n_known = len(self._numbers)
        if (n_rows := int(rows.max(initial=-1)) + 1) > n_known:
            self._numbers = np.pad(self._numbers, (0, max(n_rows, 2 * n_known) - n_known), constant_values=np.nan)
        if np.isnan(self._numbers[rows]).any():
            self._numbers[rows] = self.of_rows(batch.labels, rows)
        return self._numbers[rows]


def permuted_labels(predicts: str, seed: int) -> PermutedLabels:
    """Return permuted labels for models that predict this."""
    return PermutedNumbers(seed) if predicts == "numbers" else PermutedLabels(seed)


def fold_of(rows: Numbers, n: int, seed: int) -> Numbers:
    """Return the fold of each row, from 0 to n - 1."""
    return (_hashes(rows, seed, 0) % np.uint64(n)).astype(np.int64)


def require_enough_rows(data: str, who_has: str, target: Target | None, n_rows: Numbers) -> None:
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
