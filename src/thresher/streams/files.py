"""The rows of a list of files: in order, from any position, all of them or a shard.

The reader of a file cuts it, or a span of it, into blocks, which threads read. This module puts their batches in
order, numbers the rows, and adds the position at the end of each batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import groupby
from threading import Lock
from typing import TypeAlias

from thresher.batch import Batch, DataError
from thresher.messages import count_noun, parameter
from thresher.streams.formats.format import Reader, Span
from thresher.streams.pipeline import ReadBlock, in_order
from thresher.streams.position import Identity, Position
from thresher.streams.stream import Content

# Handing a block to a thread takes longer than to read a small file, so that many of them are read together.
_SMALL_FILE, _SMALL_FILES = 1 << 14, 64


class FileRows(Content):
    """The rows of files of one kind.

    Parameters
    ----------
    readers : sequence of Reader
        One of each file.
    skip_bad : bool
        Whether bad rows are skipped; else the first one is an error.
    n_threads : int
        How many threads parse.
    """

    def __init__(self, readers: Sequence[Reader], skip_bad: bool, n_threads: int) -> None:
        self._readers = readers
        self._skip_bad = skip_bad
        self._n_threads = n_threads
        # None: the file is not part of the shard.
        self._spans: list[Span | None] = [Span(0, None)] * len(readers)

    @property
    def paths(self) -> list[str]:
        """Return where the files lie; "-" is standard input."""
        return [reader.source.path for reader in self._readers]

    @property
    def n_bytes(self) -> int | None:
        """Bytes on the disk."""
        sizes = [self._size(at) for at in range(len(self._readers))]
        return sum(size for size in sizes if size is not None) if None not in sizes else None

    @property
    def n_rows(self) -> int | None:
        """Rows, if their number is known in advance."""
        total = 0
        for reader, span in zip(self._readers, self._spans, strict=True):
            if (n_rows := reader.n_rows) is None:
                return None
            if span is not None:
                first, end = span.rows(n_rows, reader.source.n_bytes or 0)
                total += end - first
        return total

    def shard(self, k: int, n: int) -> FileRows:
        """Return the k-th of n parts by bytes on the disk."""
        sizes = [self._size(at) or 0 for at in range(len(self._readers))]
        total = sum(sizes)
        low, high = total * k // n, total * (k + 1) // n
        part = FileRows(self._readers, self._skip_bad, self._n_threads)
        offset = 0
        for at, (size, span) in enumerate(zip(sizes, self._spans, strict=True)):
            begin, end = max(low - offset, 0), min(high - offset, size)
            if span is None or begin >= end:
                part._spans[at] = None
            elif not self._readers[at].source.is_plain:
                part._spans[at] = span if low <= offset else None
            else:
                # The last span of a file keeps its open end.
                last = span.end if end == size else span.begin + end
                part._spans[at] = Span(span.begin + begin, last)
            offset += size
        return part

    def batches(self, start: Position | None) -> Iterator[Batch]:
        """Read from the start, or from a position in these files."""
        opened = [
            _OpenSpan(at, self._readers[at], span)
            for at, span in enumerate(self._spans)
            if span is not None and (start is None or at >= start.file)
        ]
        if start is not None:
            opened[0].start = start
        at, number, namespace = -1, 0, None
        for found in in_order(_reads(opened), self._n_threads):
            while found:
                each = found.popleft()
                if isinstance(each, Exception):
                    raise each
                span, batch = each
                if span.index != at:
                    at, number = span.index, span.first or 0
                    if span.start is not None:
                        namespace = span.start.namespace
                name = span.reader.source.name
                batch.file, batch.counted_in, batch.first_number = name, span.reader.counted_in, number + 1
                batch.before = None if span.first is not None else span.count_before
                if None not in (namespace, batch.namespace) and batch.namespace != namespace:
                    raise DataError(
                        f"{batch.location_of_line(0)} or later: numbers in a second namespace, {batch.namespace!r} "
                        f"after {namespace!r}, would be the same features: use "
                        f"{parameter('hash', 'all')}."
                    )
                namespace = batch.namespace if namespace is None else namespace
                batch.handle_bad_lines(self._skip_bad)
                number += batch.n_lines
                if span.identity is not None:
                    row = number if span.first is not None else None
                    batch.end = Position.at(at, name, batch.end_byte, row, span.identity, namespace)
                yield batch
                del each, batch  # not kept while the next one is made

    def check(self, start: Position) -> None:
        """Raise ValueError unless a position is in these files and in this shard."""
        if start.file >= len(self._readers):
            raise ValueError(
                f"the position is in file {start.file + 1}, {start.name}, but the stream has "
                f"{count_noun(len(self._readers), 'file')}."
            )
        reader = self._readers[start.file]
        start.check(reader.source.name, Identity.of_file(reader.source.path))
        span = self._spans[start.file]
        if span is None or not reader.holds(span, start):
            raise ValueError(f"{reader.source.name}: the position is in another shard.")

    def _size(self, at: int) -> int | None:
        """Return the bytes on the disk of a file's span."""
        span, size = self._spans[at], self._readers[at].source.n_bytes
        if span is None:
            return 0
        return None if size is None else (size if span.end is None else span.end) - span.begin


@dataclass(eq=False)
class _OpenSpan:
    """A span of a file that is read, or the rest of one from a position on."""

    index: int
    reader: Reader
    span: Span
    start: Position | None = None
    identity: Identity | None = None  # of the file when it was opened; None for a pipe, which has no positions

    @cached_property
    def first(self) -> int | None:
        """How many lines or rows of the file are before it, if known."""
        return self.reader.first_number(self.span) if self.start is None else self.start.row

    @cached_property
    def count_before(self) -> Callable[[], int]:
        """A function that counts the lines or rows before it by reading them; the result is cached."""
        begin = self.span.begin if self.start is None else self.start.byte
        return cache(partial(self.reader.count_before, begin))

    @property
    def is_small(self) -> bool:
        """Whether it is of a small file, whose rows take about as much memory as the file on disk."""
        source, size = self.reader.source, self.reader.source.n_bytes
        return self.reader.is_text and source.is_plain and size is not None and size <= _SMALL_FILE

    def reads(self) -> Iterator[ReadBlock]:
        """Yield what reads each block of it."""
        source = self.reader.source
        self.identity = Identity.of_file(source.path) if source.flow is None else None
        return self.reader.reads(self.span, self.start)


# Batches, each with its span; after the batches of small files perhaps the error that ended them.
_Found: TypeAlias = deque[tuple[_OpenSpan, Batch] | Exception]


def _reads(spans: list[_OpenSpan]) -> Iterator[Callable[[], _Found]]:
    """Yield what reads the spans: a block each, or several small files."""
    alone = Lock()
    for are_small, group in groupby(spans, lambda span: span.is_small):
        if are_small:
            small = list(group)
            for low in range(0, len(small), _SMALL_FILES):
                yield partial(_read_small, small[low : low + _SMALL_FILES], alone)
        else:
            for span in group:
                yield from (partial(_read, span, read_block) for read_block in span.reads())


def _read(span: _OpenSpan, read_block: ReadBlock) -> _Found:
    return deque([(span, read_block())])


def _read_small(spans: list[_OpenSpan], alone: Lock) -> _Found:
    found: _Found = deque()
    try:
        with alone:  # most of this is Python, and two threads of it do less than one
            for span in spans:
                found.extend((span, read_block()) for read_block in span.reads())
    except Exception as error:
        found.append(error)
    return found
