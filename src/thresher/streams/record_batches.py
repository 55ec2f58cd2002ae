"""Record batches of Arrow, checked and converted to batches.

A bad row (a missing label or value, a value that is not finite, an id out of range, lists of different lengths) is an
error with its number, or is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch, DataError
from thresher.model.class_weights import are_weights
from thresher.model.labels import are_large, as_text_labels, label_text, labels_from_values
from thresher.model.names import Naming
from thresher.streams.columns import arrow, as_bytes, is_text, is_whole, plain_values, table_columns
from thresher.streams.tables import PAIR, Columns

BATCH_ROWS = 16_384
_BATCH_BYTES = 1 << 21  # of columns with names: text is converted that much at a time
# A table with one column per feature is converted as a dense array, this many cells at a time.
_BATCH_CELLS = 1 << 20


def tables_of(reader: Any, columns: Columns, name: str, row: int = 0) -> Iterator[Any]:
    """Yield all rows of a reader, of which the first is row `row`, in tables as large as are converted at a time.

    Errors of a query get the name of the table.
    """
    is_checked = False
    try:
        for batch in reader:
            if not is_checked and batch.num_rows:  # a table without rows has no types
                columns.check_types(name, batch.schema)
                is_checked = True
            yield from slices(batch, columns, name, row)
            row += batch.num_rows
    except DataError:
        raise
    except Exception as error:  # each library raises its own
        raise DataError(f"{name}: {' '.join(str(error).split())}.") from None
    finally:
        reader.close()


def slices(table: Any, columns: Columns, name: str, row: int, first: int = 0, end: int | None = None) -> Iterator[Any]:
    """Yield rows `first` up to `end` of a record batch, which begins at `row`, in slices to convert one at a time.

    They have the columns that are read, with data that were validated.
    """
    table = _check_structure(table, columns, name, row)
    end = table.num_rows if end is None else end
    step = _rows_at_a_time(table, columns)
    for begin in range(first, end, step):
        yield table.slice(begin, min(step, end - begin))


def _rows_at_a_time(table: Any, columns: Columns) -> int:
    if columns.naming is not None:
        return rows_of_bytes(table.nbytes, table.num_rows)
    return rows_of_cells(len(columns.features) if columns.features else _mean_length(table))


def rows_of_bytes(n_bytes: int, n_rows: int) -> int:
    """Return how many rows with hashed names to convert at a time, if `n_rows` have `n_bytes`."""
    return min(BATCH_ROWS, max(1, _BATCH_BYTES * n_rows // max(1, n_bytes)))


def rows_of_cells(n_columns: int) -> int:
    """Return how many rows to convert at a time, since all their cells are in memory as flat arrays."""
    return min(BATCH_ROWS, max(64, _BATCH_CELLS // max(1, n_columns)))


def _mean_length(table: Any) -> int:
    """Return the mean length of the lists in a table."""
    return int(len(table.column("ids").flatten()) / max(1, table.num_rows))


def _check_structure(table: Any, columns: Columns, file: str, row: int) -> Any:
    """Return the columns of a record batch that are read.

    Raise DataError if an offset, a length or a code of a dictionary is out of range, or a label not UTF-8: pyarrow does
    not check them. Features that are text are checked row by row when they are read.
    """
    table, strings, name = table.select(columns.all), frozenset(columns.strings), ""
    try:
        table.validate()
        for name, column in zip(columns.all, table.columns, strict=True):
            (as_bytes(column) if name in strings else column).validate(full=True)
    except arrow().ArrowException as error:
        where = f"{file}, rows {row + 1} to {row + table.num_rows}"
        what = " ".join(f"column {name!r}: {error}".split()) if name else " ".join(str(error).split())
        raise DataError(f"{where}: the data are damaged ({what}): recreate them.") from None
    return table


@contextmanager
def name_table_in_errors(name: str) -> Iterator[None]:
    """Add the name of the file or table to errors of pyarrow."""
    try:
        yield
    except (arrow().ArrowException, OSError) as error:
        raise DataError(f"{name}: {' '.join(str(error).split())}.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: the name of a column is not UTF-8 text ({error.reason}).") from None


def to_batch(name: str, table: Any, columns: Columns, skip_bad: bool, end_byte: int = 0, n_bytes: int = 0) -> Batch:
    """Return the rows of a record batch of a file or table, which passed the checks of structure and types."""
    with name_table_in_errors(name):
        return _to_batch(table, columns, skip_bad, end_byte, n_bytes)


def _to_batch(table: Any, columns: Columns, skip_bad: bool, end_byte: int, n_bytes: int) -> Batch:
    checked = _RowCheck(table, skip_bad)
    try:
        labels = _labels(checked, columns.label, columns.needs_labels)
        weights = None if columns.weight is None else _weights(checked, columns.weight)
        if columns.naming is not None:
            batch = _from_named_values(checked, columns.naming)
        else:
            batch = _from_lists(checked) if columns.features is None else _from_columns(checked, columns.features)
        batch.labels = labels[checked.left]
        batch.row_weights = None if weights is None else weights[checked.left]
        batch.numbers, batch.bad = checked.numbers, sorted(checked.bad)
    except _BadRow as bad:
        batch = Batch.empty()
        batch.bad = [(bad.number, bad.why)]
    batch.n_lines, batch.end_byte, batch.n_bytes = table.num_rows, end_byte, n_bytes
    return batch


class _BadRow(Exception):  # noqa: N818 used only in this module
    """The first row that can't be read: its number from 0, and the reason."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number, self.why = number, why


