"""Contents that are cut by row number: lists of matrices, a generator, the blocks of a Ray Dataset."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Self

from thresher.batch import Batch
from thresher.streams.pipeline import ReadBlock, in_order
from thresher.streams.position import Identity, Position, digest_of
from thresher.streams.stream import Content


class NumberedRows(Content):
    """Rows `first` up to `end` of a content.

    Parameters
    ----------
    name : str
        The name for messages.
    first, end : int
    identity : Identity
        What distinguishes it from other contents.
    """

    _number_of_first = 1
    _skip_bad = False

    def __init__(self, name: str, first: int, end: int, identity: Identity) -> None:
        self.name, self._first, self._end, self._identity = name, first, end, identity

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._end - self._first

    def shard(self, k: int, n: int) -> Self:
        """Return the k-th of n parts by rows."""
        shard = copy.copy(self)
        shard._first, shard._end = (self._first + self.n_rows * at // n for at in (k, k + 1))
        return shard

    def check(self, start: Position) -> None:
        """Raise ValueError unless a position is in these rows."""
        start.check(self.name, self._identity)
        if start.row is None or not self._first <= start.row <= self._end:
            raise ValueError(f"{self.name}: the position is in another shard (row {start.row}).")

    def batches(self, start: Position | None) -> Iterator[Batch]:
        """Read from the start, or from a position."""
        row = self._first if start is None or start.row is None else start.row
        batches = in_order(self._reads(row, self._end), self._n_threads)
        for batch in number_rows(self.name, batches, self._skip_bad, row + self._number_of_first):
            row += batch.n_lines
            batch.end = Position.at(0, self.name, 0, row, self._identity)
            yield batch
            del batch  # not kept while the next one is made

    @abstractmethod
    def _reads(self, first: int, end: int) -> Iterator[ReadBlock]:
        """Yield what reads each block of these rows, in order."""


def identity_of(sizes: list[int]) -> Identity:
    """Return the identity of rows in blocks of these sizes."""
    return Identity(sum(sizes), None, digest_of(str(sizes).encode()))


def number_rows(name: str, batches: Iterable[Batch], skip_bad: bool, number: int = 1) -> Iterator[Batch]:
    """Yield batches with the numbers of their rows, from `number` on; skip bad rows or refuse them."""
    for batch in batches:
        batch.file, batch.counted_in, batch.first_number = name, "row", number
        batch.handle_bad_lines(skip_bad)
        number += batch.n_lines
        yield batch
        del batch  # not kept while the next one is made


def blocks_with_rows(sizes: Iterable[int], first: int, end: int | None) -> Iterator[tuple[int, int, int]]:
    """Yield the index of each block, of these sizes, that has rows from `first` up to `end`, and which of its rows."""
    row = 0
    for index, size in enumerate(sizes):
        low, high = max(first - row, 0), size if end is None else min(end - row, size)
        if low < high:
            yield index, low, high
        row += size
