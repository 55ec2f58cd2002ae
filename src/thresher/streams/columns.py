"""Columns of tables: which are read, what each is for, and which types it can have.

A table has a label column and features: columns of text, categories and numbers that are named as such; or a pair of
columns `ids` (list of int) and `values` (list of float); or one numeric column per feature, whose names become the
feature names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, count
from typing import Any

from thresher.batch import DataError
from thresher.messages import join_and_suggest, parameter
from thresher.model.names import Naming
from thresher.streams.arrow_values import arrow, has_entries, is_list, is_number, is_numeric, is_text

PAIR = ("ids", "values")
ROLES = ("text", "categorical", "numeric")  # of features that are columns


@dataclass(frozen=True)
class Roles:
    """The roles of columns, by name.

    With `labelled` there must be a label, else it is used where it exists. The features are the columns of `naming`, if
    it has any, else all that are neither the label, nor the weight, nor ignored.
    """

    label: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    labelled: bool = True
    no_labels: bool = False
    naming: Naming | None = None
    key: str | None = None

    @property
    def label_demand(self) -> str:
        """Whether rows must have a label, in the core's terms."""
        return "none" if self.no_labels else "required" if self.labelled else "optional"

    @property
    def label_name(self) -> str:
        """The name of the label's column, if there is one."""
        return self.label or (self.naming.label if self.naming else None) or "label"

    @property
    def of_columns(self) -> Naming | None:
        """How columns are named, if they have roles."""
        return self.naming if self.naming is not None and self.naming.columns else None


@dataclass(frozen=True)
class Columns:
    """The columns to read: the label and the weight, if there are any, and the features."""

    label: str | None
    features: list[str] | None  # None: a pair of ids and values
    weight: str | None = None
    naming: Naming | None = None  # of the features, if they are hashed
    needs_labels: bool = True  # or a row may have none in the label's column
    key: str | None = None  # identifies the rows

    @classmethod
    def choose(cls, file: str, names: list[str], roles: Roles, pairs: bool = True) -> Columns:
        """Choose the columns by name."""
        label, weight = None if roles.no_labels else roles.label_name, roles.weight
        if not roles.labelled:  # what is not there is not needed
            label = label if label in names or roles.label else None
            weight = weight if weight in names else None
        _refuse_missing(
            file,
            names,
            [label],
            hint="" if roles.label else f" Name the label's column with {parameter('label', ...)}.",
        )
        _refuse_missing(file, names, [weight], " for weights")
        _refuse_missing(file, names, [roles.key], " as the key")
        _refuse_missing(file, names, roles.ignore if roles.labelled else (), " to ignore")
        if weight is not None and weight == label:
            raise DataError(f"{file}: column {weight!r} can't be both label and weight.")
        refuse_key(file, label, weight, roles.key)
        for role, name in (("label", label), ("weight", weight)):
            if name is not None and name in roles.ignore:
                raise DataError(f"{file}: column {name!r} can't be ignored: it is the {role}. Name another {role}.")
        _refuse_repeated(file, names)
        if (naming := roles.of_columns) is not None:
            named = [name for name, _ in naming.columns]
            _refuse_missing(file, names, named)
            refuse_clash(file, named, label, weight, roles.key)
            return cls(label, named, weight, naming, roles.labelled, roles.key)
        others = {label, weight, roles.key, *roles.ignore}
        rest = [name for name in names if name not in others]
        if not rest:
            raise DataError(f"{file}: no column is left for the features.")
        features = None if pairs and set(rest) == set(PAIR) else rest
        return cls(label, features, weight, needs_labels=roles.labelled, key=roles.key)

    def with_types(self, schema: Any) -> Columns:
        """Return them with a naming that knows what the categorical columns of a table hold."""
        if self.naming is None:
            return self
        types = tuple(_content(_plain(schema.field(name).type)) for name in self.naming.categorical)
        return replace(self, naming=replace(self.naming, types=types))

    def contents(self, schema: Any) -> dict[str, str]:
        """Return what the columns that are read hold, in words, those of them that a table has."""
        kinds, numbers = dict(zip(schema.names, schema.types, strict=True)), frozenset(self.numbers)
        return {
            name: "numbers" if name in numbers and is_number(kinds[name]) else _content(_plain(kinds[name]))
            for name in self.all
            if name in kinds
        }

    @property
    def all(self) -> list[str]:
        """The names of all columns that are read."""
        return [*(self.features or PAIR), *(name for name in (self.label, self.weight, self.key) if name is not None)]

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
        kinds = dict(zip(schema.names, schema.types, strict=True))
        for name, role in self._roles():
            type_, (can_have, message) = kinds[name], _TYPES[role]
            if not can_have(type_):
                ways = {each: parameter(each, ...) for each in ROLES}
                ignore = parameter("ignore", name)
                why = message.format(name=name, type=type_, roles=roles_text(), ignore=ignore, **ways)
                raise DataError(f"{file}: {why}")

    def _roles(self) -> Iterator[tuple[str, str]]:
        """Yield each column with its row of `_TYPES`."""
        if self.naming is not None:
            yield from self.naming.columns
        else:
            yield from (
                zip(PAIR, PAIR, strict=True) if self.features is None else ((n, "feature") for n in self.features)
            )
        if self.label is not None:
            yield self.label, "label" if self.needs_labels else "optional label"
        if self.weight is not None:
            yield self.weight, "weight"
        if self.key is not None:
            yield self.key, "key"


