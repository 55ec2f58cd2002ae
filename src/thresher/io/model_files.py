"""Model files (.thresher): safetensors whose last tensor is a digest of all bytes before it.

Layout: 8 bytes with the length of the header; the header, JSON with the offsets of each tensor and our own metadata;
the tensors; the digest, SHA-256. Writing and reading go through the file once, in pieces, so that neither needs memory
beyond the tensors themselves. The header is written here and not by the safetensors library, which writes it in random
order: the same model always gives the same bytes.

Nothing in a file is executed. The digest detects damage. Sizes, ranges and order of everything that the model is built
from are checked as well, since a file can be manipulated. Only ValueError, OSError and MemoryError are raised.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from thresher import methods
from thresher.io.atomic import written_whole
from thresher.model import Model
from thresher.naming import Naming
from thresher.parameters import Between, check

FORMAT_VERSION = 6
Tensors = dict[str, NDArray[Any]]

_ONLINE_TENSORS: dict[str, Any] = {
    "ids": np.int64, "cells": np.float32, "intercept": np.float32, "table": np.float32, "names": np.uint8
}  # fmt: skip
_BATCH_TENSORS: dict[str, Any] = {
    "ids": np.int64, "weights": np.float32, "intercept": np.float32, "names": np.uint8
}  # fmt: skip
_DIGEST = "digest"
_KINDS: dict[np.dtype[Any], str] = {np.dtype(np.int64): "I64", np.dtype(np.float32): "F32", np.dtype(np.uint8): "U8"}
_DTYPES = {kind: dtype for dtype, kind in _KINDS.items()}
_PIECE = 1 << 22  # bytes
_LONGEST_HEADER = 100_000_000  # what safetensors allows


def save_model(model: Model, path: str | os.PathLike[str], *, compact: bool = False) -> None:
    """Write a model, completely or not at all.

    A full file has the state of every feature that was touched, so that learning can continue with the same result. A
    compact file has only the members: enough to predict, and a few kilobytes.
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
    tensors["names"] = _written_names(model, compact)
    with written_whole(path) as file:
        for piece in _serialized(tensors, metadata):
            file.write(piece)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model. If the file is not valid, raise a ValueError that names it."""
    try:
        with Path(path).open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode):
                return _model(*_verified(file, status.st_size))
            content = file.read()  # a pipe: its size is not known before its end
            return _model(*_verified(io.BytesIO(content), len(content)))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path}: this is a folder, not a model.") from None
    except PermissionError:
        raise PermissionError(f"{path}: permission denied.") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, OverflowError, IndexError):
        raise ValueError(f"{path}: the model is not valid: a part of it is missing or has the wrong type.") from None


def _online_content(model: Model, compact: bool) -> tuple[Tensors, dict[str, Any]]:
    state = model.state()
    if "learners" in state:
        raise ValueError("the race for gamma has not ended yet: save the model when its training has.")
    ids, intercept, table = state["ids"], state["intercept"], state["table"]
    cells = state["cells"].reshape(len(ids), len(intercept))
    if not (_all_finite(cells) and _all_finite(intercept)):
        raise ValueError("a weight is no longer finite, so the model can't be saved: train with other parameters.")
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


def _serialized(tensors: Tensors, metadata: dict[str, Any]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file, piece by piece."""
    text = json.dumps(metadata, sort_keys=True, allow_nan=False)
    header: dict[str, Any] = {"__metadata__": {"thresher": text}}
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    at = 0
    for name, array in [*arrays.items(), (_DIGEST, np.empty(hashlib.sha256().digest_size, np.uint8))]:
        header[name] = {
            "dtype": _KINDS[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]
        }  # fmt: skip
        at += array.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    digest = hashlib.sha256()
    start: list[bytes | memoryview] = [len(head).to_bytes(8, "little"), head]
    for piece in itertools.chain(start, *map(_pieces, arrays.values())):
        digest.update(piece)
        yield piece
    yield digest.digest()


def _pieces(array: NDArray[Any]) -> Iterator[memoryview]:
    if array.size:
        raw = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]  # an array is a buffer
        for begin in range(0, len(raw), _PIECE):
            yield raw[begin : begin + _PIECE]


def _verified(file: IO[bytes], size: int) -> tuple[Tensors, dict[str, Any]]:
    """Return tensors and metadata, after a check of the digest over all bytes."""
    length_bytes = file.read(8)
    length = int.from_bytes(length_bytes, "little")
    if len(length_bytes) < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise ValueError("this is not a thresher model, or it is truncated.")
    head = file.read(length)
    try:
        header = json.loads(head)
        metadata = json.loads(header.pop("__metadata__")["thresher"])
        version = metadata["format_version"]
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
        raise ValueError("this is not a thresher model, or it is damaged.") from None
    if version != FORMAT_VERSION:
        raise ValueError(
            f"model format {version} can't be read; this version of thresher reads format {FORMAT_VERSION} only "
            "(older ones were never released): train the model again."
        )
    shapes = _shapes(header, size - 8 - length)
    digest = hashlib.sha256(length_bytes)
    digest.update(head)
    tensors = {}
    for name, (dtype, shape) in shapes.items():
        array = np.empty(shape, dtype)
        for piece in _pieces(array):
            if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise ValueError("the model is truncated.")
            if name != _DIGEST:
                digest.update(piece)
        tensors[name] = array
    if tensors.pop(_DIGEST).tobytes() != digest.digest():
        raise ValueError("the model is damaged: its digest does not match.")
    return tensors, metadata


