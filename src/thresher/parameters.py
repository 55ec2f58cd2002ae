"""The parameters of every method: defaults and allowed values, in one table.

`Model` checks against it, and the estimators turn it into scikit-learn's constraints, so that a parameter is described
here and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` on, or up to `high` where there is an end."""

    low: int
    high: int | None = None

    def admits(self, value: object) -> bool:
        """Tell whether the value is one of these."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        return int(value) >= self.low and (self.high is None or int(value) <= self.high)

    def __str__(self) -> str:
        return f"a whole number from {self.low} " + ("on" if self.high is None else f"to {self.high}")


@dataclass(frozen=True)
class Between:
    """A finite real number strictly between two bounds."""

    low: float
    high: float

    def admits(self, value: object) -> bool:
        """Tell whether the value is one of these."""
        if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > sys.float_info.max:
            return False
        return self.low < value < self.high

    def __str__(self) -> str:
        return f"a number above {self.low:g}" + (f" and below {self.high:g}" if self.high < float("inf") else "")


@dataclass(frozen=True)
class OneOf:
    """One of a few fixed values."""

    values: tuple[object, ...]

    def admits(self, value: object) -> bool:
        """Tell whether the value is one of these."""
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.values))


@dataclass(frozen=True)
class Instance:
    """An object of a type."""

    type: type

    def admits(self, value: object) -> bool:
        """Tell whether the value is one of these."""
        return isinstance(value, self.type)

    def __str__(self) -> str:
        return f"a {self.type.__name__}"


@dataclass(frozen=True)
class WithMethods:
    """An object that has these methods."""

    names: tuple[str, ...]

    def admits(self, value: object) -> bool:
        """Tell whether the value is one of these."""
        return all(callable(getattr(value, name, None)) for name in self.names)

    def __str__(self) -> str:
        return f"an object with the methods {', '.join(self.names)}"


Allowed = Whole | Between | OneOf | Instance | WithMethods


@dataclass(frozen=True)
class Parameter:
    """A default and what else is allowed."""

    default: object
    allowed: tuple[Allowed, ...]


_NO_LIMIT = 2**62
_FLAG = (OneOf((True, False)),)

SHARED: Mapping[str, Parameter] = {
    "norm": Parameter("l2", (OneOf(("l2", None)),)),
    "fit_intercept": Parameter(False, _FLAG),
    "class_weight": Parameter(None, (OneOf((None, "balanced")), Instance(dict))),
    "n_passes": Parameter(1, (Whole(1),)),
    "shuffle": Parameter(False, _FLAG),
    "random_state": Parameter(None, (OneOf((None,)), Whole(0, 2**32 - 1), Instance(np.random.RandomState))),
}

_BUDGET = {"n_features_to_select": Parameter(100, (Whole(1), Between(0.0, 1.0)))}


def _positive(name: str, default: float) -> dict[str, Parameter]:
    return {name: Parameter(default, (Between(0.0, float("inf")),))}


def _loss(default: str) -> dict[str, Parameter]:
    return {"loss": Parameter(default, (OneOf(("perceptron", "hinge")),))}


# Methods without a budget keep every feature they have touched.
OWN: Mapping[str, Mapping[str, Parameter]] = {
    "sofs": _BUDGET | _positive("gamma", 1.0),
    "shadow_sofs": _BUDGET | _positive("gamma", 1.0),
    "pet": _BUDGET | _positive("eta", 1.0) | _loss("perceptron"),
    "fofs": _BUDGET | _positive("eta", 0.2) | _positive("lam", 0.01) | _loss("hinge"),
    "arow": _positive("gamma", 1.0),
    "ogd": _positive("eta", 1.0),
}

_OF_ALL_BATCH = {
    **_BUDGET,
    **{name: SHARED[name] for name in ("norm", "fit_intercept")},
    "progress": Parameter(False, _FLAG),
}
_SEED = {"random_state": Parameter(0, SHARED["random_state"].allowed)}

BATCH: Mapping[str, Mapping[str, Parameter]] = {
    "mrmr": {
        "scheme": Parameter("MID", (OneOf(("MID", "MIQ")),)),
        "discretize": Parameter("auto", (OneOf(("auto", "presence", "mean_std")),)),
        "classifier": Parameter("perceptron", (OneOf(("perceptron",)), WithMethods(("fit", "predict")))),
        **_SEED,
        **_OF_ALL_BATCH,
    },
    "fgm": {
        "group_size": Parameter(None, (OneOf((None,)), Whole(1))),
        "C": Parameter(10.0, (Between(0.0, float("inf")),)),
        "tol": Parameter(1e-4, (Between(0.0, float("inf")),)),
        **_OF_ALL_BATCH,
    },
    "l1svm": {"max_iter": Parameter(20_000, (Whole(1, 2**31 - 1),)), **_SEED, **_OF_ALL_BATCH},
}


def table(method: str) -> dict[str, Parameter]:
    """Return all parameters of a method, its own first."""
    if method in BATCH:
        return dict(BATCH[method])
    if method not in OWN:
        raise ValueError(f"method must be one of {', '.join(OWN)}. Got {method!r} instead.")
    return {**OWN[method], **SHARED}


def complete(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters with defaults filled in, or raise ValueError for the first that is not allowed."""
    known = table(method)
    for name in given:
        if name not in known:
            raise ValueError(f"{method} has no parameter {name!r}; it has {', '.join(known)}.")
    values = {name: _plain(given.get(name, parameter.default)) for name, parameter in known.items()}
    for name, value in values.items():
        check(f"{name} of {method}", value, *known[name].allowed)
    if method == "fofs" and values["eta"] * values["lam"] >= 1:
        raise ValueError(
            f"eta times lam of fofs must be below 1, or the decay (1 − lam·eta) would turn the weights around. "
            f"Got eta={values['eta']:g} and lam={values['lam']:g} instead."
        )
    return values


def of_learner(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those parameters that the method's step is made of; a batch method is scored as SOFS is."""
    if method in BATCH:
        return of_learner("sofs", complete("sofs", {}))
    return {name: values[name] for name in OWN[method] if name != "n_features_to_select"}


def check(name: str, value: object, *allowed: Allowed) -> None:
    """Raise ValueError if a value is none of those allowed."""
    if not any(kind.admits(value) for kind in allowed):
        raise ValueError(f"{name} must be {' or '.join(map(str, allowed))}. Got {value!r} instead.")


def _plain(value: Any) -> Any:
    """Turn numpy's scalars and other numbers into Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Real) and not isinstance(value, int | float):
        return float(value)
    return value


def random_generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a `random_state` stands for."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def budget(values: Mapping[str, Any], n_features: int | None) -> int:
    """Return how many features may be members: the number, or the share of all, that the parameters ask for."""
    if "n_features_to_select" not in values:
        return _NO_LIMIT
    n_features_to_select = values["n_features_to_select"]
    if isinstance(n_features_to_select, Integral):
        return min(int(n_features_to_select), _NO_LIMIT)
    if n_features is None:
        raise ValueError(
            f"n_features_to_select={n_features_to_select} is a share of the features, "
            "but the data do not say how many there are: give a whole number."
        )
    return max(1, int(float(n_features_to_select) * n_features))
