"""The passes of online models through a stream: in its order or shuffled, from the start or from a checkpoint on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TypeAlias

from thresher import parameters
from thresher.io.checkpoints import Saved
from thresher.messages import parameter, warn
from thresher.model.label_order import POOR_ON_GROUPED_ROWS, Grouping
from thresher.model.labels import Labels, labels_from_values
from thresher.model.learning import n_passes_after
from thresher.model.model import Model
from thresher.model.session import Pass
from thresher.model.state import restore
from thresher.model.targets import collect_labels
from thresher.progress import Bar, progress_bar
from thresher.streams import DataError, Stream
from thresher.streams.position import Position
from thresher.streams.shuffling import shuffle_stream
from thresher.training.checkpoint import Checkpoint
from thresher.training.column_scale import ScaleCheck
from thresher.training.run import Run, SharedReading
from thresher.training.samples import require_enough_rows
from thresher.training.task import Task

RunsOn: TypeAlias = Callable[[Stream, int], list[Run]]  # runs on a stream, after so many bytes were read


class Passes:
    """How a stream is learned, pass after pass; `model` is the first of those that learn it."""

    def __init__(self, model: Model, task: Task, runs_on: RunsOn) -> None:
        self._model, self._task, self._request, self._runs_on = model, task, task.request, runs_on
        self._is_new = not task.is_continued
        self._saver = None if self._request.checkpoint is None else Checkpoint(self._request.checkpoint, model, task)
        self._saved = self._saver.read() if self._saver is not None and self._request.resume else None
        self._classes = self._request.classes
        if self._saved is not None and self._saved.about["classes"] is not None:
            self._classes = labels_from_values(self._saved.about["classes"])
        elif self._request.multiclass and self._classes is None and self._is_new:
            self._classes = collect_labels(_labels_of(task.stream, self._request.progress))
        if self._saver is not None:
            self._saver.begin(self._classes)

    def learn(self) -> list[Run]:
        """Learn all passes."""
        reading = self._learn_in_some_order()
        stream = self._task.stream
        for run in reading.runs:
            if stream.feature_names is not None and self._is_new:
                run.model.feature_names = stream.feature_names
            if run.sample is not None and not reading.interrupted:
                who_learns = f"the model of {run.sample} learns"
                require_enough_rows(stream.name, who_learns, run.model.target, run.model.class_weights.counts)
        return reading.runs

    def _learn_in_some_order(self) -> SharedReading:
        """Learn the rows in their order or shuffled; with "auto", a new model learns grouped rows again, shuffled."""
        request, in_order, saved = self._request, self._task.stream, self._saved
        # Where a run that is resumed had started again on shuffled rows, so does this one.
        is_shuffled = request.shuffle is True or (saved is not None and saved.about["reading"]["shuffle"] is not None)
        can_restart = request.shuffle == "auto" and self._is_new and in_order.can_be_read_again and not is_shuffled
        stream = in_order
        if is_shuffled and not (saved is not None and saved.about["finished"]):
            stream = self._shuffle()
        scale = ScaleCheck(stream, self._model.norm)
        reading = SharedReading(self._runs_on(stream, 0), request.n_threads, request.on_batch, scale)
        with reading:
            grouping = self._learn_all(reading, stop_if_grouped=can_restart, saved=saved)
        if grouping is None:
            return reading
        if not can_restart or reading.interrupted:
            warn(f"{stream.name}: {grouping}. {POOR_ON_GROUPED_ROWS}: {self._remedy()}.", UserWarning)
            return reading
        warn(
            f"{stream.name}: {grouping}. Training starts again on a seeded shuffle of them; "
            f"{parameter('shuffle', True)} does so at once.",
            UserWarning,
        )
        before = reading.runs[0].history
        again = self._runs_on(self._shuffle(), before.n_bytes)
        again[0].history.resumed_at = before.resumed_at  # with a checkpoint there is one run
        reading = SharedReading(again, request.n_threads)  # no on_batch: the shuffled rows can be read again
        with reading:
            self._learn_all(reading, stop_if_grouped=False)
        return reading

    def _shuffle(self) -> Stream:
        generator = parameters.random_generator(self._model.parameters["random_state"])
        return shuffle_stream(self._task.stream, generator, progress=self._request.progress)

    def _remedy(self) -> str:
        if not self._task.stream.can_be_read_again:
            return "write them to a file, and train on that"
        if not self._is_new:
            return f"start from the earlier model again, with {parameter('shuffle', True)}"
        return f"use {parameter('shuffle', True)}"

    def _learn_all(
        self, reading: SharedReading, *, stop_if_grouped: bool, saved: Saved | None = None
    ) -> Grouping | str | None:
        """Learn all passes, or the rest of them; return how the rows were grouped by label, if they were.

        With `stop_if_grouped` the models are then reset after the first pass. Only the whole pass can show it: rows
        that are grouped at first can be a small part of a stream that is not.
        """
        grouping: Grouping | str | None = None
        start = None
        if saved is not None:
            grouping, start = saved.about["grouping"], self._resume(reading, saved)
            if saved.about["finished"]:
                return grouping
            if reading.runs[0].history.rows:
                reading.call_back()
        with (
            progress_bar("training", reading.runs[0].stream, self._n_readings(reading), self._request.progress) as bar,
            nullcontext() if self._saver is None else self._saver.requests,
        ):
            is_in_pass = saved is not None or self._begin_next(reading)
            while is_in_pass:
                self._read_once(reading, bar, start)
                if reading.in_pass == Pass.FIRST:
                    grouping = reading.grouping()
                    if grouping is not None and stop_if_grouped and not reading.interrupted:
                        reading.revert()
                        return grouping
                self._end_pass(reading, grouping)
                is_in_pass, start = not reading.interrupted and self._begin_next(reading), None
        if self._saver is not None and not reading.interrupted:
            self._saver.finish(reading)
        return grouping

    def _read_once(self, reading: SharedReading, bar: Bar, start: Position | None) -> None:
        """Learn the stream from its start, or from a position on, until its end or Ctrl-C."""
        try:
            reading.one_pass(bar, start, None if self._saver is None else self._saver.after_batch)
        except KeyboardInterrupt:
            reading.interrupt()

    def _end_pass(self, reading: SharedReading, grouping: Grouping | str | None) -> None:
        """Settle, measure and report what a pass has learned."""
        reading.end_pass()
        if grouping is not None:
            reading.note_grouped()
        if self._task.held_out is not None and not reading.interrupted:
            reading.validate(self._task.held_out)
        reading.call_back()
        if self._saver is not None:
            self._saver.note(grouping=None if grouping is None else str(grouping))

    def _begin_next(self, reading: SharedReading) -> bool:
        """Begin the next pass, which can be a closing one; return whether there is one."""
        done = reading.runs[0].history.n_passes
        if done == 0 or done < n_passes_after(self._task.n_passes, reading.n_rows_learned() // done):
            reading.begin_pass(self._classes)
        elif reading.in_pass != Pass.REFIT and (refitting := self._runs_to_refit(reading, done)):
            reading.begin_refit(refitting)
        else:
            return False
        return True

    def _runs_to_refit(self, reading: SharedReading, n_passes: int) -> list[Run]:
        """Return the runs that end with a closing pass after so many others."""
        return [run for run in reading.runs if self._task.has_refit(run.model, n_passes)]

    def _n_readings(self, reading: SharedReading) -> int:
        """Return how often the stream will be read, as far as it is known before the first pass."""
        n_passes = self._task.n_passes
        return 1 if isinstance(n_passes, str) else n_passes + bool(self._runs_to_refit(reading, n_passes))

    def _resume(self, reading: SharedReading, saved: Saved) -> Position | None:
        """Restore the run from the checkpoint; return where to continue reading."""
        assert self._saver is not None
        self._saver.note(grouping=saved.about["grouping"])
        run = reading.runs[0]
        with saved.name_file_in_errors():
            restore(run.model, saved.state)
            position = reading.resume(saved.about["reading"])
            if position is not None and not saved.about["finished"]:
                run.stream.batches(position)  # which checks it
            return position


def _labels_of(stream: Stream, progress: bool) -> Iterator[Labels]:
    """Read a stream for its labels alone: a learner must know up front how many classes there are."""
    if not stream.can_be_read_again:
        raise DataError(
            f"{stream.name} can be read only once, so its classes can't be looked for first: "
            f"name them with {parameter('classes', ['a', 'b', 'c'])}."
        )
    with progress_bar("looking for classes", stream, 1, progress) as bar:
        for batch in stream.batches():
            yield batch.labels
            bar.advance(batch.n_bytes, batch.n_rows, None)
