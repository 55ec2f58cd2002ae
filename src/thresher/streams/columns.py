"""Columns of Arrow tables as the core reads them: text, categories and numbers."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.naming import Naming
from thresher.streams.stream import DataError


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


def table_columns(table: Any, naming: Naming) -> list[_core.TableColumn]:
    """Return the columns of a record batch that are features; their types must have been checked."""
    kinds = {"text": _strings, "category": _categories, "number": _numbers}
    return [kinds[kind](table.column(name)) for name, kind in naming.columns]


def check_kinds(file: str, schema: Any, naming: Naming) -> None:
    """Raise DataError if a column has a type that its role does not allow."""
    for name, kind in naming.columns:
        type_ = schema.field(name).type
        plain = _plain(type_)
        if kind == "text" and not is_text(plain):
            raise DataError(
                f"{file}: column {name!r} has type {type_}; a text column must hold strings. Numbers are numeric= or "
                "categorical= (--numeric, --categorical)."
            )
        if kind == "number" and (plain != type_ or not (is_numeric(plain) or arrow().types.is_decimal(plain))):
            raise DataError(
                f"{file}: column {name!r} has type {type_}; a numeric column must hold numbers. Strings, dates and "
                "times are categorical= (--categorical), or text= (--text)."
            )
        if kind == "category" and not _can_be_category(plain):
            raise DataError(f"{file}: column {name!r} has type {type_}, which can't be a category.")


def kind_of(type_: Any, where: str) -> str:
    """Return the role that a column of this type has unless the user gives it another."""
    plain, types = _plain(type_), arrow().types
    if plain == type_ and not types.is_boolean(plain) and (is_numeric(plain) or types.is_decimal(plain)):
        return "numeric"
    if not _can_be_category(plain):
        raise DataError(f"{where} has type {type_}, which can't be a feature: leave it out.")
    return "categorical"


def _plain(kind: Any) -> Any:
    """Return the type of the values of a list or dictionary."""
    types = arrow().types
    while types.is_dictionary(kind) or is_list(kind):
        kind = kind.value_type
    return kind


def _can_be_category(kind: Any) -> bool:
    types = arrow().types
    return bool(
        is_text(kind) or is_numeric(kind) or types.is_temporal(kind) or types.is_decimal(kind) or types.is_null(kind)
    )


def _strings(column: Any) -> _core.TableColumn:
    lists = None
    if arrow().types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_list(column.type):
        lengths = arrow().compute.list_value_length(column).fill_null(0).to_numpy()
        lists = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        column = arrow().compute.list_flatten(column)  # without what a missing list may hide
        if arrow().types.is_dictionary(column.type):
            column = column.dictionary_decode()
    column = column.cast(arrow().large_string())
    valid = column.is_valid().to_numpy(zero_copy_only=False).view(np.uint8) if column.null_count else None
    _, offsets, text = column.buffers()
    starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(text, np.uint8) if text is not None else np.zeros(0, np.uint8)
    return _core.TableColumn(starts if len(starts) else np.zeros(1, np.int64), content, valid, lists)


def _categories(column: Any) -> _core.TableColumn:
    types, compute = arrow().types, arrow().compute
    if types.is_floating(column.type):
        column = compute.if_else(compute.is_nan(column), None, column)  # NaN is how pandas writes a missing value
    return _strings(column)


def _numbers(column: Any) -> _core.TableColumn:
    numbers: NDArray[np.float64] = column.cast(arrow().float64()).to_numpy(zero_copy_only=False)
    return _core.TableColumn.of_numbers(np.ascontiguousarray(numbers))  # a missing value is NaN


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
