"""Models that learned side by side from the same start: the changes of each, and one model of all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.model.class_weights import ClassWeights
from thresher.model.model import Model
from thresher.model.names import MemberNames


class MergeSizes(NamedTuple):
    """How far a merge goes.

    For the layer that selects, in multiples of the mean of the copies' moves; for one that predicts, as a share of the
    sum of what they learned.
    """

    selecting: float = 1.0
    predicting: float = 1.0


class Linear(NamedTuple):
    """The weights of the members, class after class, and the intercept of each class."""

    weights: NDArray[np.float32]
    intercept: NDArray[np.float32]


def merge_preview(
    model: Model, changes: _core.Changes, sizes: MergeSizes, ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[Linear]]:
    """Return the ids of the members, and the weights that `merge` would give them.

    The weights of the selecting layer come first, then those of a predicting layer if the method has one. Without a
    budget every feature is a member, and `ids` are the ones to return.
    """
    members, *layers = model.selector.preview(changes, sizes.selecting, sizes.predicting, ids)
    return members, [Linear(*layers[at : at + 2]) for at in (0, 2) if len(layers[at + 1])]


def merge(model: Model, changes: _core.Changes, sizes: MergeSizes, counted: ClassWeights) -> None:
    """Apply the changes of its copies to a model."""
    model.selector.merge(changes, sizes.selecting, sizes.predicting)
    model.class_weights = model.class_weights + counted


def merge_names(model: Model, names: dict[int, str], clashes: tuple[int, str, str]) -> None:
    """Set the names of a model's members from those of its copies."""
    if model.naming is None:
        return
    known = {**model.names.by_id, **names}
    if model.method.has_budget:
        known = {id_: known[id_] for id_ in model.selector.member_ids().tolist() if id_ in known}
    before = model.names.clashes
    model.names = MemberNames(known, (before[0] + clashes[0], *(before if before[0] else clashes)[1:]))


def count_from(model: Model, id_base: int, kept_as_written: bool) -> None:
    """Set whether ids count from 0 or 1, once all copies have seen their rows; features to keep may be such ids."""
    shift, model.id_base = id_base - model.id_base, id_base
    if model.n_features is not None:
        model.n_features = max(model.n_features - shift, 0)
    if kept_as_written:
        model.parameters["keep"] = [column - shift for column in model.parameters["keep"]]
