"""Parameters: the default, the allowed values, and their documentation.

`thresher.methods` lists the parameters of each method. Neither module needs numpy, so the command line's help is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from thresher.messages import parameter as written
from thresher.messages import size_text

if TYPE_CHECKING:
    import numpy as np

NO_LIMIT = 2**62  # the budget of a method that keeps every feature


@dataclass(frozen=True)
class Whole:
    """A whole number of at least `low`, and at most `high` if there is an upper bound."""

    low: int
    high: int | None = None

    def admits(self, value: object) -> bool:
        """Return whether the value is allowed."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        return int(value) >= self.low and (self.high is None or int(value) <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"a whole number of at least {self.low}"
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Bytes(Whole):
    """A whole number of bytes."""

    def __str__(self) -> str:
        upper = "" if self.high is None else f" to {size_text(self.high)}"
        return f"a number of bytes from {size_text(self.low)}{upper}"


@dataclass(frozen=True)
class Between:
    """A finite real number strictly between two bounds."""

    low: float
    high: float

    def admits(self, value: object) -> bool:
        """Return whether the value is allowed."""
        if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > sys.float_info.max:
            return False
        return self.low < value < self.high

    def __str__(self) -> str:
        if self.low == -float("inf") and self.high == float("inf"):
            return "a finite number"
        return f"a number above {self.low:g}" + (f" and below {self.high:g}" if self.high < float("inf") else "")


@dataclass(frozen=True)
class OneOf:
    """One of a few fixed values."""

    values: tuple[object, ...]

    def admits(self, value: object) -> bool:
        """Return whether the value is allowed."""
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return repr(self.values[0]) if len(self.values) == 1 else "one of " + ", ".join(map(repr, self.values))


@dataclass(frozen=True)
class Instance:
    """An object of a type."""

    type: type

    def admits(self, value: object) -> bool:
        """Return whether the value is allowed."""
        return isinstance(value, self.type)

    def __str__(self) -> str:
        return f"a {self.type.__name__}"


@dataclass(frozen=True)
class WithMethods:
    """An object that has these methods."""

    names: tuple[str, ...]

    def admits(self, value: object) -> bool:
        """Return whether the value is allowed."""
        return all(callable(getattr(value, name, None)) for name in self.names)

    def __str__(self) -> str:
        return f"an object with the methods {', '.join(self.names)}"


@dataclass(frozen=True)
class ColumnList:
    """Columns by number or by name, each once."""

    def admits(self, value: object) -> bool:
        """Return whether the value is allowed."""
        if not isinstance(value, list | tuple):
            return False
        are_numbers = all(Whole(0).admits(item) for item in value)
        return (are_numbers or all(isinstance(item, str) for item in value)) and len(set(value)) == len(value)

    def __str__(self) -> str:
        return "a list of different columns, by number or by name"


@dataclass(frozen=True)
class LegacyGenerator:
    """numpy's RandomState, which scikit-learn's tools use."""

    def admits(self, value: object) -> bool:
        """Return whether the value is allowed."""
        numpy = sys.modules.get("numpy")  # if it was never imported, no value can have its types
        return numpy is not None and isinstance(value, numpy.random.RandomState)

    def __str__(self) -> str:
        return "a numpy.random.RandomState"


Allowed = Whole | Between | OneOf | Instance | WithMethods | ColumnList | LegacyGenerator


@dataclass(frozen=True)
class Parameter:
    """A parameter: its default, the values that it can have, and its help."""

    default: object
    allowed: tuple[Allowed, ...]
    help: str = ""  # for its option on the command line; without help it has none
    doc: str = ""  # for the docstring of an estimator; without it, what the help says
    type: str = ""  # for the same docstring, where `allowed` is not the best way to say it


def check(name: str, value: object, *allowed: Allowed) -> None:
    """Raise ValueError if a value is not allowed."""
    if not any(kind.admits(value) for kind in allowed):
        raise ValueError(f"{written(name)} must be {' or '.join(map(str, allowed))}. Got {value!r} instead.")


def plain(value: Any) -> Any:
    """Convert numpy's scalars and arrays, and other numbers, to Python objects."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if numpy is not None and isinstance(value, numpy.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Real) and not isinstance(value, int | float):
        return float(value)
    return value


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a generator for a `random_state`."""
    import numpy as np

    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def budget(values: Mapping[str, Any], n_features: int | None) -> int:
    """Return how many features to select; a share becomes a number of columns."""
    if "n_features_to_select" not in values:
        return NO_LIMIT
    n_features_to_select = values["n_features_to_select"]
    if isinstance(n_features_to_select, Integral):
        return min(int(n_features_to_select), NO_LIMIT)
    if n_features is None:
        raise ValueError(
            f"{written('n_features_to_select', n_features_to_select)} is a share of the features, "
            "but the number of features in a stream is not known: give a whole number."
        )
    return max(1, int(float(n_features_to_select) * n_features))


def check_keep(values: Mapping[str, Any], budget: int) -> None:
    """Raise ValueError if more columns are to be kept than the budget allows."""
    n_kept = len(values.get("keep") or ())
    if n_kept > budget:
        raise ValueError(
            f"{written('keep')} lists {n_kept} features, more than the budget of {budget}: raise the budget, or keep "
            "fewer."
        )
