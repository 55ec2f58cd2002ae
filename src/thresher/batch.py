"""`Batch`: rows in CSR with their labels and positions. Every reader returns it, and every learner takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher import _core

if TYPE_CHECKING:
    from thresher.streams.position import Position

# Rows are learned in blocks of about this many nonzeros, some 10 ms each; Ctrl-C takes effect between two blocks.
BLOCK_NONZEROS = 4_000_000
NO_NAME = np.uint64(2**64 - 1)  # the mark of a feature without a name
_16_BITS = np.uint64(0xFFFF)


class DataError(ValueError):
    """Something in the data can't be read; the message names the file and the line or row."""


@dataclass(slots=True)
class Batch:
    """Rows in CSR with their labels, and ids as in the source.

    Attributes
    ----------
    indptr, indices, data : array
        The rows: their ids rise, and values are finite.
    labels : array of numbers or str
        NaN or "" where there are none.
    largest_id : int
        No id is larger; of a matrix or a table, that of the last column.
    zero_seen : bool
        Whether id 0 occurs.
    row_weights : array of float64, or None if all are 1
        The weights of the rows.
    n_bytes : int
        Of the source, on disk.
    file : str
        The name of the source, for messages.
    numbers : array of int, or None for 0, 1, 2 …
        The lines of the rows, relative to `first_number`.
    first_number : int
        The number of the first line, or of the first row if these are counted.
    counted_in : {"line", "row"}
    skipped : list of str
        Why lines or rows were skipped.
    before : callable, or None
        Counts the lines before the shard, if it starts inside a file.
    end : Position or None
        Where the batch ends; None if the stream has no positions.
    names : Names or None
        Of the features, where they have names instead of numbers.
    bad : list of (int, str)
        Lines that can't be read, relative to `first_number`, and why.
    n_lines : int
        How many lines or rows of the source it has, good or bad.
    end_byte : int
        The byte of the file's content at which the next batch begins.
    namespace : str or None
        Of VW text, if its names are numbers.
    keys : array, or None
        What identifies each row, None where it is missing; where that was asked for.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[np.float32]
    labels: NDArray[Any]
    largest_id: int
    zero_seen: bool
    row_weights: NDArray[np.float64] | None = None
    n_bytes: int = 0
    file: str = ""
    numbers: NDArray[Any] | None = None
    first_number: int = 1
    counted_in: str = "line"
    skipped: list[str] = field(default_factory=list)
    before: Callable[[], int] | None = None
    end: Position | None = None
    names: Names | None = None
    bad: list[tuple[int, str]] = field(default_factory=list)
    n_lines: int = 0
    end_byte: int = 0
    namespace: str | None = None
    keys: NDArray[Any] | None = None

    @classmethod
    def of(cls, found: _core.FoundRows, labels: NDArray[Any]) -> Self:
        """Return the rows that a reader of the core found, with these labels."""
        names = None if found.marks is None else BatchNames(found.marks, found.text, found.prefixes)
        return cls(
            found.indptr, found.indices, found.data, labels, found.largest_id, found.zero_seen, found.row_weights,
            numbers=found.numbers, names=names, bad=found.bad, n_lines=found.n_lines, namespace=found.namespace,
        )  # fmt: skip

    @classmethod
    def empty(cls, n_bytes: int = 0) -> Self:
        """Return a batch without rows."""
        starts, ids = np.zeros(1, np.int32), np.zeros(0, np.int32)
        return cls(starts, ids, np.zeros(0, np.float32), np.zeros(0), -1, zero_seen=False, n_bytes=n_bytes)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and a number of columns that includes all ids."""
        return self.n_rows, self.largest_id + 1

    def rows_from(self, first: int) -> NDArray[np.int64]:
        """Return the numbers of the rows in the stream, from 0; `first` rows came before."""
        return np.arange(first, first + self.n_rows)

    def part(self, begin: int, end: int) -> Batch:
        """Return some of the rows, without the bad lines between them."""
        if begin == 0 and end == self.n_rows:
            return self
        low, high = int(self.indptr[begin]), int(self.indptr[end])
        starts, ids = self.indptr[begin : end + 1] - self.indptr[begin], self.indices[low:high]
        numbers = None if self.numbers is None else self.numbers[begin:end]
        return Batch(
            starts, ids, self.data[low:high], self.labels[begin:end],
            self.largest_id, bool((ids == 0).any()),
            None if self.row_weights is None else self.row_weights[begin:end],
            n_bytes=self.n_bytes * end // self.n_rows - self.n_bytes * begin // self.n_rows,
            file=self.file, numbers=numbers, first_number=self.first_number + (begin if numbers is None else 0),
            counted_in=self.counted_in, before=self.before,
            names=None if self.names is None else self.names.part(low, high), n_lines=end - begin,
            keys=None if self.keys is None else self.keys[begin:end],
        )  # fmt: skip

    def with_partners(self) -> tuple[Batch, NDArray[np.int64] | None]:
        """Return rows for decoys in later passes: these, and behind them their partners, and which row has which.

        None stands for the row before. A partner is the row that was before it in the first pass.
        """
        return self, None

    def location(self, row: int) -> str:
        """Return the file and line of a row."""
        return self.location_of_line(int(row if self.numbers is None else self.numbers[row]))

    def location_of_line(self, number: int) -> str:
        """Return the file and number of a line or row, which can be a bad one."""
        before = 0 if self.before is None else self.before()
        return f"{self.file}, {self.counted_in} {self.first_number + number + before}"

    def handle_bad_lines(self, skip: bool) -> None:
        """Skip the bad lines, or raise DataError for the first one; file and line numbers must be set."""
        if self.bad and not skip:
            number, why = self.bad[0]
            raise DataError(f"{self.location_of_line(number)}: {why}.")
        self.skipped = [f"{self.location_of_line(number)}: {why}." for number, why in self.bad]

    def refuse_unlabelled(self, consequence: str) -> None:
        """Raise DataError for the first row without a label."""
        kind = self.labels.dtype.kind
        missing = np.flatnonzero(np.isnan(self.labels) if kind == "f" else self.labels == "" if kind == "U" else ())
        if len(missing):
            raise DataError(f"{self.location(int(missing[0]))}: the row has no label, so {consequence}.")