def roles_text(conjunction: str = "and") -> str:
    """Return the parameters that say what columns are, for a message."""
    text, categorical, numeric = (parameter(role, ...) for role in ROLES)
    return f"{text}, {categorical} {conjunction} {numeric}"


def refuse_clash(file: str, features: list[str], label: str | None, weight: str | None, key: str | None = None) -> None:
    """Raise DataError if the label, the weight or the key is a feature, too."""
    for role, name in (("label", label), ("weight", weight), ("key", key)):
        if name in features:
            raise DataError(f"{file}: column {name!r} can't be both {role} and a feature. Name another {role}.")


def refuse_key(file: str, label: str | None, weight: str | None, key: str | None) -> None:
    """Raise DataError if the key is the label or the weight, too."""
    for role, name in (("label", label), ("weight", weight)):
        if name is not None and name == key:
            raise DataError(f"{file}: column {name!r} can't be both {role} and key.")


def distinct_names(names: list[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names, `a` the second time as `a_2`; none of them is `taken`."""
    known, written, distinct = set(taken), set(names), list[str]()
    if len(written) == len(names) and not known & written:
        return list(names)
    for name in names:
        others = (each for number in count(2) if (each := f"{name}_{number}") not in written)
        distinct.append(next(each for each in chain([name], others) if each not in known))
        known.add(distinct[-1])
    return distinct


def _refuse_repeated(file: str, names: list[str]) -> None:
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise DataError(f"{file}: two columns have the name {twice!r}: rename one.")


def _refuse_missing(
    file: str, names: list[str], wanted: Iterable[str | None], purpose: str = "", hint: str = ""
) -> None:
    known = frozenset(names)
    missing = next((name for name in wanted if name is not None and name not in known), None)
    if missing is not None:
        there = join_and_suggest(names, missing)
        raise DataError(f"{file}: there is no column {missing!r}{purpose}; there are {there}{hint}")


def _is_null(kind: Any) -> bool:
    return bool(arrow().types.is_null(kind))


def _plain(kind: Any) -> Any:
    """Return the type of the values of a list or dictionary."""
    kind = _coded(kind)
    return _coded(kind.value_type) if is_list(kind) else kind


def _coded(kind: Any) -> Any:
    """Return the type of the values of a dictionary."""
    return kind.value_type if arrow().types.is_dictionary(kind) else kind


def _can_be_category(kind: Any) -> bool:
    types = arrow().types
    is_time = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)
    return bool(is_text(kind) or is_number(kind) or is_time or _is_null(kind))


def _can_be_label(kind: Any) -> bool:
    return is_number(_coded(kind)) or is_text(_coded(kind))


# Which types a column can have, by what it is for, and what is wrong with another one.
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (
        lambda kind: is_text(_plain(kind)) or _is_null(_plain(kind)),
        "column {name!r} has type {type}; a text column must hold strings. Numbers are {numeric} or {categorical}.",
    ),
    "category": (
        lambda kind: _can_be_category(_plain(kind)),
        "column {name!r} has type {type}, which can't be a category.",
    ),
    "number": (
        lambda kind: is_number(kind) or has_entries(kind) or _is_null(_plain(kind)),
        "column {name!r} has type {type}; a numeric column must hold numbers. Strings, dates and times are "
        "{categorical}, or {text}.",
    ),
    "feature": (
        is_number,
        "column {name!r} has type {type}; features must be numbers, unless {roles} say what columns are. Leave it "
        "out with {ignore}.",
    ),
    "ids": (
        lambda kind: is_list(kind) and arrow().types.is_integer(kind.value_type),
        "column {name!r} has type {type}; it must hold lists of whole numbers.",
    ),
    "values": (
        lambda kind: is_list(kind) and is_numeric(kind.value_type),
        "column {name!r} has type {type}; it must hold lists of numbers.",
    ),
    "label": (_can_be_label, "the label has type {type}; it must be a number or text."),
    "optional label": (
        lambda kind: _can_be_label(kind) or _is_null(_coded(kind)),
        "the label has type {type}; it must be a number or text.",
    ),
    "key": (
        lambda kind: not is_list(_coded(kind)) and _can_be_category(_coded(kind)),
        "the key {name!r} has type {type}; it must be a number, text or a time.",
    ),
    "weight": (is_number, "the weight {name!r} has type {type}; it must be a number."),
}


@cache  # most columns of a table have the same type
def _content(kind: Any) -> str:
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
    return "" if _is_null(kind) else "dates"


def roles_by_type(file: str, schema: Any) -> dict[str, Any]:
    """Return which columns are categorical and which are numeric, unless the user gives them other roles."""
    roles: dict[str, list[str]] = {"categorical": [], "numeric": []}
    for name, type_ in zip(schema.names, schema.types, strict=True):
        is_of_numbers = is_number(type_) and not arrow().types.is_boolean(type_)
        if not is_of_numbers and not _can_be_category(_plain(type_)):
            raise DataError(f"{file}: column {name!r} has type {type_}, which can't be a feature: leave it out.")
        roles["numeric" if is_of_numbers else "categorical"].append(name)
    return roles
