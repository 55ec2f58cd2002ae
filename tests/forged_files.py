"""Models, checkpoints and caches that are damaged, or say something else with a checksum that fits."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from thresher.io.container import serialize


def check_damage_is_refused(path: Path, read: Callable[[Path], Any]) -> None:
    """Flip a bit of each byte of a small file, and cut it; `make faults` flips every bit and cuts at every byte."""
    raw, bad = path.read_bytes(), path.with_name("bad")
    flipped = (raw[:at] + bytes([raw[at] ^ 1 << at % 8]) + raw[at + 1 :] for at in range(len(raw)))
    for broken in (*flipped, *(raw[:length] for length in range(0, len(raw), 7)), raw + b"\0"):
        bad.write_bytes(broken)
        with pytest.raises(ValueError, match="bad: ") as error:
            read(bad)
        assert "\n" not in str(error.value)


def content_of(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the tensors and the metadata of a model or a checkpoint."""
    with safe_open(path, "np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys() if name != "digest"}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["thresher"])


def forge(path: Path, tensors: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None) -> Path:
    """Replace tensors and metadata of a model or a checkpoint; its digest is right."""
    found, about = content_of(path)
    path.write_bytes(b"".join(serialize({**found, **(tensors or {})}, {**about, **(metadata or {})})))
    return path


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of JSON with another value at a place."""
    if not place:
        return new
    value = copy.deepcopy(value)
    into = value
    for key in place[:-1]:
        into = into[key]
    into[place[-1]] = new
    return value
