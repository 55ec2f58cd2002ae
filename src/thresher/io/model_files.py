"""Model files (.thresher): a model as tensors and metadata, in the container of `io/container.py`.

Nothing in a file is executed. The digest detects damage. Sizes, ranges and order of everything that the model is built
from are checked as well, since a file can be manipulated. Only ValueError, OSError and MemoryError are raised.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import stat
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import methods
from thresher.io.atomic import written_whole
from thresher.io.container import Tensors, all_finite, demand, is_ascending, opened, serialized, verified
from thresher.model.labels import labels_read
from thresher.model.model import Model
from thresher.model.names import Naming
from thresher.parameters import Between, check

FORMAT_VERSION = 7

_ONLINE_TENSORS: dict[str, Any] = {
    "ids": np.int64, "cells": np.float32, "intercept": np.float32, "table": np.float32, "names": np.uint8
}  # fmt: skip
_BATCH_TENSORS: dict[str, Any] = {
    "ids": np.int64, "weights": np.float32, "intercept": np.float32, "names": np.uint8
}  # fmt: skip
_REMEDY = "train the model again"


def save_model(
    model: Model, path: str | os.PathLike[str], *, compact: bool = False, set_since: dict[str, Any] | None = None
) -> None:
    """Write a model, completely or not at all.

    A full file has the state of every feature that was touched, so that learning can continue with the same result. A
    compact file has only the members: enough to predict, and a few kilobytes. `set_since` are the parameters of the
    estimator, where they are no longer those that the model has learned with.
    """
    tensors, about = _batch_content(model) if model.is_batch else _online_content(model, compact)
    from thresher import __version__

    metadata = {
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "method": model.method,
        "parameters": _portable(model.parameters),
        "classes": [] if model.classes is None else model.classes.tolist(),
        "n_features": model.n_features,
        "id_base": model.id_base,
        "grouped_by_label": model.grouped_by_label,
        "threshold": model.threshold,
        "selection_frequency": _frequencies(model),
        "row_counts": model.class_weights.state(),
        "gamma_changed": model.gamma_changed,
        "naming": None if model.naming is None else model.naming.to_dict(),
        "name_clashes": list(model.name_clashes),
        **about,
    }
    if set_since is not None:
        metadata["set_since"] = _portable(set_since)
    tensors["names"] = _written_names(model, compact)
    with written_whole(path) as file:
        for piece in serialized(tensors, metadata):
            file.write(piece)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model. If the file is not valid, raise a ValueError that names it."""
    return load_with_parameters(path)[0]