class _RowCheck:
    """A table during its checks: bad rows are dropped, or the first one is raised."""

    def __init__(self, table: Any, skip_bad: bool) -> None:
        self.table = table
        self.numbers: NDArray[np.int64] | None = None  # of the remaining rows; None: no row was dropped
        self.bad: list[tuple[int, str]] = []
        self.skip_bad = skip_bad
        self.n_rows = table.num_rows

    def drop(self, bad: NDArray[np.bool_], why: Callable[[int], str]) -> None:
        """Drop the marked rows; `why` is called with their indices."""
        rows = np.flatnonzero(bad).tolist()
        if not rows:
            return
        numbers = np.arange(self.n_rows) if self.numbers is None else self.numbers
        for row in rows:
            self.bad.append((int(numbers[row]), why(row)))
            if not self.skip_bad:
                raise _BadRow(*self.bad[-1])
        good = ~bad
        self.table, self.numbers = self.table.filter(arrow().array(good)), numbers[good]

    @property
    def left(self) -> Any:
        """The remaining rows, as an index into all rows."""
        return slice(None) if self.numbers is None else self.numbers


def _labels(checked: _RowCheck, name: str | None, are_needed: bool) -> NDArray[Any]:
    """Return the labels of all rows, NaN or "" where there is none; those of dropped rows have no meaning."""
    pa = arrow()
    if name is None or pa.types.is_null(checked.table.schema.field(name).type):
        return np.full(checked.table.num_rows, np.nan)
    column = plain_values(checked.table.column(name))
    missing = column.is_null()
    if is_text(column.type):
        missing = pa.compute.or_kleene(missing, pa.compute.equal(pa.compute.utf8_trim_whitespace(column), ""))
    lost = missing.to_numpy(zero_copy_only=False).astype(bool)
    if are_needed:
        checked.drop(lost, partial(_always, "the label is missing"))
    if pa.types.is_decimal(column.type):
        column = _without_decimals(column)
    if is_whole(column.type):
        whole: NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
        if are_large(whole).any():
            return whole if are_needed or not lost.any() else np.where(lost, "", as_text_labels(whole))
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if is_text(column.type):
        values[lost] = ""
        return values.astype(np.str_)
    numbers = np.full(len(values), np.nan)
    numbers[~lost] = values[~lost].astype(np.float64)
    left = numbers[checked.left]
    is_number = np.isfinite(left) if are_needed else ~np.isinf(left)
    checked.drop(~is_number, lambda row: f"the label is {left[row]}; it must be a finite number, or text")
    return numbers


def _without_decimals(column: Any) -> Any:
    """Return decimal labels, as DuckDB's sums of whole numbers are, as other numbers or, if need be, as text."""
    with suppress(arrow().ArrowInvalid):
        return column.cast(arrow().int64())
    values = column.to_pylist()
    return label_column(
        [value if value is None else int(value) if value == int(value) else float(value) for value in values]
    )


