"""svmlight and VW text, parsed in parallel by the core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.labels import shown
from thresher.streams.pipeline import in_order
from thresher.streams.sources import HeldFile, Source, opened
from thresher.streams.stream import Batch, DataError

# A piece of text that one thread parses at a time: long enough to hide what Python costs, short enough for the cache.
PIECE = 1 << 20

# A parsed piece: its file, its bytes on the disk, and what the core made of it.
_Piece: TypeAlias = "tuple[Source, int, _core.ParsedText]"


def batches(sources: list[Source], skip_bad: bool, n_threads: int) -> Iterator[Batch]:
    """Yield the rows of text files in order."""
    at, lines, name_space = None, 0, None
    for source, n_bytes, rows in in_order(_pieces(sources, skip_bad), n_threads):
        if source is not at:
            at, lines = source, 0
        starts, ids, values, labels, words, importances, row_lines, bad, n_lines, largest_id, zero_seen, space = rows
        name_space = space if name_space is None else name_space
        if space is not None and space != name_space:
            raise DataError(
                f"{source.name}, line {lines + 1} or later: a second namespace, {space!r} beside {name_space!r}: "
                "only one can be read."
            )
        skipped = [f"{source.name}, line {lines + line + 1}: {why}." for line, why in bad]
        if bad and not skip_bad:
            raise DataError(skipped[0])
        yield Batch(
            starts, ids, values, _labels(labels, words), largest_id, zero_seen, importances, n_bytes,
            source.name, row_lines, lines + 1, skipped=skipped,
        )  # fmt: skip
        lines += n_lines


def _labels(numbers: NDArray[np.float64], words: list[tuple[int, str]]) -> NDArray[Any]:
    """Return the labels: numbers, or all of them as text once one is a word."""
    if not words:
        return numbers
    labels = [shown(number) for number in numbers.tolist()]
    for row, word in words:
        labels[row] = word
    return np.array(labels, dtype=np.str_)


def _pieces(sources: list[Source], skip_bad: bool) -> Iterator[Callable[[], _Piece]]:
    for source in sources:
        if source.flow is not None or source.compression is not None:
            yield from _pieces_of_a_flow(source, skip_bad)
        else:
            yield from _pieces_of_a_file(source, skip_bad)


def _pieces_of_a_file(source: Source, skip_bad: bool) -> Iterator[Callable[[], _Piece]]:
    """Cut a file by byte offsets: each thread reads its own piece, whole lines of it."""
    file = HeldFile(source.path)
    size = os.fstat(file.number).st_size
    for begin in range(0, size, PIECE):
        yield partial(_read_range, source, file, begin, min(begin + PIECE, size), skip_bad)


def _read_range(source: Source, file: HeldFile, begin: int, end: int, skip_bad: bool) -> _Piece:
    return source, end - begin, _core.read_text_range(source.format, file.number, begin, end, skip_bad)


def _pieces_of_a_flow(source: Source, skip_bad: bool) -> Iterator[Callable[[], _Piece]]:
    """Cut what can only be read forwards (an archive, standard input) behind the last newline of each block."""
    rest: list[bytes] = []
    done = 0
    with opened(source) as flow:
        while block := flow.read(PIECE):
            cut = block.rfind(b"\n") + 1
            if cut == 0:
                rest.append(block)
                continue
            rest.append(block[:cut])
            yield partial(_read_block, source, b"".join(rest), flow.position - done, skip_bad)
            rest, done = [block[cut:]], flow.position
        if text := b"".join(rest):
            yield partial(_read_block, source, text, flow.position - done, skip_bad)


def _read_block(source: Source, text: bytes, n_bytes: int, skip_bad: bool) -> _Piece:
    return source, n_bytes, _core.read_text(source.format, text, skip_bad)
