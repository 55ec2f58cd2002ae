"""Names of features as names of columns: distinct, and with `safe` such that every program takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from thresher.model.model import Model
from thresher.model.names import distinct_names

_OTHERS = re.compile(r"[^0-9A-Za-z_]+")


def column_names(model: Model, safe: bool, taken: Iterable[str] = ()) -> list[str]:
    """Return the names of the selected features, in column order, as columns beside `label`, `weight` and others.

    Safe names have only ASCII letters, digits and _. LightGBM refuses quotes, commas and colons.
    """
    names = [model.name_of(column) for column in np.sort(model.members()[0]).tolist()]
    if safe:
        names = [_OTHERS.sub("_", name) or "_" for name in names]
    return distinct_names(names, ["label", "weight", *taken])
