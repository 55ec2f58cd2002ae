"""What the columns of a table are for, by their first rows: text, categories, numbers, or nothing.

`train`, `open_stream(roles="auto")` and `ColumnHasher` decide here, once. The decision is the stream's `Naming`, which
a model keeps, so that whatever is read with the model later is read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import DataError
from thresher.messages import count_noun, shorten
from thresher.model.names import MOST_PREFIXES, Naming
from thresher.streams.arrow_values import (
    arrow,
    as_bytes,
    can_be_category,
    coded_type,
    content_of_type,
    has_entries,
    is_list,
    is_number,
    is_text,
    plain_type,
    plain_values,
)
from thresher.streams.columns import PAIR, ROLES, Roles, is_pattern
from thresher.streams.scales import scales_of

FIRST_ROWS = 10_000
LEFT_OUT = "left out"

_WORDS_OF_TEXT = 4  # a column of strings is text if their median has more words
_FEW_VALUES, _ROWS_PER_VALUE = 50, 20  # of whole numbers that are categories
_MOST_COLUMNS_OF_FEW_VALUES = 100  # where there are more, they are counts or pixels
_FEWEST_IDS = 20  # rows that show that a column is different in each
_SPREAD_OF_CODES = 50  # how much larger than the number of codes their range is
_MOST_SHOWN = 40  # columns

# The last word of the name of a column of codes.
_CODES = frozenset(
    {"id", "ids", "uid", "uuid", "guid", "key", "code", "codes", "ip", "app", "apps", "channel", "device", "os"}
    | {"browser", "site", "user", "item", "product", "sku", "ean", "isbn", "store", "shop", "hash", "category", "type"}
    | {"zip", "zipcode", "postcode", "plz"}
)


@dataclass(frozen=True)
class ColumnRole:
    """A column, what it holds, and what it is for.

    Attributes
    ----------
    name : str
        The column.
    type : str
        What it holds, in words.
    role : {"text", "categorical", "numeric", "left out"}
        What it is for.
    example : str
        A value.
    why : str
        Why it is left out.
    """

    name: str
    type: str
    role: str
    example: str
    why: str = ""


@dataclass(frozen=True)
class TableRoles:
    """The columns of a table that are not the label, the weight, or ignored, with their roles."""

    columns: tuple[ColumnRole, ...]

    @property
    def left_out(self) -> list[ColumnRole]:
        """The columns that are left out."""
        return [each for each in self.columns if each.role == LEFT_OUT]

    def to_dict(self) -> dict[str, str]:
        """Return the role of each column."""
        return {each.name: each.role for each in self.columns}

    def __str__(self) -> str:
        shown = [each for each in self.columns if each.role != LEFT_OUT][:_MOST_SHOWN] + self.left_out[:_MOST_SHOWN]
        rows = [("column", "type", "role", "example")]
        for each in shown:
            why = f"{each.role}: {each.why}" if each.why else each.role
            rows.append((shorten(each.name), each.type, why, each.example))
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows]
        if len(shown) < len(self.columns):
            counts = {role: sum(each.role == role for each in self.columns) for role in (*ROLES, LEFT_OUT)}
            of_each = ", ".join(f"{n:,} {role}" for role, n in counts.items() if n)
            lines.append(f"… {count_noun(len(self.columns), 'column')} in all: {of_each}")
        return "\n".join(lines)


def settle_roles(file: str, roles: Roles, first_rows: Callable[[int], Any]) -> tuple[Roles, TableRoles | None]:
    """Return the roles with everything decided that the first rows decide, and what was decided, if it was asked for.

    These are the columns that patterns stand for, the roles of columns without one, and the scales of numbers. What the
    data of a model were read by is never decided again. `first_rows(n)` returns up to n rows of all columns. What is
    wrong with the columns that were named is left to `Columns.choose`.
    """
    known, decide = roles.known, roles.decide and roles.known is None
    given = roles.naming or Naming(label=roles.label)
    has_patterns = any(map(is_pattern, [*roles.ignore, *(name for name, _ in given.columns)]))
    by_rows = decide or (roles.scale and bool(given.numeric) and known is None)
    if given is known or not (by_rows or has_patterns):
        return _with_scales_of(known, roles), None
    table = first_rows(FIRST_ROWS if by_rows else 0)
    names = table.schema.names
    if len(set(names)) < len(names):
        return roles, None
    roles, given = _expand(roles, given, names)
    if roles.naming is None and not decide:  # columns to ignore
        return roles, None
    decided = None
    if decide:
        named, taken = dict(_pairs(given)), _no_features(roles)
        features = [name for name in names if name not in taken]
        is_pair = set(features) == set(PAIR) and all(is_list(table.schema.field(name).type) for name in PAIR)
        if not named and (is_pair or len(features) > MOST_PREFIXES - 2):  # too many for names
            return replace(roles, naming=None, decide=False), None
        _refuse_damaged(file, table, features)
        decided = _decide(table, features, named)
        # A column that is named and not there stays, to be reported.
        text, categorical, numeric = (
            tuple(dict.fromkeys([*(each.name for each in decided.columns if each.role == role), *getattr(given, role)]))
            for role in ROLES
        )
        given = replace(given, text=text, categorical=categorical, numeric=numeric)
    if by_rows and roles.scale:
        there = {name: table.column(name) for name in given.numeric if name in names}
        _refuse_damaged(file, table, there)
        scales, missing = scales_of([there.get(name) for name in given.numeric])
        lacking = tuple(name for name, is_missing in zip(given.numeric, missing, strict=True) if is_missing)
        given = replace(given, scales=scales, missing=lacking)
    return _with_scales_of(known, replace(roles, naming=given)), decided


def _refuse_damaged(file: str, table: Any, names: Iterable[str]) -> None:
    """Raise DataError if an offset, a length or a code is out of range: pyarrow does not check what others made.

    Strings need not be UTF-8: each row is checked when it is read.
    """
    for name in names:
        try:
            for chunk in table.column(name).chunks:
                as_bytes(chunk).validate(full=True)
        except arrow().ArrowException as error:
            why = " ".join(str(error).split())
            where = f"{file}, rows 1 to {len(table)}"
            raise DataError(f"{where}: the data are damaged (column {name!r}: {why}): recreate them.") from None


def _with_scales_of(known: Naming | None, roles: Roles) -> Roles:
    """Return the roles with the scales of a model, whose columns they must be."""
    given = roles.naming
    if known is None or given is None or set(known.numeric) != set(given.numeric):
        return roles
    scales = tuple(known.scale_of[name] for name in given.numeric) if known.scales else ()
    crosses = given.crosses or known.crosses
    return replace(roles, naming=replace(given, scales=scales, missing=known.missing, crosses=crosses))


def _no_features(roles: Roles) -> set[str | None]:
    return {None if roles.no_labels else roles.label_name, roles.weight, roles.key, *roles.ignore}


def _pairs(naming: Naming) -> list[tuple[str, str]]:
    return [(name, role) for role in ROLES for name in getattr(naming, role)]


def _expand(roles: Roles, given: Naming, names: list[str]) -> tuple[Roles, Naming]:
    """Return them with patterns replaced by the columns that have no other role; one that fits none stays."""
    taken = {name for name, _ in _pairs(given)} | _no_features(roles)
    known = frozenset(names)

    def expand(wanted: Sequence[str]) -> tuple[str, ...]:
        found: list[str] = []
        for each in wanted:
            fitting = []
            if is_pattern(each) and each not in known:
                fitting = [name for name in names if name not in taken and fnmatchcase(name, each)]
            found += fitting or [each]
        return tuple(dict.fromkeys(found))

    text, categorical, numeric = map(expand, (given.text, given.categorical, given.numeric))
    expanded = replace(given, text=text, categorical=categorical, numeric=numeric)
    return replace(roles, ignore=expand(roles.ignore)), expanded


def _decide(table: Any, features: list[str], named: dict[str, str]) -> TableRoles:
    columns = []
    for name in features:
        column = table.column(name).combine_chunks()
        values = _Values.of(column)
        role, why = (named[name], "") if name in named else _role(name, values, table.num_rows)
        columns.append((ColumnRole(name, values.type, role, values.example, "" if role != LEFT_OUT else why), why))
    few = [about.name for about, why in columns if why == _FEW]
    if len(few) > _MOST_COLUMNS_OF_FEW_VALUES:
        columns = [(replace(about, role="numeric") if why == _FEW else about, why) for about, why in columns]
    return TableRoles(tuple(about for about, _ in columns))


_FEW = "few values"
_UNIQUE = "different in every row"


def _role(name: str, values: _Values, n_rows: int) -> tuple[str, str]:
    """Return the role of a column, and why."""
    kind = plain_type(values.kind)
    if re.fullmatch(r"__index_level_\d+__", name):
        return LEFT_OUT, "the index of a data frame"
    if has_entries(values.kind) and not (is_list(values.kind) and values.is_whole):
        return ("numeric", "") if values.n else (LEFT_OUT, "it has no value")
    if not can_be_category(kind):
        return LEFT_OUT, f"{values.kind} can't be a feature"
    if values.n == 0:
        return (LEFT_OUT, "it has no value") if n_rows else (_role_by_type(values), "")
    if is_list(values.kind):
        return "categorical", ""
    if values.is_one and values.n > 1:
        return (LEFT_OUT, "always the same") if values.n == n_rows else ("categorical", "")
    if values.numbers is not None and not arrow().types.is_dictionary(values.kind):
        return _role_of_numbers(name, values)
    if values.is_text:
        return "text", ""
    if values.n >= _FEWEST_IDS and values.n_distinct == values.n:
        return LEFT_OUT, _UNIQUE
    return "categorical", ""


def _role_by_type(values: _Values) -> str:
    is_measured = is_number(values.kind) and not arrow().types.is_boolean(values.kind)
    return "numeric" if is_measured else "categorical"


def _role_of_numbers(name: str, values: _Values) -> tuple[str, str]:
    numbers = values.numbers
    assert numbers is not None
    if not values.is_whole:
        return "numeric", ""
    least, most = float(numbers.min()), float(numbers.max())
    is_code = least >= 0 and _has_name_of_codes(name)
    if values.n >= _FEWEST_IDS and values.n_distinct == values.n:
        steps = np.diff(numbers)
        if is_code or most - least < 2 * values.n or bool((steps > 0).all()) or bool((steps < 0).all()):
            return LEFT_OUT, _UNIQUE
    if values.n_distinct == 2 and least == 0 and most == 1:
        return "numeric", ""
    if is_code:
        return "categorical", ""
    if values.n_distinct <= _FEW_VALUES and values.n_distinct * _ROWS_PER_VALUE <= values.n:
        return "categorical", _FEW
    return ("categorical" if _are_codes(numbers) else "numeric"), ""


def _has_name_of_codes(name: str) -> bool:
    words = re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])", name)
    return bool(words) and (words[-1].lower() in _CODES or words[0].lower() == "id")


def _are_codes(numbers: NDArray[np.float64]) -> bool:
    """Return whether whole numbers look like codes, whatever their column is called.

    They repeat, lie far apart, and are neither mostly 0, as amounts of money can be, nor round.
    """
    found, counts = np.unique(numbers, return_counts=True)
    repeats = 2 * len(found) <= len(numbers) and found[0] >= 0
    lie_apart = found[-1] - found[0] > _SPREAD_OF_CODES * len(found)
    return bool(repeats and lie_apart and found[counts.argmax()] != 0 and np.mean(found % 10 == 0) < 0.5)


@dataclass(frozen=True)
class _Values:
    """The values of a column, without those that are missing."""

    kind: Any
    type: str  # in words
    n: int
    example: str
    column: Any
    numbers: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, column: Any) -> _Values:
        pa = arrow()
        kind, plain = column.type, plain_type(column.type)
        if not can_be_category(plain):
            there = column.drop_null() if has_entries(kind) else []
            example = shorten(str(there[0].as_py()), 30) if len(there) else ""
            return cls(kind, "dictionaries" if has_entries(kind) else str(kind), len(there), example, column)
        values = plain_values(column).drop_null()
        if pa.types.is_floating(values.type):
            values = values.filter(pa.compute.invert(pa.compute.is_nan(values)))
        elif is_text(values.type):
            values = _valid_text(values)
            values = values.filter(pa.compute.not_equal(pa.compute.utf8_trim_whitespace(values), ""))
        n = len(values)
        example = shorten(" ".join(str(values[0].as_py()).split()), 30) if n else ""
        numbers = None
        if is_number(coded_type(kind)) and not pa.types.is_boolean(plain):
            numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        if is_list(kind):
            return cls(kind, f"lists of {content_of_type(plain)}", n, example, values, numbers)
        about = cls(kind, content_of_type(plain) or "nothing", n, example, values, numbers)
        whole = about.numbers is not None and about.n > 0 and about.is_whole
        if not whole:
            return about
        # Pandas writes whole numbers beside missing ones as floats.
        return replace(about, type="whole numbers", example=example.removesuffix(".0"))

    @property
    def is_whole(self) -> bool:
        """Whether all numbers are whole ones."""
        if self.numbers is None:
            return bool(arrow().types.is_integer(plain_type(self.kind)))
        return bool(np.isfinite(self.numbers).all() and (np.trunc(self.numbers) == self.numbers).all())

    @property
    def is_one(self) -> bool:
        """Whether all values are the same."""
        if self.numbers is not None:
            return bool(self.numbers.min() == self.numbers.max())
        return self.n_distinct == 1

    @property
    def n_distinct(self) -> int:
        return int(arrow().compute.count_distinct(self.column).as_py())

    @property
    def is_text(self) -> bool:
        """Whether strings are text: their median has more than four words, or most differ and have three or more."""
        if not is_text(coded_type(self.kind)) or arrow().types.is_dictionary(self.kind):
            return False
        n_words = [len(value.split()) for value in self.column.to_pylist()]
        are_long = float(np.median(n_words)) > _WORDS_OF_TEXT
        return are_long or (self.n >= 10 and 2 * self.n_distinct > self.n and sum(n_words) >= 3 * self.n)


def _valid_text(values: Any) -> Any:
    """Return strings with a replacement for what is not UTF-8."""
    pa = arrow()
    as_written = values.cast(pa.large_binary())
    try:
        return as_written.cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array([value.decode(errors="replace") for value in as_written.to_pylist()], pa.large_string())
