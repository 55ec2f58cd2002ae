"""The reader of tables: turns record batches, from files and from other libraries, into batches.

A bad row (a missing label or value, a value that is not finite, an id out of range, lists of different lengths) is an
error with its number, or is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import Batch, DataError
from thresher.model.class_weights import are_weights
from thresher.model.labels import are_large, as_text_labels
from thresher.model.names import Naming
from thresher.streams.arrow_values import (
    arrow,
    as_bytes,
    floats_of,
    is_numeric,
    is_text,
    keys_of,
    nulls_of,
    numpy_of,
    plain_values,
    read_named,
    with_column,
    without_decimals,
)
from thresher.streams.columns import PAIR, Columns

_BATCH_ROWS = 16_384
_BATCH_BYTES = 1 << 21  # of columns with names: text is converted that much at a time
_BYTES_PER_COLUMN = 1 << 10  # and so much more: each column of a piece has its own cost
# Of rows of numbers, this many cells at a time, and more of a table with one column per feature, for the same reason.
_BATCH_CELLS, WIDE_CELLS = 1 << 20, 1 << 23


@dataclass(frozen=True)
class TableReader:
    """Reads the rows of a file or table: cuts its record batches into tables, and turns each of these into a batch."""

    name: str  # of the file or table, for messages
    columns: Columns
    skip_bad: bool = False

    def tables(self, record_batches: Any, row: int = 0) -> Iterator[Any]:
        """Yield all rows of a reader of Arrow's, which begin at row `row`, as tables to convert one at a time.

        Errors of a query get the name of the table.
        """
        is_checked = False
        try:
            for batch in record_batches:
                if not is_checked and batch.num_rows:  # a table without rows has no types
                    self.columns.check_types(self.name, batch.schema)
                    is_checked = True
                yield from self.cut(batch, row)
                row += batch.num_rows
        except DataError:
            raise
        except Exception as error:  # each library raises its own
            raise DataError(f"{self.name}: {one_line(error)}.") from None
        finally:
            record_batches.close()

    def cut(self, batch: Any, row: int, first: int = 0, end: int | None = None) -> Iterator[Any]:
        """Yield rows `first` up to `end` of a record batch, which begins at `row`, as tables to convert one at a time.

        They have the columns that are read, with data that were validated.
        """
        table = self._check_structure(batch, row)
        end = table.num_rows if end is None else end
        step = self._rows_at_a_time(table)
        for begin in range(first, end, step):
            yield table.slice(begin, min(step, end - begin))

    def _rows_at_a_time(self, table: Any) -> int:
        if self.columns.naming is not None:
            return rows_of_bytes(table.nbytes, table.num_rows, table.num_columns)
        if self.columns.features is not None:
            return rows_of_cells(len(self.columns.features), WIDE_CELLS)
        return rows_of_cells(len(table.column("ids").flatten()) // max(1, table.num_rows))

    def _check_structure(self, batch: Any, row: int) -> Any:
        """Return the columns of a record batch that are read.

        Raise DataError if an offset, a length or a code of a dictionary is out of range, or a label not UTF-8: pyarrow
        does not check them. Features that are text are checked row by row when they are read.
        """
        names, strings, name = self.columns.all, frozenset(self.columns.strings), ""
        table = batch.select(names)
        try:
            table.validate()  # all that can be wrong with a plain number
            for name, kind in zip(names, table.schema.types, strict=True):
                if not is_numeric(kind):
                    column = table.column(name)
                    (as_bytes(column) if name in strings else column).validate(full=True)
        except arrow().ArrowException as error:
            where = f"{self.name}, rows {row + 1} to {row + table.num_rows}"
            what = f"column {name!r}: {one_line(error)}" if name else one_line(error)
            raise DataError(f"{where}: the data are damaged ({what}): recreate them.") from None
        return table

    def batch(self, table: Any, end_byte: int = 0, n_bytes: int = 0) -> Batch:
        """Return the rows of a table that passed the checks of structure and types."""
        columns, rows = self.columns, _Rows(table, self.skip_bad)
        with name_table_in_errors(self.name):
            try:
                labels = _labels(rows, columns.label, columns.needs_labels)
                weights = None if columns.weight is None else _weights(rows, columns.weight)
                if columns.naming is not None:
                    batch = _from_named_values(rows, columns.naming)
                else:
                    batch = _from_lists(rows) if columns.features is None else _from_columns(rows, columns.features)
                batch.labels = labels[rows.left]
                batch.row_weights = None if weights is None else weights[rows.left]
                batch.keys = None if columns.key is None else keys_of(table.column(columns.key))[rows.left]
                batch.numbers, batch.bad = rows.numbers, sorted(rows.bad)
            except _BadRow as bad:
                batch = Batch.empty()
                batch.bad = [(bad.number, bad.why)]
        batch.n_lines, batch.end_byte, batch.n_bytes = table.num_rows, end_byte, n_bytes
        return batch


def rows_of_bytes(n_bytes: int, n_rows: int, n_columns: int = 1) -> int:
    """Return how many rows with hashed names to convert at a time, if `n_rows` have `n_bytes`."""
    most = _BATCH_BYTES + _BYTES_PER_COLUMN * n_columns
    return min(_BATCH_ROWS, max(1, most * n_rows // max(1, n_bytes)))


def rows_of_cells(n_columns: int, cells: int = _BATCH_CELLS) -> int:
    """Return how many rows to convert at a time, since all their cells are in memory as flat arrays."""
    return min(_BATCH_ROWS, max(64, cells // max(1, n_columns)))


def one_line(error: Exception) -> str:
    """Return what a library says of an error, which can have several lines."""
    return " ".join(str(error).split())


@contextmanager
def name_table_in_errors(name: str) -> Iterator[None]:
    """Add the name of the file or table to errors of pyarrow."""
    try:
        yield
    except (arrow().ArrowException, OSError) as error:
        raise DataError(f"{name}: {one_line(error)}.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: the name of a column is not UTF-8 text ({error.reason}).") from None


class _BadRow(Exception):  # noqa: N818 used only in this module
    """The first row that can't be read: its number from 0, and the reason."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number, self.why = number, why