def load_with_parameters(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """Read a model as `load_model` does, and the parameters that its estimator had."""
    with opened(path, "model") as file:
        status = os.fstat(file.fileno())
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            content = file.read()  # a pipe: its size is not known before its end
            file, size = io.BytesIO(content), len(content)
        tensors, metadata = verified(file, size, "model", FORMAT_VERSION, _REMEDY)
        return _model(tensors, metadata), _set_parameters(metadata)


def _online_content(model: Model, compact: bool) -> tuple[Tensors, dict[str, Any]]:
    state = model.state()
    if "learners" in state:
        raise ValueError("the race for gamma has not ended yet: save the model when its training has.")
    ids, intercept, table = state["ids"], state["intercept"], state["table"]
    cells = state["cells"].reshape(len(ids), len(intercept))
    if not (all_finite(cells) and all_finite(intercept)):
        raise ValueError("a weight is no longer finite, so the model can't be saved: train with other parameters.")
    if not all(map(math.isfinite, state["counters"].values())):
        raise ValueError(
            "the sum of losses is no longer finite, so the model can't be saved: scale sample_weight down."
        )
    if compact:
        columns, _ = model.members()
        kept = np.isin(ids, columns + model.id_base)
        ids, cells = ids[kept], cells[kept]
        # For methods that keep only members, nothing is lost except the names of other columns.
        compact = not kept.all() or model.feature_names is not None or len(table) > 0
        table = table[:0]
    compact = compact or model.compact
    names: Any = model.feature_names
    if names is not None and compact:
        names = [names[column] for column in (ids - model.id_base).tolist()]
    about = {"feature_names": names, "compact": compact, "counters": state["counters"], "learner": state["learner"]}
    if model.chosen_gamma is not None:
        about["chosen_gamma"] = model.chosen_gamma
    tensors: Tensors = {"ids": ids, "cells": cells, "intercept": intercept, "table": table}
    return tensors, about


def _batch_content(model: Model) -> tuple[Tensors, dict[str, Any]]:
    columns, weights = model.members()
    names: Any = model.feature_names
    if names is not None:
        names = [names[column] for column in columns.tolist()]
    tensors: Tensors = {"ids": columns + model.id_base, "weights": weights, "intercept": model.intercept}
    return tensors, {"feature_names": names, "compact": True, "counters": model.counters, "learner": {}}


def _model(tensors: Tensors, metadata: dict[str, Any]) -> Model:
    demand(isinstance(metadata["method"], str) and isinstance(metadata["parameters"], dict), "it has no method")
    method = methods.find(metadata["method"])
    expected = _BATCH_TENSORS if method.is_batch else _ONLINE_TENSORS
    found = {name: tensor.dtype for name, tensor in tensors.items()}
    demand(found == expected, f"its tensors are {', '.join(found)}, not {', '.join(expected)}")
    n_features, id_base, classes = metadata["n_features"], metadata["id_base"], metadata["classes"]
    demand(type(n_features) is int and 0 <= n_features < 2**63, "n_features is out of range")
    demand(id_base in (0, 1), "id_base is neither 0 nor 1")
    for name in ("compact", "grouped_by_label", "gamma_changed"):
        demand(isinstance(metadata[name], bool), f"{name} is neither true nor false")
    demand(_are_classes(classes), "it must have at least two classes, in ascending order")
    n_vectors = 1 if len(classes) == 2 else len(classes)
    for name in expected:
        if tensors[name].dtype == np.float32:
            demand(all_finite(tensors[name]), f"{name} has a value that is not finite")
    counters, learner = metadata["counters"], metadata["learner"]
    for name, value in {**counters, **learner}.items():
        demand(type(value) in (int, float) and value >= 0 and math.isfinite(value), f"{name} is out of range")
    if method.is_batch:
        ids = np.sort(tensors["ids"])
        demand(tensors["weights"].shape == (len(ids), n_vectors), "ids and weights differ in length")
        demand(tensors["intercept"].shape == (n_vectors,), "it must have one intercept per class")
    else:
        ids = tensors["ids"]
        demand(tensors["cells"].ndim == 2 and len(tensors["cells"]) == len(ids), "ids and state differ in length")
    demand(ids.ndim == 1 and is_ascending(ids), "ids are not in ascending order")
    limit = n_features + id_base
    demand(len(ids) == 0 or (ids[0] >= 0 and int(ids[-1]) < limit), "an id is out of range")
    demand(_is_finite(metadata["threshold"]), "its threshold is not a finite number")
    row_counts = metadata["row_counts"]
    valid = isinstance(row_counts, list) and 2 <= len(row_counts) <= 2 + len(classes)
    # Two sums of weights, and whole numbers of rows.
    valid = valid and all(_is_finite(total) and total >= 0 for total in row_counts[:2])
    valid = valid and all(type(n) is int and 0 <= n < 2**53 for n in row_counts[2:])
    demand(valid, "row_counts are out of range")
    given = _usable(metadata["parameters"])
    try:
        naming = None if metadata["naming"] is None else Naming.from_dict(metadata["naming"])
        if method.is_batch:
            model = Model.of_selection(
                method.name, given, labels_read(classes), n_features, tensors["ids"] - id_base, tensors["weights"].T,
                tensors["intercept"], id_base=id_base, counters=counters,
            )  # fmt: skip
        else:
            model = Model(method.name, **given)
            model.classes, model.n_features, model.id_base = labels_read(classes), n_features, id_base
            model.compact, model.naming = metadata["compact"], naming
            model.feature_names = _names(metadata["feature_names"], tensors, model)
            gamma = None
            if model.parameters.get("gamma") == "auto":
                gamma = metadata["chosen_gamma"]
                check("chosen_gamma", gamma, Between(0.0, math.inf))
            model.restore(
                {
                    "ids": tensors["ids"], "cells": tensors["cells"].reshape(-1), "intercept": tensors["intercept"],
                    "counters": counters, "learner": learner, "table": tensors["table"],
                },
                gamma=gamma,
            )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"the model is not valid: {error}") from None
    model.feature_names = _names(metadata["feature_names"], tensors, model)
    model.grouped_by_label, model.threshold = metadata["grouped_by_label"], float(metadata["threshold"])
    model.class_weights.restore(row_counts)
    model.gamma_changed = metadata["gamma_changed"]
    model.naming = naming
    _read_names(tensors["names"], model, metadata["name_clashes"])
    frequencies = metadata["selection_frequency"]
    if frequencies is not None:
        columns = model.members()[0].tolist()
        valid = isinstance(frequencies, list) and len(frequencies) == len(columns)
        demand(valid and all(_is_finite(each) and 0 <= each <= 1 for each in frequencies), "frequencies are not shares")
        model.selection_frequency = dict(zip(columns, map(float, frequencies), strict=True))
    return model


