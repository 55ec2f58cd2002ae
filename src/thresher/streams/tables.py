"""Rows of tables: the meaning of the columns, and the conversion of record batches to CSR.

A table has a label column and features: columns of text, categories and numbers that are named as such; or a pair of
columns `ids` (list of int) and `values` (list of float); or one numeric column per feature, whose names become the
feature names. A bad row (a missing label or value, a value that is not finite, an id out of range, lists of different
lengths) is an error with its number, or is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch, DataError
from thresher.messages import some_and_nearest
from thresher.model.class_weights import are_weights
from thresher.model.labels import are_large, as_words, labels_read, shown
from thresher.model.names import Naming
from thresher.streams.canonical import in_ascending_order
from thresher.streams.columns import arrow, check_kinds, is_list, is_numeric, is_text, plain_values, table_columns

DEFAULT_LABEL = "label"
# A table with one column per feature is converted as a dense array, this many cells at a time.
BATCH_CELLS = 1 << 20
_PAIR = ("ids", "values")


@dataclass(frozen=True)
class Roles:
    """What columns are for, by name.

    With `labelled` there must be a label, else it is used where it exists. The features are the columns of `naming`, if
    it has any, else all that are neither the label, nor the weight, nor ignored.
    """

    label: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    labelled: bool = True
    no_labels: bool = False
    naming: Naming | None = None

    @property
    def of_columns(self) -> Naming | None:
        """How columns are named, if they have roles."""
        return self.naming if self.naming is not None and self.naming.columns else None


def _label(file: str, names: list[str], roles: Roles) -> str | None:
    if roles.no_labels:
        return None
    wanted = roles.label or (roles.naming.label if roles.naming else None) or DEFAULT_LABEL
    if wanted in names:
        return wanted
    if roles.labelled or roles.label:
        hint = "" if roles.label else " Name the label's column with label= (--label)."
        raise DataError(f"{file}: there is no column {wanted!r}; there are {some_and_nearest(names, wanted)}{hint}")
    return None


@dataclass(frozen=True)
class Columns:
    """The columns to read: the label and the weight, if there are any, and the features."""

    label: str | None
    features: list[str] | None  # None: a pair of ids and values
    weight: str | None = None
    naming: Naming | None = None  # of the features, if they are hashed
    needs_labels: bool = True  # or a row may have none in the label's column

    @classmethod
    def choose(cls, file: str, names: list[str], roles: Roles, pairs: bool = True) -> Columns:
        """Choose the columns by name."""
        wanted, known = _label(file, names, roles), frozenset(names)
        weight = roles.weight
        if weight is not None and weight not in known:
            if roles.labelled:
                raise DataError(
                    f"{file}: there is no column {weight!r} for weights; there are {some_and_nearest(names, weight)}"
                )
            weight = None
        if weight is not None and weight == wanted:
            raise DataError(f"{file}: column {weight!r} can't be both label and weight.")
        unknown = next((name for name in roles.ignore if name not in known), None)
        if unknown is not None and roles.labelled:
            raise DataError(
                f"{file}: there is no column {unknown!r} to ignore; there are {some_and_nearest(names, unknown)}"
            )
        for role, name in (("label", wanted), ("weight", weight)):
            if name is not None and name in roles.ignore:
                raise DataError(f"{file}: column {name!r} can't be ignored: it is the {role}. Name another {role}.")
        _refuse_repeated(file, names)
        if roles.of_columns is not None:
            return cls._named(file, names, roles, wanted, weight)
        others = {wanted, weight, *roles.ignore}
        rest = [name for name in names if name not in others]
        if not rest:
            raise DataError(f"{file}: no column is left for the features.")
        features = None if pairs and set(rest) == set(_PAIR) else rest
        return cls(wanted, features, weight, needs_labels=roles.labelled)

    @classmethod
    def _named(cls, file: str, names: list[str], roles: Roles, label: str | None, weight: str | None) -> Columns:
        naming = roles.of_columns
        assert naming is not None
        features = [name for name, _ in naming.columns]
        _refuse_missing(file, names, features)
        for role, name in (("label", label), ("weight", weight)):
            if name in features:
                raise DataError(f"{file}: column {name!r} can't be both {role} and a feature. Name another {role}.")
        return cls(label, features, weight, naming, roles.labelled)

    @property
    def all(self) -> list[str]:
        """The names of all columns that are read."""
        return [*(self.features or _PAIR), *(name for name in (self.label, self.weight) if name is not None)]

    @property
    def names(self) -> list[str] | None:
        """The names of the features, where each is a column."""
        return self.features if self.naming is None else None

    @property
    def numbers(self) -> list[str]:
        """The names of the columns that must hold numbers."""
        numbers = (self.features or ()) if self.naming is None else self.naming.numeric
        return [*numbers, *([] if self.weight is None else [self.weight])]

    @property
    def strings(self) -> list[str]:
        """The names of the columns that are read as text, whatever it looks like."""
        return [] if self.naming is None else [*self.naming.text, *self.naming.categorical]

    def check_names(self, file: str, names: list[str]) -> None:
        """Raise DataError if a column is missing, or if two have the same name."""
        _refuse_repeated(file, names)
        _refuse_missing(file, names, self.all)

    def check_types(self, file: str, schema: Any) -> None:
        """Raise DataError if a column is missing or has a type that can't be read."""
        self.check_names(file, schema.names)
        if self.naming is not None:
            check_kinds(file, schema, self.naming)
        for name in (self.features or ()) if self.naming is None else ():
            if not is_numeric(schema.field(name).type):
                raise DataError(
                    f"{file}: column {name!r} has type {schema.field(name).type}; features must be numbers, unless "
                    "text=, categorical= and numeric= (--text, --categorical, --numeric) say what columns are. Leave "
                    f"it out with ignore= (--ignore {name})."
                )
        for name in () if self.features else _PAIR:
            kind, is_right = schema.field(name).type, _is_whole if name == "ids" else is_numeric
            if not is_list(kind) or not is_right(kind.value_type):
                whole = "whole numbers" if name == "ids" else "numbers"
                raise DataError(f"{file}: column {name!r} has type {kind}; it must hold lists of {whole}.")
        if self.label is not None:
            kind = schema.field(self.label).type
            plain = kind.value_type if arrow().types.is_dictionary(kind) else kind
            is_empty = arrow().types.is_null(plain) and not self.needs_labels
            if not (is_numeric(plain) or arrow().types.is_decimal(plain) or is_text(plain) or is_empty):
                raise DataError(f"{file}: the label has type {kind}; it must be a number or text.")
        if self.weight is not None and not is_numeric(schema.field(self.weight).type):
            kind = schema.field(self.weight).type
            raise DataError(f"{file}: the weight {self.weight!r} has type {kind}; it must be a number.")


