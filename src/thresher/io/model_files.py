"""Model files (.thresher): a model as tensors and metadata, in the container of `io/container.py`.

Nothing in a file is executed. The digest detects damage. Sizes, ranges and order of everything that the model is built
from are checked as well, since a file can be manipulated. Only ValueError, OSError and MemoryError are raised.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from thresher import methods
from thresher.io.container import Tensors, all_finite, read_content, require, write_content
from thresher.io.model_content import content_of, from_json_values, state_of_content, to_json_values
from thresher.model.model import Model
from thresher.model.state import State, restore, state_of
from thresher.model.validators import is_number, list_of, optional

FORMAT_VERSION = 11


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a trained estimator to a file. An online estimator can later continue learning with the same result.

    Parameters that were set since it was trained are written too. As in memory, they take effect when it learns
    next; predictions use those that it was trained with.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    path : path
        The file, which is written completely or not at all.
    """
    if not isinstance(model, Model):
        if not hasattr(model, "_fitted_model"):
            raise TypeError(f"{type(model).__name__} can't be saved as a model file: only thresher's estimators can.")
        trained = model._fitted_model()
        given = trained.method.complete(model.get_params(deep=False))
        save_model(trained, path, set_since=None if given == trained.parameters else given)
    else:
        save_model(model, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that `save` or `thresher train` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        Of the class that was trained.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import SOFS, datasets, load, save
    >>> X, y = datasets.make_x1(1_000)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.thresher"
    >>> save(SOFS(50).fit(X, y), path)
    >>> load(path).partial_fit(X, y).n_samples_seen_
    2000
    """
    model, given = load_with_parameters(path)
    estimator = model.method.load_estimator()(**given)
    estimator._set_model(model)
    return estimator


def save_model(
    model: Model, path: str | os.PathLike[str], *, compact: bool = False, set_since: dict[str, Any] | None = None
) -> None:
    """Write a model, completely or not at all.

    A full file has the state of every feature that was touched, so that learning can continue with the same result. A
    compact file has only the members: enough to predict, and a few kilobytes. `set_since` are the parameters of the
    estimator, where they are no longer those that the model has learned with.
    """
    state = state_of(model)
    if not model.method.is_batch and state["learned"] is not None:
        _require_finite(state["learned"])
        state = _keep_members_only(model, state) if compact else state
    tensors, metadata = content_of({**state, "standings": []})  # the standings belong to the run
    metadata["selection_frequency"], metadata["selection_chance"] = _frequencies(model), model.selection_chance
    metadata["q_values"] = _q_values(model) if state["compact"] else None
    if set_since is not None:
        metadata["set_since"] = to_json_values(set_since)
    write_content(path, tensors, metadata, FORMAT_VERSION)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model. If the file is not valid, raise a ValueError that names it."""
    return load_with_parameters(path)[0]


def load_with_parameters(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """Read a model as `load_model` does, and the parameters that its estimator had."""
    with read_content(path, "model", FORMAT_VERSION, "train the model again") as (tensors, metadata):
        return _model(tensors, metadata), _set_parameters(metadata)


def _frequencies(model: Model) -> list[float] | None:
    """Return how often each member was selected, best first, if it is known."""
    known = model.selection_frequency
    return None if known is None else [known.get(column, 0.0) for column in model.members()[0].tolist()]


def _q_values(model: Model) -> list[float | None] | None:
    """Return the q-value of each member, best first, and None for those that are kept, if there are decoys."""
    known = model.q_values()
    return None if known is None else [None if math.isnan(q) else q for q in known.tolist()]


def _require_finite(learned: Any) -> None:
    if "learners" in learned:
        raise ValueError("the race for gamma has not ended yet: save the model when its training has.")
    if not all(all_finite(each) for each in learned.values() if getattr(each, "dtype", None) == np.float32):
        raise ValueError("a weight is no longer finite, so the model can't be saved: train with other parameters.")
    if not all(map(math.isfinite, learned["counters"].values())):
        raise ValueError(
            "the sum of losses is no longer finite, so the model can't be saved: scale sample_weight down."
        )


def _keep_members_only(model: Model, state: State) -> State:
    """Return the state with the members alone."""
    learned: Any = state["learned"]
    members = model.members()[0] + model.id_base
    is_member = np.isin(learned["ids"], members)
    beside = ("table", "decoy_ids", "decoy_cells", "decoy_table", "shown_ids", "shown_values")
    less: Any = {**learned, **{name: learned[name][:0] for name in beside}, "max_fdr": 1.0}
    for part in ("", "predicting_"):
        ids = learned[part + "ids"]
        here = np.isin(ids, members)
        cells = learned[part + "cells"].reshape(len(ids), len(learned[part + "intercept"]))
        less |= {part + "ids": ids[here], part + "cells": cells[here].reshape(-1)}
    names, clashes = state["names"]
    names = {id_: names[id_] for id_ in members.tolist() if id_ in names}
    # For methods that keep only members, nothing is lost except the names of other columns.
    loses_features = not is_member.all() or state["feature_names"] is not None or len(learned["table"]) > 0
    loses = loses_features or model.has_decoys
    return {**state, "learned": less, "names": (names, clashes), "compact": state["compact"] or loses}


def _model(tensors: Tensors, metadata: dict[str, Any]) -> Model:
    state = state_of_content(tensors, metadata)
    require(state["target"] is not None and state["n_features"] is not None, "its training did not end")
    require(metadata["race"] is None, "its γ race has not ended")
    limit = (state["n_features"] or 0) + state["id_base"]
    for name in ("ids", "predicting_ids", "decoy_ids", "shown_ids"):
        require(tensors.get(name, tensors["ids"]).max(initial=-1) < limit, "an id is above the last column")
    require(
        state["parameters"].get("gamma") != "auto" or state["chosen_gamma"] is not None,
        "gamma is 'auto', but chosen_gamma is missing",
    )
    model = Model(state["method"], **state["parameters"])
    restore(model, state)
    model.check_occurrences()
    shares, chance = metadata["selection_frequency"], metadata["selection_chance"]
    if shares is not None:
        members = model.members()[0].tolist()
        require(
            list_of(_is_share)(shares) and len(shares) == len(members),
            "selection_frequency must have one share, from 0 to 1, per selected feature",
        )
        require(optional(_is_share)(chance), "selection_chance must be a share from 0 to 1")
        model.selection_chance = chance
        model.selection_frequency = dict(zip(members, map(float, shares), strict=True))
    q_values = metadata["q_values"]
    if q_values is not None:
        members = model.members()[0].tolist()
        are_known = list_of(optional(_is_share))(q_values)
        require(are_known and len(q_values) == len(members), "q_values must have one number from 0 to 1 per feature")
        model.known_q_values = {column: q for column, q in zip(members, q_values, strict=True) if q is not None}
    return model


def _is_share(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def _set_parameters(metadata: dict[str, Any]) -> dict[str, Any]:
    given = metadata.get("set_since", metadata["parameters"])
    require(isinstance(given, dict), "set_since must be a dict of parameters")
    return methods.find(metadata["method"]).complete(from_json_values(given))
