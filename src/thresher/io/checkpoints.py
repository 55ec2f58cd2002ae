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

from thresher.io.container import read_content, require, write_content
from thresher.io.model_content import content_of, state_of_content
from thresher.methods import find
from thresher.model.model import Model
from thresher.model.names import Naming
from thresher.model.race import STANDINGS_VALIDATOR
from thresher.model.session import Session
from thresher.model.state import State, state_of
from thresher.model.targets import stream_target_from_state
from thresher.model.validators import (
    anything,
    are_labels,
    dict_of,
    is_count,
    is_flag,
    is_not_negative,
    is_number,
    is_text,
    is_whole,
    list_of,
    optional,
)

_VERSION = 7
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
    tensors, metadata = content_of(state_of(model))
    write_content(path, tensors, {"kind": _KIND, "model": metadata, "about": about}, _VERSION)


def read_checkpoint(path: str | os.PathLike[str]) -> Saved | None:
    """Read a checkpoint; None if there is none yet. If the file is not valid, raise a ValueError that names it."""
    try:
        with read_content(path, _KIND, _VERSION, "remove it to start from the beginning") as (tensors, metadata):
            state = state_of_content(tensors, metadata["model"])
            require(state["learned"] is not None and not state["compact"], "its model can't go on learning")
            _check(metadata["about"], find(state["method"]).predicts, state["n_vectors"])
            return Saved(os.fspath(path), metadata["about"], state)
    except FileNotFoundError:
        return None


def _check(about: Any, predicts: str, n_vectors: int) -> None:
    """Raise ValueError unless a run of a model that predicts this, with so many weights per feature, can continue.

    A matching digest does not make it valid.
    """
    require(_ABOUT(about), "the record of the run is not valid")
    require(len(about["reading"]["runs"]) == 1, "it must be of one model")
    session = about["reading"]["runs"][0]["session"]
    if session["naming"] is not None:
        Naming.from_dict(session["naming"])
    stream_target_from_state(predicts, n_vectors, session["target"])
    history = about["reading"]["runs"][0]["history"]
    points = {len(history[name]) for name in ("rows", "seconds", "error", "loss", "validation")}
    is_complete = len(points) == 1 and (min(points) > 0 or not about["finished"])
    is_complete = is_complete and len(history["entered"]) in (0, *points)
    is_complete = is_complete and len(history["rmse"]) in (points if predicts == "numbers" else {0})
    require(history["target"] == predicts, "its history is that of another target")
    require(is_complete, "the lists of the history differ in length")


_SESSION = dict_of(target=anything, naming=optional(anything), **Session.VALIDATORS)
_HISTORY = dict_of(
    rows=list_of(is_count), seconds=list_of(is_number), error=list_of(is_number), loss=list_of(is_number),
    rmse=list_of(is_not_negative), target=is_text,
    validation=list_of(optional(is_number)), entered=list_of(is_count), n_validation_rows=is_count,
    skipped=list_of(is_text), n_skipped=is_count, n_passes=lambda n: is_count(n) and n > 0, n_bytes=is_count,
    refitted=is_flag, n_predicted=is_count, baseline=optional(is_number), validation_baseline=optional(is_number),
    interrupted=is_flag, shuffled=is_flag,
    grouped_by_label=is_flag, race=STANDINGS_VALIDATOR, merges=lambda value: value == [],
)  # fmt: skip
_RUN = dict_of(
    session=_SESSION, history=_HISTORY, seconds=is_number,
    before=dict_of(
        n_samples=is_count, n_predicted=is_count, n_mistakes=is_count, loss=is_number, squared_error=is_number,
        baseline_error=is_number, labels=list_of(is_count),
    ),
    next_note=is_count, members=list_of(is_whole),
)  # fmt: skip
_ABOUT = dict_of(
    settings=lambda value: isinstance(value, dict),
    inputs=list_of(anything),
    reading=dict_of(position=optional(anything), n_rows=is_count, shuffle=optional(anything), runs=list_of(_RUN)),
    classes=optional(are_labels),
    finished=is_flag,
    grouping=optional(is_text),
)
