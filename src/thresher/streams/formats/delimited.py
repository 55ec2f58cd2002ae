"""CSV, with commas, semicolons, tabs or any other delimiter, read with pyarrow.

A file is cut into blocks of whole records, which threads parse. A record ends at a newline outside quotes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np

from thresher.batch import Batch, DataError
from thresher.messages import join_some, parameter, shorten, warn
from thresher.model.labels import are_large, number_from_text
from thresher.streams.arrow_values import arrow, label_column, numpy_of, with_column
from thresher.streams.columns import Columns, roles_text
from thresher.streams.drift import Drift
from thresher.streams.formats.format import OF_TABLES, Format, OpenFiles, Options, Reader, Span, too_long_message
from thresher.streams.formats.layout import (
    Layout,
    RecordTooLongError,
    blocks,
    conversion,
    encoding_hint,
    first_rows,
    header_is_a_row,
    nulls,
    read_layout,
    record_ends,
    records_of,
)
from thresher.streams.partitions import Partition, names_with, partitions_to_read, with_partitions
from thresher.streams.pipeline import ReadBlock
from thresher.streams.position import Position
from thresher.streams.record_batches import TableReader
from thresher.streams.sources import BOM, Flow, Source

_FEW = 1 << 10  # bytes of rows for which Python is faster than pyarrow, which hands them to a thread of its own


class DelimitedReader(Reader):
    """Reads a CSV file; each has its own, since each has a header. `first` is the layout of the first file."""

    def __init__(
        self,
        source: Source,
        options: Options,
        first: Layout,
        columns: Columns,
        drift: Drift,
        partitions: list[Partition],
    ) -> None:
        super().__init__(source)
        self._drift, self._partitions = drift, partitions
        self._first = first
        self._columns = columns
        self._reader = TableReader(source.name, columns, options.skip_bad)
        self._options = options
        self._longest = options.longest_line

    @cached_property
    def _layout(self) -> Layout:
        if self.source == self._first.source:
            return self._first
        return self._read_own_layout(self._first if self._first.fits_others else None)

    def _read_own_layout(self, like: Layout | None) -> Layout:
        layout = read_layout(self.source, self._options, like)
        if layout is like:
            return layout
        self._drift.tell(self.source.name, names_with(layout.names, self._partitions), {})
        return layout.of(self._columns, self._partitions)

    def reads(self, span: Span, start: Position | None) -> Iterator[ReadBlock]:
        """Cut the records that begin in a span, or the rest of them, into blocks."""
        low = span.begin if start is None else start.byte
        with self.source.open() as flow:
            flow.go_to(self._layout.begin if start is None else start.byte)
            done = low if self.source.is_plain else flow.bytes_read if start is not None else 0
            for at, text in self._blocks(flow):
                end = at + len(text)
                if end <= low:
                    continue
                begin = self._next_record(at, text, low)
                stop = end if span.end is None or not self.source.is_plain else self._next_record(at, text, span.end)
                if begin < stop:
                    here = stop if self.source.is_plain else flow.bytes_read
                    yield partial(self._batch, text[begin - at : stop - at], stop, max(0, here - done))
                    done = here
                if stop < end or stop == span.end:
                    break

    def holds(self, span: Span, position: Position) -> bool:
        """Return whether a position is in a span; a record that begins in the span can end after it."""
        if not self.source.is_plain:
            return True
        if span.end is None or position.byte <= span.end:
            return position.byte >= span.begin
        return self._first_record(span.end) == position.byte

    def first_number(self, span: Span) -> int | None:
        """Return 0 at the start of a file."""
        return 0 if span.begin <= self._layout.begin else None

    def count_before(self, byte: int) -> int:
        """Return how many records begin before a byte."""
        n_rows = 0
        with self.source.open() as flow, suppress(RecordTooLongError):  # it begins at `byte`
            flow.go_to(self._layout.begin)
            for at, text in blocks(flow, self._layout, self._longest):
                if at >= byte:
                    break
                content = np.frombuffer(text, np.uint8)
                ends = record_ends(text, self._layout.delimiter)
                starts = np.concatenate([[0], ends])
                starts = starts[starts < len(text)]
                blank = (content[starts] == 10) | ((content[starts] == 13) & (np.append(content, 10)[starts + 1] == 10))
                n_rows += int(np.count_nonzero(~blank & (starts + at < byte)))
        return n_rows

    def _blocks(self, flow: Flow) -> Iterator[tuple[int, bytes]]:
        try:
            yield from blocks(flow, self._layout, self._longest)
        except RecordTooLongError as error:
            location = f"byte {error.byte}"
            if self.source.flow is None:  # else it can't be read again
                location = f"row {self.count_before(error.byte) + 1}"
            hint = "a quote may never be closed; "
            raise DataError(
                f"{self.source.name}, {location}: {too_long_message('row', self._longest, hint)}."
            ) from None

    def _next_record(self, at: int, text: bytes, byte: int) -> int:
        """Return where the first record at or after `byte` begins, in text that starts at `at`; else its end."""
        if byte <= at:
            return at
        if byte >= at + len(text):
            return at + len(text)
        starts = np.append(record_ends(text, self._layout.delimiter), len(text))
        return at + int(starts[np.searchsorted(starts, byte - at)])

    def _first_record(self, byte: int) -> int | None:
        with self.source.open() as flow:
            flow.go_to(self._layout.begin)
            for at, text in self._blocks(flow):
                if at + len(text) >= byte:
                    return self._next_record(at, text, byte)
        return None

    def _batch(self, text: bytes, byte: int, n_bytes: int) -> Batch:
        layout = self._layout  # another thread may replace it meanwhile
        table = None if len(text) <= _FEW else self._table(text)
        if table is not None:
            return self._reader.batch(self._plain(table), byte, n_bytes)
        batch = self._row_by_row(text, byte, n_bytes)
        if batch.bad and layout is self._first and self.source != self._first.source:
            self._layout = self._read_own_layout(None)  # perhaps only the types guessed from the first file do not fit
            return self._batch(text, byte, n_bytes)
        return batch

    def _table(self, text: bytes) -> Any:
        """Return a block as a record batch, or None if a row is bad."""
        try:
            layout = self._layout
            return self._with_exact_labels(layout.read(text, layout.conversion), text)
        except ValueError:  # pyarrow's is one, too
            return None

    def _with_exact_labels(self, table: Any, text: bytes) -> Any:
        """Read the labels again, as text, where float64 has rounded them; ValueError if one is infinite."""
        name, pa = self._columns.label, arrow()
        if name is None or self._layout.types.get(name) != pa.float64():
            return table
        numbers = numpy_of(table.column(name))
        if not (large := are_large(numbers)).any():
            return table
        if np.isinf(numbers).any():
            raise ValueError
        labels = table.column(name).to_pylist()
        written = self._layout.read(text, conversion(self._options, {name: pa.string()})).column(name)
        for row in np.flatnonzero(large).tolist():
            labels[row] = self._number(written[row].as_py())
        return with_column(table, name, label_column(labels))

    def _plain(self, table: Any) -> Any:
        """Add partitions, and write true and false in lower case in columns of categories, as all other formats do."""
        table = with_partitions(table, self._partitions, self.source.name)
        if self._columns.naming is None or not self._columns.naming.categorical:
            return table
        pa, columns = arrow(), dict(zip(table.schema.names, table.columns, strict=True))
        in_capitals = pa.array(["True", "TRUE", "False", "FALSE"])
        for name in self._columns.naming.categorical:
            if not pa.types.is_string(columns[name].type):  # a partition of whole numbers
                continue
            words = pa.compute.is_in(columns[name], value_set=in_capitals)
            if pa.compute.any(words).as_py():
                columns[name] = pa.compute.if_else(words, pa.compute.utf8_lower(columns[name]), columns[name])
        return pa.RecordBatch.from_pydict(columns)

    def _row_by_row(self, text: bytes, byte: int, n_bytes: int) -> Batch:
        """Read a block row by row: it has bad rows, or few rows at all."""
        pa, names, types, label = arrow(), self._layout.names, self._layout.types, self._columns.label
        places = {name: place for place, name in enumerate(names) if name in types}
        bad: list[tuple[int, str]] = []
        numbers: list[int] = []
        values: dict[str, list[Any]] = {name: [] for name in types}
        n_records = 0
        try:
            records = records_of(text.decode(errors="surrogateescape"), self._layout.delimiter, self._longest)
            for record in records:
                if not record:
                    continue
                n_records += 1
                if bad and not self._reader.skip_bad:
                    continue
                try:
                    if len(record) != len(names):
                        what = parameter("columns") if self._options.columns else "the header"
                        raise ValueError(f"the row has {len(record)} values, but {what} names {len(names)} columns")
                    row = {name: self._value(name, types[name], record[place]) for name, place in places.items()}
                except ValueError as error:
                    bad.append((n_records - 1, str(error)))
                    continue
                numbers.append(n_records - 1)
                for name, value in row.items():
                    values[name].append(value)
        except csv.Error as error:
            raise DataError(f"{self.source.name}: the CSV can't be read ({error}).") from None
        columns = {
            name: label_column(each) if name == label and kind == pa.float64() else pa.array(each, kind)
            for (name, kind), each in zip(types.items(), values.values(), strict=True)
        }
        table = pa.RecordBatch.from_pydict(columns)
        batch = self._reader.batch(self._plain(table), byte, n_bytes)
        of_rows = np.array(numbers, dtype=np.int64)
        batch.numbers = of_rows if batch.numbers is None else of_rows[batch.numbers]
        batch.bad = sorted([*bad, *((numbers[row], why) for row, why in batch.bad)])
        batch.n_lines = n_records
        return batch

    @cached_property
    def _nulls(self) -> frozenset[str]:
        return nulls(self._options)

    def _number(self, text: str) -> Any:
        point = self._options.decimal
        if point != ".":
            text = text.replace(".", "?").replace(point, ".")
        return number_from_text(text)

    def _value(self, name: str, kind: Any, text: str) -> Any:
        """Convert a cell as pyarrow does."""
        pa = arrow()
        what = "the label" if name == self._columns.label else f"column {name!r}"
        if text in self._nulls:
            return None
        if kind == pa.string():
            if not text.isprintable() and any("\udc80" <= letter <= "\udcff" for letter in text):
                raise ValueError(f"{what} is not UTF-8 text{encoding_hint()}")
            return text
        if pa.types.is_boolean(kind):
            if text.strip().lower() not in ("0", "1", "false", "true"):
                raise ValueError(f"{what} is {_short(text)}; in the first rows it is true or false")
            return text.strip().lower() in ("1", "true")
        try:
            if not text.isascii() or "_" in text:
                raise ValueError
            number = self._number(text)
        except ValueError:
            must = (
                f"features must be numbers, unless {roles_text()} say what columns are; or leave it out with "
                f"{parameter('ignore', name)}"
            )
            if self._columns.naming is not None:
                other_roles = f"{parameter('categorical', ...)} or {parameter('text', ...)}"
                must = f"numeric columns must hold numbers; use {other_roles}"
            if self._options.decimal == "." and re.fullmatch(r"\s*[+-]?\d+,\d+\s*", text):
                must = f"use {parameter('decimal', ',')} if its comma is a decimal point"
            if name == self._columns.label:
                must = "in the first rows it is a number"
            elif name == self._columns.weight and "weights" not in must:
                must = "weights must be numbers"
            raise ValueError(f"{what} is {_short(text)}; {must}") from None
        if name != self._columns.label:
            return float(number)
        if abs(number) == float("inf"):
            raise ValueError(f"the label is {number}; it must be a finite number, or text")
        return number


def _short(text: str) -> str:
    return repr(shorten(text)).replace("\\udc", "\\x")


def _open(sources: list[Source], options: Options) -> OpenFiles:
    """Choose the columns and their types by the first file; the others are read in the same way."""
    name, first = sources[0].name, read_layout(sources[0], options)
    seems_a_row = not options.columns and header_is_a_row(first.names)
    try:
        partitions = [partitions_to_read(first.names, each.partitions, options.roles) for each in sources]
        names = names_with(first.names, partitions[0])
        columns = Columns.choose(name, names, options.roles, pairs=False)
    except DataError as error:
        if not seems_a_row:
            raise
        raise DataError(f"{error} {_no_header(first)}") from None
    if seems_a_row and "." in "".join(first.names):
        warn(f"{name}: {_no_header(first)}", UserWarning)
    if options.columns and len(first.header.strip(BOM + b"\r\n")):
        warn(f"{name}: the first line has these names too, so it is read as the header.", UserWarning)
    if first.repeated:
        warn(f"{name}: columns that have the same name are numbered: {join_some(first.repeated)}.", UserWarning)
    first, drift = first.of(columns, partitions[0]), Drift(name, names, {})
    readers = [
        DelimitedReader(source, options, first, columns, drift, own)
        for source, own in zip(sources, partitions, strict=True)
    ]
    return OpenFiles(readers, columns.names, columns.naming, columns.key)


def _no_header(layout: Layout) -> str:
    return (
        f"The first line looks like a row, not like {len(layout.names)} names: if the file has no header, name its "
        f"columns with {parameter('columns', ...)}."
    )


def _first_rows(source: Source, options: Options, n: int) -> Any:
    table = first_rows(source, options, n)
    partitions = partitions_to_read(table.schema.names, source.partitions, options.roles)
    return with_partitions(table, partitions, source.name)


def _is_row(line: bytes) -> bool:
    # A row of svmlight has a colon, unless it has no features; then it is a single word.
    return b":" not in line and re.search(rb"[^,;\t][,;\t]+[^,;\t]", line.strip()) is not None


FORMAT = Format(
    "csv",
    (".csv", ".tsv"),
    _open,
    options=OF_TABLES | {"longest_line", "delimiter", "decimal", "columns", "null"},
    is_row=_is_row,
    first_rows=_first_rows,
)
