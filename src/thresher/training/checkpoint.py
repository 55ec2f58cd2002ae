"""Saving a run at intervals, so that one that was stopped or killed resumes at the same row."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thresher.io.atomic import refuse_inputs
from thresher.io.checkpoints import Saved, read_checkpoint, write_checkpoint
from thresher.messages import count_noun, parameter
from thresher.model.labels import as_labels
from thresher.model.model import Model
from thresher.streams import DataError
from thresher.streams.position import Identity
from thresher.training.job import Job
from thresher.training.run import RunGroup
from thresher.training.stop_signals import StopRequests

# Writing takes at most this share of the time, whatever `every` says.
_MOST_TIME = 0.05
_UNITS = {"s": 1, "m": 60, "h": 3600}


class Checkpoint:
    """Where and how often a run is saved.

    Parameters
    ----------
    path : path
        The file, which is replaced each time.
    model : Model
        The model before the run.
    job : Job
        The run, with its data in their order. A run that is resumed must have the same settings.
    """

    def __init__(self, path: str | os.PathLike[str], model: Model, job: Job) -> None:
        stream, request = job.stream, job.request
        if not stream.has_positions:
            raise DataError(
                f"{stream.name} has no positions, so {parameter('checkpoint', ...)} can't be used: write it to a "
                "file first."
            )
        refuse_inputs(path, stream.files)
        self._path = path
        self._seconds, self._rows = interval(request.every)
        self._settings = _as_json({
            **_initial_settings(model), "passes": job.n_passes, "shuffle": request.shuffle,
            "multiclass": request.multiclass, "classes": _as_list(request.classes),
        })  # fmt: skip
        self._files = stream.files
        self._inputs = [asdict(Identity.of_file(file)) for file in self._files]
        self._last_time, self._last_row, self._cost = time.perf_counter(), 0, 0.0
        self._about: dict[str, Any] = {}
        self.requests = StopRequests()

    def read(self) -> Saved | None:
        """Return the saved run, or None if there is none yet; raise an error for the checkpoint of another run."""
        saved = read_checkpoint(self._path)
        if saved is None:
            return None
        for name, value in self._settings.items():
            other = saved.about["settings"].get(name)
            if other != value:
                raise ValueError(
                    f"{self._path}: this is a checkpoint of a run with {parameter(name, other)}, not {value!r}: use "
                    "the same, or another checkpoint."
                )
        before = saved.about["inputs"]
        if len(before) != len(self._inputs):
            raise ValueError(
                f"{self._path}: this is a checkpoint of a run on {count_noun(len(before), 'file')}, not "
                f"{len(self._inputs)}: use the same files, or another checkpoint."
            )
        for file, then, now in zip(self._files, before, self._inputs, strict=True):
            if then != now:
                raise ValueError(
                    f"{file}: the file has changed since {self._path} was written: remove that checkpoint to train "
                    "from the beginning."
                )
        return saved

    def begin(self, classes: ArrayLike | None) -> None:
        """Set what is known about the run before its first pass."""
        self.note(classes=_as_list(classes), finished=False, grouping=None)

    def note(self, **about: Any) -> None:
        """Set values to save in addition to the state of the runs."""
        self._about |= about

    def after_batch(self, group: RunGroup) -> None:
        """Save if it is time, or if the process was asked to stop, and then stop it."""
        stops = self.requests.received is not None
        if stops or self._is_due(group.n_learned):
            self._save(group)
        if stops:
            self.requests.pass_on()

    def finish(self, group: RunGroup) -> None:
        """Save the finished run; a request to stop that came after its last batch is carried out then."""
        self.note(finished=True)
        self._save(group)
        if self.requests.received is not None:
            self.requests.pass_on()

    def _save(self, group: RunGroup) -> None:
        started = time.perf_counter()
        about = {"settings": self._settings, "inputs": self._inputs, "reading": group.state(), **self._about}
        write_checkpoint(self._path, group.runs[0].model, about)
        self._last_time, self._last_row = time.perf_counter(), group.n_learned
        self._cost = self._last_time - started

    def _is_due(self, n_rows: int) -> bool:
        elapsed = time.perf_counter() - self._last_time
        if elapsed * _MOST_TIME < self._cost:
            return False
        return elapsed >= self._seconds if self._rows is None else n_rows - self._last_row >= self._rows


def interval(every: str | int) -> tuple[float, int | None]:
    """Return the seconds, or the rows, of "60s" or 10_000."""
    found = re.fullmatch(r"([0-9]+)([smh]?)", str(every)) if not isinstance(every, bool) else None
    if found is None or int(found[1]) == 0:
        raise ValueError(
            f"{parameter('every')} must be a time, as 60s, 5m or 1h, or a number of rows. Got {every!r} instead."
        )
    return (0.0, int(found[1])) if not found[2] else (float(int(found[1]) * _UNITS[found[2]]), None)


def _as_list(classes: ArrayLike | None) -> list[Any] | None:
    return None if classes is None else as_labels(classes).tolist()


def _initial_settings(model: Model) -> dict[str, Any]:
    """Return the settings that distinguish new models, by the names of their parameters."""
    given = dict(model.parameters)
    if isinstance(given.get("class_weight"), dict):
        given["class_weight"] = sorted([str(label), float(weight)] for label, weight in given["class_weight"].items())
    if "keep" in given:
        given["keep"] = model.words_to_keep or given["keep"]
    before = 0 if model.target is None else model.counters["n_samples"]
    return {"method": model.method.name, **given, "rows_learned_before": before}


def _as_json(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as JSON would give them back."""
    plain = {}
    for name, value in settings.items():
        try:
            plain[name] = json.loads(
                json.dumps(value.tolist() if isinstance(value, np.generic | np.ndarray) else value)
            )
        except TypeError:
            raise ValueError(
                f"{parameter(name, value)} can't be saved in a checkpoint: use plain numbers or text."
            ) from None
    return plain
