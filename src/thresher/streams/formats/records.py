"""Records of CSV files: where they end, and blocks of whole records."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thresher.batch import DataError
from thresher.streams.sources import Flow

BLOCK = 1 << 20


class RecordTooLongError(Exception):
    """A record is longer than allowed."""

    def __init__(self, byte: int) -> None:
        super().__init__(byte)
        self.byte = byte  # at which it begins


def blocks(flow: Flow, delimiter: str, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield the rest of a file in blocks of whole records, each with the byte at which it begins."""
    at, rest, size = flow.byte, b"", BLOCK
    # A block has at most one byte more than the longest record, its newline, so that none in it can be longer.
    while block := flow.read(size := min(size, longest + 1 - len(rest))):
        text = rest + block
        if len(block) < size:  # the end of the file: its last record need not have a newline
            rest = text
            break
        cut = _last_record_end(text, delimiter)
        if cut == 0:
            if len(text) > longest:
                raise RecordTooLongError(at)
            rest, size = text, len(text)  # double the size each time, so that the total work stays linear
            continue
        yield at, text[:cut]
        at, rest, size = at + cut, text[cut:], BLOCK
    if rest:
        ends = record_ends(rest + b"\n", delimiter)
        if len(ends) == 0 or ends[-1] <= len(rest):
            raise _open_quote(flow)
        yield at, rest


def _open_quote(flow: Flow) -> DataError:
    return DataError(f"{flow.name}: a quote is never closed: the last row does not end.")


def _last_record_end(text: bytes, delimiter: str) -> int:
    if b'"' not in text:
        return text.rfind(b"\n") + 1
    ends = record_ends(text, delimiter)
    return int(ends[-1]) if len(ends) else 0


def record_ends(text: bytes, delimiter: str) -> NDArray[np.int64]:
    """Return the offset after each newline outside quotes; the text must begin with a record."""
    content = np.frombuffer(text, np.uint8)
    ends: NDArray[np.int64] = np.flatnonzero(content == 10) + 1
    quotes = np.flatnonzero(content == 34)
    if len(quotes) == 0:
        return ends
    # If every other quote opens a value, or doubles the quote before it, then a newline with an odd number of quotes
    # before it is inside quotes. Else some unquoted values contain quotes, and a regular expression has to decide.
    opening = quotes[::2]
    before = np.where(opening > 0, content[opening - 1], 10)
    if np.isin(before, np.frombuffer(b'\n\r"' + delimiter.encode(), np.uint8)).all():
        outside: NDArray[np.bool_] = np.searchsorted(quotes, ends) % 2 == 0
        return ends[outside]
    inside = np.zeros(len(content) + 1, np.int64)
    quoted = re.compile(rb"(?:(?<=[\n\r" + re.escape(delimiter.encode()) + rb'])|\A)"[^"]*(?:""[^"]*)*(?:"|\Z)')
    for match in quoted.finditer(text):
        inside[match.start()] += 1
        inside[match.end()] -= 1
    outside = np.cumsum(inside)[ends - 1] == 0
    return ends[outside]
