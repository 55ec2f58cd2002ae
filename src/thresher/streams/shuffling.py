"""Rows in random order: a full, seeded shuffle of a stream.

The rows are read once into flat arrays, in memory up to a limit and in a temporary file above it. Each pass then uses a
new permutation.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import NO_NAME, Batch, BatchNames, CoreNames, DataError, predecessors
from thresher.io.file_errors import name_file_in_errors
from thresher.model.labels import Labels, concatenate_labels
from thresher.model.names import MOST_PREFIXES
from thresher.progress import Bar, progress_bar
from thresher.streams.position import Identity, Position, digest_of
from thresher.streams.stream import Content, Stream

# Bytes of values and ids that are kept in memory; twice as much is needed while they are concatenated.
MEMORY_LIMIT = 1 << 29
_BATCH_ROWS = 4_096
_HEAD = 1_024  # values whose hash identifies these rows


def shuffle_stream(
    stream: Stream, random: np.random.Generator, memory_limit: int | None = None, progress: bool = False
) -> ShuffledStream:
    """Read a stream and return its rows in random order, in a new order each time it is read."""
    if not stream.can_be_read_again:
        raise DataError(f"{stream.name} can't be shuffled, since it can be read only once: write it to a file first.")
    limit = MEMORY_LIMIT if memory_limit is None else memory_limit
    return ShuffledStream(stream, _RowStore(stream, random, limit, progress))


class ShuffledStream(Stream):
    """The rows of a stream in random order. A position counts rows in the current order."""

    def __init__(self, stream: Stream, rows: _RowStore) -> None:
        super().__init__(
            stream.name, rows, feature_names=stream.feature_names, id_base=stream.id_base, n_features=stream.n_features,
            naming=stream.naming,
        )  # fmt: skip
        self._rows = rows

    def generator_state(self) -> dict[str, Any]:
        """Return the states of the random generator before it drew the first order and the current one, for JSON."""
        return {"first": self._rows.first_state, "current": self._rows.generator_state}

    def restore_generator(self, state: dict[str, Any]) -> None:
        """Make the next read, from the start or from a position, draw the same order as from this state."""
        self._rows.first_state = state["first"]
        self._rows.random.bit_generator.state = self._rows.generator_state = state["current"]


class _RowStore(Content):
    """All rows of a stream, for access in any order."""

    def __init__(self, stream: Stream, random: np.random.Generator, memory_limit: int, progress: bool) -> None:
        self.random = random
        self.first_state: dict[str, Any] = dict(random.bit_generator.state)
        self.generator_state = self.first_state
        self._stream = stream
        self._skipped: list[str] = []
        self._n_bytes = 0
        with progress_bar("reading", stream, 1, progress) as bar:
            self._load(memory_limit, bar)

    @property
    def n_bytes(self) -> int | None:
        return self._stream.n_bytes

    @property
    def n_rows(self) -> int:
        return len(self._labels)

    def shard(self, k: int, n: int) -> _RowStore:
        """Raise an error: each shard would have its own random order."""
        raise DataError(f"{self._stream.name} has no shards once it is shuffled: shuffle each shard.")

    def check(self, start: Position) -> None:
        start.check(self._stream.name, self._identity)

    def batches(self, start: Position | None) -> Iterator[Batch]:
        """Read in a new random order, or continue in the current one."""
        first = 0
        if start is not None:
            first = start.row or 0
            self.random.bit_generator.state = self.generator_state
        if self._skipped:
            if start is None:
                yield replace(Batch.empty(), skipped=self._skipped, end=self._position(0))
            self._skipped = []
        self.generator_state = dict(self.random.bit_generator.state)
        order = self.random.permutation(len(self._labels))
        n_bytes = self._n_bytes / max(1, len(order))
        for begin in range(first, len(order), _BATCH_ROWS):
            rows = order[begin : begin + _BATCH_ROWS]
            end = begin + len(rows)
            batch = self._take(rows, int(n_bytes * end) - int(n_bytes * begin))
            batch.end = self._position(end)
            yield batch

    @cached_property
    def partners(self) -> NDArray[np.int64]:
        """The row before each in the first order, without rows of weight 0; -1 for the first one."""
        random = np.random.Generator(type(self.random.bit_generator)())
        random.bit_generator.state = self.first_state
        order = random.permutation(self.n_rows)
        return predecessors(order if self._row_weights is None else order[self._row_weights[order] != 0], self.n_rows)

    def _position(self, row: int) -> Position:
        return Position.at(0, self._stream.name, 0, row, self._identity)

    @cached_property
    def _identity(self) -> Identity:
        return Identity(len(self._labels), None, digest_of(self._starts.tobytes() + self._values[:_HEAD].tobytes()))

    def _load(self, memory_limit: int, bar: Bar) -> None:
        """Read everything once."""
        ids, values = _Store(np.dtype(np.int64)), _Store(np.dtype(np.float32))
        names = _NameStore()
        lengths, labels, row_weights, places = [], [], [], []
        largest, zero_seen = -1, False
        for batch in self._stream.batches():
            if ids.n_bytes + values.n_bytes + names.n_bytes > memory_limit:
                ids.move_to_disk()
                values.move_to_disk()
                names.move_to_disk()
            names.append(batch)
            ids.append(batch.indices.astype(np.int64, copy=False))
            values.append(batch.data)
            lengths.append(np.diff(batch.indptr))
            labels.append(batch.labels)
            row_weights.append(np.ones(batch.n_rows) if batch.row_weights is None else batch.row_weights)
            places.append((batch.n_rows, _without_rows(batch)))
            largest, zero_seen = max(largest, batch.largest_id), zero_seen or batch.zero_seen
            self._n_bytes += batch.n_bytes
            self._skipped += batch.skipped
            bar.advance(batch.n_bytes, batch.n_rows, None)
        self._ids, self._values = ids.array(), values.array()
        self._names = names.finish()
        self._starts = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))]).astype(
            np.int64
        )
        self._labels: Labels = concatenate_labels(labels)
        weights = np.concatenate(row_weights) if row_weights else np.zeros(0)
        self._row_weights = None if np.all(weights == 1.0) else weights
        self._places, self._largest, self._zero_seen = places, largest, zero_seen

    def with_partners(self, rows: NDArray[np.int64]) -> tuple[Batch, NDArray[np.int64]]:
        """Return rows with their partners behind them, and which row has which, as a batch does."""
        partners = self.partners[rows]
        has_one = partners >= 0
        places = np.full(2 * len(rows), -1)
        places[: len(rows)][has_one] = len(rows) + np.arange(has_one.sum())
        both = self._take(np.concatenate([rows, partners[has_one]]), 0)
        return both, places[: both.n_rows]

    def _take(self, rows: NDArray[np.int64], n_bytes: int) -> Batch:
        lengths = self._starts[rows + 1] - self._starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self._starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        taken = _RandomRows(
            starts, self._ids[at], self._values[at], self._labels[rows], self._largest, self._zero_seen,
            None if self._row_weights is None else self._row_weights[rows], n_bytes,
            origin=self, rows=rows,
        )  # fmt: skip
        taken.names = None if self._names is None else _RandomNames(self._names, at)
        return taken

    def location(self, row: int) -> str:
        """Return where a row came from."""
        for n_rows, batch in self._places:
            if row < n_rows:
                return batch.location(row)
            row -= n_rows
        return self._stream.name


def _without_rows(batch: Batch) -> Batch:
    """Return a batch without its rows, which still has their files and line numbers."""
    empty = Batch.empty()
    return replace(
        batch, indptr=empty.indptr, indices=empty.indices, data=empty.data, labels=empty.labels, row_weights=None,
        names=None, skipped=[], bad=[],
    )  # fmt: skip


class _RandomRows(Batch):
    """A batch of rows from anywhere in the stream."""

    __slots__ = ("_origin", "_rows")

    def __init__(self, *arguments: Any, origin: _RowStore, rows: NDArray[np.int64]) -> None:
        super().__init__(*arguments)
        self._origin, self._rows = origin, rows

    def location(self, row: int) -> str:
        return self._origin.location(int(self._rows[row]))

    def with_partners(self) -> tuple[Batch, NDArray[np.int64]]:
        return self._origin.with_partners(self._rows)

    def rows_from(self, first: int) -> NDArray[np.int64]:
        return self._rows  # in the stream's own order, whatever came before


@dataclass(frozen=True)
class _AllNames:
    """The names of all values of a stream, one after another."""

    marks: NDArray[np.uint64]
    text: NDArray[np.uint8]
    prefixes: list[str]
    values: NDArray[np.int64]  # where each batch begins, in marks
    bases: NDArray[np.int64]  # and in text


@dataclass(frozen=True)
class _RandomNames:
    """The names of the values at some places; only the names of features that are asked for are found."""

    whole: _AllNames
    at: NDArray[np.int64]

    def part(self, begin: int, end: int) -> _RandomNames:
        return _RandomNames(self.whole, self.at[begin:end])

    def for_core(self, places: NDArray[np.int64]) -> CoreNames:
        places, whole = self.at[places], self.whole
        bases = whole.bases[np.searchsorted(whole.values, places, side="right") - 1]
        return whole.marks[places], whole.text, whole.prefixes, bases


class _NameStore:
    """Collects the names of batches, in memory or in temporary files."""

    def __init__(self) -> None:
        self._marks, self._text = _Store(np.dtype(np.uint64)), _Store(np.dtype(np.uint8))
        self._prefixes: dict[str, int] = {}
        self._values: list[int] = []
        self._bases: list[int] = []
        self._n_values = 0
        self._any = False

    @property
    def n_bytes(self) -> int:
        return self._marks.n_bytes + self._text.n_bytes

    def append(self, batch: Batch) -> None:
        names = batch.names
        if names is None and not self._any:
            self._n_values += len(batch.data)
            return
        if not self._any:  # text of numbers can turn out to have names too
            self._any = True
            self._marks.append(np.full(self._n_values, NO_NAME))
            self._values, self._bases = [0], [0]
        self._values.append(self._n_values)
        self._bases.append(self._text.n_bytes)
        self._n_values += len(batch.data)
        if names is None:
            self._marks.append(np.full(len(batch.data), NO_NAME))
            return
        assert isinstance(names, BatchNames)
        numbers = [self._prefixes.setdefault(prefix, len(self._prefixes)) for prefix in names.prefixes]
        if len(self._prefixes) > MOST_PREFIXES:
            raise DataError(f"{batch.file}: more than {MOST_PREFIXES:,} namespaces: the rows can't be shuffled.")
        marks = names.marks
        if numbers != list(range(len(numbers))):
            renumbered = np.array([*numbers, 0], np.uint64)[np.minimum(marks & np.uint64(0xFFFF), len(numbers))]
            marks = np.where(marks == NO_NAME, NO_NAME, marks & ~np.uint64(0xFFFF) | renumbered)
        self._marks.append(marks)
        self._text.append(names.text)

    def move_to_disk(self) -> None:
        if self._any:
            self._marks.move_to_disk()
            self._text.move_to_disk()

    def finish(self) -> _AllNames | None:
        if not self._any:
            return None
        return _AllNames(
            self._marks.array(), self._text.array(), list(self._prefixes), np.array(self._values, np.int64),
            np.array(self._bases, np.int64),
        )  # fmt: skip


class _Store:
    """An array that grows, in memory or in a temporary file."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._parts: list[NDArray[Any]] = []
        self._file: Any = None
        self.n_bytes = 0

    def append(self, part: NDArray[Any]) -> None:
        self.n_bytes += part.nbytes
        if self._file is None:
            self._parts.append(part)
        else:
            self._write(part)

    def move_to_disk(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="thresher-shuffle-")  # noqa: SIM115 closed by array()
            for part in self._parts:
                self._write(part)
            self._parts.clear()

    def _write(self, part: NDArray[Any]) -> None:
        with name_file_in_errors(f"a temporary file in {tempfile.gettempdir()}"):
            self._file.write(part.tobytes())
            self._file.flush()

    def array(self) -> NDArray[Any]:
        if self._file is None:
            whole = np.concatenate(self._parts) if self._parts else np.zeros(0, self._dtype)
            self._parts.clear()
            return whole
        if self.n_bytes == 0:
            self._file.close()
            return np.zeros(0, self._dtype)
        mapped = np.memmap(self._file, self._dtype, "r")
        self._file.close()  # the mapping keeps the data
        return mapped
