"""The interface of a format: how its files are recognised and opened, and how one of them is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thresher.messages import parameter, size_text
from thresher.model.names import Naming
from thresher.parameters import Bytes
from thresher.streams.columns import Roles
from thresher.streams.pipeline import ReadBlock
from thresher.streams.position import Position
from thresher.streams.sources import Flow, Source


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    name : str
        What `format=` calls it.
    endings : tuple of str
        How the names of its files end, in lower case.
    open : callable
        Returns files of this format, ready to be read.
    options : frozenset of str
        The options of `open_stream` that have a meaning for it, of those that not all formats have.
    is_text : bool
        Else it must be a file on disk that is not compressed, since it is not read from its start to its end.
    is_mixable : bool
        Whether one stream can have files of it and of other such formats: their features are numbers.
    is_parsed : bool
        Whether reading takes so long that more than one thread is of use.
    marks : tuple of bytes
        Each of its files starts with one of these, if there are any.
    is_row : callable, optional
        Whether a line can be the first row of such text, in a file whose name does not say it.
    inspect : callable, optional
        Returns what `open` needs to know of the first bytes (`Source.hint`), from the flow and whether it is a pipe,
        which can be slow and should not be waited for.
    first_rows : callable, optional
        Of tables: returns up to n rows of a file as a table of Arrow with all columns, from the source, the options and
        n. A pipe is not advanced.
    """

    name: str
    endings: tuple[str, ...]
    open: Callable[[list[Source], Options], OpenFiles]
    options: frozenset[str]
    is_text: bool = True
    is_mixable: bool = False
    is_parsed: bool = True
    marks: tuple[bytes, ...] = ()
    is_row: Callable[[bytes], bool] | None = None
    inspect: Callable[[Flow, bool], Hashable] | None = None
    first_rows: Callable[[Source, Options, int], Any] | None = None


# How long a line of text, or a row of a CSV, may be: one that never ends must not take all of the memory. No less than
# the largest block that is read at a time, so that a line that is too long never lies within one.
LONGEST_LINE = 1 << 28
ALLOWED_LONGEST_LINE = Bytes(1 << 22, 1 << 40)


def too_long_message(what: str, longest: int, hint: str = "") -> str:
    """Return what is wrong with a line or row that is longer than allowed, and what to do."""
    raise_limit = f"raise the limit with {parameter('longest_line', ...)}"
    return f"the {what} is longer than {size_text(longest)}: {hint}if it is a row, {raise_limit}"


OF_TEXT = frozenset({"ngrams", "analyzer", "counts", "lowercase"})  # options that say how columns of text are read
# Options of formats whose columns have roles.
_ROLES = {"label", "weight", "key", "ignore", "text", "categorical", "numeric", "scale", "crosses"}
OF_TABLES = frozenset(_ROLES) | OF_TEXT


@dataclass(frozen=True)
class Options:
    """The options of `open_stream` that readers use."""

    roles: Roles
    skip_bad: bool
    delimiter: str | None
    longest_line: int
    decimal: str = "."
    columns: tuple[str, ...] = ()
    null: tuple[str, ...] | None = None
    layer: str | None = None


@dataclass(frozen=True)
class OpenFiles:
    """Files that are ready to be read: a reader of each, and the names of their features, if they have any."""

    readers: Sequence[Reader]
    feature_names: list[str] | None = None
    naming: Naming | None = None
    key: str | None = None  # what identifies the rows, if it is read


@dataclass(frozen=True)
class Span:
    """Consecutive rows of a file: those whose first byte is at least `begin` and below `end`, in bytes on disk."""

    begin: int
    end: int | None  # None: to the end of the file, even if it grows

    def rows(self, n_rows: int, size: int) -> tuple[int, int]:
        """Return the first row and the end of the span, for a file that is cut by rows in proportion to bytes."""
        end = n_rows if self.end is None else n_rows * self.end // max(1, size)
        return n_rows * self.begin // max(1, size), end


class Reader(ABC):
    """The reader of a file, which cuts it, or a span of it, into blocks that threads read."""

    counted_in = "row"  # or "line"
    is_text = True  # so that rows take about as much memory as the file
    n_rows: int | None = None  # of the file, if they are known without reading them

    def __init__(self, source: Source) -> None:
        self.source = source

    @abstractmethod
    def reads(self, span: Span, start: Position | None) -> Iterator[ReadBlock]:
        """Cut a span, or the rest of it from a position on, into blocks; yield what reads each."""

    @abstractmethod
    def holds(self, span: Span, position: Position) -> bool:
        """Return whether a position in the file is in a span of it."""

    @abstractmethod
    def first_number(self, span: Span) -> int | None:
        """Return how many lines or rows are before a span, if that is known without reading them."""

    def count_before(self, byte: int) -> int:
        """Return how many lines or rows begin before a byte of the content, where `first_number` may not know it."""
        raise NotImplementedError


class RowReader(Reader):
    """Reads a file by row number."""

    is_text = False

    @cached_property
    def _n_rows(self) -> int:
        return self._count() if self.n_rows is None else self.n_rows

    def _count(self) -> int:
        """Return the number of rows in the file, where `n_rows` does not know it."""
        raise NotImplementedError

    def holds(self, span: Span, position: Position) -> bool:
        """Return whether a position is in a span."""
        first, end = self._rows(span)
        return position.row is not None and first <= position.row <= (position.row if end is None else end)

    def first_number(self, span: Span) -> int:
        """Return the number of rows before a span."""
        return self._rows(span)[0]

    def _rows(self, span: Span, start: Position | None = None) -> tuple[int, int | None]:
        """Return the first row and the end of a span, or of the rest of it; None: to the end of the file."""
        if span == Span(0, None):
            first, end = 0, None
        else:
            first, end = span.rows(self._n_rows, self.source.n_bytes or 0)
        return first if start is None or start.row is None else start.row, None if span.end is None else end
