"""`distributed.train`: the driver. It distributes parts of shards, merges the results, and updates the model."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from thresher import parameters
from thresher.distributed.engines import Engine, local
from thresher.distributed.merge_size import best_sizes
from thresher.distributed.ray_engine import on_ray
from thresher.distributed.shards import Shards, Start, Survey, Update, add_surveys, add_updates, learn, survey
from thresher.evaluation.alignment import warn_of_unsure_base
from thresher.evaluation.evaluation import evaluate
from thresher.messages import parameter
from thresher.model.classes import classes_of_labels
from thresher.model.labels import Labels, label_text
from thresher.model.learning import n_passes_after
from thresher.model.merging import MergeSizes, count_from, merge, merge_names
from thresher.model.model import Model
from thresher.model.session import Pass
from thresher.model.settling import (
    drop_stale_measurements,
    include_id,
    trim,
    warn_if_none_told,
    warn_if_saturated,
    warn_of_clashes,
)
from thresher.model.targets import target_for
from thresher.progress import Steps, steps_bar
from thresher.streams import DataError
from thresher.training.column_scale import warn_of_scale
from thresher.training.history import History, Recorder
from thresher.training.job import Job, Request, open_job
from thresher.training.loop import Estimator, models_of
from thresher.training.run import session_on

# A shard with one class is taken for a sign of sorted rows if it should have this many rows of others.
_FEW = 20


def train(
    model: Model | Estimator,
    source: Any,
    *,
    n_shards: int,
    syncs: int = 16,
    passes: int | Literal["auto"] | None = None,
    engine: Literal["ray", "local"] = "ray",
    address: str | None = None,
    workers: int | None = None,
    validate: Any = None,
    classes: ArrayLike | None = None,
    multiclass: bool | int = False,
    progress: bool = False,
    callback: Callable[[History], None] | None = None,
) -> History:
    """Train an online method on shards that learn side by side, and are merged several times in a pass.

    The result depends on `n_shards` and `syncs`, but not on the engine, on the number of workers, or on workers that
    die. docs/scale.md says what it costs in accuracy and in bytes.

    Parameters
    ----------
    model : estimator or Model
        An online one; one that was trained before continues. If anything fails, it stays as it was.
    source : Stream, path, anything else that `open_stream` takes, or a Ray Dataset
        The training data. The rows should be in random order: sorted rows would leave a shard with one class.
    n_shards : int
        In how many parts it is cut, by bytes. A compressed file is not cut.
    syncs : int, default=16
        How often the shards are merged in a pass.
    passes : int or "auto", optional
        How often to read the data; by default the model's `n_passes`. A closing pass is not counted.
    engine : {"ray", "local"}, default="ray"
        Where the shards learn: on a Ray cluster, or in processes on this machine.
    address : str, optional
        Of the Ray cluster, as "10.0.0.1:6379" or "auto". Without it, Ray is started on this machine and stopped at
        the end, unless this process is connected to a cluster already.
    workers : int, optional
        With engine="local", the number of processes; by default one per core. 1 is this process. New processes import
        the script that is running, so it must call `train` under `if __name__ == "__main__":`.
    validate : Stream or path, optional
        Data to measure accuracy on at each sync.
    classes : array, optional
        The classes. By default the two that occur at the start of the shards.
    multiclass : bool or int, default=False
        Find all classes in a separate pass first: up to 1,000, or up to this number.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.
    callback : callable, optional
        Called with the history after each sync.

    Returns
    -------
    History
        With a point for each sync. A closing pass, in which no row is new, replaces the last point. After Ctrl-C the
        history ends at the last sync, and `interrupted` is true.

    Examples
    --------
    >>> from thresher import ShadowSOFS, datasets, distributed
    >>> model = ShadowSOFS(100)
    >>> rows = datasets.make_x2(4_000, n_features=2_000, n_informative=50)
    >>> history = distributed.train(model, rows, n_shards=4, syncs=4, passes=1, engine="local", workers=1)
    >>> history.rows
    [1000, 2000, 3000, 4000]
    """
    request = Request(
        passes=passes, validate=validate, classes=classes, multiclass=multiclass, progress=progress, callback=callback
    )
    parameters.check("n_shards", n_shards, parameters.Whole(1))
    parameters.check("syncs", syncs, parameters.Whole(1))
    parameters.check("workers", workers, parameters.Whole(1), parameters.OneOf((None,)))
    parameters.check("engine", engine, parameters.OneOf(("ray", "local")))
    if engine == "local" and address is not None:
        raise ValueError(f"{parameter('address', address)} is for {parameter('engine', 'ray')} only.")
    with models_of([model]) as (own,):
        if own.method.is_batch:
            name = own.method.estimator
            raise ValueError(f"{name} sees all rows at once, so it can't be trained on shards.")
        own.check_can_learn()
        if own.parameters.get("gamma") == "auto":
            raise ValueError(
                f"{parameter('gamma', 'auto')} can't be used with shards: choose γ by training on one, such as "
                "stream.shard(0, 64)."
            )
        job = open_job(own, source, request)
        stream, n_passes = job.stream, job.n_passes
        stream.shard(0, n_shards)  # raises for what can't be cut
        if engine == "local" and stream.needs_ray:
            raise ValueError(f"{stream.name} can be read on Ray alone: use {parameter('engine', 'ray')}.")
        starting: AbstractContextManager[Engine] = on_ray(address) if engine == "ray" else local(workers)
        n_readings = 1 if n_passes == "auto" else n_passes + job.has_refit(own, n_passes)
        with starting as running, steps_bar("training", n_readings * syncs * n_shards, progress) as bar:
            run = _ShardedRun(copy.deepcopy(own), job, Shards(stream, n_shards, syncs), running, bar)
            run.agree_on_target()
            try:
                run.learn()
            except KeyboardInterrupt:
                if not run.history.rows:
                    raise
                run.history.interrupted = True
            run.finish()
        own.become(run.model)
        return run.history


class _ShardedRun:
    """A training run: a model and the syncs of its shards."""

    def __init__(self, model: Model, job: Job, shards: Shards, engine: Engine, bar: Steps) -> None:
        self.model = model
        self.history = History(target=model.method.predicts)
        self._job, self._shards, self._engine, self._bar = job, shards, engine, bar
        self._recorder = Recorder(model, time.perf_counter())
        self._sizes = MergeSizes()  # of the last merge
        self._n_done = 0  # parts of shards
        self._is_base_open = self._keeps_as_written = self._zero_seen = False

    def agree_on_target(self) -> None:
        """Find the classes, if there are any, before anything is learned."""
        model, stream, request = self.model, self._job.stream, self._job.request
        if model.target is not None:
            target_for(model, request.classes)
        calls = [(k, bool(request.multiclass)) for k in range(self._shards.n)]
        handles = self._engine.map(survey, (self._shards,), calls)
        seen = self._engine.merge(add_surveys, handles)
        self._check_shards(seen)
        if seen.large_columns is not None and model.norm == "l2":
            warn_of_scale(stream.name, seen.large_columns)
        if model.target is None:
            self._settle(seen.labels)
        drop_stale_measurements(model)
        if model.id_base == 0 and stream.id_base is None:
            # Each part would warn that id 0 does not occur in it; `finish` asks about all of them.
            self._shards = replace(self._shards, stream=stream.with_base(0))

    def _settle(self, labels: Labels) -> None:
        """Make the learner of a new model. Ids are learned as written; their base is known at the end."""
        model, stream, request = self.model, self._job.stream, self._job.request
        try:
            if request.classes is not None or model.method.predicts == "numbers":
                target = target_for(model, request.classes)
            else:
                target = classes_of_labels(labels, multiclass=request.multiclass)
        except ValueError as error:
            raise DataError(f"{stream.name}: {error}") from None
        self._is_base_open = stream.id_base is None
        self._keeps_as_written = bool(model.words_to_keep)
        session_on(stream, model, target.by_code or None).finish(stream.id_base or 0, target)
        self._zero_seen = bool((model.kept_ids == 0).any())
        if stream.feature_names is not None:
            model.feature_names = stream.feature_names

    def learn(self) -> None:
        """Learn all passes, and a closing one where it is due."""
        history = self.history
        while history.n_passes == 0 or history.n_passes < n_passes_after(self._job.n_passes, history.n_rows_of_data()):
            history.n_passes += 1
            self._one_pass(Pass.FIRST if history.n_passes == 1 else Pass.LATER)
        if self._job.has_refit(self.model, history.n_passes):
            history.refitted = True
            self.model.selector.start_refit()
            try:
                self._one_pass(Pass.REFIT)
            except KeyboardInterrupt:
                history.refitted = self.model.selector.end_refit(keep=False)
                raise
            self.model.selector.end_refit(keep=True)

    def _one_pass(self, in_pass: Pass) -> None:
        """Learn all parts of all shards once."""
        n_saturated, n_clashes = self.model.counters["n_saturated"], self.model.names.clashes[0]
        for sync in range(self._shards.syncs):
            start = Start(self.model, in_pass)
            calls = [(k, sync) for k in range(self._shards.n)]
            handles = self._engine.map(learn, (self._shards, start), calls, self._show_progress)
            learned = self._engine.merge(add_updates, handles, type(self.model.selector))
            if in_pass == Pass.FIRST:  # later passes skip the same lines
                self.history.add_skipped(learned.n_skipped, learned.skipped)
            self._take(learned)
        if in_pass != Pass.REFIT:
            trim(self.model)
        warn_if_saturated(self.model, n_saturated)
        warn_of_clashes(self.model, n_clashes)

    def finish(self) -> None:
        """Set what is known only at the end: whether ids count from 0 or 1."""
        warn_if_none_told(self.model)
        if self._is_base_open and not self._zero_seen:
            count_from(self.model, 1, self._keeps_as_written)
        elif not self._is_base_open:
            warn_of_unsure_base(self.model, self._job.stream, self.history.rows[-1], self._zero_seen)

    def _show_progress(self) -> None:
        """Count a shard that has learned its part."""
        self._n_done += 1
        error = f", error {self.history.error[-1]:.2%}" if self.history.error else ""
        self._bar.done(self._n_done, f"sync {len(self.history.merges) + 1}{error}")

    def _take(self, learned: Update) -> None:
        """Merge what the shards have learned, and add it to the history."""
        model, history = self.model, self.history
        if learned.changes is not None:
            if learned.sample:
                self._sizes = best_sizes(model, learned.changes, learned.sample, self._shards.n)
            merge(model, learned.changes, self._sizes, learned.counted)
            merge_names(model, learned.names, learned.clashes)
            include_id(model, learned.largest_id)
            self._zero_seen |= learned.zero_seen
        history.n_bytes += learned.n_read
        self._recorder.note(history)
        self._recorder.note_baseline(history)
        own = {"predicting_size": self._sizes.predicting} if model.method.predicts_apart else {}
        arrays = [each for rows in learned.sample for each in (rows.indptr, rows.indices, rows.data, rows.labels)]
        sample_bytes = sum(array.nbytes for array in arrays)
        history.merges.append(
            {"size": self._sizes.selecting, **own, "bytes": learned.n_moved, "sample_bytes": sample_bytes}
        )
        held_out, callback = self._job.held_out, self._job.request.callback
        if held_out is not None:
            is_open = self._is_base_open and held_out.id_base is None
            result = evaluate(model, held_out.with_base(0) if is_open else held_out)
            history.validation[-1], history.n_validation_rows = result.main, result.n_rows
            history.validation_baseline = result.baseline
        if callback is not None:
            callback(history)

    def _check_shards(self, seen: Survey) -> None:
        """Raise an error for shards without rows, and for those with one class that should have more."""
        name, n = self._job.stream.name, self._shards.n
        n_rows = {k: int(counts.sum()) for k, (_, counts, _) in seen.by_shard.items()}
        for k, (labels, _, is_all) in seen.by_shard.items():
            if n_rows[k] == 0 and any(n_rows.values()):
                raise DataError(
                    f"{name}: shard {k + 1} of {n} has no rows: use fewer shards ({parameter('n_shards')}). A "
                    "compressed file is not cut."
                )
            if not is_all or len(labels) != 1:
                continue
            others = sum(int(counts[its != labels[0]].sum()) for its, counts, _ in seen.by_shard.values())
            if others * n_rows[k] >= _FEW * sum(n_rows.values()):
                raise DataError(
                    f"{name}: all {n_rows[k]:,} rows of shard {k + 1} of {n} have the label {label_text(labels[0])}, "
                    "so the rows are sorted: shuffle them first."
                )
