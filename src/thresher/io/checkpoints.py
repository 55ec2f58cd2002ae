"""Checkpoints: a run in the middle of a stream, in the container of `io/container.py`.

The learner's state is stored as tensors, once or, while γ is being chosen, for each learner of the race; all else is
metadata. As with models, nothing in a file is executed, and a digest detects damage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.io.atomic import written_whole
from thresher.io.checkpoint_content import check_content
from thresher.io.container import Tensors, all_finite, demand, is_ascending, opened, serialized, verified
from thresher.model.model import Model

_VERSION = 2
_KIND = "checkpoint"
_TENSORS: dict[str, Any] = {"ids": np.int64, "cells": np.float32, "intercept": np.float32, "table": np.float32}


@dataclass(frozen=True)
class Saved:
    """What a checkpoint has: `about` as it was given to `write_checkpoint`, the model's state and what it knows."""

    path: str
    about: dict[str, Any]
    state: Any
    known: dict[str, Any]

    @contextmanager
    def used(self) -> Iterator[None]:
        """Raise ValueError, with the name of the file, if what was saved turns out not to fit in the block."""
        try:
            yield
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError):
            raise ValueError(f"{self.path}: the checkpoint is not valid: its parts do not fit together.") from None
        except ValueError as error:
            raise ValueError(f"{self.path}: the checkpoint is not valid: {error}") from None


def write_checkpoint(path: str | os.PathLike[str], model: Model, about: dict[str, Any]) -> None:
    """Write a checkpoint, completely or not at all; `about` has values for JSON."""
    from thresher import __version__

    state: Any = model.state()
    learners = state.get("learners", [state])
    tensors: Tensors = {f"{k}/{name}": each[name] for k, each in enumerate(learners) for name in _TENSORS}
    metadata = {
        "kind": _KIND,
        "format_version": _VERSION,
        "library_version": __version__,
        "race": state.get("race"),
        "learners": [{"counters": each["counters"], "learner": each["learner"]} for each in learners],
        "model": model.in_progress(),
        "about": about,
    }
    with written_whole(path) as file:
        for piece in serialized(tensors, metadata):
            file.write(piece)


def read_checkpoint(path: str | os.PathLike[str]) -> Saved | None:
    """Read a checkpoint; None if there is none yet. If the file is not valid, raise a ValueError that names it."""
    try:
        with opened(path, _KIND) as file:
            size = os.fstat(file.fileno()).st_size
            return _saved(
                os.fspath(path), *verified(file, size, _KIND, _VERSION, "remove it to start from the beginning")
            )
    except FileNotFoundError:
        return None


def _saved(path: str, tensors: Tensors, metadata: dict[str, Any]) -> Saved:
    states = []
    for k, each in enumerate(metadata["learners"]):
        arrays = {name: tensors.pop(f"{k}/{name}") for name in _TENSORS}
        for name, dtype in _TENSORS.items():
            demand(arrays[name].dtype == dtype and arrays[name].ndim == 1, f"its {name} have the wrong type", _KIND)
        demand(is_ascending(arrays["ids"]), "ids are not in ascending order", _KIND)
        demand(len(arrays["ids"]) == 0 or arrays["ids"][0] >= 0, "an id is out of range", _KIND)
        demand(all(all_finite(arrays[name]) for name in ("cells", "intercept", "table")), "not all is finite", _KIND)
        states.append({**arrays, "counters": each["counters"], "learner": each["learner"]})
    demand(not tensors and len(states) > 0, "its tensors are not those of its learners", _KIND)
    race, about = metadata["race"], metadata["about"]
    check_content(race, metadata["model"], about, len(states))
    demand(race is not None or len(states) == 1, "it has several learners without a race", _KIND)
    state = {"race": race, "learners": states} if race is not None else states[0]
    return Saved(path, about, state, metadata["model"])