class _Rows:
    """The rows of a table during their checks: bad ones are dropped, or the first one is raised."""

    def __init__(self, table: Any, skip_bad: bool) -> None:
        self.table = table
        self.numbers: NDArray[np.int64] | None = None  # of the remaining rows; None: no row was dropped
        self.bad: list[tuple[int, str]] = []
        self.skip_bad = skip_bad
        self.n_rows = table.num_rows

    def drop(self, bad: NDArray[np.bool_], why: str | Callable[[int], str]) -> NDArray[np.bool_]:
        """Drop the marked rows, and return which stay; `why` is text, or called with the index of each."""
        good = ~bad
        if good.all():
            return good
        numbers = np.arange(self.n_rows) if self.numbers is None else self.numbers
        for row in np.flatnonzero(bad).tolist():
            self.bad.append((int(numbers[row]), why if isinstance(why, str) else why(row)))
            if not self.skip_bad:
                raise _BadRow(*self.bad[-1])
        self.table, self.numbers = self.table.filter(arrow().array(good)), numbers[good]
        return good

    def nulls(self, name: str) -> NDArray[np.bool_]:
        """Return which rows have no value in a column."""
        return nulls_of(self.table.column(name))

    @property
    def left(self) -> Any:
        """The remaining rows, as an index into all rows."""
        return slice(None) if self.numbers is None else self.numbers


def _labels(rows: _Rows, name: str | None, are_needed: bool) -> NDArray[Any]:
    """Return the labels of all rows, NaN or "" where there is none; a dropped row has a label without a meaning."""
    pa = arrow()
    if name is None or pa.types.is_null(rows.table.schema.field(name).type):
        return np.full(rows.table.num_rows, np.nan)
    column = plain_values(rows.table.column(name))
    lost = nulls_of(column)
    if is_text(column.type):
        blank = pa.compute.equal(pa.compute.utf8_trim_whitespace(column), "")
        lost = lost | blank.fill_null(False).to_numpy(zero_copy_only=False)
    if are_needed:
        rows.drop(lost, "the label is missing")
    if pa.types.is_decimal(column.type):
        column = without_decimals(column)
    if pa.types.is_integer(column.type):
        whole: NDArray[Any] = numpy_of(column.fill_null(0) if column.null_count else column)
        if are_large(whole).any():
            return whole if are_needed or not lost.any() else np.where(lost, "", as_text_labels(whole))
    values = numpy_of(column)
    if is_text(column.type):
        values[lost] = ""
        return values.astype(np.str_)
    numbers = np.full(len(values), np.nan)
    numbers[~lost] = values[~lost].astype(np.float64)
    left = numbers[rows.left]
    is_number = np.isfinite(left) if are_needed else ~np.isinf(left)
    rows.drop(~is_number, lambda row: f"the label is {left[row]}; it must be a finite number, or text")
    return numbers


def _weights(rows: _Rows, name: str) -> NDArray[np.float64]:
    """Return the weights of all rows; a dropped row has a weight without a meaning."""
    numbers = np.full(rows.n_rows, np.nan)
    values = floats_of(rows.table.column(name))
    numbers[rows.left] = values

    def why(row: int) -> str:
        found = "missing" if np.isnan(values[row]) else values[row]
        return f"the weight, column {name!r}, is {found}; it must be finite and not negative"

    rows.drop(~are_weights(values), why)
    return numbers


def _from_columns(rows: _Rows, names: list[str]) -> Batch:
    found = _core.read_record_batch(*rows.table.select(names).__arrow_c_array__())
    if found is None or not np.isfinite(found[2]).all():
        return _from_other_columns(rows, names)
    return Batch(*found, np.empty(0), len(names) - 1, zero_seen=True)


