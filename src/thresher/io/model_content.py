"""A model's state as tensors and metadata, as model files and checkpoints hold it.

Everything that is read is checked, in size, range and order, since a file can be manipulated.
"""

from __future__ import annotations

import json
import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from thresher import methods
from thresher.io.container import Tensors, all_finite, is_ascending, require
from thresher.messages import parameter
from thresher.model.fixed_weights import FixedWeights
from thresher.model.names import Naming
from thresher.model.race import RACE_VALIDATOR, STANDINGS_VALIDATOR
from thresher.model.state import State
from thresher.model.targets import target_from_json
from thresher.model.validators import (
    Validator,
    anything,
    is_count,
    is_flag,
    is_gamma,
    is_not_negative,
    is_number,
    is_text,
    is_whole,
    list_of,
    optional,
    tuple_of,
)

_ONLINE: dict[str, Any] = {
    "ids": np.int64, "cells": np.float32, "intercept": np.float32, "table": np.float32,
    "predicting_ids": np.int64, "predicting_cells": np.float32, "predicting_intercept": np.float32,
    "decoy_ids": np.int64, "decoy_cells": np.float32, "decoy_table": np.float32,
    "shown_ids": np.int64, "shown_values": np.float32,
}  # fmt: skip
# Of the cells there, the ids that they belong to.
_IDS_OF_CELLS = {"cells": "ids", "predicting_cells": "predicting_ids", "decoy_cells": "decoy_ids"}
_ID_TENSORS = ("ids", "predicting_ids", "decoy_ids", "shown_ids")
_MAY_BE_NEGATIVE = ("target_sum",)
_BATCH: dict[str, Any] = {"ids": np.int64, "weights": np.float32, "intercept": np.float32}

# What each part of the metadata may be, and what is wrong with it otherwise.
_VALIDATORS: dict[str, tuple[Validator, str]] = {
    "n_vectors": (lambda n: is_count(n) and n >= 1, "n_vectors must be a whole number above 0"),
    "n_features": (optional(is_whole), "n_features must be a whole number, 0 or more"),
    "id_base": (lambda base: type(base) is int and base in (0, 1), "id_base must be 0 or 1"),
    "feature_names": (optional(list_of(is_text)), "feature_names must be a list of text"),
    "name_clashes": (tuple_of(is_whole, is_text, is_text), "name_clashes must be a count and two names"),
    "compact": (is_flag, "compact must be true or false"),
    "grouped_by_label": (is_flag, "grouped_by_label must be true or false"),
    "threshold": (is_number, "threshold must be a finite number"),
    "row_counts": (list_of(is_count), "row_counts must be a list of whole numbers that are not negative"),
    "row_totals": (list_of(is_not_negative), "row_totals must be a list of numbers that are not negative"),
    "occurrences": (optional(list_of(is_count)), "occurrences must be a list of whole numbers that are not negative"),
    "kept_ids": (list_of(is_whole), "kept_ids must be a list of ids"),
    "words_to_keep": (list_of(is_text), "words_to_keep must be a list of text"),
    "chosen_gamma": (optional(is_gamma), "chosen_gamma must be a number above 0"),
    "standings": (STANDINGS_VALIDATOR, "the record of the γ race is not valid"),
    "race": (RACE_VALIDATOR, "the state of the γ race is not valid"),
    "learners": (list_of(anything), "learners must be a list"),
}  # fmt: skip


