"""Values of Arrow's columns, as numpy and the core take them, and what type they have."""

from __future__ import annotations

import importlib
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import DataError
from thresher.model.labels import label_text, labels_from_values
from thresher.model.names import Naming


@cache  # each column asks for it
def arrow() -> Any:
    """Return pyarrow, an optional dependency."""
    try:
        for part in ("compute", "csv", "ipc", "parquet"):
            importlib.import_module(f"pyarrow.{part}")
    except ImportError:
        raise DataError(
            "CSV, Parquet and Arrow files need pyarrow: install it with pip install 'thresher[arrow]'."
        ) from None
    return importlib.import_module("pyarrow")


@cache
def _ids_of_numbers() -> frozenset[int]:
    pa = arrow()
    whole = (pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64)
    return frozenset(kind().id for kind in (pa.bool_, pa.float16, pa.float32, pa.float64, *whole))


def is_numeric(kind: Any) -> bool:
    """Return whether a column of this type has numbers; booleans count as 0 and 1."""
    return kind.id in _ids_of_numbers()


def is_text(kind: Any) -> bool:
    """Return whether a column of this type has strings."""
    types = arrow().types
    has_views = hasattr(types, "is_string_view")
    return bool(types.is_string(kind) or types.is_large_string(kind) or (has_views and types.is_string_view(kind)))


def is_list(kind: Any) -> bool:
    """Return whether a column of this type has lists."""
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_number(kind: Any) -> bool:
    """Return whether a column of this type has numbers, decimals among them."""
    return is_numeric(kind) or bool(arrow().types.is_decimal(kind))


def has_entries(kind: Any) -> bool:
    """Return whether each value of this type has several numbers: in a map or a struct by name, in a list by place."""
    types = arrow().types
    if types.is_map(kind):
        return is_number(kind.item_type) and (is_text(kind.key_type) or types.is_integer(kind.key_type))
    if types.is_struct(kind):
        return kind.num_fields > 0 and all(is_number(field.type) or types.is_null(field.type) for field in kind)
    return is_list(kind) and is_number(kind.value_type)


def is_null(kind: Any) -> bool:
    """Return whether a column of this type has no values."""
    return bool(arrow().types.is_null(kind))


def plain_type(kind: Any) -> Any:
    """Return the type of the values of a list or dictionary."""
    kind = coded_type(kind)
    return coded_type(kind.value_type) if is_list(kind) else kind


def coded_type(kind: Any) -> Any:
    """Return the type of the values of a dictionary."""
    return kind.value_type if arrow().types.is_dictionary(kind) else kind


def can_be_category(kind: Any) -> bool:
    """Return whether values of this type can be categories."""
    types = arrow().types
    is_time = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)
    return bool(is_text(kind) or is_number(kind) or is_time or is_null(kind))


@cache  # most columns of a table have the same type
def content_of_type(kind: Any) -> str:
    """Return what a column of this type holds, in words."""
    types = arrow().types
    if is_text(kind):
        return "text"
    if types.is_map(kind) or types.is_struct(kind):
        return "dictionaries"
    if types.is_boolean(kind):
        return "true and false"
    if types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0):
        return "whole numbers"
    if is_number(kind):
        return "numbers"
    if types.is_time(kind):
        return "times of day"
    return "" if is_null(kind) else "dates"


def plain_values(column: Any) -> Any:
    """Return a column without a dictionary, strings as large strings, and lists as such, whatever their size.

    Pyarrow can't do everything with the others.
    """
    pa = arrow()
    if pa.types.is_fixed_size_list(column.type):
        return column.cast(pa.large_list(column.type.value_type))
    if pa.types.is_dictionary(column.type):
        dictionary = column.dictionary
        if is_text(dictionary.type):
            dictionary = dictionary.cast(pa.large_string())
        return dictionary.take(column.indices)
    return column.cast(pa.large_string()) if is_text(column.type) else column


def without_decimals(column: Any) -> Any:
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


def column_of_values(values: list[Any]) -> Any:
    """Return values of JSON as a column; numbers beside words are words."""
    pa = arrow()
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    with suppress(pa.ArrowException, OverflowError, UnicodeEncodeError):
        return pa.array(values)
    if kinds <= {str, int, float, bool}:
        words = [None if value is None else str(value).encode(errors="replace").decode() for value in values]
        return pa.array(words, pa.string())
    return pa.array([None if value is None else {} for value in values], pa.struct([]))


def joined(tables: list[Any]) -> Any:
    """Return the rows of several tables, whose columns can differ, as one; numbers beside words are words."""
    pa = arrow()
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table.schema.names)
    columns = {}
    for name in names:
        parts = [table.column(name) if name in table.schema.names else pa.nulls(len(table)) for table in tables]
        kinds = {part.type for part in parts if not is_null(part.type)}
        kind = next(iter(kinds), pa.null())
        if len(kinds) > 1:
            kind = pa.float64() if all(is_number(each) for each in kinds) else pa.string()
        columns[name] = pa.chunked_array([chunk for part in parts for chunk in _chunks(part.cast(kind))], kind)
    return pa.table(columns)


def _chunks(column: Any) -> list[Any]:
    return column.chunks if isinstance(column, arrow().ChunkedArray) else [column]


def read_named(table: Any, naming: Naming, skip_bad: bool = False) -> _core.FoundRows:
    """Return what the core finds in the columns of text, categories and numbers; their types must have been checked."""
    kinds = {"text": _strings, "category": _strings, "number": _numbers}
    columns = [kinds[kind](table.column(name)) for name, kind in naming.columns]
    return naming.core.read_columns(columns, table.num_rows, skip_bad)


