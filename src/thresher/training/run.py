"""Training runs: models that learn from the same stream while it is read once, each with its history."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.evaluation.alignment import batches_for, batches_to_predict, check_names
from thresher.evaluation.evaluation import Tally, tally_for
from thresher.evaluation.metrics import KINDS, Measured
from thresher.messages import count_noun
from thresher.model.class_weights import ClassWeightError
from thresher.model.labels import LabelError
from thresher.model.learners import NotEnoughMemoryError
from thresher.model.model import Model
from thresher.model.session import Pass, Session
from thresher.model.state import restore, state_of
from thresher.progress import Bar
from thresher.streams import Batch, DataError, Stream
from thresher.streams.position import Position
from thresher.streams.shuffling import ShuffledStream
from thresher.threads import default_threads
from thresher.training.column_scale import ScaleCheck
from thresher.training.history import History, Recorder
from thresher.training.samples import Sample

_FIRST_NOTE = 100  # rows
BatchCallback: TypeAlias = Callable[[Batch, NDArray[np.int64]], None]  # of a batch and the numbers of its rows


def session_on(stream: Stream, model: Model, classes: ArrayLike | None, in_pass: Pass = Pass.FIRST) -> Session:
    """Return a session in which a model learns rows of a stream."""
    names = stream.feature_names or stream.naming
    return Session(model, classes, stream.id_base, names, stream.n_features, in_pass)


@contextmanager
def name_rows_in_errors(batch: Batch, stream: Stream) -> Iterator[None]:
    """Add the file, and the line if one row is to blame, to errors of learning a batch."""
    try:
        yield
    except LabelError as error:
        raise DataError(f"{batch.location(error.row)}: {error}") from None
    except (NotEnoughMemoryError, ClassWeightError) as error:
        raise DataError(f"{batch.file or stream.name}: {error}") from None


class Run:
    """A training run of one model: passes batches to its session and records the history."""

    def __init__(
        self,
        model: Model,
        stream: Stream,
        callback: Callable[[History], None] | None,
        started: float,
        n_bytes: int = 0,
        sample: Sample | None = None,
    ) -> None:
        self.model = model
        self.sample = sample
        self.stream = stream
        self.callback = callback
        is_shuffled = isinstance(stream, ShuffledStream)
        self.history = History(target=model.method.predicts, n_bytes=n_bytes, shuffled=is_shuffled)
        self.recorder = Recorder(model, started)
        self.validated: Measured | None = None  # on the validation data, after the last pass
        self._start = state_of(model)
        self._next_note = _FIRST_NOTE
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        assert self._session is not None
        return self._session

    def begin_pass(self, classes: ArrayLike | None) -> None:
        in_pass = Pass.LATER if self.history.n_passes else Pass.FIRST
        self._session = session_on(self.stream, self.model, classes, in_pass)
        self.history.n_passes += 1

    def begin_refit(self) -> None:
        """Open a session in which only the predicting layer learns, from its start."""
        self.model.selector.start_refit()
        self.model.occurrences = None
        self._session = session_on(self.stream, self.model, None, Pass.REFIT)
        self.history.refitted = True

    def end_refit(self) -> None:
        """End the closing pass; after Ctrl-C, the model predicts as before it.

        A run that was resumed in its closing pass does not know the layer from before it, and keeps the result.
        """
        self.model.note_occurrences(self.model.selector)
        self.history.refitted = self.model.selector.end_refit(keep=not self.history.interrupted)
        if self.history.interrupted:  # not all rows were counted
            self.model.occurrences = None

    def learn(self, batch: Batch, rows: NDArray[np.int64]) -> None:
        """Learn a batch, or the rows of it that are in the run's sample; errors give the file and line.

        `rows` are their numbers in the stream.
        """
        if self.session.in_pass == Pass.FIRST:  # later passes skip the same lines
            self.history.add_skipped(len(batch.skipped), batch.skipped)
        weights = None
        if self.sample is not None:
            weights = self._row_weights(batch, rows)
            if self.sample.permuted is not None:
                batch = self.sample.permuted.of_batch(batch, rows, are_shuffled=isinstance(self.stream, ShuffledStream))
        with name_rows_in_errors(batch, self.stream):
            self.session.learn(batch, weights, observer=self)
        self.history.n_bytes += batch.n_bytes

    def _row_weights(self, batch: Batch, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of a batch's rows, 0 for those that are not in the sample."""
        assert self.sample is not None
        own = 1.0 if batch.row_weights is None else batch.row_weights
        return np.where(self.sample.learns(rows), own, 0.0)

    def revert(self) -> None:
        restore(self.model, self._start)

    def n_rows_until_due(self) -> int:
        """How many rows are to be learned before the next point of the history."""
        return max(1, self._next_note - self.recorder.n_rows())

    def note_if_due(self) -> None:
        """Add a point to the history after 100 rows, and then whenever the rows have grown by a quarter."""
        rows = self.recorder.n_rows()
        if rows >= self._next_note:
            self._next_note = rows + rows // 4
            self.note()
            self.call_back()

    def note(self) -> None:
        self.recorder.note(self.history)
        self.history.race = copy.deepcopy(self.model.race[len(self._start["standings"]) :])

    def call_back(self) -> None:
        if self.callback is not None:
            self.callback(self.history)

    def error_so_far(self) -> float | None:
        """Share of rows predicted wrong, for display; None if it says nothing because of the order of the rows."""
        if self.session.in_pass == Pass.FIRST and not self.history.shuffled:
            is_telling = not self.session.target.order.seems_grouped()
        else:
            is_telling = not self.history.grouped_by_label
        return self.recorder.error() if is_telling else None

    def note_grouped(self) -> None:
        self.history.grouped_by_label = self.model.grouped_by_label = True

    def state(self) -> dict[str, Any]:
        """Return what the run knows in addition to its model's state, as values for JSON."""
        return {
            **self.recorder.state(),
            "session": self.session.state(),
            "history": self.history.state(),
            "next_note": self._next_note,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from `state`; the model must have its state of the same moment."""
        self._session = Session.from_state(self.model, state["session"])
        self.history = History.from_state(state["history"])
        self.recorder.resume(state)
        self.history.resumed_at = self.recorder.n_rows()
        self._next_note = state["next_note"]


class RunGroup:
    """Training runs on the same stream: it is read once, and all runs learn each batch, in parallel threads.

    An error that leaves its `with` block undoes the runs. Ctrl-C does so only before the end of a first pass, when
    there is no model yet.
    """

    def __init__(
        self,
        runs: list[Run],
        n_threads: int | None,
        on_batch: BatchCallback | None = None,
        scale: ScaleCheck | None = None,
    ) -> None:
        self.runs = runs
        self.learning = runs  # those that learn the current pass
        self._on_batch = on_batch
        self._scale = scale
        self._n_threads = min(len(runs), default_threads() if n_threads is None else n_threads)
        self._pool: ThreadPoolExecutor | None = None
        self._position: Position | None = None
        self._n_rows = 0  # of the pass, so far
        self.n_learned = 0  # since the run began or was resumed

    def __enter__(self) -> None:
        # A single run stays on the caller's thread, where Ctrl-C is noticed between two blocks of a batch.
        if self._n_threads > 1:
            self._pool = ThreadPoolExecutor(self._n_threads, thread_name_prefix="thresher-learn")

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        if error is not None and (error is not KeyboardInterrupt or self.runs[0].model.target is None):
            self.revert()

    def begin_pass(self, classes: ArrayLike | None) -> None:
        self._n_rows, self._position = 0, None
        for run in self.runs:
            run.begin_pass(classes)

    def begin_refit(self, runs: list[Run]) -> None:
        """Open the sessions of a closing pass, which these runs learn and no other."""
        self._n_rows, self._position, self.learning = 0, None, runs
        for run in runs:
            run.begin_refit()

    @property
    def in_pass(self) -> Pass:
        return self.learning[0].session.in_pass

    def one_pass(
        self, bar: Bar, start: Position | None = None, after_batch: Callable[[RunGroup], None] | None = None
    ) -> None:
        """Learn the stream once, from its start or from a position on; `after_batch` is called after each batch."""
        first = self.runs[0]
        for run in self.runs[1:]:
            check_names(run.model, run.stream)
        for batch in batches_for(first.model, first.stream, start):
            rows = batch.rows_from(self._n_rows)
            if self._scale is not None:
                self._scale.check(batch)
            self._for_each(self.learning, methodcaller("learn", batch, rows))
            if self._on_batch is not None and self.in_pass == Pass.FIRST:
                self._on_batch(batch, rows)
            self._position = batch.end
            self._n_rows += batch.n_rows
            self.n_learned += batch.n_rows
            bar.advance(batch.n_bytes, batch.n_rows, first.error_so_far())
            if after_batch is not None:
                after_batch(self)

    def n_rows_learned(self) -> int:
        """Return the largest number of rows that a run has learned, over all passes."""
        return max(run.recorder.n_rows() for run in self.runs)

    def grouping(self) -> str | None:
        """Return how the rows of the current pass are grouped by label, if they are and were not shuffled."""
        first = self.runs[0]
        window = None if first.history.shuffled else first.session.target.order.grouping()
        return None if window is None else str(window)

    def note_grouped(self) -> None:
        for run in self.runs:
            run.note_grouped()

    def state(self) -> dict[str, Any]:
        """Return the position in the stream and the state of the runs, without their models, as values for JSON."""
        stream = self.runs[0].stream
        return {
            "position": None if self._position is None else self._position.to_dict(),
            "n_rows": self._n_rows,
            "shuffle": stream.generator_state() if isinstance(stream, ShuffledStream) else None,
            "runs": [run.state() for run in self.runs],
        }

    def resume(self, state: dict[str, Any]) -> Position | None:
        """Continue from `state`; models must have their state of the same moment. Return where to continue reading."""
        stream = self.runs[0].stream
        if isinstance(stream, ShuffledStream):
            stream.restore_generator(state["shuffle"])
        for run, saved in zip(self.runs, state["runs"], strict=True):
            run.resume(saved)
        self._n_rows = state["n_rows"]
        return None if state["position"] is None else Position.from_dict(state["position"])

    def end_pass(self) -> None:
        stream = self.runs[0].stream
        if self.in_pass == Pass.REFIT:
            for run in self.learning:
                run.end_refit()
        try:
            for run in self.learning:
                run.session.finish(stream.id_base)
        except ValueError as error:
            if self.interrupted:  # interrupted before both classes were seen
                raise KeyboardInterrupt from None
            raise DataError(f"{stream.name}: {error}{self._skipped_sentence()}") from None
        for run in self.learning:
            run.note()
            run.recorder.note_baseline(run.history)

    def validate(self, held_out: Stream) -> None:
        """Measure the models that learned the pass by the main metric while the data are read once."""
        tallies = [tally_for(run.model, only_pairs=True) for run in self.learning]
        for run in self.learning[1:]:
            check_names(run.model, held_out)
        for batch in batches_to_predict(self.learning[0].model, held_out):
            self._for_each(tallies, methodcaller("add", batch))
        for run, tally in zip(self.learning, tallies, strict=True):
            counts = tally.counts(held_out.name)
            run.history.validation[-1] = KINDS[counts.target].main.of(counts)
            run.validated = counts
            run.history.n_validation_rows, run.history.validation_baseline = counts.n_rows, counts.baseline

    def interrupt(self) -> None:
        for run in self.runs:
            run.history.interrupted = True

    @property
    def interrupted(self) -> bool:
        return self.runs[0].history.interrupted

    def revert(self) -> None:
        for run in self.runs:
            run.revert()

    def call_back(self) -> None:
        for run in self.learning:
            run.call_back()

    def _skipped_sentence(self) -> str:
        """Return a sentence on skipped lines, which may explain why too few rows are left."""
        history = self.runs[0].history
        if not history.n_skipped:
            return ""
        return f" Skipped: {count_noun(history.n_skipped, 'line')}, the first because of: {history.skipped[0]}"

    def _for_each(self, subjects: Sequence[Run | Tally], work: Callable[[Any], None]) -> None:
        if self._pool is None:
            for subject in subjects:
                work(subject)
            return
        futures = [self._pool.submit(work, subject) for subject in subjects]
        try:
            for future in futures:
                future.result()
        finally:
            # Also after an error or Ctrl-C, all runs finish the batch.
            wait(futures)
