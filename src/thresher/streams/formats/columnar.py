"""Files of record batches, Parquet and Arrow, read with pyarrow."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from thresher import _core
from thresher.batch import Batch, DataError
from thresher.streams.columns import arrow, with_types
from thresher.streams.formats.format import Opened, Options, Span, Task
from thresher.streams.position import Position
from thresher.streams.record_batches import checked, named_errors, rows_at_a_time, rows_of_cells, to_batch
from thresher.streams.sources import Source
from thresher.streams.tables import Columns


class ColumnarReader(ABC):
    """Reads such files, by row number."""

    counted_in = "row"
    is_text = False

    def __init__(self, columns: Columns, skip_bad: bool) -> None:
        self._columns = columns
        self._skip_bad = skip_bad
        self._counts: dict[Source, int] = {}

    @classmethod
    def open(cls, sources: list[Source], options: Options) -> Opened:
        """Choose the columns and their types by the first file; the others are read in the same way."""
        with _opened(sources[0]) as raw:
            schema = cls._schema(sources[0], raw)
            _ = schema.names  # raises here if one is not text
        columns = Columns.choose(sources[0].name, schema.names, options.roles)
        reader = cls(columns, options.skip_bad)
        return Opened([reader] * len(sources), columns.names, with_types(options.roles.of_columns, schema))

    @staticmethod
    @abstractmethod
    def _schema(source: Source, raw: Any) -> Any:
        """Return the names and types of a file's columns."""

    @staticmethod
    @abstractmethod
    def _count(source: Source, raw: Any) -> int:
        """Return the number of rows of a file."""

    @staticmethod
    @abstractmethod
    def _record_batches(
        source: Source, raw: Any, first: int, end: int | None, most_rows: int
    ) -> Iterator[tuple[Any, int, int]]:
        """Yield the record batches that hold the rows, the number of rows before each, and the bytes up to its end."""

    def tasks(self, source: Source, span: Span, start: Position | None) -> Iterator[Task]:
        """Cut the rows of a span, or the rest of them, into tasks."""
        first, end = self._rows(source, span)
        if start is not None and start.row is not None:
            first = start.row
        done = 0
        most_rows = rows_of_cells(len(self._columns.features or ()))
        with _opened(source) as raw:
            for batch, row, n_bytes in self._record_batches(source, raw, first, end, most_rows):
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
        return None

    def _rows(self, source: Source, span: Span) -> tuple[int, int | None]:
        """Return the first row and the end of a span; None: to the end of the file."""
        if span.begin == 0 and span.end is None:
            return 0, None
        if source not in self._counts:
            with _opened(source) as raw:
                self._counts[source] = self._count(source, raw)
        first, end = span.rows(self._counts[source], source.n_bytes or 0)
        return first, None if span.end is None else end

    def _batch(self, source: Source, table: Any, byte: int, n_bytes: int) -> Batch:
        with named_errors(source.name):
            return to_batch(table, self._columns, self._skip_bad, byte, n_bytes)


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
