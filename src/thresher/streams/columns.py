"""Columns of tables: which are read, what each is for, and which types it can have.

A table has a label column and features: columns of text, categories and numbers that are named as such; or a pair of
columns `ids` (list of int) and `values` (list of float); or one numeric column per feature, whose names become the
feature names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thresher.batch import DataError
from thresher.messages import join_and_suggest, join_some, parameter
from thresher.model.names import Naming
from thresher.streams.arrow_values import (
    arrow,
    can_be_category,
    coded_type,
    content_of_type,
    has_entries,
    is_list,
    is_null,
    is_number,
    is_numeric,
    is_text,
    plain_type,
)

PAIR = ("ids", "values")
ROLES = ("text", "categorical", "numeric")  # of features that are columns
_MOST_PROBLEMS = 20  # that a message lists


@dataclass(frozen=True)
class Roles:
    """The roles of columns, by name.

    With `labelled` there must be a label, else it is used where it exists. The features are the columns of `naming`, if
    it has any, else all that are neither the label, nor the weight, nor ignored. With `decide`, columns without a role
    get one, and with `scale` numbers are scaled, by the first rows (`roles.py`), unless `known` says how the data of a
    model were read.
    """

    label: str | None = None
    weight: str | None = None
    ignore: tuple[str, ...] = ()
    labelled: bool = True
    no_labels: bool = False
    naming: Naming | None = None
    key: str | None = None
    decide: bool = False
    scale: bool = True
    known: Naming | None = None

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
    def choose(
        cls, file: str, names: list[str], roles: Roles, pairs: bool = True, schema: Any | None = None
    ) -> Columns:
        """Choose the columns by name; raise DataError with all that is wrong with them, their types in `schema` too."""
        label, weight = None if roles.no_labels else roles.label_name, roles.weight
        if not roles.labelled:  # what is not there is not needed
            label = label if label in names or roles.label else None
            weight = weight if weight in names else None
        _refuse_repeated(file, names)
        naming = roles.of_columns
        named = [] if naming is None else [name for name, _ in naming.columns]
        hint = "" if roles.label else f" Name the label's column with {parameter('label', ...)}."
        problems = [
            *missing_columns(names, [label], hint=hint),
            *missing_columns(names, [weight], " for weights"),
            *missing_columns(names, [roles.key], " as the key"),
            *missing_columns(names, roles.ignore if roles.labelled else (), " to ignore"),
            *missing_columns(names, named),
        ]
        if weight is not None and weight == label:
            problems.append(f"column {weight!r} can't be both label and weight.")
        problems += key_clashes(label, weight, roles.key)
        for role, name in (("label", label), ("weight", weight)):
            if name is not None and name in roles.ignore:
                problems.append(f"column {name!r} can't be ignored: it is the {role}. Name another {role}.")
        others = {label, weight, roles.key, *roles.ignore}
        rest = [name for name in names if name not in others]
        if naming is not None:
            problems += [*clashes(naming, label, weight, roles.key), *unknown_crosses(naming)]
            columns = cls(label, named, weight, naming, roles.labelled, roles.key)
        else:
            has_none = not rest or (roles.decide and roles.naming is not None)  # all columns are left out
            problems += ["no column is left for the features."] if has_none and not problems else []
            is_pair = pairs and set(rest) == set(PAIR)
            columns = cls(label, None if is_pair else rest, weight, needs_labels=roles.labelled, key=roles.key)
        if schema is not None:
            problems += columns.wrong_types(schema)
        refuse(file, problems)
        return columns

    def with_types(self, schema: Any) -> Columns:
        """Return them with a naming that knows what the categorical columns of a table hold."""
        if self.naming is None:
            return self
        types = tuple(content_of_type(plain_type(schema.field(name).type)) for name in self.naming.categorical)
        return replace(self, naming=replace(self.naming, types=types))

    def contents(self, schema: Any) -> dict[str, str]:
        """Return what the columns that are read hold, in words, those of them that a table has."""
        kinds, numbers = dict(zip(schema.names, schema.types, strict=True)), frozenset(self.numbers)
        return {
            name: (
                "numbers" if name in numbers and is_number(kinds[name]) else content_of_type(plain_type(kinds[name]))
            )
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
        """Raise DataError if columns are missing, or if two have the same name."""
        _refuse_repeated(file, names)
        refuse(file, missing_columns(names, self.all))

    def check_types(self, file: str, schema: Any) -> None:
        """Raise DataError if columns are missing or have a type that can't be read."""
        self.check_names(file, schema.names)
        refuse(file, self.wrong_types(schema))

    def wrong_types(self, schema: Any) -> list[str]:
        """Return what is wrong with the types of the columns that are there."""
        problems, kinds = [], dict(zip(schema.names, schema.types, strict=True))
        for name, role in self._roles():
            can_have, message = _TYPES[role]
            if name in kinds and not can_have(type_ := kinds[name]):
                ways = {each: parameter(each, ...) for each in ROLES}
                ignore = parameter("ignore", name)
                problems.append(message.format(name=name, type=type_, roles=roles_text(), ignore=ignore, **ways))
        return problems

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


