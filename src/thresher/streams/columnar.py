"""Parquet and Arrow files, read with pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from thresher import _core
from thresher.batch import Batch, DataError
from thresher.streams.columns import arrow, as_bytes
from thresher.streams.files import Span, Task
from thresher.streams.position import Position
from thresher.streams.sources import Source
from thresher.streams.tables import BATCH_CELLS, Columns, mean_length, to_batch

_BATCH_ROWS = 16_384
_BATCH_BYTES = 1 << 21  # of columns with names: text is converted that much at a time


class ColumnarFormat:
    """Rows of Parquet and Arrow files, addressed by row number."""

    counted_in = "row"

    def __init__(self, columns: Columns, skip_bad: bool) -> None:
        self._columns = columns
        self._skip_bad = skip_bad
        self._counts: dict[Source, int] = {}
        self._batch_rows = _rows_of_cells(len(columns.features or ()))

    def tasks(self, source: Source, span: Span, start: Position | None) -> Iterator[Task]:
        """Cut the rows of a span, or the rest of them, into batches."""
        first, end = self._rows(source, span)
        if start is not None and start.row is not None:
            first = start.row
        done = 0
        for batch, row, n_bytes in _record_batches(source, first, end, self._batch_rows):
            if done == 0:
                self._columns.check_types(source.name, batch.schema)
            batch = checked(batch, self._columns, source.name, row)
            low, high = max(first - row, 0), batch.num_rows if end is None else min(end - row, batch.num_rows)
            step = rows_at_a_time(batch, self._columns)
            for begin in range(low, high, step):
                stop = min(begin + step, high)
                byte = n_bytes if stop == high else done + (n_bytes - done) * (stop - low) // (high - low)
                yield partial(self._batch, source, batch.slice(begin, stop - begin), byte, byte - done)
                done = byte

    def holds(self, source: Source, span: Span, position: Position) -> bool:
        """Return whether a position is in a span."""
        first, end = self._rows(source, span)
        return position.row is not None and first <= position.row <= (position.row if end is None else end)

    def first_number(self, source: Source, span: Span) -> int:
        """Return the number of rows before a span."""
        return self._rows(source, span)[0]

    def count_before(self, source: Source, byte: int) -> int:
        """Return 0; never called, since the number of every row is known."""
        return 0

    def n_rows(self, source: Source) -> int | None:
        """Return None: opening every file first would take too long."""

    def _rows(self, source: Source, span: Span) -> tuple[int, int | None]:
        """Return the first row and the end of a span; None: to the end of the file."""
        if span.begin == 0 and span.end is None:
            return 0, None
        if source not in self._counts:
            self._counts[source] = _n_rows(source)
        first, end = span.rows(self._counts[source], source.n_bytes or 0)
        return first, None if span.end is None else end

    def _batch(self, source: Source, table: Any, byte: int, n_bytes: int) -> Batch:
        with named_errors(source.name):
            return to_batch(table, self._columns, self._skip_bad, byte, n_bytes)


def rows_at_a_time(batch: Any, columns: Columns) -> int:
    """Return how many rows of a record batch to convert at a time."""
    if columns.naming is not None:
        return _rows_of_bytes(batch.nbytes, batch.num_rows)
    return _rows_of_cells(len(columns.features) if columns.features else mean_length(batch))


def _rows_of_bytes(n_bytes: int, n_rows: int) -> int:
    return min(_BATCH_ROWS, max(1, _BATCH_BYTES * n_rows // max(1, n_bytes)))


def _rows_of_cells(n_columns: int) -> int:
    """Return how many rows to convert at a time, since all their cells are in memory as flat arrays."""
    return min(_BATCH_ROWS, max(64, BATCH_CELLS // max(1, n_columns)))


def schema_of(source: Source) -> Any:
    """Return the names and types of a file's columns."""
    pa = arrow()
    with _opened(source) as raw:
        schema = pa.parquet.read_schema(raw) if source.format == "parquet" else _reader(source, raw)[0].schema
        _ = schema.names  # raises here if one is not text
        return schema


