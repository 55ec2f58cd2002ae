"""Parquet files, and Arrow files, also called Feather or IPC: record batches, read with pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from thresher.streams.arrow_values import arrow, numbers_from_text
from thresher.streams.columns import Columns
from thresher.streams.drift import Drift
from thresher.streams.formats.format import OF_TABLES, Format, OpenFiles, Options, RowReader, Span
from thresher.streams.numbered_rows import blocks_with_rows
from thresher.streams.partitions import Partition, names_with, partitions_to_read, with_partitions
from thresher.streams.pipeline import ReadBlock
from thresher.streams.position import Position
from thresher.streams.record_batches import WIDE_CELLS, TableReader, name_table_in_errors, rows_of_bytes
from thresher.streams.sources import Source, refuse_shorter

_MOST_ROWS = 1 << 16  # that are decoded at a time
_FEW_COLUMNS = 256


class ColumnarReader(RowReader):
    """Reads such a file. Its rows are counted only if it is cut: opening every file first would take too long."""

    def __init__(
        self, source: Source, columns: Columns, skip_bad: bool, drift: Drift, partitions: list[Partition]
    ) -> None:
        super().__init__(source)
        self._reader = TableReader(source.name, columns, skip_bad)
        self._drift, self._partitions = drift, partitions
        self._as_text: list[str] = []  # columns of numbers that are text here
        self._names: list[str] = []  # of all columns of the file, once it was opened to read

    @classmethod
    def open(cls, sources: list[Source], options: Options) -> OpenFiles:
        """Choose the columns and their types by the first file; the others are read in the same way."""
        with _open_unmapped(sources[0]) as raw:
            schema = cls._schema(sources[0], raw)
            names = schema.names  # raises here if one is not text
        name, roles = sources[0].name, options.roles
        # Those of other files are compared with its columns when they are read.
        partitions = [partitions_to_read(names, each.partitions, roles) for each in sources]
        schema = with_partitions(schema, partitions[0], name)
        columns = Columns.choose(name, schema.names, roles, schema=schema).with_types(schema)
        drift = Drift(name, schema.names, columns.contents(schema))
        readers = [
            cls(each, columns, options.skip_bad, drift, own) for each, own in zip(sources, partitions, strict=True)
        ]
        return OpenFiles(readers, columns.names, columns.naming, columns.key)

    @classmethod
    def first_rows(cls, source: Source, options: Options, n: int) -> Any:
        """Return up to n rows of a file as a table with all columns."""
        with _open_unmapped(source) as raw:
            schema = cls._schema(source, raw)
            names = schema.names
            reader = cls(source, Columns(None, names), options.skip_bad, Drift(source.name, names, {}), [])
            batches = [batch for batch, _, _ in reader._record_batches(raw, 0, n)] if n else []
            table = arrow().Table.from_batches(batches, schema).slice(0, n)
            return with_partitions(table, partitions_to_read(names, source.partitions, options.roles), source.name)

    @staticmethod
    @abstractmethod
    def _schema(source: Source, raw: Any) -> Any:
        """Return the names and types of a file's columns."""

    @abstractmethod
    def _count_in(self, raw: Any) -> int:
        """Return the number of rows."""

    @abstractmethod
    def _record_batches(self, raw: Any, first: int, end: int | None) -> Iterator[tuple[Any, int, int]]:
        """Yield the record batches that hold the rows, the number of rows before each, and the bytes up to its end."""

    def reads(self, span: Span, start: Position | None) -> Iterator[ReadBlock]:
        """Cut the rows of a span, or the rest of them, into blocks."""
        first, end = self._rows(span, start)
        done = 0
        with _open_unmapped(self.source) as raw:
            for batch, row, n_bytes in self._record_batches(raw, first, end):
                batch = self._whole(batch, is_first=done == 0)
                low, high = max(first - row, 0), batch.num_rows if end is None else min(end - row, batch.num_rows)
                stop, before = low, done
                for table in self._reader.cut(batch, row, low, high):
                    stop += table.num_rows
                    byte = before + (n_bytes - before) * (stop - low) // (high - low)
                    yield partial(self._reader.batch, table, byte, byte - done)
                    done = byte

    def _whole(self, batch: Any, is_first: bool) -> Any:
        """Return a record batch with the columns of partitions, and text as numbers where the first file has these."""
        columns, name = self._reader.columns, self.source.name
        batch = with_partitions(batch, self._partitions, name)
        if is_first:
            names = names_with(self._names, self._partitions)
            columns.check_names(name, names)
            here = columns.contents(batch.schema)
            self._drift.tell(name, names, here)
            known = self._drift.contents
            self._as_text = [each for each in columns.numbers if here[each] == "text" != known[each]]
        batch = numbers_from_text(batch, self._as_text)
        if is_first:
            columns.check_types(name, batch.schema)
        return batch

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
            refuse_shorter(source.name, same, size)
            raise
        refuse_shorter(source.name, same, size)


