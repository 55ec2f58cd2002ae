"""The parameters that methods have in river."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thresher import methods
from thresher.parameters import Between, Instance, OneOf, Parameter, Whole

# What is different in river: rows come one after another, so there is nothing to shuffle or to repeat, and neither the
# number of features nor the last row is known.
_ONLY_FOR_FIT = ("n_passes", "refit", "shuffle", "random_state")
_CHANGED: Mapping[str, Mapping[str, Any]] = {
    "n_features_to_select": {"allowed": (Whole(1),)},
    "keep": {"help": "names of features to select in any case; they count in the budget"},
    "gamma": {"allowed": (Between(0.0, math.inf),), "help": "larger is slower and steadier"},
    "class_weight": {"help": "weights by label, or 'balanced' for classes that count alike, by the rows so far"},
    "memory": {
        "default": "hash",
        "allowed": (OneOf(("hash", "sketch")),),
        "help": "where features are stored: in a hash table, or all but the selected ones in a sketch of fixed size",
    },
    "memory_bytes": {"help": "the size of the sketch; 64 MiB by default"},
}
_CLASSES = Parameter(
    None,
    (OneOf((None,)), Instance(list), Instance(tuple)),
    "all labels, needed if there are more than two; by default, the first two that occur",
)


def parameters_of(method: methods.Method) -> dict[str, Parameter]:
    """Return the parameters that a method has in river."""
    left_out = {*_ONLY_FOR_FIT, *(() if method.sketch_kernels else ("memory", "memory_bytes"))}
    own = {name: each for name, each in method.parameters.items() if name not in left_out}
    return {name: replace(each, **_CHANGED.get(name, {})) for name, each in own.items()} | {"classes": _CLASSES}
