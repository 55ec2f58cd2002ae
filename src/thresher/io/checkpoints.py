"""Checkpoints: a run in the middle of a stream, in the container of `io/container.py`.

It has the model's state, as `io/model_content.py` writes it, and the state of the run. As with models, nothing in a
file is executed, and a digest detects damage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from thresher.io.atomic import atomic_file
from thresher.io.checkpoint_content import check_content
from thresher.io.container import open_file, read_verified, require, serialize
from thresher.io.model_content import content_of, state_of_content
from thresher.model.model import Model
from thresher.model.state import State, state_of

_VERSION = 5
_KIND = "checkpoint"


@dataclass(frozen=True)
class Saved:
    """A checkpoint: `about` as it was given to `write_checkpoint`, and the model's state."""

    path: str
    about: dict[str, Any]
    state: State

    @contextmanager
    def name_file_in_errors(self) -> Iterator[None]:
        """Raise ValueError, with the name of the file, if the saved values do not fit together."""
        try:
            yield
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError):
            raise ValueError(f"{self.path}: the checkpoint is not valid: its parts do not fit together.") from None
        except ValueError as error:
            raise ValueError(f"{self.path}: the checkpoint is not valid: {error}") from None


def write_checkpoint(path: str | os.PathLike[str], model: Model, about: dict[str, Any]) -> None:
    """Write a checkpoint, completely or not at all; `about` has values for JSON."""
    from thresher import __version__

    content = content_of(state_of(model))
    metadata = {
        "kind": _KIND,
        "format_version": _VERSION,
        "library_version": __version__,
        "model": content["metadata"],
        "about": about,
    }
    with atomic_file(path) as file:
        for block in serialize(content["tensors"], metadata):
            file.write(block)


def read_checkpoint(path: str | os.PathLike[str]) -> Saved | None:
    """Read a checkpoint; None if there is none yet. If the file is not valid, raise a ValueError that names it."""
    try:
        with open_file(path, _KIND) as file:
            size = os.fstat(file.fileno()).st_size
            remedy = "remove it to start from the beginning"
            tensors, metadata = read_verified(file, size, _KIND, _VERSION, remedy)
            state = state_of_content(tensors, metadata["model"], _KIND)
            require(state["learned"] is not None and not state["compact"], "its model can't go on learning", _KIND)
            check_content(metadata["about"], state["n_vectors"])
            return Saved(os.fspath(path), metadata["about"], state)
    except FileNotFoundError:
        return None