class ParquetReader(ColumnarReader):
    """Reads Parquet files, only the row groups that hold the rows asked for."""

    @staticmethod
    def _schema(source: Source, raw: Any) -> Any:
        return arrow().parquet.read_schema(raw)

    def _count_in(self, raw: Any) -> int:
        with arrow().parquet.ParquetFile(raw) as file:
            return int(file.metadata.num_rows)

    def _record_batches(self, raw: Any, first: int, end: int | None) -> Iterator[tuple[Any, int, int]]:
        size = self.source.n_bytes or 0
        with arrow().parquet.ParquetFile(raw, pre_buffer=True) as file:
            self._names = file.schema_arrow.names
            there = frozenset(self._names)
            own = [name for name in self._reader.columns.all if name in there]
            about = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
            sizes, n_rows = [group.num_rows for group in about], max(1, file.metadata.num_rows)
            groups = [group for group, _, _ in blocks_with_rows(sizes, first, end)]
            row = sum(sizes[: groups[0]]) if groups else 0
            n_bytes = sum(about[group].total_byte_size for group in groups)
            # Long texts: fewer rows, so that they fit into memory.
            most_rows = min(
                max(64, min(_MOST_ROWS, WIDE_CELLS // max(1, len(own)))),
                16 * rows_of_bytes(n_bytes, n_rows, len(own)),
            )
            threads = len(own) < _FEW_COLUMNS  # else handing them over takes longer than to decode them
            for batch in file.iter_batches(most_rows, row_groups=groups, columns=own, use_threads=threads):
                if row + batch.num_rows > first and (end is None or row < end):
                    yield batch, row, size * (row + batch.num_rows) // n_rows
                row += batch.num_rows


class ArrowReader(ColumnarReader):
    """Reads Arrow files; rows before the requested ones are skipped."""

    @staticmethod
    def _schema(source: Source, raw: Any) -> Any:
        return _ipc_reader(source, raw)[0].schema

    def _count_in(self, raw: Any) -> int:
        return sum(batch.num_rows for batch, _ in self._all(raw))

    def _record_batches(self, raw: Any, first: int, end: int | None) -> Iterator[tuple[Any, int, int]]:
        row = 0
        for batch, n_bytes in self._all(raw):
            self._names = batch.schema.names
            if end is not None and row >= end:
                return
            if row + batch.num_rows > first:
                yield batch, row, n_bytes
            row += batch.num_rows

    def _all(self, raw: Any) -> Iterator[tuple[Any, int]]:
        """Yield all record batches, and the bytes up to the end of each."""
        reader, n_batches = _ipc_reader(self.source, raw)
        if n_batches is None:
            for batch in reader:
                yield batch, raw.tell()
        else:
            for k in range(n_batches):
                yield reader.get_batch(k), (self.source.n_bytes or 0) * (k + 1) // n_batches


def _ipc_reader(source: Source, raw: Any) -> tuple[Any, int | None]:
    """Return a reader, and the number of record batches; None for a file in the stream format."""
    pa = arrow()
    with Path(source.path).open("rb") as file:
        if file.read(6) != b"ARROW1":
            return pa.ipc.open_stream(raw), None
    reader = pa.ipc.open_file(raw)
    return reader, reader.num_record_batches


PARQUET = Format(
    "parquet",
    (".parquet",),
    ParquetReader.open,
    options=OF_TABLES,
    is_text=False,
    marks=(b"PAR1",),
    first_rows=ParquetReader.first_rows,
)
ARROW = Format(
    "arrow",
    (".arrow", ".feather", ".ipc"),
    ArrowReader.open,
    options=OF_TABLES,
    is_text=False,
    first_rows=ArrowReader.first_rows,
    marks=(b"ARROW1\x00\x00", b"\xff\xff\xff\xff"),
)
