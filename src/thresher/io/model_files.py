"""Model files (.thresher): safetensors with JSON metadata and a digest over both.

Nothing in a file is ever run. A file is checked in full before anything in it is used: the digest first, then the
version, sizes, ranges and order of all that the model will be built from. Only ValueError and OSError are raised.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.io.atomic import written_whole
from thresher.model import Model

FORMAT_VERSION = 1
N_COUNTS = 6
# By falling width, so that each one is aligned.
_TENSORS: dict[str, Any] = {"ids": np.int64, "counters": np.float64, "cells": np.float32, "intercept": np.float32}
_KINDS: dict[Any, str] = {np.int64: "I64", np.float32: "F32", np.float64: "F64"}


def save_model(model: Model, path: str | os.PathLike[str], *, compact: bool = False) -> None:
    """Write a model, whole or not at all.

    In full it keeps the state of every feature that was touched, so that learning can go on with the same bits. Compact
    it keeps the members only: enough to predict, and a few kilobytes.
    """
    ids, cells, intercept, counters = model.state()
    if not (np.isfinite(cells).all() and np.isfinite(intercept).all()):
        raise ValueError("a weight is no longer finite, so the model can't be saved: train it with other parameters.")
    cells = cells.reshape(len(ids), len(intercept) // model.n_vectors)
    if compact:
        columns, _ = model.members()
        kept = np.isin(ids // model.n_vectors, columns + model.id_base)
        ids, cells = ids[kept], cells[kept]
        # Where a method keeps nothing but its members, nothing is lost, unless it is names of other columns.
        compact = not kept.all() or model.feature_names is not None
    names: Any = model.feature_names
    if names is not None and (compact or model.compact):
        columns = np.unique(ids // model.n_vectors) - model.id_base
        names = [names[column] for column in columns.tolist()]
    from thresher import __version__

    metadata = {
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "method": model.method,
        "parameters": _portable(model.parameters),
        "classes": [] if model.classes is None else model.classes.tolist(),
        "n_features": model.n_features,
        "id_base": model.id_base,
        "feature_names": names,
        "compact": compact or model.compact,
    }
    tensors: dict[str, NDArray[Any]] = {"ids": ids, "cells": cells, "intercept": intercept, "counters": counters}
    with written_whole(path) as file:
        file.write(_serialized(tensors, metadata))


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model. Whatever is wrong with the file is one ValueError that names it."""
    try:
        return _model(Path(path).read_bytes())
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path}: this is a folder, not a model.") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, OverflowError, IndexError, MemoryError):
        raise ValueError(f"{path}: the model is not valid: something in it is missing or of another kind.") from None


def _serialized(tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> bytes:
    """Return the bytes of a safetensors file: 8 bytes length, a JSON header, the tensors.

    The library's own writer orders its header at random; here the same model always gives the same bytes.
    """
    text = json.dumps(metadata, sort_keys=True, allow_nan=False)
    ordered = {name: np.ascontiguousarray(tensors[name], dtype=_TENSORS[name]) for name in _TENSORS}
    header: dict[str, Any] = {"__metadata__": {"digest": _digest(ordered, text), "thresher": text}}
    at = 0
    for name, tensor in ordered.items():
        kind = _KINDS[_TENSORS[name]]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return b"".join([len(head).to_bytes(8, "little"), head, *(tensor.tobytes() for tensor in ordered.values())])


def _digest(tensors: dict[str, NDArray[Any]], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name, tensor in tensors.items():
        digest.update(f"\n{name} {tensor.dtype} {tensor.shape}\n".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _model(raw: bytes) -> Model:
    tensors, metadata = _verified(raw)
    version = metadata.get("format_version")
    _demand(version == FORMAT_VERSION, f"model format {version} can't be read here; {FORMAT_VERSION} can")
    _demand(isinstance(metadata.get("method"), str) and isinstance(metadata.get("parameters"), dict), "no method in it")
    given = _usable(metadata["parameters"])
    model = Model(metadata["method"], **given)
    model.n_features, model.id_base = metadata["n_features"], metadata["id_base"]
    _demand(model.n_features is None or (isinstance(model.n_features, int) and 0 <= model.n_features < 2**63),
            "n_features is out of range")  # fmt: skip
    _demand(model.id_base in (0, 1), "id_base is neither 0 nor 1")
    classes = metadata["classes"]
    kinds = {isinstance(label, str) for label in classes} if isinstance(classes, list) else set()
    plain = all(isinstance(label, str | int | float) for label in classes)
    alike = len(classes) >= 2 and len(kinds) == 1 and plain
    in_order = alike and all(one < other for one, other in itertools.pairwise(classes))
    _demand(in_order, "there are not two classes or more, in order")
    model.classes = np.array(classes)
    _demand(isinstance(metadata["compact"], bool), "compact is neither true nor false")
    model.compact = metadata["compact"]
    _check_state(tensors, model)
    names = metadata["feature_names"]
    if names is not None:
        _demand(isinstance(names, list) and all(isinstance(name, str) for name in names), "names are not text")
        columns = np.unique(tensors["ids"] // model.n_vectors) - model.id_base
        if model.compact:
            _demand(len(names) == len(columns), "there is not one name for each feature")
            names = dict(zip(columns.tolist(), names, strict=True))
        else:
            _demand(len(names) == model.n_features, "there is not one name for each feature")
        model.feature_names = names
    try:
        model.restore((tensors["ids"], tensors["cells"].reshape(-1), tensors["intercept"], tensors["counters"]))
    except ValueError as error:
        raise ValueError(f"the model is not valid: {error}.") from None
    return model


def _verified(raw: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return tensors and metadata of a file whose every byte is as it was written."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(raw)
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]
        digest, text = header["digest"], header["thresher"]
        metadata = json.loads(text)
        # Written anew it must be the same file: that covers the header, which the digest can't.
        whole = set(tensors) == set(_TENSORS) and isinstance(metadata, dict) and _serialized(tensors, metadata) == raw
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError, OverflowError, AttributeError):
        raise ValueError("this is not a thresher model, or it is damaged or cut short.") from None
    if not whole or _digest({name: tensors[name] for name in _TENSORS}, text) != digest:
        raise ValueError("the model is damaged: its digest does not match.")
    return tensors, metadata


def _check_state(tensors: dict[str, NDArray[Any]], model: Model) -> None:
    ids, cells = tensors["ids"], tensors["cells"]
    _demand(ids.ndim == 1 and cells.ndim == 2 and cells.shape[0] == len(ids), "ids and state differ in length")
    _demand(len(ids) == 0 or (ids[0] >= 0 and bool(np.all(np.diff(ids) > 0))), "ids are not in order")
    limit = 0 if model.n_features is None else (model.n_features + model.id_base) * model.n_vectors
    _demand(len(ids) == 0 or int(ids[-1]) < limit, "an id is out of range")
    for name in ("cells", "intercept", "counters"):
        _demand(bool(np.isfinite(tensors[name]).all()), f"{name} has a value that is not finite")
    counters = tensors["counters"]
    # The counts come first, then the loss and what the learner keeps beside its features, which may be of any size.
    _demand(bool((counters >= 0).all() and (counters[:N_COUNTS] < 2**63).all()), "a counter is out of range")


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(f"the model is not valid: {message}.")


def _portable(given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON can hold them: a dict of class weights becomes a list of pairs."""
    out = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    if isinstance(out.get("random_state"), np.random.RandomState):
        out["random_state"] = None
    for name, value in out.items():
        if not isinstance(value, str | int | float | dict | None):
            raise ValueError(f"{name}={value!r} can't be written to a model file: pickle the estimator.")
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