def core_rows(batch: Batch) -> _core.CsrBatch:
    """Return a batch as the core takes it, without a check, since its reader has checked it; ids can have any size."""
    rows = _core.CsrBatch(batch.indptr, batch.indices, batch.data, 2**63 - 1)
    rows.trust()
    return rows


def predecessors(order: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Return for each of `n_rows` rows the one before it in an order of some of them, or -1."""
    before = np.full(n_rows, -1)
    before[order[1:]] = order[:-1]
    return before


def blocks(n_rows: int, n_values: int) -> Iterator[tuple[int, int]]:
    """Cut rows into blocks of about BLOCK_NONZEROS values."""
    step = max(1, int(n_rows * BLOCK_NONZEROS / max(1, n_values)))
    for begin in range(0, n_rows, step):
        yield begin, min(begin + step, n_rows)


# Marks, the text and the prefixes that they refer to, and where the text of each value begins, if it is not at 0.
CoreNames: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint8], list[str], NDArray[np.int64] | None]


class Names(Protocol):
    """The names of the features of a batch."""

    def part(self, begin: int, end: int) -> Names:
        """Return the names of some of the values."""

    def for_core(self, places: NDArray[np.int64]) -> CoreNames:
        """Return the names of the values at these indices, as the core reads them."""


@dataclass(slots=True)
class BatchNames:
    """The names of a batch's features: where in the text of the batch each is written.

    Attributes
    ----------
    marks : array of uint64, one per value
        Offset in `text` (32 bits), length (16 bits), index of the prefix (16 bits); all ones for a feature without a
        name.
    text : array of uint8
        UTF-8.
    prefixes : list of str
        A name is its prefix and its part of the text.
    """

    marks: NDArray[np.uint64]
    text: NDArray[np.uint8]
    prefixes: list[str]

    def part(self, begin: int, end: int) -> BatchNames:
        """Return the names of some of the values."""
        return BatchNames(self.marks[begin:end], self.text, self.prefixes)

    def at(self, places: NDArray[np.int64]) -> BatchNames:
        """Return the names of the values at these indices, and no other text."""
        marks = self.marks[places]
        offsets = (marks >> np.uint64(32)).astype(np.int64)
        lengths = (marks >> np.uint64(16) & _16_BITS).astype(np.int64)
        lengths[marks == NO_NAME] = 0
        ends = np.cumsum(lengths)
        text = self.text[np.repeat(offsets - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)]
        moved = (ends - lengths).astype(np.uint64) << np.uint64(32) | marks & np.uint64(0xFFFFFFFF)
        return BatchNames(np.where(marks == NO_NAME, NO_NAME, moved), text, self.prefixes)

    def check(self) -> None:
        """Raise ValueError unless all marks point into the text and to a prefix."""
        if not _core.marks_fit(self.marks, len(self.text), len(self.prefixes)):
            raise ValueError("a mark points nowhere")

    def for_core(self, places: NDArray[np.int64]) -> CoreNames:
        """Return the names of the values at these indices, as the core reads them."""
        return self.marks[places], self.text, self.prefixes, None