def _refuse_repeated(file: str, names: list[str]) -> None:
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise DataError(f"{file}: two columns have the name {twice!r}: rename one.")


def _refuse_missing(file: str, names: list[str], wanted: list[str]) -> None:
    known = frozenset(names)
    missing = next((name for name in wanted if name not in known), None)
    if missing is not None:
        raise DataError(f"{file}: there is no column {missing!r}; there are {some_and_nearest(names, missing)}")


def to_batch(table: Any, columns: Columns, skip_bad: bool, end_byte: int = 0, n_bytes: int = 0) -> Batch:
    """Return the rows of a record batch that passed the checks of structure and types."""
    checked = _Checked(table, skip_bad)
    try:
        labels = _labels(checked, columns.label, columns.needs_labels)
        weights = None if columns.weight is None else _weights(checked, columns.weight)
        if columns.naming is not None:
            batch = _named(checked, columns.naming)
        else:
            batch = _from_lists(checked) if columns.features is None else _from_columns(checked, columns.features)
        batch.labels = labels[checked.left]
        batch.importances = None if weights is None else weights[checked.left]
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


class _Checked:
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
        keep = ~bad
        self.table, self.numbers = self.table.filter(arrow().array(keep)), numbers[keep]

    @property
    def left(self) -> Any:
        """The remaining rows, as an index into all rows."""
        return slice(None) if self.numbers is None else self.numbers