def _shapes(header: dict[str, Any], n_bytes: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Return the type and shape of each tensor, in order; raise unless they fill the rest of the file exactly."""
    shapes, at = {}, 0
    for name, entry in header.items():
        dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
        valid = isinstance(shape, list) and all(type(n) is int and 0 <= n <= n_bytes for n in shape)
        end = at + dtype.itemsize * math.prod(shape) if valid and len(shape) <= 2 else -1
        _demand(entry["data_offsets"] == [at, end], f"the tensor {name!r} has wrong offsets")
        shapes[name], at = (dtype, tuple(shape)), end
    last = next(reversed(shapes), None)
    _demand(last == _DIGEST and shapes[last] == (np.dtype(np.uint8), (32,)), "there is no digest at its end")
    _demand(at == n_bytes, "the file is truncated, or has extra bytes")
    return shapes


def _model(tensors: Tensors, metadata: dict[str, Any]) -> Model:
    _demand(isinstance(metadata["method"], str) and isinstance(metadata["parameters"], dict), "it has no method")
    method = methods.find(metadata["method"])
    expected = _BATCH_TENSORS if method.is_batch else _ONLINE_TENSORS
    found = {name: tensor.dtype for name, tensor in tensors.items()}
    _demand(found == expected, f"its tensors are {', '.join(found)}, not {', '.join(expected)}")
    n_features, id_base, classes = metadata["n_features"], metadata["id_base"], metadata["classes"]
    _demand(type(n_features) is int and 0 <= n_features < 2**63, "n_features is out of range")
    _demand(id_base in (0, 1), "id_base is neither 0 nor 1")
    for name in ("compact", "grouped_by_label", "gamma_changed"):
        _demand(isinstance(metadata[name], bool), f"{name} is neither true nor false")
    _demand(_are_classes(classes), "it must have at least two classes, in ascending order")
    n_vectors = 1 if len(classes) == 2 else len(classes)
    for name in expected:
        if tensors[name].dtype == np.float32:
            _demand(_all_finite(tensors[name]), f"{name} has a value that is not finite")
    counters, learner = metadata["counters"], metadata["learner"]
    for name, value in {**counters, **learner}.items():
        _demand(type(value) in (int, float) and value >= 0 and math.isfinite(value), f"{name} is out of range")
    if method.is_batch:
        ids = np.sort(tensors["ids"])
        _demand(tensors["weights"].shape == (len(ids), n_vectors), "ids and weights differ in length")
        _demand(tensors["intercept"].shape == (n_vectors,), "it must have one intercept per class")
    else:
        ids = tensors["ids"]
        _demand(tensors["cells"].ndim == 2 and len(tensors["cells"]) == len(ids), "ids and state differ in length")
    _demand(ids.ndim == 1 and _is_ascending(ids), "ids are not in ascending order")
    limit = n_features + id_base
    _demand(len(ids) == 0 or (ids[0] >= 0 and int(ids[-1]) < limit), "an id is out of range")
    _demand(_is_finite(metadata["threshold"]), "its threshold is not a finite number")
    row_counts = metadata["row_counts"]
    valid = isinstance(row_counts, list) and 2 <= len(row_counts) <= 2 + len(classes)
    _demand(valid and all(_is_finite(n) and 0 <= n < 2**63 for n in row_counts), "row_counts are out of range")
    given = _usable(metadata["parameters"])
    try:
        naming = None if metadata["naming"] is None else Naming.from_dict(metadata["naming"])
        if method.is_batch:
            model = Model.of_selection(
                method.name, given, np.array(classes), n_features, tensors["ids"] - id_base, tensors["weights"].T,
                tensors["intercept"], id_base=id_base, n_rows=counters["n_samples"],
            )  # fmt: skip
        else:
            model = Model(method.name, **given)
            model.classes, model.n_features, model.id_base = np.array(classes), n_features, id_base
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
        _demand(
            valid and all(_is_finite(each) and 0 <= each <= 1 for each in frequencies), "frequencies are not shares"
        )
        model.selection_frequency = dict(zip(columns, map(float, frequencies), strict=True))
    return model


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
    _demand(valid, "its name clashes are not a count and two names")
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
    _demand(valid, "its names are not pairs of id and name")
    model.set_names(dict(pairs), tuple(clashes))


def _frequencies(model: Model) -> list[float] | None:
    """Return the selection frequency of each member, best first."""
    known = model.selection_frequency
    return None if known is None else [known.get(column, 0.0) for column in model.members()[0].tolist()]


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _names(names: Any, tensors: Tensors, model: Model) -> Any:
    if names is None:
        return None
    _demand(isinstance(names, list) and all(isinstance(name, str) for name in names), "feature names are not text")
    if not model.compact:
        _demand(len(names) == model.n_features, "it must have one name per feature")
        return names
    columns = tensors["ids"] - model.id_base
    _demand(len(names) == len(columns), "it must have one name per feature")
    return dict(zip(columns.tolist(), names, strict=True))


def _are_classes(classes: Any) -> bool:
    if not isinstance(classes, list) or len(classes) < 2 or not all(isinstance(c, str | int | float) for c in classes):
        return False
    if len({isinstance(label, str) for label in classes}) > 1:
        return False
    return all(one < other for one, other in itertools.pairwise(classes))


def _all_finite(array: NDArray[Any]) -> bool:
    return all(
        bool(np.isfinite(np.frombuffer(piece, array.dtype)).all()) for piece in _pieces(np.ascontiguousarray(array))
    )


def _is_ascending(ids: NDArray[np.int64]) -> bool:
    step = _PIECE // 8
    return all(
        bool((ids[begin + 1 : begin + step + 1] > ids[begin : begin + step][: len(ids) - begin - 1]).all())
        for begin in range(0, len(ids), step)
    )


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(f"the model is not valid: {message}.")


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
