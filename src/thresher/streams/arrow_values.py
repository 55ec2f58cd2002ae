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

_FIRST_ROWS = 1_000  # that show whether strings are text


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


def is_numeric(kind: Any) -> bool:
    """Return whether a column of this type has numbers; booleans count as 0 and 1."""
    types = arrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_text(kind: Any) -> bool:
    """Return whether a column of this type has strings."""
    types = arrow().types
    has_views = hasattr(types, "is_string_view")
    return bool(types.is_string(kind) or types.is_large_string(kind) or (has_views and types.is_string_view(kind)))


def is_list(kind: Any) -> bool:
    """Return whether a column of this type has lists."""
    return bool(arrow().types.is_list(kind) or arrow().types.is_large_list(kind))


def looks_like_text(column: Any) -> bool:
    """Return whether the first values of a column of strings are text, rather than categories.

    There are at least ten of them, most are distinct, and they have three words or more on average. A dictionary
    column holds categories.
    """
    if not is_text(column.type):
        return False
    values = [value for value in plain_values(column[:_FIRST_ROWS]).cast(arrow().large_binary()).to_pylist() if value]
    n_words = sum(len(value.split()) for value in values)
    return len(values) >= 10 and 2 * len(set(values)) > len(values) and n_words >= 3 * len(values)


def plain_values(column: Any) -> Any:
    """Return a column without a dictionary, and strings as large strings: pyarrow can't do everything with views."""
    pa = arrow()
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
    column = _as_strings(column)
    valid = column.is_valid().to_numpy(zero_copy_only=False).view(np.uint8) if column.null_count else None
    _, offsets, text = column.buffers()
    starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(text, np.uint8) if text is not None else np.zeros(0, np.uint8)
    return _core.TableColumn(starts if len(starts) else np.zeros(1, np.int64), content, valid, lists)


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
    numbers: NDArray[np.float64] = column.cast(arrow().float64(), safe=False).to_numpy(zero_copy_only=False)
    return _core.TableColumn.of_numbers(np.ascontiguousarray(numbers))  # a missing value is NaN
