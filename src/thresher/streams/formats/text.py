"""Text with one row per line, cut into blocks that the core parses in parallel."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import Batch, DataError
from thresher.io.file_errors import name_file_in_errors
from thresher.model.labels import LARGE, labels_from_values
from thresher.streams.formats.format import Options, Reader, Span, too_long_message
from thresher.streams.pipeline import ReadBlock
from thresher.streams.position import Position
from thresher.streams.sources import BOM, Flow, SharedFile, Source

# Bytes that a thread parses at a time: enough to make Python's overhead small, and few enough for the CPU cache.
BLOCK = 1 << 20
_LARGE_BLOCK, _LARGE_FILE = 1 << 22, 1 << 26


Keys: TypeAlias = Callable[[bytes], Any]  # returns what identifies the row of a line


class LineReader(Reader):
    """Reads text with one row per line: svmlight and VW; subclasses read other text that the core parses.

    Parameters
    ----------
    source : Source
    options : Options
    labels : {"required", "optional", "none"}
        Whether rows have a label.
    names : {"numbers", "strings", "all"}
        Which names of VW text are hashed: none are expected, all but numbers, or all.
    """

    counted_in = "line"
    _large_blocks = True  # of large files; rows must not take more memory than their text

    def __init__(self, source: Source, options: Options, labels: str, names: str = "numbers") -> None:
        super().__init__(source)
        self._labels, self._names = labels, names
        self._skip_bad = options.skip_bad
        self._longest_line = options.longest_line
        self._keys: Keys | None = None  # of rows that are to be identified

    def _parse_range(self, file: _core.TextFile, begin: int, end: int) -> _core.FoundRows:
        """Parse the lines that begin in a range of bytes of an open file."""
        format_ = self.source.format
        return _core.read_text_range(format_, file, begin, end, self._skip_bad, self._labels, self._names)

    def _parse_block(self, text: bytes, first: bool) -> _core.FoundRows:
        """Parse whole lines; the first ones of a file can start with a byte order mark."""
        return _core.read_text(self.source.format, text, self._skip_bad, first, self._labels, self._names)

    def reads(self, span: Span, start: Position | None) -> Iterator[ReadBlock]:
        """Cut a span, or the rest of it from a position on: the lines that begin in a range of bytes are a block."""
        begin = span.begin if start is None else start.byte
        if not self.source.is_plain:
            yield from self._of_flow(begin)
            return
        file = SharedFile(self.source.path)
        stop = file.size if span.end is None else min(span.end, file.size)
        # Larger blocks cost less in Python, above all where several models learn; small files need one for each core.
        is_large = self._large_blocks and stop - begin >= _LARGE_FILE
        size = _LARGE_BLOCK if is_large else BLOCK
        for low in range(begin, stop, size):
            yield partial(self._read_range, file, low, min(low + size, stop))

    def holds(self, span: Span, position: Position) -> bool:
        """Return whether a position is in a span."""
        end = position.byte if span.end is None else span.end
        return not self.source.is_plain or span.begin <= position.byte <= end

    def first_number(self, span: Span) -> int | None:
        """Return 0 at the start of a file."""
        return 0 if span.begin == 0 else None

    def count_before(self, byte: int) -> int:
        """Return how many lines begin before a byte."""
        if byte == 0:
            return 0
        n_newlines = 0
        with self.source.open() as flow:
            while flow.byte < byte - 1 and (block := flow.read(min(BLOCK, byte - 1 - flow.byte))):
                n_newlines += block.count(b"\n")
        return n_newlines + 1

    def _of_flow(self, begin: int) -> Iterator[ReadBlock]:
        """Cut a sequential source (an archive, standard input) after the last newline of each block."""
        rest: list[bytes] = []  # of a line whose end was not read yet
        length = 0
        with self.source.open() as flow:
            flow.go_to(begin)
            done = flow.bytes_read if begin else 0
            while block := flow.read(BLOCK):
                first_end = block.find(b"\n")
                if length + (len(block) if first_end < 0 else first_end) > self._longest_line:
                    block = self._after_line(flow, block)
                    yield partial(self._long_line, flow.byte - len(block), flow.bytes_read - done)
                    if not self._skip_bad:
                        return
                    rest, length, done = [], 0, flow.bytes_read
                cut = block.rfind(b"\n") + 1
                if cut > 0:
                    rest.append(block[:cut])
                    byte = flow.byte - (len(block) - cut)
                    yield partial(self._read_block, b"".join(rest), byte, flow.bytes_read - done)
                    rest, length, done = [], 0, flow.bytes_read
                rest.append(block[cut:])
                length += len(block) - cut
            if text := b"".join(rest):
                yield partial(self._read_block, text, flow.byte, flow.bytes_read - done)

    def _after_line(self, flow: Flow, block: bytes) -> bytes:
        """Return what follows a line that is too long, of the block in which it ends; the line is not kept."""
        while b"\n" not in block and self._skip_bad and (following := flow.read(BLOCK)):
            block = following
        return block.partition(b"\n")[2]

    def _read_range(self, file: SharedFile, begin: int, end: int) -> Batch:
        whole = _core.TextFile(file.number, file.size, self._longest_line)
        try:
            with name_file_in_errors(self.source.name):
                found = self._parse_range(whole, begin, end)
                text = b"" if self._keys is None else _lines_in(file, begin, end)
        except _core.FileShrankError as error:
            raise DataError(f"{self.source.name}: {error}") from None
        return self._batch(found, text, end, end - begin)

    def _read_block(self, text: bytes, byte: int, n_bytes: int) -> Batch:
        return self._batch(self._parse_block(text, byte == len(text)), text, byte, n_bytes)

    def _long_line(self, byte: int, n_bytes: int) -> Batch:
        batch = Batch.empty(n_bytes)
        batch.end_byte, batch.n_lines, batch.bad = byte, 1, [(0, too_long_message("line", self._longest_line))]
        return batch

    def _batch(self, found: _core.FoundRows, text: bytes, byte: int, n_bytes: int) -> Batch:
        labels = np.full(len(found.labels), np.nan) if self._labels == "none" else _labels(found.labels, found.words)
        batch = Batch.of(found, labels)
        if self._keys is not None:
            lines = text.removeprefix(BOM).split(b"\n")
            batch.keys = np.array([*(self._keys(lines[at]) for at in found.numbers.tolist()), None], dtype=object)[:-1]
        batch.end_byte, batch.n_bytes = byte, n_bytes
        if found.ends_too_long:
            batch.bad.append((batch.n_lines, too_long_message("line", self._longest_line)))
            batch.n_lines += 1
        return batch


def _lines_in(file: SharedFile, begin: int, end: int) -> bytes:
    """Return the lines that begin in a range of bytes."""
    low = max(begin - 1, 0)  # a line begins after a newline
    text = os.pread(file.number, end - low, low)
    while not text.endswith(b"\n") and (more := os.pread(file.number, BLOCK, low + len(text))):
        text += more[: more.find(b"\n") + 1 or len(more)]
    return text.partition(b"\n")[2] if begin else text


def _labels(numbers: NDArray[np.float64], words: list[tuple[int, str]]) -> NDArray[Any]:
    """Return the labels: numbers, or all of them as text if one is text; "" is then a missing one."""
    if not words:
        return numbers
    labels: list[Any] = numbers.tolist()
    for row, word in words:
        labels[row] = int(word) if abs(labels[row]) >= LARGE else word
    return labels_from_values(labels)


def first_row(head: bytes) -> bytes:
    """Return the first line of a text that is neither blank nor a comment; b"" if there is none."""
    lines = io.BytesIO(head.removeprefix(BOM))
    return next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b"")
