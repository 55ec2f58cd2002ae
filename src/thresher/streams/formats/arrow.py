"""Arrow files, also called Feather or IPC: of the file format, or of the stream format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thresher.streams.columns import arrow
from thresher.streams.formats.columnar import ColumnarReader
from thresher.streams.formats.format import OF_TABLES, Format
from thresher.streams.sources import Source


class ArrowReader(ColumnarReader):
    """Reads Arrow files; rows before the requested ones are skipped."""

    @staticmethod
    def _schema(source: Source, raw: Any) -> Any:
        return _reader(source, raw)[0].schema

    def _count_in(self, raw: Any) -> int:
        return sum(batch.num_rows for batch, _ in _all(self.source, raw))

    def _record_batches(self, raw: Any, first: int, end: int | None, most_rows: int) -> Iterator[tuple[Any, int, int]]:
        row = 0
        for batch, n_bytes in _all(self.source, raw):
            if end is not None and row >= end:
                return
            if row + batch.num_rows > first:
                yield batch, row, n_bytes
            row += batch.num_rows


def _all(source: Source, raw: Any) -> Iterator[tuple[Any, int]]:
    """Yield all record batches, and the bytes up to the end of each."""
    reader, n_batches = _reader(source, raw)
    if n_batches is None:
        for batch in reader:
            yield batch, raw.tell()
    else:
        for k in range(n_batches):
            yield reader.get_batch(k), (source.n_bytes or 0) * (k + 1) // n_batches


def _reader(source: Source, raw: Any) -> tuple[Any, int | None]:
    """Return a reader, and the number of record batches; None for a file in the stream format."""
    pa = arrow()
    with Path(source.path).open("rb") as file:
        if file.read(6) != b"ARROW1":
            return pa.ipc.open_stream(raw), None
    reader = pa.ipc.open_file(raw)
    return reader, reader.num_record_batches


FORMAT = Format(
    "arrow",
    (".arrow", ".feather", ".ipc"),
    ArrowReader.open,
    options=OF_TABLES | {"ignore"},
    is_text=False,
    marks=(b"ARROW1\x00\x00", b"\xff\xff\xff\xff"),
)
