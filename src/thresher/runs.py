"""Training runs: models that learn from one read of a stream, and what happened along the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TypeVar

from thresher.labels import LabelRuns, StrangeLabelError
from thresher.model import Model, NoRoomError
from thresher.progress import Bar
from thresher.scoring import batches_for, check_names, n_right, share_right
from thresher.streams import Batch, DataError, Stream
from thresher.streams.pipeline import default_threads

_Answer = TypeVar("_Answer")


@dataclass
class History:
    """What happened in training; a list has one entry for each point in time.

    Attributes
    ----------
    rows, seconds : list
        Rows learned so far, all passes together, and the time since training began.
    error, loss : list of float
        Share of rows misjudged just before they were learned, and their mean loss so far: the squared hinge of
        second-order methods, the hinge or perceptron loss of the others.
    validation : list of float or None
        Accuracy on the validation data; only at the end of a pass, and only where such data were given.
    skipped : list of str
        Lines that were passed over, and why; the first hundred.
    n_skipped, n_bytes : int
        How many lines were passed over, and how many bytes were read.
    interrupted : bool
        Whether Ctrl-C ended it early.
    """

    rows: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    validation: list[float | None] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    n_skipped: int = 0
    n_bytes: int = 0
    interrupted: bool = False


class Run:
    """A training run: hands batches to the model and keeps the history."""

    def __init__(
        self, model: Model, stream: Stream, callback: Callable[[History], None] | None, started: float
    ) -> None:
        self.model = model
        self.stream = stream
        self.callback = callback
        self.history = History()
        self.started = started
        self.before = dict(model.counters) if model.is_trained else {"n_samples": 0, "n_mistakes": 0, "loss": 0.0}
        self.next_note = 1_000
        self.goes_on = model.classes is not None
        self.runs = LabelRuns()

    def learn(self, batch: Batch) -> None:
        """Learn a batch; what is wrong with it is told with its file and line."""
        self.history.n_skipped += len(batch.skipped)
        self.history.skipped += batch.skipped[: 100 - len(self.history.skipped)]
        try:
            codes = self.model.learn_batch(batch)
        except StrangeLabelError as error:
            raise DataError(f"{batch.place(error.row)}: {error}") from None
        except NoRoomError as error:
            raise DataError(f"{batch.file}: {error}") from None
        self.runs.add(codes)
        self.history.n_bytes += batch.n_bytes

    def n_right(self, batch: Batch) -> int:
        """How many rows of a batch the model gets right."""
        return n_right(self.model, batch)

    def note_now_and_then(self) -> None:
        """Add to the history after 1,000 rows, and whenever they have grown by a quarter."""
        rows, _, _ = self.so_far()
        if rows >= self.next_note:
            self.next_note = rows + rows // 4
            self.note()
            self.tell()

    def note(self) -> None:
        """Add a point to the history."""
        rows, mistakes, loss = self.so_far()
        history = self.history
        history.rows.append(rows)
        history.seconds.append(time.perf_counter() - self.started)
        history.error.append(mistakes / max(1, rows))
        history.loss.append(loss / max(1, rows))
        history.validation.append(None)

    def tell(self) -> None:
        """Call back with the history."""
        if self.callback is not None:
            self.callback(self.history)

    def so_far(self) -> tuple[int, int, float]:
        """Rows, mistakes and the sum of losses of this run."""
        now = self.model.counters
        return (
            now["n_samples"] - self.before["n_samples"],
            max(0, now["n_mistakes"] - self.before["n_mistakes"]),
            now["loss"] - self.before["loss"],
        )


class Team:
    """Training runs that share one read: each batch goes to all of them, spread over threads."""

    def __init__(self, runs: list[Run], n_threads: int | None) -> None:
        self.runs = runs
        self._n_threads = min(len(runs), default_threads() if n_threads is None else n_threads)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> None:
        # One run stays on the caller's thread, where Ctrl-C is heard between two blocks of a batch.
        if self._n_threads > 1:
            self._pool = ThreadPoolExecutor(self._n_threads, thread_name_prefix="thresher-learn")

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def one_pass(self, bar: Bar) -> None:
        """Learn the stream once."""
        first = self.runs[0]
        for run in self.runs[1:]:
            check_names(run.model, run.stream)
        for batch in batches_for(first.model, first.stream):
            self._each(methodcaller("learn", batch))
            rows, mistakes, _ = first.so_far()
            bar.advance(batch.n_bytes, batch.n_rows, mistakes / max(1, rows))
            for run in self.runs:
                run.note_now_and_then()

    def end_pass(self) -> None:
        """Settle what only the end of a stream can tell."""
        stream = self.runs[0].stream
        try:
            for run in self.runs:
                run.model.end_stream(stream.id_base)
        except ValueError as error:
            self.abandon()
            if self.interrupted:  # before there was anything to keep
                raise KeyboardInterrupt from None
            raise DataError(f"{stream.name}: {error}") from None
        for run in self.runs:
            run.note()

    def validate(self, held_out: Stream) -> None:
        """Measure the accuracy of all models on one read."""
        n_rows, right = 0, [0] * len(self.runs)
        for run in self.runs[1:]:
            check_names(run.model, held_out)
        for batch in batches_for(self.runs[0].model, held_out):
            found = self._each(methodcaller("n_right", batch))
            right = [before + more for before, more in zip(right, found, strict=True)]
            n_rows += batch.n_rows
        for run, its in zip(self.runs, right, strict=True):
            run.history.validation[-1] = share_right(run.model, its, n_rows, held_out)

    def interrupt(self) -> None:
        """Write down that Ctrl-C was pressed."""
        for run in self.runs:
            run.history.interrupted = True

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.runs[0].history.interrupted

    def abandon(self) -> None:
        """Leave the stream as broken off."""
        for run in self.runs:
            run.model.abandon_stream()

    def tell(self) -> None:
        """Call back with each history."""
        for run in self.runs:
            run.tell()

    def _each(self, work: Callable[[Run], _Answer]) -> list[_Answer]:
        if self._pool is None:
            return [work(run) for run in self.runs]
        jobs = [self._pool.submit(work, run) for run in self.runs]
        try:
            return [job.result() for job in jobs]
        finally:
            # On an error or Ctrl-C too no batch is left half learned by some.
            wait(jobs)