def _set_parameters(metadata: dict[str, Any]) -> dict[str, Any]:
    given = metadata.get("set_since", metadata["parameters"])
    demand(isinstance(given, dict), "set_since must map parameters to values")
    try:
        return methods.find(metadata["method"]).complete(_usable(given))
    except ValueError as error:
        raise ValueError(f"the model is not valid: {error}") from None


def _written_names(model: Model, compact: bool) -> NDArray[np.uint8]:
    """Return the names of hashed features as JSON, pairs of id and name in ascending order of id."""
    names = model.names_by_id
    if names is None:
        return np.zeros(0, np.uint8)
    members = set((model.members()[0] + model.id_base).tolist())
    pairs = sorted((id_, name) for id_, name in names.items() if not compact or id_ in members)
    return np.frombuffer(json.dumps(pairs, ensure_ascii=False).encode(), np.uint8)


def _read_names(written: NDArray[np.uint8], model: Model, clashes: Any) -> None:
    valid = isinstance(clashes, list) and [type(each) for each in clashes] == [int, str, str] and clashes[0] >= 0
    demand(valid, "its name clashes are not a count and two names")
    if written.size == 0:
        return
    try:
        pairs = json.loads(written.tobytes())
    except (ValueError, RecursionError):
        pairs = None
    valid = isinstance(pairs, list) and all(
        isinstance(pair, list) and [type(part) for part in pair] == [int, str] and 0 <= pair[0] < 2**63
        for pair in pairs
    )
    demand(valid, "its names are not pairs of id and name")
    model.set_names(dict(pairs), tuple(clashes))


def _frequencies(model: Model) -> list[float] | None:
    """Return the selection frequency of each member, best first."""
    known = model.selection_frequency
    return None if known is None else [known.get(column, 0.0) for column in model.members()[0].tolist()]


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _names(names: Any, tensors: Tensors, model: Model) -> Any:
    if names is None:
        return None
    demand(isinstance(names, list) and all(isinstance(name, str) for name in names), "feature names are not text")
    if not model.compact:
        demand(len(names) == model.n_features, "it must have one name per feature")
        return names
    columns = tensors["ids"] - model.id_base
    demand(len(names) == len(columns), "it must have one name per feature")
    return dict(zip(columns.tolist(), names, strict=True))


def _are_classes(classes: Any) -> bool:
    if not isinstance(classes, list) or len(classes) < 2 or not all(isinstance(c, str | int | float) for c in classes):
        return False
    if len({isinstance(label, str) for label in classes}) > 1:
        return False
    return all(one < other for one, other in itertools.pairwise(classes))


def _portable(given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as values for JSON: a dict of class weights becomes a list of pairs."""
    out = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    if isinstance(out.get("random_state"), np.random.RandomState):
        out["random_state"] = None
    for name, value in out.items():
        if not isinstance(value, str | int | float | dict | list | None):
            raise ValueError(f"{name}={value!r} can't be written to a model file: pickle the estimator instead.")
    weights = out.get("class_weight")
    if isinstance(weights, dict):
        out["class_weight"] = [
            [label.item() if isinstance(label, np.generic) else label, float(weight)]
            for label, weight in weights.items()
        ]
    return out


def _usable(given: dict[str, Any]) -> dict[str, Any]:
    weights = given.get("class_weight")
    return {**given, "class_weight": dict(map(tuple, weights))} if isinstance(weights, list) else given