def keys_of(column: Any) -> NDArray[Any]:
    """Return what identifies rows: whole numbers and strings as they are, anything else as text; None is missing."""
    column = plain_values(column)
    if not (is_text(column.type) or arrow().types.is_integer(column.type)):
        column = _as_strings(column)
    return np.array([*column.to_pylist(), None], dtype=object)[:-1]  # so that numpy does not look into it


def numbers_from_text(batch: Any, names: list[str]) -> Any:
    """Return a record batch in which these columns of text hold numbers, if every value is one."""
    pa = arrow()
    for name in names:
        text = pa.compute.utf8_trim_whitespace(plain_values(batch.column(name)))
        text = pa.compute.if_else(pa.compute.equal(text, ""), None, text)
        with suppress(pa.ArrowInvalid):  # else it is refused, by its type
            numbers = text.cast(pa.float64())
            batch = with_column(batch, name, numbers)
    return batch


def as_bytes(column: Any) -> Any:
    """Return a column of strings without a claim that they are UTF-8; any other column as it is."""
    pa = arrow()
    if pa.types.is_string(column.type):
        return column.view(pa.binary())
    return column.view(pa.large_binary()) if pa.types.is_large_string(column.type) else column


def _strings(column: Any) -> _core.TableColumn:
    compute, lists = arrow().compute, None
    column = plain_values(column)
    if is_list(column.type):
        lengths = compute.list_value_length(column).fill_null(0).to_numpy()
        lists = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        column = plain_values(compute.list_flatten(column))  # without what a missing list may hide
    valid = column.is_valid().to_numpy(zero_copy_only=False).view(np.uint8) if column.null_count else None
    return _core.TableColumn(*_string_arrays(column), valid, lists)


def _string_arrays(column: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets and the bytes of values as strings."""
    column = _as_strings(column)
    _, offsets, text = column.buffers()
    starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(text, np.uint8) if text is not None else np.zeros(0, np.uint8)
    return (starts if len(starts) else np.zeros(1, np.int64)), content


def _as_strings(column: Any) -> Any:
    """Return values as strings, which the core turns into names: numbers by value, times in UTC."""
    pa = arrow()
    kind, compute = column.type, pa.compute
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    if pa.types.is_decimal(kind):
        return compute.replace_substring_regex(column.cast(pa.large_string()), r"(\.\d*[1-9])0+$", r"\1")
    if not pa.types.is_floating(kind):
        return column.cast(pa.large_string())
    if pa.types.is_float16(kind):  # pyarrow can do little with it
        column = column.cast(pa.float32())
    column = compute.if_else(compute.is_nan(column), None, column)  # NaN is how pandas writes a missing value
    is_whole = compute.and_(compute.equal(compute.trunc(column), column), compute.less(compute.abs(column), 2.0**63))
    whole = compute.if_else(is_whole, column, 0.0).cast(pa.int64())
    return compute.if_else(is_whole, whole.cast(pa.large_string()), column.cast(pa.large_string()))


def _numbers(column: Any) -> _core.TableColumn:
    if has_entries(column.type):
        return _entries(column)
    return _core.TableColumn.of_numbers(floats_of(column))


def _entries(column: Any) -> _core.TableColumn:
    """Return the numbers of each row, with their names or places."""
    pa, kind = arrow(), column.type
    compute = pa.compute
    if pa.types.is_struct(kind):
        fields = [floats_of(compute.struct_field(column, [k])) for k in range(kind.num_fields)]
        values = np.column_stack(fields).ravel()
        lists = np.arange(len(column) + 1) * kind.num_fields
        keys = pa.array([field.name for field in kind]).take(pa.array(np.tile(np.arange(len(fields)), len(column))))
    else:
        if pa.types.is_map(kind):
            entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
            column = column.cast(pa.list_(entry))
        column = plain_values(column)
        lengths = compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        lists = np.concatenate([[0], np.cumsum(lengths)])
        column = compute.list_flatten(column)
        if pa.types.is_map(kind):
            keys, values = compute.struct_field(column, [0]), floats_of(compute.struct_field(column, [1]))
        else:
            keys, values = pa.array(np.arange(lists[-1]) - np.repeat(lists[:-1], lengths)), floats_of(column)
    strings = _string_arrays(keys)
    return _core.TableColumn.of_entries(*strings, lists.astype(np.int64), values)


def floats_of(column: Any) -> NDArray[np.float64]:
    """Return numbers as float64, NaN for a missing one."""
    return np.ascontiguousarray(numpy_of(column.cast(arrow().float64(), safe=False)))


def numpy_of(column: Any) -> NDArray[Any]:
    """Return a column as numpy has it. Pyarrow's own way loads pandas, which takes half a second."""
    kind = column.type
    if column.null_count or not is_numeric(kind) or arrow().types.is_boolean(kind):
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
    buffer = column.buffers()[1]
    if buffer is None:
        return np.zeros(0, kind.to_pandas_dtype())
    return np.frombuffer(buffer, kind.to_pandas_dtype())[column.offset : column.offset + len(column)]


def nulls_of(column: Any) -> NDArray[np.bool_]:
    """Return which values are missing."""
    if column.null_count == 0:
        return np.zeros(len(column), bool)
    nulls: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return nulls


def with_column(batch: Any, name: str, values: Any) -> Any:
    """Return a record batch or table with a column replaced, or added at its end; pyarrow 15 has no call for both."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    return type(batch).from_pydict(columns | {name: values})
