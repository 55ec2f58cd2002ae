"""The passes of online models through a stream: in its order or shuffled, from the start or from a checkpoint on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TypeAlias

from thresher import parameters
from thresher.io.checkpoints import Saved
from thresher.messages import parameter, warn
from thresher.model.classes import collect_labels
from thresher.model.label_order import POOR_ON_GROUPED_ROWS
from thresher.model.labels import Labels, labels_from_values
from thresher.model.learning import n_passes_after
from thresher.model.model import Model
from thresher.model.session import Pass
from thresher.model.settling import warn_if_none_told
from thresher.model.state import restore
from thresher.progress import Bar, progress_bar
from thresher.streams import DataError, Stream
from thresher.streams.position import Position
from thresher.streams.shuffling import shuffle_stream
from thresher.training.checkpoint import Checkpoint
from thresher.training.column_scale import ScaleCheck
from thresher.training.job import Job, Request
from thresher.training.run import Run, RunGroup
from thresher.training.samples import require_enough_rows

RunsOn: TypeAlias = Callable[[Stream, int], list[Run]]  # runs on a stream, after so many bytes were read


class Passes:
    """How a stream is learned, pass after pass; `model` is the first of those that learn it."""

    def __init__(self, model: Model, job: Job, runs_on: RunsOn) -> None:
        self._model, self._job, self._request, self._runs_on = model, job, job.request, runs_on
        self._is_new = not job.is_continued
        self._saver = None if self._request.checkpoint is None else Checkpoint(self._request.checkpoint, model, job)
        self._saved = self._saver.read() if self._saver is not None and self._request.resume else None
        self._classes = self._request.classes
        if self._saved is not None and self._saved.about["classes"] is not None:
            self._classes = labels_from_values(self._saved.about["classes"])
        elif self._request.multiclass and self._classes is None and self._is_new:
            self._classes = _classes_of(job.stream, self._request)
        if self._saver is not None:
            self._saver.begin(self._classes)

    def learn(self) -> list[Run]:
        group = self._learn_in_some_order()
        stream = self._job.stream
        for run in group.runs:
            if stream.feature_names is not None and self._is_new:
                run.model.feature_names = stream.feature_names
            if not group.interrupted:
                warn_if_none_told(run.model)
            if run.sample is not None and not group.interrupted:
                who_learns = f"the model of {run.sample} learns"
                require_enough_rows(stream.name, who_learns, run.model.target, run.model.class_weights.counts)
        return group.runs

    def _learn_in_some_order(self) -> RunGroup:
        """Learn the rows in their order or shuffled; with "auto", a new model learns grouped rows again, shuffled."""
        request, in_order, saved = self._request, self._job.stream, self._saved
        # Where a run that is resumed had started again on shuffled rows, so does this one.
        is_shuffled = request.shuffle is True or (saved is not None and saved.about["reading"]["shuffle"] is not None)
        can_restart = request.shuffle == "auto" and self._is_new and in_order.can_be_read_again and not is_shuffled
        stream = in_order
        if is_shuffled and not (saved is not None and saved.about["finished"]):
            stream = self._shuffle()
        scale = ScaleCheck(stream, self._model.norm)
        group = RunGroup(self._runs_on(stream, 0), request.n_threads, request.on_batch, scale)
        with group:
            grouping = self._learn_all(group, stop_if_grouped=can_restart, saved=saved)
        if grouping is None:
            return group
        if not can_restart or group.interrupted:
            warn(f"{stream.name}: {grouping}. {POOR_ON_GROUPED_ROWS}: {self._remedy()}.", UserWarning)
            return group
        warn(
            f"{stream.name}: {grouping}. Training starts again on a seeded shuffle of them; "
            f"{parameter('shuffle', True)} does so at once.",
            UserWarning,
        )
        before = group.runs[0].history
        again = self._runs_on(self._shuffle(), before.n_bytes)
        again[0].history.resumed_at = before.resumed_at  # with a checkpoint there is one run
        group = RunGroup(again, request.n_threads)  # no on_batch: the shuffled rows can be read again
        with group:
            self._learn_all(group, stop_if_grouped=False)
        return group

    def _shuffle(self) -> Stream:
        generator = parameters.random_generator(self._model.parameters["random_state"])
        return shuffle_stream(self._job.stream, generator, progress=self._request.progress)

    def _remedy(self) -> str:
        if not self._job.stream.can_be_read_again:
            return "write them to a file, and train on that"
        if not self._is_new:
            return f"start from the earlier model again, with {parameter('shuffle', True)}"
        return f"use {parameter('shuffle', True)}"

    def _learn_all(self, group: RunGroup, *, stop_if_grouped: bool, saved: Saved | None = None) -> str | None:
        """Learn all passes, or the rest of them; return how the rows were grouped by label, if they were.

        With `stop_if_grouped` the models are then reset after the first pass, and not before its end: rows that are
        grouped at first can be a small part of a stream that is not.
        """
        grouping: str | None = None
        start = None
        if saved is not None:
            grouping, start = saved.about["grouping"], self._resume(group, saved)
            if saved.about["finished"]:
                return grouping
            if group.runs[0].history.rows:
                group.call_back()
        with (
            progress_bar("training", group.runs[0].stream, self._n_readings(group), self._request.progress) as bar,
            nullcontext() if self._saver is None else self._saver.requests,
        ):
            is_in_pass = saved is not None or self._begin_next(group)
            while is_in_pass:
                self._read_once(group, bar, start)
                if group.in_pass == Pass.FIRST:
                    grouping = group.grouping()
                    if grouping is not None and stop_if_grouped and not group.interrupted:
                        group.revert()
                        return grouping
                self._end_pass(group, grouping)
                is_in_pass, start = not group.interrupted and self._begin_next(group), None
        if self._saver is not None and not group.interrupted:
            self._saver.finish(group)
        return grouping

    def _read_once(self, group: RunGroup, bar: Bar, start: Position | None) -> None:
        """Learn the stream from its start, or from a position on, until its end or Ctrl-C."""
        try:
            group.one_pass(bar, start, None if self._saver is None else self._saver.after_batch)
        except KeyboardInterrupt:
            group.interrupt()

    def _end_pass(self, group: RunGroup, grouping: str | None) -> None:
        """Settle, measure and report what a pass has learned."""
        group.end_pass()
        if grouping is not None:
            group.note_grouped()
        if self._job.held_out is not None and not group.interrupted:
            group.validate(self._job.held_out)
        group.call_back()
        if self._saver is not None:
            self._saver.note(grouping=grouping)

    def _begin_next(self, group: RunGroup) -> bool:
        """Begin the next pass, or the closing one; return whether there is one."""
        done = group.runs[0].history.n_passes
        if done == 0 or done < n_passes_after(self._job.n_passes, group.n_rows_learned() // done):
            group.begin_pass(self._classes)
        elif group.in_pass != Pass.REFIT and (refitting := self._runs_to_refit(group, done)):
            group.begin_refit(refitting)
        else:
            return False
        return True

    def _runs_to_refit(self, group: RunGroup, n_passes: int) -> list[Run]:
        """Return the runs that end with a closing pass after so many others."""
        return [run for run in group.runs if self._job.has_refit(run.model, n_passes)]

    def _n_readings(self, group: RunGroup) -> int:
        """Return how often the stream will be read, as far as it is known before the first pass."""
        n_passes = self._job.n_passes
        return 1 if isinstance(n_passes, str) else n_passes + bool(self._runs_to_refit(group, n_passes))

    def _resume(self, group: RunGroup, saved: Saved) -> Position | None:
        """Restore the run from the checkpoint; return where to continue reading."""
        assert self._saver is not None
        self._saver.note(grouping=saved.about["grouping"])
        run = group.runs[0]
        with saved.name_file_in_errors():
            restore(run.model, saved.state)
            position = group.resume(saved.about["reading"])
            if position is not None and not saved.about["finished"]:
                run.stream.batches(position)  # which checks it
            return position


def _classes_of(stream: Stream, request: Request) -> Labels | None:
    """Read a stream for its classes."""
    try:
        return collect_labels(_labels_of(stream, request.progress), request.multiclass)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{stream.name}: {error}") from None


def _labels_of(stream: Stream, progress: bool) -> Iterator[Labels]:
    """Read a stream for its labels alone: a learner must know up front how many classes there are."""
    if not stream.can_be_read_again:
        raise DataError(
            f"{stream.name} can be read only once, so a first pass to find the classes is not "
            f"possible: name them with {parameter('classes', ['a', 'b', 'c'])}."
        )
    with progress_bar("looking for classes", stream, 1, progress) as bar:
        for batch in stream.batches():
            yield batch.labels
            bar.advance(batch.n_bytes, batch.n_rows, None)
