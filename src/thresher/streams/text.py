"""svmlight and VW text, parsed in parallel by the core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.labels import shown
from thresher.streams.files import Piece, Span, Task
from thresher.streams.flows import HeldFile
from thresher.streams.position import Position
from thresher.streams.sources import Source
from thresher.streams.stream import Batch

# Bytes that a thread parses at a time: enough to make Python's overhead small, and few enough for the CPU cache.
PIECE = 1 << 20
_LARGE_PIECE, _LARGE_FILE = 1 << 22, 1 << 26


class TextFormat:
    """Rows of svmlight or VW text, one per line.

    Parameters
    ----------
    skip_bad : bool
        Whether to continue after a bad line.
    labelled : bool
        Whether rows start with a label.
    """

    counted_in = "line"

    def __init__(self, skip_bad: bool, labelled: bool) -> None:
        self._skip_bad = skip_bad
        self._labelled = labelled

    def tasks(self, source: Source, span: Span, start: Position | None) -> Iterator[Task]:
        """Cut a span, or the rest of it from a position on, into pieces of whole lines."""
        begin = span.begin if start is None else start.byte
        if source.is_plain:
            return self._of_file(source, begin, span.end)
        return self._of_flow(source, begin)

    def holds(self, source: Source, span: Span, position: Position) -> bool:
        """Return whether a position is in a span."""
        return not source.is_plain or span.begin <= position.byte <= (position.byte if span.end is None else span.end)

    def first_number(self, source: Source, span: Span) -> int | None:
        """Return 0 at the start of a file."""
        return 0 if span.begin == 0 else None

    def n_rows(self, source: Source) -> int | None:
        """Return None: the rows are not known before they are read."""

    def count_before(self, source: Source, byte: int) -> int:
        """Return how many lines begin before a byte."""
        if byte == 0:
            return 0
        n_newlines = 0
        with source.opened() as flow:
            while flow.byte < byte - 1 and (block := flow.read(min(PIECE, byte - 1 - flow.byte))):
                n_newlines += block.count(b"\n")
        return n_newlines + 1

    def _of_file(self, source: Source, begin: int, end: int | None) -> Iterator[Task]:
        """Cut a file by byte offsets: each thread reads the lines that begin in its piece."""
        file = HeldFile(source.path)
        size = os.fstat(file.number).st_size
        stop = size if end is None else min(end, size)
        # Larger pieces cost less in Python, above all where several models learn; small files need one for each core.
        piece = _LARGE_PIECE if stop - begin >= _LARGE_FILE else PIECE
        for low in range(begin, stop, piece):
            yield partial(self._read_range, source.format, file, low, min(low + piece, stop))

    def _of_flow(self, source: Source, begin: int) -> Iterator[Task]:
        """Cut a sequential source (an archive, standard input) after the last newline of each block."""
        rest: list[bytes] = []
        with source.opened() as flow:
            flow.go_to(begin)
            done = flow.position if begin else 0
            while block := flow.read(PIECE):
                cut = block.rfind(b"\n") + 1
                if cut == 0:
                    rest.append(block)
                    continue
                rest.append(block[:cut])
                byte = flow.byte - (len(block) - cut)
                yield partial(self._read_block, source.format, b"".join(rest), byte, flow.position - done)
                rest, done = [block[cut:]], flow.position
            if text := b"".join(rest):
                yield partial(self._read_block, source.format, text, flow.byte, flow.position - done)

    def _read_range(self, format_: str, file: HeldFile, begin: int, end: int) -> Piece:
        rows = _core.read_text_range(format_, file.number, begin, end, self._skip_bad, labelled=self._labelled)
        return self._piece(rows, end, end - begin)

    def _read_block(self, format_: str, text: bytes, byte: int, n_bytes: int) -> Piece:
        first = byte == len(text)
        rows = _core.read_text(format_, text, self._skip_bad, first, self._labelled)
        return self._piece(rows, byte, n_bytes)

    def _piece(self, rows: _core.ParsedText, byte: int, n_bytes: int) -> Piece:
        starts, ids, values, numbers, words, importances, lines, bad, n_lines, largest_id, zero_seen, namespace = rows
        labels = _labels(numbers, words) if self._labelled else np.full(len(numbers), np.nan)
        batch = Batch(
            starts, ids, values, labels, largest_id, zero_seen, importances=importances, n_bytes=n_bytes, numbers=lines
        )
        return Piece(batch, n_lines, byte, bad, namespace)


def _labels(numbers: NDArray[np.float64], words: list[tuple[int, str]]) -> NDArray[Any]:
    """Return the labels: numbers, or all of them as text if one is text."""
    if not words:
        return numbers
    labels = [shown(number) for number in numbers.tolist()]
    for row, word in words:
        labels[row] = word
    return np.array(labels, dtype=np.str_)
