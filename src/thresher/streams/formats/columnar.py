"""Files of record batches, Parquet and Arrow, read with pyarrow."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from thresher import _core
from thresher.batch import DataError
from thresher.streams.columns import arrow, with_types
from thresher.streams.formats.format import OpenFiles, Options, RowReader, Span
from thresher.streams.pipeline import Task
from thresher.streams.position import Position
from thresher.streams.record_batches import name_table_in_errors, rows_of_cells, slices, to_batch
from thresher.streams.sources import Source
from thresher.streams.tables import Columns


class ColumnarReader(RowReader):
    """Reads such a file. Its rows are counted only if it is cut: opening every file first would take too long."""

    def __init__(self, source: Source, columns: Columns, skip_bad: bool) -> None:
        super().__init__(source)
        self._columns = columns
        self._skip_bad = skip_bad

    @classmethod
    def open(cls, sources: list[Source], options: Options) -> OpenFiles:
        """Choose the columns and their types by the first file; the others are read in the same way."""
        with _open_unmapped(sources[0]) as raw:
            schema = cls._schema(sources[0], raw)
            _ = schema.names  # raises here if one is not text
        columns = Columns.choose(sources[0].name, schema.names, options.roles)
        readers = [cls(source, columns, options.skip_bad) for source in sources]
        return OpenFiles(readers, columns.names, with_types(options.roles.of_columns, schema))

    @staticmethod
    @abstractmethod
    def _schema(source: Source, raw: Any) -> Any:
        """Return the names and types of a file's columns."""

    @abstractmethod
    def _count_in(self, raw: Any) -> int:
        """Return the number of rows."""

    @abstractmethod
    def _record_batches(self, raw: Any, first: int, end: int | None, most_rows: int) -> Iterator[tuple[Any, int, int]]:
        """Yield the record batches that hold the rows, the number of rows before each, and the bytes up to its end."""

    def tasks(self, span: Span, start: Position | None) -> Iterator[Task]:
        """Cut the rows of a span, or the rest of them, into tasks."""
        first, end = self._rows(span, start)
        done = 0
        most_rows = rows_of_cells(len(self._columns.features or ()))
        with _open_unmapped(self.source) as raw:
            for table, row, n_bytes in self._record_batches(raw, first, end, most_rows):
                if done == 0:
                    self._columns.check_types(self.source.name, table.schema)
                low, high = max(first - row, 0), table.num_rows if end is None else min(end - row, table.num_rows)
                stop, before = low, done
                for rows in slices(table, self._columns, self.source.name, row, low, high):
                    stop += rows.num_rows
                    byte = before + (n_bytes - before) * (stop - low) // (high - low)
                    yield partial(to_batch, self.source.name, rows, self._columns, self._skip_bad, byte, byte - done)
                    done = byte

    def _count(self) -> int:
        with _open_unmapped(self.source) as raw:
            return self._count_in(raw)


@contextmanager
def _open_unmapped(source: Source) -> Iterator[Any]:
    """Open a file for pyarrow. It is not mapped: the process would be killed if the file got shorter while it is read.

    A file that got shorter is an error, also where pyarrow takes it for the end of the rows.
    """
    # The second one is for the size: not every version of pyarrow exposes its file descriptor.
    with name_table_in_errors(source.name), arrow().OSFile(source.path) as raw, Path(source.path).open("rb") as same:
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
