"""Contents that are cut by rows: a list of batches, a generator, the blocks of a Ray Dataset."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

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


def identity_of_parts(sizes: Iterable[int]) -> Identity:
    """Return the identity of rows that come in parts of these sizes."""
    found = list(sizes)
    return Identity(sum(found), None, digest_of(json.dumps(found).encode()))
