"""The state of a model, by name: for pickle, model files, checkpoints and shards, and to undo learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.model.class_weights import weights_of_rows
from thresher.model.fixed_weights import FixedWeights
from thresher.model.learners import new_learner
from thresher.model.names import MemberNames, Naming
from thresher.model.race import Race, RaceState, Standing
from thresher.model.targets import Target

if TYPE_CHECKING:
    from thresher.model.model import Model


class State(TypedDict):
    """A model at one moment, by the names of its attributes; it does not change when the model learns more."""

    method: str
    parameters: dict[str, Any]
    target: Target | None
    n_vectors: int
    n_features: int | None
    id_base: int
    feature_names: list[str] | dict[int, str] | None
    naming: Naming | None
    names: tuple[dict[int, str], tuple[int, str, str]]  # by id, and their clashes
    compact: bool
    grouped_by_label: bool
    threshold: float
    selection_frequency: dict[int, float] | None
    selection_chance: float | None
    occurrences: list[int] | None
    known_q_values: dict[int, float]
    row_counts: list[int]  # of the class weights
    row_totals: list[float]
    kept_ids: NDArray[np.int64]
    words_to_keep: list[str]
    chosen_gamma: float | None
    standings: list[Standing]  # of a race that has ended
    learned: _core.State | RaceState | None  # by the learner, or by all learners of a race
    fixed: FixedWeights | None


_CONVERTED = ("method", "names", "row_counts", "row_totals", "learned")  # stored in another form by the model


def state_of(model: Model) -> State:
    with model.lock:
        if model.learner is not None and not isinstance(model.learner, Race):
            model.note_occurrences(model.learner)
        state: dict[str, Any] = {name: getattr(model, name) for name in State.__annotations__ if name not in _CONVERTED}
        state["learned"] = None if model.learner is None else model.learner.state()
        state["names"] = (model.names.by_id, model.names.clashes)
        state["row_counts"], state["row_totals"] = model.class_weights.state()
    return cast("State", {**state, "method": model.method.name, "parameters": dict(model.parameters)})


def restore(model: Model, state: State) -> None:
    """Replace everything in a model of the same method by a saved state."""
    with model.lock:
        for name, value in state.items():
            if name not in _CONVERTED:
                setattr(model, name, value)
        model.parameters = dict(state["parameters"])
        model.class_weights = weights_of_rows(model.method, state["parameters"])
        model.class_weights.restore(state["row_counts"], state["row_totals"])
        model.names = MemberNames(*state["names"])
        model.learner = None
        if state["learned"] is not None:
            learner = new_learner(model, model.n_vectors, model.kept_ids, model.n_features)
            learner.restore(**state["learned"])
            model.learner = learner