def _record_batches(source: Source, first: int, end: int | None, batch_rows: int) -> Iterator[tuple[Any, int, int]]:
    """Yield the record batches that hold the rows asked for, the number of rows before each, and the bytes up to it."""
    pa, size = arrow(), source.n_bytes or 0
    with _opened(source) as raw:
        if source.format == "parquet":
            with pa.parquet.ParquetFile(raw) as file:
                groups, row = _row_groups(file.metadata, first, end)
                n_rows = max(1, file.metadata.num_rows)
                n_bytes = sum(file.metadata.row_group(group).total_byte_size for group in groups)
                # Long texts: fewer rows, so that they fit into memory.
                batch_rows = min(batch_rows, 16 * _rows_of_bytes(n_bytes, n_rows))
                for batch in file.iter_batches(batch_size=batch_rows, row_groups=groups):
                    if row + batch.num_rows > first and (end is None or row < end):
                        yield batch, row, size * (row + batch.num_rows) // n_rows
                    row += batch.num_rows
            return
        row = 0
        for batch, n_bytes in _arrow_batches(source, raw):
            if end is not None and row >= end:
                return
            if row + batch.num_rows > first:
                yield batch, row, n_bytes
            row += batch.num_rows


def _row_groups(metadata: Any, first: int, end: int | None) -> tuple[list[int], int]:
    """Return the row groups that hold the rows asked for, and the number of rows before them."""
    groups, row, before = [], 0, 0
    for group in range(metadata.num_row_groups):
        n_rows = metadata.row_group(group).num_rows
        if row + n_rows <= first:
            before = row + n_rows
        elif end is None or row < end:
            groups.append(group)
        row += n_rows
    return groups, before


def _arrow_batches(source: Source, raw: Any) -> Iterator[tuple[Any, int]]:
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


def _n_rows(source: Source) -> int:
    pa = arrow()
    with _opened(source) as raw:
        if source.format == "parquet":
            with pa.parquet.ParquetFile(raw) as file:
                return int(file.metadata.num_rows)
        return sum(batch.num_rows for batch, _ in _arrow_batches(source, raw))


def checked(batch: Any, columns: Columns, file: str, row: int) -> Any:
    """Return the columns of a record batch that are read.

    Raise DataError if an offset, a length or a code of a dictionary is out of range, or a label not UTF-8: pyarrow does
    not check them. Features that are text are checked row by row when they are read.
    """
    batch, strings, name = batch.select(columns.all), frozenset(columns.strings), ""
    try:
        batch.validate()
        for name, column in zip(columns.all, batch.columns, strict=True):
            (as_bytes(column) if name in strings else column).validate(full=True)
    except arrow().ArrowException as error:
        where = f"{file}, rows {row + 1} to {row + batch.num_rows}"
        what = " ".join(f"column {name!r}: {error}".split()) if name else " ".join(str(error).split())
        raise DataError(f"{where}: the data are damaged ({what}): recreate them.") from None
    return batch


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    """Open a file for pyarrow. It is not mapped: the process would be killed if the file got shorter while it is read.

    That it did is an error, also where pyarrow takes it for the end of the rows.
    """
    # The second one is for the size: not every version of pyarrow exposes its file descriptor.
    with named_errors(source.name), arrow().OSFile(source.path) as raw, Path(source.path).open("rb") as same:
        size = raw.size()
        try:
            yield raw
        except (arrow().ArrowException, OSError):
            _check_end(source, same, size)
            raise
        _check_end(source, same, size)


def _check_end(source: Source, file: BinaryIO, size: int) -> None:
    now = os.fstat(file.fileno()).st_size
    if now < size:
        raise DataError(f"{source.name}: {_core.shrank(size, now)}")


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Name the file, or the table, in what pyarrow raises."""
    try:
        yield
    except (arrow().ArrowException, OSError) as error:
        raise DataError(f"{name}: {' '.join(str(error).split())}.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: the name of a column is not UTF-8 text ({error.reason}).") from None