def refuse(file: str, problems: list[str]) -> None:
    """Raise DataError if there are problems, with all of them."""
    if len(problems) > 1:
        listed = " ".join(f"({k}) {each}" for k, each in enumerate(problems[:_MOST_PROBLEMS], 1))
        more = " …" if len(problems) > _MOST_PROBLEMS else ""
        raise DataError(f"{file}: {len(problems)} problems: {listed}{more}")
    for each in problems:
        raise DataError(f"{file}: {each}")


def clashes(naming: Naming, label: str | None, weight: str | None, key: str | None = None) -> list[str]:
    """Return which features are the label, the weight or the key, too, or have two roles."""
    found = []
    features = [name for name, _ in naming.columns]
    for role, name in (("label", label), ("weight", weight), ("key", key)):
        if name in features:
            found.append(f"column {name!r} can't be both {role} and a feature. Name another {role}.")
    for name in (name for name, n in Counter(features).items() if n > 1):
        both = " and ".join(role for role in ROLES for each in getattr(naming, role) if each == name)
        found.append(f"column {name!r} can't be both {both}: give it one role.")
    return found


def key_clashes(label: str | None, weight: str | None, key: str | None) -> list[str]:
    """Return whether the key is the label or the weight, too."""
    return [
        f"column {name!r} can't be both {role} and key."
        for role, name in (("label", label), ("weight", weight))
        if name is not None and name == key
    ]


def unknown_crosses(naming: Naming) -> list[str]:
    """Return which crosses are of columns that are no features."""
    features = [name for name, _ in naming.columns]
    unknown = {name: pair for pair in naming.crosses for name in pair if name not in features}
    return [
        f"{parameter('crosses', ','.join(pair))}: column {name!r} is not among the features: these are "
        f"{join_and_suggest(features, name)}"
        for name, pair in unknown.items()
    ]


def missing_columns(names: Sequence[str], wanted: Iterable[str | None], purpose: str = "", hint: str = "") -> list[str]:
    """Return which columns are not among the names, in a sentence, and which patterns fit none of them."""
    known = frozenset(names)
    lacking = [name for name in wanted if name is not None and name not in known]
    missing = [name for name in lacking if not is_pattern(name)]
    found = [f"no column fits the pattern {name!r}{purpose}" for name in lacking if is_pattern(name)]
    if missing:
        listed = join_some([repr(name) for name in missing])
        found.append(f"there {'is no column' if len(missing) == 1 else 'are no columns'} {listed}{purpose}")
    return [f"{each}; there are {join_and_suggest(names, lacking[0])}{hint}" for each in found]


def is_pattern(name: object) -> bool:
    """Return whether a name can stand for several columns."""
    return isinstance(name, str) and any(letter in name for letter in "*?[")


def _refuse_repeated(file: str, names: list[str]) -> None:
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise DataError(f"{file}: two columns have the name {twice!r}: rename one.")


def _can_be_label(kind: Any) -> bool:
    return is_number(coded_type(kind)) or is_text(coded_type(kind))


# Which types a column can have, by what it is for, and what is wrong with another one.
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (
        lambda kind: is_text(plain_type(kind)) or is_null(plain_type(kind)),
        "column {name!r} has type {type}; a text column must hold strings. Numbers are {numeric} or {categorical}.",
    ),
    "category": (
        lambda kind: can_be_category(plain_type(kind)),
        "column {name!r} has type {type}, which can't be a category.",
    ),
    "number": (
        lambda kind: is_number(kind) or has_entries(kind) or is_null(plain_type(kind)),
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
        lambda kind: _can_be_label(kind) or is_null(coded_type(kind)),
        "the label has type {type}; it must be a number or text.",
    ),
    "key": (
        lambda kind: not is_list(coded_type(kind)) and can_be_category(coded_type(kind)),
        "the key {name!r} has type {type}; it must be a number, text or a time.",
    ),
    "weight": (is_number, "the weight {name!r} has type {type}; it must be a number."),
}
