"""svmlight and VW text, parsed in parallel by the core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from thresher import _core
from thresher.streams.pipeline import in_order
from thresher.streams.sources import Flow, Source
from thresher.streams.stream import Batch, DataError

# A piece of text that one thread parses at a time: long enough to hide what Python costs, short enough for the cache.
PIECE = 1 << 20

# A parsed piece: its file, its bytes on the disk, and what the core made of it.
_Piece: TypeAlias = "tuple[Source, int, _core.TextRows]"


def batches(sources: list[Source], skip_bad: bool, n_threads: int) -> Iterator[Batch]:
    """Yield the rows of text files in order."""
    at, lines = None, 0
    for source, n_bytes, rows in in_order(_pieces(sources, skip_bad), n_threads):
        if source is not at:
            at, lines = source, 0
        starts, ids, values, labels, importances, row_lines, bad, n_lines, largest_id, zero_seen = rows
        skipped = [f"{source.name}, line {lines + line + 1}: {why}." for line, why in bad]
        if bad and not skip_bad:
            raise DataError(skipped[0])
        yield Batch(
            starts, ids, values, np.asarray(labels), largest_id, zero_seen, importances, n_bytes,
            source.name, row_lines, lines + 1, skipped=skipped,
        )  # fmt: skip
        lines += n_lines


def _pieces(sources: list[Source], skip_bad: bool) -> Iterator[Callable[[], _Piece]]:
    for source in sources:
        if source.path == "-" or source.compression is not None:
            yield from _pieces_of_a_flow(source, skip_bad)
        else:
            yield from _pieces_of_a_file(source, skip_bad)


def _pieces_of_a_file(source: Source, skip_bad: bool) -> Iterator[Callable[[], _Piece]]:
    """Cut a file by byte offsets: each thread reads its own piece, whole lines of it."""
    with Path(source.path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # The tasks outlive this generator's turn, so each holds the file open by itself.
        descriptor = _Descriptor(os.dup(file.fileno()))
    for begin in range(0, size, PIECE):
        yield partial(_read_range, source, descriptor, begin, min(begin + PIECE, size), skip_bad)


class _Descriptor:
    """An open file that closes when the last task that reads it is gone."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


def _read_range(source: Source, file: _Descriptor, begin: int, end: int, skip_bad: bool) -> _Piece:
    return source, end - begin, _core.read_text_range(source.format, file.number, begin, end, skip_bad)


def _pieces_of_a_flow(source: Source, skip_bad: bool) -> Iterator[Callable[[], _Piece]]:
    """Cut what can only be read forwards (an archive, standard input) behind the last newline of each block."""
    rest, done = b"", 0
    with Flow(source) as flow:
        while block := flow.read(PIECE):
            cut = block.rfind(b"\n") + 1
            if cut == 0:
                rest += block
                continue
            yield partial(_read_block, source, rest + block[:cut], flow.position - done, skip_bad)
            rest, done = block[cut:], flow.position
        if rest:
            yield partial(_read_block, source, rest, flow.position - done, skip_bad)


def _read_block(source: Source, text: bytes, n_bytes: int, skip_bad: bool) -> _Piece:
    return source, n_bytes, _core.read_text(source.format, text, skip_bad)