def label_column(labels: list[Any]) -> Any:
    """Return labels, None where there is none, as a column of numbers, of whole numbers, or of text."""
    pa, known = arrow(), labels_from_values([label for label in labels if label is not None])
    if known.dtype.kind == "U":
        return pa.array([None if label is None else label_text(label) for label in labels], pa.string())
    if known.dtype.kind == "f":
        return pa.array(labels, pa.float64())
    return pa.array([None if label is None else int(label) for label in labels], pa.from_numpy_dtype(known.dtype))


def _weights(checked: _RowCheck, name: str) -> NDArray[np.float64]:
    """Return the weights of all rows; those of dropped rows have no meaning."""
    numbers = np.full(checked.n_rows, np.nan)
    values = checked.table.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
    numbers[checked.left] = values
    checked.drop(
        ~are_weights(values),
        lambda row: (
            f"the weight, column {name!r}, is {'missing' if np.isnan(values[row]) else values[row]}; it must be finite "
            "and not negative"
        ),
    )
    return numbers


def _from_columns(checked: _RowCheck, names: list[str]) -> Batch:
    null = np.zeros(checked.table.num_rows, bool)
    for name in names:
        if (column := checked.table.column(name)).null_count:
            null |= column.is_null().to_numpy(zero_copy_only=False)
    table = checked.table
    checked.drop(null, lambda row: f"column {_first_null(table, names, row)!r} has no value in this row; fill it in")
    dense = np.empty((checked.table.num_rows, len(names)), dtype=np.float32)
    with np.errstate(over="ignore"):  # what is too large for float32 is found below
        for k, name in enumerate(names):
            dense[:, k] = checked.table.column(name).to_numpy(zero_copy_only=False)
    finite = np.isfinite(dense)
    if not finite.all():

        def why(row: int) -> str:
            k = int(np.argmin(finite[row]))
            return f"column {names[k]!r} is {dense[row, k]}; values must be finite"

        good: NDArray[np.bool_] = np.all(finite, axis=1)
        checked.drop(~good, why)
        dense = dense[good]
    rows, ids = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    values = dense[rows, ids]
    return Batch(starts.astype(np.int32), ids.astype(np.int32), values, np.empty(0), len(names) - 1, zero_seen=True)


def _from_named_values(checked: _RowCheck, naming: Naming) -> Batch:
    columns = table_columns(checked.table, naming)
    found = naming.core.read_columns(columns, checked.table.num_rows, checked.skip_bad)
    if found.bad:
        reasons, is_bad = dict(found.bad), np.zeros(checked.table.num_rows, bool)
        is_bad[list(reasons)] = True
        checked.drop(is_bad, reasons.__getitem__)
    return Batch.of(found, np.empty(0))


def _always(why: str, _row: int) -> str:
    return why


def _first_null(table: Any, names: list[str], row: int) -> str:
    return next(name for name in names if not table.column(name)[row].is_valid)


def _from_lists(checked: _RowCheck) -> Batch:
    for name in PAIR:
        null = checked.table.column(name).is_null().to_numpy(zero_copy_only=False)
        checked.drop(null, partial(_always, f"{name} is missing"))
    for name in PAIR:
        flat = checked.table.column(name).flatten()
        if flat.null_count:
            null = _any(_starts(checked.table.column(name)), flat.is_null().to_numpy(zero_copy_only=False))
            checked.drop(null, partial(_always, f"{name} has a missing entry"))
    lengths: list[Any] = [np.diff(_starts(checked.table.column(name))) for name in PAIR]
    checked.drop(
        lengths[0] != lengths[1],
        lambda row: f"ids and values differ in length: {lengths[0][row]} and {lengths[1][row]}",
    )
    starts, ids, values = _flat(checked.table)
    bad = ~np.isfinite(values) | (ids < 0) | (ids >= 2**63 - 1)
    if bad.any():

        def why(row: int) -> str:
            at = int(starts[row] + np.argmax(bad[starts[row] : starts[row + 1]]))
            return f"{ids[at]}:{values[at]:g}; ids must be from 0 to 2^63 - 2, and values must be finite"

        checked.drop(_any(starts, bad), why)
        starts, ids, values = _flat(checked.table)
    starts, ids, values = in_ascending_order(starts, ids.astype(np.int64, copy=False), values)
    if not (finite := np.isfinite(values)).all():
        too_large = _any(starts, ~finite)
        checked.drop(too_large, partial(_always, "a repeated id adds up to more than a float32 can hold"))
        good = ~too_large
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
