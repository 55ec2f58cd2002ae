"""Contents that are cut by rows: a list of batches, a generator, the blocks of a Ray Dataset."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thresher.streams.position import Identity, Position, digest_of


@dataclass(frozen=True)
class RowSpan:
    """Rows `first` up to `end` of a content."""

    first: int
    end: int

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.end - self.first

    def shard(self, k: int, n: int) -> RowSpan:
        """Return the k-th of n parts."""
        return RowSpan(self.first + self.n_rows * k // n, self.first + self.n_rows * (k + 1) // n)

    def start(self, position: Position | None, name: str, identity: Identity) -> int:
        """Return the row to read from; raise ValueError for a position in other rows."""
        if position is None:
            return self.first
        position.check(name, identity)
        if position.row is None or not self.first <= position.row <= self.end:
            raise ValueError(f"{name}: the position is in another shard (row {position.row}).")
        return position.row


class CutByRows:
    """Rows in parts of known sizes, such as matrices, which are cut by rows."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._span = RowSpan(0, int(self._starts[-1]))

    @property
    def n_bytes(self) -> None:
        """None: there is no file."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._span.n_rows

    def shard(self, k: int, n: int) -> Self:
        """Return the k-th of n parts by rows."""
        part = copy.copy(self)
        part._span = self._span.shard(k, n)
        return part

    @cached_property
    def _identity(self) -> Identity:
        sizes = np.diff(self._starts).tolist()
        return Identity(sum(sizes), None, digest_of(json.dumps(sizes).encode()))