def _from_other_columns(rows: _Rows, names: list[str]) -> Batch:
    """Read columns that have missing values, or ones that are not finite, or types such as decimals."""
    null, table = np.zeros(rows.table.num_rows, bool), rows.table
    for name in names:
        if table.column(name).null_count:
            null |= rows.nulls(name)

    def first_null(row: int) -> str:
        name = next(name for name in names if not table.column(name)[row].is_valid)
        return f"column {name!r} has no value in this row; fill it in"

    rows.drop(null, first_null)
    dense = np.empty((rows.table.num_rows, len(names)), dtype=np.float32)
    with np.errstate(over="ignore"):  # what is too large for float32 is found below
        for k, name in enumerate(names):
            dense[:, k] = floats_of(rows.table.column(name))
    finite = np.isfinite(dense)
    if not finite.all():

        def why(row: int) -> str:
            k = int(np.argmin(finite[row]))
            return f"column {names[k]!r} is {dense[row, k]}; values must be finite"

        dense = dense[rows.drop(np.any(~finite, axis=1), why)]
    at, ids = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(dense)))])
    values = dense[at, ids]
    return Batch(starts.astype(np.int32), ids.astype(np.int32), values, np.empty(0), len(names) - 1, zero_seen=True)


def _from_lists(rows: _Rows) -> Batch:
    for name in PAIR:
        rows.table = with_column(rows.table, name, plain_values(rows.table.column(name)))
        rows.drop(rows.nulls(name), f"{name} is missing")
    for name in PAIR:
        column = rows.table.column(name)
        if (flat := column.flatten()).null_count:
            null = _any(_starts(column), flat.is_null().to_numpy(zero_copy_only=False))
            rows.drop(null, f"{name} has a missing entry")
    lengths: list[Any] = [np.diff(_starts(rows.table.column(name))) for name in PAIR]
    rows.drop(
        lengths[0] != lengths[1],
        lambda row: f"ids and values differ in length: {lengths[0][row]} and {lengths[1][row]}",
    )
    starts, ids, values = _flat(rows.table)
    bad = ~np.isfinite(values) | (ids < 0) | (ids >= 2**63 - 1)
    if bad.any():

        def why(row: int) -> str:
            at = int(starts[row] + np.argmax(bad[starts[row] : starts[row + 1]]))
            return f"{ids[at]}:{values[at]:g}; ids must be from 0 to 2^63 - 2, and values must be finite"

        rows.drop(_any(starts, bad), why)
        starts, ids, values = _flat(rows.table)
    starts, ids, values = in_ascending_order(starts, ids.astype(np.int64, copy=False), values)
    if not (finite := np.isfinite(values)).all():
        good = rows.drop(_any(starts, ~finite), "a repeated id adds up to more than a float32 can hold")
        stays = np.repeat(good, np.diff(starts))
        starts = np.concatenate([[0], np.cumsum(np.diff(starts)[good])])
        ids, values = ids[stays], values[stays]
    return Batch(starts, ids, values, np.empty(0), int(ids.max(initial=-1)), bool(np.any(ids == 0)))


def _flat(table: Any) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]:
    """Return the offsets of the lists, their ids, int64 or uint64, and their values."""
    ids, values = (table.column(name).flatten().to_numpy(zero_copy_only=False) for name in PAIR)
    with np.errstate(over="ignore"):  # what is too large for float32 is found as not finite
        values = values.astype(np.float32)
    return _starts(table.column("ids")), ids if ids.dtype == np.uint64 else ids.astype(np.int64), values


def in_ascending_order(
    starts: NDArray[np.int64], ids: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Sort the ids of each row and sum repeated ones; a sum can be infinite."""
    rising = np.append(True, ids[1:] > ids[:-1])
    rising[starts[:-1][starts[:-1] < len(ids)]] = True  # the first id of a row has none before it
    if rising.all():
        return starts, ids, values
    import scipy.sparse as sp

    rows = sp.csr_matrix((values.astype(np.float64), ids, starts), shape=(len(starts) - 1, 2**63 - 1))
    rows.sum_duplicates()
    with np.errstate(over="ignore"):
        return rows.indptr, rows.indices, rows.data.astype(np.float32)


def _starts(lists: Any) -> NDArray[np.int64]:
    offsets: NDArray[np.int64] = lists.offsets.to_numpy().astype(np.int64)
    offsets -= offsets[0]
    return offsets


def _any(starts: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows have a marked value."""
    before = np.concatenate([[0], np.cumsum(marked)])
    rows: NDArray[np.bool_] = before[starts[1:]] > before[starts[:-1]]
    return rows


def _from_named_values(rows: _Rows, naming: Naming) -> Batch:
    found = read_named(rows.table, naming, rows.skip_bad)
    if found.bad:
        reasons, is_bad = dict(found.bad), np.zeros(rows.table.num_rows, bool)
        is_bad[list(reasons)] = True
        rows.drop(is_bad, reasons.__getitem__)
    return Batch.of(found, np.empty(0))
