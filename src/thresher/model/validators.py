"""Validators of the values in the metadata of our files: a matching digest does not make them valid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, fields
from typing import Any

Validator = Callable[[Any], bool]


def is_whole(value: Any) -> bool:
    """Return whether it is a whole number that 63 bits hold."""
    return type(value) is int and 0 <= value < 2**63


def is_count(value: Any) -> bool:
    """Return whether it is a number of rows, or of other things."""
    return is_whole(value) and value < 2**53


def is_number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and -(2**63) <= value < 2**64)


def is_not_negative(value: Any) -> bool:
    return is_number(value) and value >= 0


def is_flag(value: Any) -> bool:
    return type(value) is bool


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def anything(_value: Any) -> bool:
    return True


def optional(validator: Validator) -> Validator:
    """Allow null too."""
    return lambda value: value is None or validator(value)


def list_of(validator: Validator, least: int = 0) -> Validator:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(validator, value))


def tuple_of(*validators: Validator) -> Validator:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(validators)
        and all(is_valid(item) for is_valid, item in zip(validators, value, strict=True))
    )


def dict_of(**validators: Validator) -> Validator:
    """Allow a dict with exactly these names."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == validators.keys()
        and all(is_valid(value[name]) for name, is_valid in validators.items())
    )


def checked_field(validator: Validator, **options: Any) -> Any:
    """Return the field of a dataclass whose value, in a file, must be what a validator allows."""
    return field(metadata={"validator": validator}, **options)


def validators_of(kind: type) -> dict[str, Validator]:
    """Return the validators of the fields of a dataclass, by name."""
    return {field.name: field.metadata["validator"] for field in fields(kind)}


def are_labels(value: Any) -> bool:
    """Return whether it is a list of numbers, or one of words; there is no order between the two."""
    return list_of(is_text)(value) or list_of(lambda label: is_flag(label) or is_number(label))(value)


def is_gamma(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < 1e300