def content_of(state: State) -> tuple[Tensors, dict[str, Any]]:
    """Return the tensors and metadata, values for JSON, of a model with this state."""
    target, (names, clashes) = state["target"], state["names"]
    metadata: dict[str, Any] = {name: value for name, value in state.items() if name in _VALIDATORS}
    metadata |= {
        "method": state["method"],
        "parameters": to_json_values(state["parameters"]),
        "target": None if target is None else target.to_json(),
        "naming": None if state["naming"] is None else state["naming"].to_dict(),
        "name_clashes": list(clashes),
        "kept_ids": state["kept_ids"].tolist(),
    }
    tensors: Tensors = {"names": _as_text(sorted(names.items())) if names else np.zeros(0, np.uint8)}
    fixed, learned = state["fixed"], cast("Any", state["learned"])
    if fixed is not None:
        ids, weights = fixed.members()
        weights = weights.reshape(len(ids), len(fixed.intercept))
        tensors |= {"ids": ids, "weights": weights, "intercept": fixed.intercept}
        metadata["feature_names"] = _names_of(state, ids)
        return tensors, {**metadata, "race": None, "learners": [{"counters": fixed.counters}]}
    if learned is None:
        raise ValueError("the model is not trained yet: call fit or partial_fit first.")
    race, learners = learned.get("race"), learned.get("learners", [learned])
    for k, learner in enumerate(learners):
        tensors |= {_tensor(name, k, race): learner[name] for name in _ONLINE}
        for name, its_ids in _IDS_OF_CELLS.items():
            n = len(learner[its_ids])
            tensors[_tensor(name, k, race)] = learner[name].reshape(n, len(learner[name]) // max(1, n))
    if state["compact"]:
        metadata["feature_names"] = _names_of(state, learned["ids"])
    about = [{name: learner[name] for name in ("counters", "learner", "max_fdr")} for learner in learners]
    return tensors, {**metadata, "race": race, "learners": about}


def _names_of(state: State, ids: NDArray[np.int64]) -> list[str] | None:
    """Return the names of the columns with these ids, if columns have names."""
    names: Any = state["feature_names"]
    return None if names is None else [names[column] for column in (ids - state["id_base"]).tolist()]


def _tensor(name: str, k: int, race: Any) -> str:
    """Return the name of a tensor of a model, or of the k-th learner of a race."""
    return name if race is None else f"{k}/{name}"


def state_of_content(tensors: Tensors, metadata: dict[str, Any]) -> State:
    """Return the state from its tensors and metadata; ValueError if they are not valid."""
    given = metadata["parameters"]
    require(
        isinstance(metadata["method"], str) and isinstance(given, dict), "method must be text and parameters a dict"
    )
    method = methods.find(metadata["method"])
    for name, (is_valid, message) in _VALIDATORS.items():
        require(is_valid(metadata[name]), message)
    target = None if metadata["target"] is None else target_from_json(metadata["target"], method.predicts)
    n_vectors = metadata["n_vectors"]
    require(target is None or target.n_vectors == n_vectors, "n_vectors does not fit the number of classes")
    require(len(metadata["row_counts"]) <= max(2, n_vectors), "row_counts has more numbers than there are classes")
    require(len(metadata["row_totals"]) == len(metadata["row_counts"]), "row_totals must fit row_counts")
    tensors = dict(tensors)
    pairs = tensors.pop("names")
    names = _pairs(pairs) if pairs.size else {}
    require(names is not None, "names must be pairs of id and name")
    race = metadata["race"]
    learners = _batch(tensors, metadata) if method.is_batch else _learners(tensors, metadata)
    require(race is not None or len(learners) == 1, "there are several learners but no γ race")
    require(
        race is None or len(race["gamma"]) == len(set(race["gamma"])) == len(learners),
        "the γ race and the learners do not match",
    )
    for learner in learners:
        for ids in [np.sort(learner["ids"])] if method.is_batch else [learner[name] for name in _ID_TENSORS]:
            require(ids.ndim == 1 and is_ascending(ids), "ids must be in ascending order")
            require(len(ids) == 0 or ids[0] >= 0, "ids must not be negative")
    parameters = method.complete(from_json_values(given))
    fixed, learned = None, None
    if method.is_batch:
        (one,) = learners
        norm, flat = parameters["norm"] or "none", np.ascontiguousarray(one["weights"].reshape(-1))
        fixed = FixedWeights(norm, one["ids"], flat, one["intercept"], one["counters"])
    else:
        learned = learners[0] if race is None else {"race": race, "learners": learners}
    feature_names = metadata["feature_names"]
    if feature_names is not None and metadata["compact"]:
        columns = (learners[0]["ids"] - metadata["id_base"]).tolist()
        require(len(feature_names) == len(columns), "feature_names must have one name per feature")
        feature_names = dict(zip(columns, feature_names, strict=True))
    fits = not isinstance(feature_names, list) or len(feature_names) == metadata["n_features"]
    require(fits, "feature_names must have one name per feature")
    state = {name: metadata[name] for name in State.__annotations__ if name in metadata}
    return cast(
        "State",
        {
            **state,
            "parameters": parameters,
            "target": target,
            "feature_names": feature_names,
            "naming": None if metadata["naming"] is None else Naming.from_dict(metadata["naming"]),
            "names": (names, tuple(metadata["name_clashes"])),
            "threshold": float(metadata["threshold"]),
            # Learning drops these, so they are in model files alone.
            "selection_frequency": None,
            "selection_chance": None,
            "known_q_values": {},
            "kept_ids": np.array(metadata["kept_ids"], np.int64),
            "learned": learned,
            "fixed": fixed,
        },
    )


def _batch(tensors: Tensors, metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the weights of a batch method."""
    _check_types(tensors, _BATCH)
    n_vectors = metadata["n_vectors"]
    require(
        tensors["weights"].shape == (len(tensors["ids"]), n_vectors),
        "weights must have one row per id, one column per class",
    )
    require(tensors["intercept"].shape == (n_vectors,), "intercept must have one number per class")
    require(len(metadata["learners"]) == 1, "a batch method must have one set of weights")
    counters = metadata["learners"][0]["counters"]
    _check_numbers(counters)
    return [{**tensors, "counters": counters}]


def _learners(tensors: Tensors, metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the state of the learner, or of each learner of a race."""
    learners, race = [], metadata["race"]
    for k, about in enumerate(metadata["learners"]):
        own = {name: tensors.pop(_tensor(name, k, race)) for name in _ONLINE if _tensor(name, k, race) in tensors}
        _check_types(own | (tensors if race is None else {}), _ONLINE)
        for name, its_ids in _IDS_OF_CELLS.items():
            require(own[name].ndim == 2 and len(own[name]) == len(own[its_ids]), "cells must have one row per id")
            own[name] = own[name].reshape(-1)
        flat = [each for name, each in own.items() if name not in _IDS_OF_CELLS]
        require(all(each.ndim == 1 for each in flat), "tensors other than cells must have one dimension")
        _check_numbers({**about["counters"], **about["learner"], "max_fdr": about["max_fdr"]})
        learners.append({**own, **{name: about[name] for name in about}})
    require(not tensors and len(learners) > 0, "the tensors do not match the learners")
    return learners


def _check_types(tensors: Tensors, expected: dict[str, Any]) -> None:
    found = {name: tensor.dtype for name, tensor in tensors.items()}
    require(found == expected, f"its tensors must be {_with_types(expected)}. It has {_with_types(found)} instead")
    for name, tensor in tensors.items():
        require(tensor.dtype != np.float32 or all_finite(tensor), f"{name} must have finite values only")


def _with_types(types: dict[str, Any]) -> str:
    return ", ".join(f"{name} ({np.dtype(kind).name})" for name, kind in types.items()) or "none"


def _check_numbers(numbers: dict[str, Any]) -> None:
    for name, value in numbers.items():
        valid = type(value) in (int, float) and math.isfinite(value) and (value >= 0 or name in _MAY_BE_NEGATIVE)
        require(valid, f"{name} must be a finite number that is not negative")


def _as_text(pairs: list[tuple[int, str]]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(pairs, ensure_ascii=False).encode(), np.uint8)


def _pairs(written: NDArray[np.uint8]) -> dict[int, str] | None:
    """Return the names by id; None if the text is not valid."""
    try:
        pairs = json.loads(written.tobytes())
    except (ValueError, RecursionError):
        return None
    return dict(pairs) if list_of(tuple_of(is_whole, is_text))(pairs) else None


def to_json_values(given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as values for JSON: a dict of class weights becomes a list of pairs."""
    out = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    if isinstance(out.get("random_state"), np.random.RandomState):
        out["random_state"] = None
    for name, value in out.items():
        if not isinstance(value, str | int | float | dict | list | None):
            raise ValueError(
                f"{parameter(name, value)} can't be written to a model file: pickle the estimator instead."
            )
    weights = out.get("class_weight")
    if isinstance(weights, dict):
        out["class_weight"] = [
            [label.item() if isinstance(label, np.generic) else label, float(weight)]
            for label, weight in weights.items()
        ]
    return out


def from_json_values(given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters from the result of `to_json_values`."""
    weights = given.get("class_weight")
    return {**given, "class_weight": dict(map(tuple, weights))} if isinstance(weights, list) else given
