"""Columns of tables: what they are for.

A table has a label column and features: columns of text, categories and numbers that are named as such; or a pair of
columns `ids` (list of int) and `values` (list of float); or one numeric column per feature, whose names become the
feature names.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from thresher.batch import DataError
from thresher.messages import join_and_suggest, parameter
from thresher.model.names import Naming
from thresher.streams.columns import arrow, check_kinds, is_list, is_numeric, is_text, is_whole, roles_text

DEFAULT_LABEL = "label"
PAIR = ("ids", "values")


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

    @property
    def label_demand(self) -> str:
        """Whether rows must have a label, in the core's terms."""
        return "none" if self.no_labels else "required" if self.labelled else "optional"

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
        hint = "" if roles.label else f" Name the label's column with {parameter('label', ...)}."
        raise DataError(f"{file}: there is no column {wanted!r}; there are {join_and_suggest(names, wanted)}{hint}")
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
                    f"{file}: there is no column {weight!r} for weights; there are {join_and_suggest(names, weight)}"
                )
            weight = None
        if weight is not None and weight == wanted:
            raise DataError(f"{file}: column {weight!r} can't be both label and weight.")
        unknown = next((name for name in roles.ignore if name not in known), None)
        if unknown is not None and roles.labelled:
            raise DataError(
                f"{file}: there is no column {unknown!r} to ignore; there are {join_and_suggest(names, unknown)}"
            )
        for role, name in (("label", wanted), ("weight", weight)):
            if name is not None and name in roles.ignore:
                raise DataError(f"{file}: column {name!r} can't be ignored: it is the {role}. Name another {role}.")
        _refuse_repeated(file, names)
        if roles.of_columns is not None:
            return cls._from_names(file, names, roles, wanted, weight)
        others = {wanted, weight, *roles.ignore}
        rest = [name for name in names if name not in others]
        if not rest:
            raise DataError(f"{file}: no column is left for the features.")
        features = None if pairs and set(rest) == set(PAIR) else rest
        return cls(wanted, features, weight, needs_labels=roles.labelled)

    @classmethod
    def _from_names(cls, file: str, names: list[str], roles: Roles, label: str | None, weight: str | None) -> Columns:
        naming = roles.of_columns
        assert naming is not None
        features = [name for name, _ in naming.columns]
        _refuse_missing(file, names, features)
        refuse_clash(file, features, label, weight)
        return cls(label, features, weight, naming, roles.labelled)

    @property
    def all(self) -> list[str]:
        """The names of all columns that are read."""
        return [*(self.features or PAIR), *(name for name in (self.label, self.weight) if name is not None)]

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
                    f"{roles_text()} say what columns are. Leave it out with {parameter('ignore', name)}."
                )
        for name in () if self.features else PAIR:
            kind, is_right = schema.field(name).type, is_whole if name == "ids" else is_numeric
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


def refuse_clash(file: str, features: list[str], label: str | None, weight: str | None) -> None:
    """Raise DataError if the label or the weight is a feature, too."""
    for role, name in (("label", label), ("weight", weight)):
        if name in features:
            raise DataError(f"{file}: column {name!r} can't be both {role} and a feature. Name another {role}.")


def _refuse_repeated(file: str, names: list[str]) -> None:
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise DataError(f"{file}: two columns have the name {twice!r}: rename one.")


def _refuse_missing(file: str, names: list[str], wanted: list[str]) -> None:
    known = frozenset(names)
    missing = next((name for name in wanted if name not in known), None)
    if missing is not None:
        raise DataError(f"{file}: there is no column {missing!r}; there are {join_and_suggest(names, missing)}")
