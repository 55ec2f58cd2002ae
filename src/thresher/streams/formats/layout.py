"""The layout of a CSV file: where its records end, its header, and the types of its columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import DataError
from thresher.messages import parameter
from thresher.model.names import distinct_names
from thresher.streams.arrow_values import arrow, is_numeric
from thresher.streams.columns import Columns
from thresher.streams.formats.format import Options, too_long_message
from thresher.streams.partitions import Partition, names_with
from thresher.streams.sources import BOM, Flow, Source

BLOCK = 1 << 20
_MANY_COLUMNS = 512  # for which a block is one time as large
_HEAD = 1 << 20  # bytes that show the columns and their types
_DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class Layout:
    """The columns of a file, as its first rows show them."""

    source: Source
    header: bytes  # up to the first row
    names: list[str]
    delimiter: str
    types: dict[str, Any]  # of the columns, guessed from the first block
    options: Options
    repeated: tuple[str, ...] = ()  # names that occurred before, and what they are called here
    fits_others: bool = False  # all that is guessed are numbers: text, true and false may be numbers in another file

    @cached_property
    def conversion(self) -> Any:
        """How pyarrow reads the columns."""
        return conversion(self.options, self.types)

    def read(self, text: bytes, how: Any) -> Any:
        """Return whole records as a record batch; raise ValueError if one of them is bad."""
        pa = arrow()
        table = pa.csv.open_csv(
            pa.py_buffer(text),
            read_options=pa.csv.ReadOptions(column_names=self.names, block_size=len(text) + 1, use_threads=False),
            parse_options=pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=how,
        ).read_all()
        return next(iter(table.combine_chunks().to_batches()), None) or pa.RecordBatch.from_pylist([], table.schema)

    @property
    def block(self) -> int:
        """How many bytes to read at a time: more of a wide table, since each column has a cost in each block."""
        return BLOCK * max(1, min(len(self.names) // _MANY_COLUMNS, 64))

    @property
    def begin(self) -> int:
        """The byte after the header."""
        return len(self.header)

    def of(self, columns: Columns, partitions: list[Partition]) -> Layout:
        """Return it with the types in which the columns asked for are read; raise DataError if one is missing."""
        outside = {each.name for each in partitions} - set(self.names)
        columns.check_names(self.source.name, names_with(self.names, partitions))
        types = {name: self.types[name] for name in columns.all if name not in outside}
        for name in columns.numbers:
            if types.get(name) == arrow().string():
                types[name] = arrow().float64()  # a row with text in it is a bad row
        keys = [] if columns.key is None else [columns.key]
        strings = {name: arrow().string() for name in [*columns.strings, *keys] if name not in outside}
        fits_others = all(kind == arrow().float64() or name in strings for name, kind in types.items())
        return replace(self, types=types | strings, fits_others=fits_others)


def read_layout(source: Source, options: Options, like: Layout | None = None) -> Layout:
    """Read the header and the first rows; a pipe is not advanced.

    For a small file with the header of another file, the layout of that one is returned: guessing the types takes as
    long as reading the rows. A larger one is guessed from its own first block, since text in one file can be numbers in
    another, and its blocks, which several threads read at once, must all have the same types.
    """
    flow, size, longest = source.open(), _HEAD, options.longest_line
    try:
        head = flow.peek(size)
        while (layout := _layout(source, head, options, len(head) < size, like)) is None:
            if size > longest:
                raise DataError(f"{source.name}: {too_long_message('header', longest)}.")
            size = min(2 * size, longest + 1)
            head = flow.peek(size)
    finally:
        if source.flow is None:
            flow.close()
    return layout


def _layout(source: Source, head: bytes, options: Options, is_all: bool, like: Layout | None) -> Layout | None:
    """Return the layout of a file by its first bytes, or None if the header is longer than these."""
    begin = len(BOM) if head.startswith(BOM) else 0
    begin += len(head[begin:]) - len(head[begin:].lstrip(b"\r\n"))
    if begin == len(head):
        raise DataError(f"{source.name}: the file is empty; the first line of a CSV must name the columns.")
    first_line, delimiter = head[begin:].splitlines()[0], options.delimiter
    if delimiter is None and source.ending == ".tsv":
        delimiter = "\t"
    elif delimiter is None:
        unquoted = re.sub(rb'"[^"]*"?', b"", first_line)
        delimiter = max(_DELIMITERS, key=lambda each: unquoted.count(each.encode()))
    if delimiter == options.decimal:
        raise DataError(
            f"{source.name}: its values are separated by {delimiter!r}, so {parameter('decimal', delimiter)} can't be "
            f"the decimal point: leave it out, or name what separates the values with {parameter('delimiter', ...)}."
        )
    if like is not None and is_all and like.delimiter == delimiter and head.startswith(like.header):
        return like
    ends = record_ends(head[begin:], delimiter)
    if len(ends) == 0 and not is_all:
        return None
    header_end = begin + int(ends[0]) if len(ends) else len(head)
    try:
        header = head[begin:header_end].decode()
        written = next(records_of(header, delimiter, options.longest_line))
    except UnicodeDecodeError as error:
        raise DataError(f"{source.name}: the header can't be read as UTF-8 text ({error}){encoding_hint()}.") from None
    except csv.Error as error:
        raise DataError(f"{source.name}: the header can't be read as CSV ({error}).") from None
    if options.columns and written != list(options.columns):  # else the header is there in spite of it
        header_end = begin
        if len(written) != len(options.columns):
            raise DataError(
                f"{source.name}: the first row has {len(written)} values, but {parameter('columns')} names "
                f"{len(options.columns)}: name each column."
            )
        written = list(options.columns)
    names = distinct_names(written)
    repeated = tuple(f"{old!r} as {new!r}" for old, new in zip(written, names, strict=True) if old != new)
    last = len(head) if is_all else begin + int(ends[-1])
    types = _types(names, head[header_end:last], delimiter, options)
    return Layout(source, head[:header_end], names, delimiter, types, options, repeated)


def header_is_a_row(names: list[str]) -> bool:
    """Return whether names of columns look like the first row of a file without a header: one is a number."""
    number = re.compile(r"\s*[+-]?\d*[.,]?\d+([eE][+-]?\d+)?\s*")
    return any(number.fullmatch(name) for name in names)


def encoding_hint() -> str:
    """Return what to do if text is not UTF-8, for a message."""
    return f"; name its encoding with {parameter('encoding', ...)}, such as latin-1"


def conversion(options: Options, types: dict[str, Any] | None = None) -> Any:
    """Return how pyarrow reads cells: which are missing values, the decimal point, and the columns and their types."""
    chosen = {} if types is None else {"column_types": types, "include_columns": list(types)}
    return arrow().csv.ConvertOptions(
        decimal_point=options.decimal, null_values=sorted(nulls(options)), strings_can_be_null=True, **chosen
    )


def nulls(options: Options) -> frozenset[str]:
    """Return the texts that stand for a missing value."""
    if options.null is not None:
        return frozenset({"", *options.null})
    return frozenset({"\\N", *arrow().csv.ConvertOptions().null_values})


def records_of(text: str, delimiter: str, longest: int) -> Iterator[list[str]]:
    """Return the records of a text, cell by cell; a cell can be as long as a record may be."""
    csv.field_size_limit(max(csv.field_size_limit(), longest))  # one limit for all of the process: never lowered
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def first_rows(source: Source, options: Options, n: int) -> Any:
    """Return up to n rows as a table with all columns, whose types are guessed; a pipe is not advanced."""
    layout, longest = read_layout(source, options), options.longest_line
    flow, size = source.open(), _HEAD
    try:
        while True:
            head = flow.peek(size)
            rows, is_all = head[layout.begin :], len(head) < size
            ends = record_ends(rows, layout.delimiter)
            if is_all or len(ends) > n or size > longest:  # blank lines may be among them
                break
            size *= 2
    finally:
        if source.flow is None:
            flow.close()
    cut = len(rows) if is_all else int(ends[-1]) if len(ends) else 0
    cut = int(ends[n]) if len(ends) > n else cut
    table = _parse(layout.names, rows[:cut] if n else b"", layout.delimiter, options)
    if table is None:
        return arrow().Table.from_arrays([arrow().nulls(0)] * len(layout.names), layout.names)
    return table.slice(0, n)


def _types(names: list[str], rows: bytes, delimiter: str, options: Options) -> dict[str, Any]:
    """Return the types of the columns: number or boolean if all of the first rows fit, else text."""
    pa = arrow()
    table = _parse(names, rows, delimiter, options)
    if table is None:
        return dict.fromkeys(names, pa.float64())
    types = {}
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        if pa.types.is_boolean(kind):
            types[name] = kind
        else:
            # A column that is integer, or empty, in the first rows can have any number later.
            types[name] = pa.float64() if is_numeric(kind) or pa.types.is_null(kind) else pa.string()
    return types


def _parse(names: list[str], rows: bytes, delimiter: str, options: Options) -> Any | None:
    """Return rows as a table, without those that can't be read; None if there is none."""
    pa = arrow()
    rows = rows.decode(errors="replace").encode()  # pyarrow writes a traceback for a row that it can't show
    try:
        reader = pa.csv.open_csv(
            pa.py_buffer(rows),
            read_options=pa.csv.ReadOptions(column_names=names, block_size=len(rows) + 1, use_threads=False),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda _row: "skip"
            ),
            convert_options=conversion(options),
        )
        with reader:  # read to its end: a thread of pyarrow that still reads when Python exits can abort the process
            return reader.read_all()
    except pa.ArrowInvalid:  # no rows
        return None


class RecordTooLongError(Exception):
    """A record is longer than allowed."""

    def __init__(self, byte: int) -> None:
        super().__init__(byte)
        self.byte = byte  # at which it begins


def blocks(flow: Flow, layout: Layout, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield the rest of a file in blocks of whole records, each with the byte at which it begins."""
    delimiter = layout.delimiter
    at, rest, size = flow.byte, b"", layout.block
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
        at, rest, size = at + cut, text[cut:], layout.block
    if rest:
        ends = record_ends(rest + b"\n", delimiter)
        if len(ends) == 0 or ends[-1] <= len(rest):
            raise DataError(f"{flow.name}: a quote is never closed, so the last row does not end.")
        yield at, rest


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
