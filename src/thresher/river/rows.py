"""Rows of river, dicts and data frames, as names and values of features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import compress
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher import _core
from thresher.messages import shorten
from thresher.model.class_weights import check_row_weights
from thresher.model.names import are_texts

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas has no types

Row: TypeAlias = Mapping[Any, Any]

ALLOWED = "values must be finite, and not above 3.4e38 (1e18 with norm=None): scale the data."
_LONGEST_NAME = 65_535  # bytes, as of names in files
_ESCAPES = str.maketrans({letter: f"\\{letter}" for letter in "=^\\"})
_NUMBERS = {bool, int, float, np.bool_, np.int32, np.int64, np.float32, np.float64}


def is_plain(x: Row) -> bool:
    """Return whether all keys are text and all values are numbers, so that no item needs a closer look."""
    return _NUMBERS.issuperset(map(type, x.values())) and {str}.issuperset(map(type, x))


def name_of(key: Any, value: Any) -> str:
    """Return the name of an item's feature, as for the columns of a file (docs/names.md)."""
    column = str(key).translate(_ESCAPES)
    if not isinstance(value, str):
        return column
    return f"{column}={_core.category_value(value) if value.isascii() else value}"  # numbers and times are ASCII


def features(x: Row) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names and the values of a row's features."""
    try:
        plain = np.fromiter(x.values(), np.float64, len(x)) if is_plain(x) else None
    except OverflowError:  # a whole number beyond float64: below it gets its name
        plain = None
    if plain is not None:
        names, values = list(x), plain
        letters = "".join(names)
        if "=" in letters or "^" in letters or "\\" in letters:
            names = [name_of(name, 0) for name in names]
    else:
        names = [name_of(key, value) for key, value in x.items()]
        values = np.array([_number(key, value) for key, value in x.items()], np.float64)
    if np.count_nonzero(values) < len(names) or math.isnan(values.dot(values)):
        present = (values != 0.0) & ~np.isnan(values)
        names, values = list(compress(names, present.tolist())), values[present]
    return names, values


def _number(key: Any, value: Any) -> float:
    if value is None or isinstance(value, str):
        return float(bool(value))
    if isinstance(value, Number | np.bool_) and not isinstance(value, complex):
        try:
            return float(cast("float", value))
        except OverflowError:
            raise ValueError(f"x[{shorten(repr(key))}] is {_number_text(value)}; {ALLOWED}") from None
    raise ValueError(
        f"x[{shorten(repr(key))}] is {shorten(repr(value))}; values must be numbers or text, or None where there "
        "is none."
    )


def _number_text(number: Any) -> str:
    try:
        return shorten(str(number))
    except ValueError:  # Python writes no more than 4,300 digits
        return "a number of thousands of digits"


def numbers(X: pd.DataFrame) -> Any:
    """Return the values of columns of numbers that are neither 0 nor missing, as a scipy COO array."""
    import pandas as pd

    is_sparse = all(isinstance(dtype, pd.SparseDtype) and dtype.fill_value == 0 for dtype in X.dtypes)
    if is_sparse and X.shape[1] > 0:
        table = sp.coo_array(X.sparse.to_coo(), dtype=np.float64)
    else:
        table = sp.coo_array(X.to_numpy(np.float64, na_value=np.nan))
    table.data[np.isnan(table.data)] = 0.0
    table.eliminate_zeros()
    return table


def ids_of(names: list[str]) -> NDArray[np.int64]:
    """Return the ids of features by name; raise ValueError for a name that data in files can't have either."""
    if max(map(len, names), default=0) > _LONGEST_NAME // 4:  # a character takes up to 4 bytes
        for name in names:
            if (n_bytes := len(name.encode(errors="replace"))) > _LONGEST_NAME:
                raise ValueError(
                    f"the feature {shorten(name)!r} has a name of {n_bytes:,} bytes, and names must not be longer than "
                    f"{_LONGEST_NAME:,}: shorten it."
                )
    try:
        return _core.name_ids(names)
    except UnicodeEncodeError:
        bad = next(name for name in names if not are_texts([name]))
        raise ValueError(
            f"the feature {shorten(bad)!r} has half a surrogate pair in its name, which UTF-8 can't hold: replace it."
        ) from None


def sorted_ids(names: list[str]) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return the names, their ids in ascending order, and where each stands among the names."""
    ids = ids_of(names)
    places = ids.argsort()
    return names, ids[places], places


def names_by_id(names: list[str]) -> dict[int, str]:
    """Return names by the ids of their features."""
    return dict(zip(_core.name_ids(names).tolist(), names, strict=True))


def row_weights(w: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weight of each row; None if all are 1."""
    weights = check_row_weights("w", w, n_rows)
    return None if np.ndim(w) == 0 and w == 1.0 else weights
