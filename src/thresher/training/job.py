"""The arguments of a training run, and the data that it opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from thresher import parameters
from thresher.model.model import Model
from thresher.streams import Data, Stream, as_stream
from thresher.training.history import History
from thresher.training.run import BatchCallback
from thresher.training.samples import Sample


@dataclass(frozen=True)
class Request:
    """The arguments of a training run; `train` and `train_many` document them.

    A new argument of `train` needs a line in its signature, a line here and in the call, and the code that it changes:
    all functions between take the whole request.
    """

    passes: int | Literal["auto"] | None = None
    validate: Data | None = None
    shuffle: bool | Literal["auto"] = "auto"
    classes: ArrayLike | None = None
    multiclass: bool | int = False
    progress: bool = False
    callback: Callable[[History], None] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    every: str | int = "60s"
    resume: bool = False
    n_threads: int | None = None
    samples: Sequence[Sample | None] | None = None  # which rows each model learns; None stands for all rows
    # Sees the batches of the first pass, but not if that starts again on shuffled rows.
    on_batch: BatchCallback | None = None


@dataclass(frozen=True)
class Job:
    """A request with its data opened: what is learned, how often it is read, and the data it is measured on."""

    request: Request
    stream: Stream
    n_passes: int | Literal["auto"]
    is_continued: bool  # whether the models were trained before
    held_out: Stream | None

    def has_refit(self, model: Model, n_passes: int) -> bool:
        """Return whether a closing pass follows after `n_passes`, for a model that has read the stream or will."""
        refit: bool | Literal["auto"] = model.parameters.get("refit", False)
        if refit != "auto":
            return refit
        # A model that was trained before keeps its layer, unless refit=True asks to learn it again from these rows.
        gains_most = model.n_vectors > 1 or model.method.predicts == "numbers"
        return not self.is_continued and self.stream.can_be_read_again and (n_passes > 1 or gains_most)


def open_job(model: Model, data: Any, request: Request) -> Job:
    """Open the data for a model; without `passes` it reads them as often as its parameter says, a batch method once."""
    stream = as_stream(data, naming=model.naming)
    held_out = None if request.validate is None else as_stream(request.validate, naming=stream.naming)
    n_passes = model.parameters.get("n_passes", 1) if request.passes is None else request.passes
    if not model.method.is_batch:
        parameters.check("passes", n_passes, *model.method.parameters["n_passes"].allowed)
    is_continued = model.target is not None
    if n_passes == "auto" and (is_continued or not stream.can_be_read_again):
        n_passes = 1
    return Job(request, stream, n_passes, is_continued, held_out)