def _labels(checked: _Checked, name: str | None, are_needed: bool) -> NDArray[Any]:
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
    if _is_whole(column.type):
        whole: NDArray[Any] = column.fill_null(0).to_numpy(zero_copy_only=False)
        if are_large(whole).any():
            return whole if are_needed or not lost.any() else np.where(lost, "", as_words(whole))
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
    pa, known = arrow(), labels_read([label for label in labels if label is not None])
    if known.dtype.kind == "U":
        return pa.array([None if label is None else shown(label) for label in labels], pa.string())
    if known.dtype.kind == "f":
        return pa.array(labels, pa.float64())
    return pa.array([None if label is None else int(label) for label in labels], pa.from_numpy_dtype(known.dtype))


def _weights(checked: _Checked, name: str) -> NDArray[np.float64]:
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


def _from_columns(checked: _Checked, names: list[str]) -> Batch:
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

        keep: NDArray[np.bool_] = np.all(finite, axis=1)
        checked.drop(~keep, why)
        dense = dense[keep]
    rows, ids = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    values = dense[rows, ids]
    return Batch(starts.astype(np.int32), ids.astype(np.int32), values, np.empty(0), len(names) - 1, zero_seen=True)


def _named(checked: _Checked, naming: Naming) -> Batch:
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


def _from_lists(checked: _Checked) -> Batch:
    for name in _PAIR:
        null = checked.table.column(name).is_null().to_numpy(zero_copy_only=False)
        checked.drop(null, partial(_always, f"{name} is missing"))
    for name in _PAIR:
        flat = checked.table.column(name).flatten()
        if flat.null_count:
            null = _any(_starts(checked.table.column(name)), flat.is_null().to_numpy(zero_copy_only=False))
            checked.drop(null, partial(_always, f"{name} has a missing entry"))
    lengths: list[Any] = [np.diff(_starts(checked.table.column(name))) for name in _PAIR]
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
        keep = ~too_large
        stays = np.repeat(keep, np.diff(starts))
        starts = np.concatenate([[0], np.cumsum(np.diff(starts)[keep])])
        ids, values = ids[stays], values[stays]
    return Batch(starts, ids, values, np.empty(0), int(ids.max(initial=-1)), bool(np.any(ids == 0)))


def mean_length(table: Any) -> int:
    """Return the mean length of the lists in a table."""
    return int(len(table.column("ids").flatten()) / max(1, table.num_rows))


def _flat(table: Any) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]:
    """Return the offsets of the lists, their ids, int64 or uint64, and their values."""
    ids, values = (table.column(name).flatten().to_numpy(zero_copy_only=False) for name in _PAIR)
    with np.errstate(over="ignore"):  # what is too large for float32 is found as not finite
        values = values.astype(np.float32)
    return _starts(table.column("ids")), ids if ids.dtype == np.uint64 else ids.astype(np.int64), values


def _starts(lists: Any) -> NDArray[np.int64]:
    offsets: NDArray[np.int64] = lists.offsets.to_numpy().astype(np.int64)
    offsets -= offsets[0]
    return offsets


def _any(starts: NDArray[np.int64], marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows have a marked value."""
    before = np.concatenate([[0], np.cumsum(marked)])
    rows: NDArray[np.bool_] = before[starts[1:]] > before[starts[:-1]]
    return rows


def _is_whole(kind: Any) -> bool:
    return bool(arrow().types.is_integer(kind))
