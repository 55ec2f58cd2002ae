"""Batch methods: all rows of a stream are read into memory and learned at once, by the solver of the method."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from thresher import _core, parameters
from thresher.csr import check_rows
from thresher.model.classes import StreamClasses, classes_for_matrix, refuse_too_many
from thresher.model.fixed_weights import FixedWeights
from thresher.model.kept_features import ids_to_keep
from thresher.model.labels import Labels
from thresher.model.model import Model
from thresher.model.names import MemberNames, Naming
from thresher.streams import Batch, DataError, Stream
from thresher.streams.matrix import Matrix, collect
from thresher.streams.read_counts import ReadCounts
from thresher.training.column_scale import ScaleCheck
from thresher.training.history import History
from thresher.training.job import Job
from thresher.training.run import Run, RunGroup, name_rows_in_errors
from thresher.training.samples import require_enough_rows
from thresher.training.solvers.memory_check import check_memory
from thresher.training.solvers.problem import Solver, add_kept_columns, problem_of

# Bytes per value while a stream is collected: its id and value as they were read, and again in the matrix.
_BYTES_TO_COLLECT = 24


def train_on_all_rows(runs: list[Run], job: Job) -> list[Run]:
    """Train new models of a batch method on rows that are read once. On an error or Ctrl-C they do not change.

    `on_batch` is called with all rows as one batch, after they were learned.
    """
    request, group = job.request, RunGroup(runs, n_threads=1)
    try:
        rows, history = _read(runs[0].model, job)
        for run in runs:
            run.history = copy.deepcopy(history)
            _learn(run, rows)
        seconds = runs[0].recorder.seconds()
        for run in runs:
            run.history.seconds.append(seconds)
            run.history.validation.append(None)
        if request.on_batch is not None:
            request.on_batch(_as_batch(rows), np.arange(len(rows.y)))
        if job.held_out is not None:
            group.validate(job.held_out)
        group.call_back()
    except BaseException:
        group.revert()
        raise
    return runs


def fit_all_rows(model: Model, X: Any, y: Labels, id_base: int = 0, names: list[str] | Naming | None = None) -> None:
    """Train a new model of a batch method. The model changes only at the end.

    Column 0 of X has the id `id_base`. `names` are the names of the columns, or how names are hashed.
    """
    method = model.method
    solver: Solver = method.load_solver()
    given = model.parameters
    target = classes_for_matrix(model, y)
    keep = ids_to_keep(model, id_base, names, X.shape[1]) - id_base
    if model.words_to_keep:  # some may be beyond the largest that occurs
        X.resize(X.shape[0], max(X.shape[1], int(keep.max(initial=-1)) + 1))
    n_rows, n_columns = X.shape
    budget = parameters.budget(given, n_columns)
    parameters.check_keep({"keep": keep.tolist()}, budget)
    n_outputs = target.n_vectors
    n_bytes = solver.BYTES_PER_VALUE * X.nnz + n_outputs * (64 * n_rows + 32 * min(X.nnz, n_columns))
    check_memory(method.estimator, n_bytes, f"the {X.nnz:,} values of X")
    problem = problem_of(X, given["norm"], target.encode(y), target.n_classes, budget, keep)
    found = add_kept_columns(solver.solve(problem, given) if problem.budget > 0 else problem.empty_solution(), keep)
    X, rows = check_rows(X, model.norm, 0)
    index = _core.ColumnIndex(np.sort(found.columns))
    n_with_member, (_, picked, places) = index.count_rows_with(rows), index.pick(rows)
    model.occurrences = np.bincount(picked[X.data[places] != 0], minlength=len(found.columns)).tolist()
    model.fixed = FixedWeights(
        model.norm, found.columns + id_base, np.ascontiguousarray(found.weights.T.reshape(-1), np.float32),
        np.asarray(found.intercept, np.float32), {"n_samples": n_rows, "n_with_member": n_with_member},
    )  # fmt: skip
    model.target, model.n_vectors = target, target.n_vectors
    model.n_features, model.id_base, model.compact = n_columns, id_base, True
    # Predictions and files use the parameters of training.
    model.parameters["progress"] = False
    if model.words_to_keep:
        model.parameters["keep"], model.words_to_keep = keep.tolist(), []
    if isinstance(names, Naming):
        model.naming = names
    else:
        model.feature_names = names
    model.extras = dict(found.extras)


def _read(model: Model, job: Job) -> tuple[Matrix, History]:
    """Read all rows of a stream, while they will fit in memory; the history has what was read."""
    stream, request = job.stream, job.request
    if stream.naming is not None and not stream.can_be_read_again:
        raise DataError(
            f"{stream.name} can be read only once, but {model.method.estimator} reads it again for the "
            "names of the selected features: write it to a file first."
        )
    reading, history = ReadCounts(), History(n_passes=1)
    batches = _check_memory_for(
        model, stream, reading.count_batches(stream, "reading", stream.batches(), request.progress), history
    )
    if request.classes is not None or not request.multiclass:
        batches = _check_labels(StreamClasses.for_model(model, request.classes), stream, batches)
    rows = collect(stream, batches)
    if len(rows.y) == 0:
        raise DataError(f"{stream.name}: there are no rows.")
    if request.multiclass:
        try:
            refuse_too_many(np.unique(rows.y), request.multiclass)
        except ValueError as error:
            raise DataError(f"{stream.name}: {error}") from None
    history.add_skipped(reading.n_skipped, reading.skipped)
    return rows, history


def _check_memory_for(model: Model, stream: Stream, batches: Iterator[Batch], history: History) -> Iterator[Batch]:
    """Yield the batches as long as all rows will fit in memory, judging by the share read so far."""
    method, n_values, scale = model.method, 0, ScaleCheck(stream, model.norm)
    bytes_per_value = _BYTES_TO_COLLECT + method.load_solver().BYTES_PER_VALUE
    for batch in batches:
        if batch.row_weights is not None:
            raise DataError(
                f"{batch.file}: the rows have weights, which {method.estimator} can't use: remove them, or use an "
                "online method."
            )
        scale.check(batch)
        history.n_bytes += batch.n_bytes
        n_values += len(batch.data)
        share = min(1.0, history.n_bytes / stream.n_bytes) if stream.n_bytes else 1.0
        expected = n_values / share if share > 0 else n_values
        # Checked now rather than in the middle of the work. What was read so far is already in memory.
        needed = bytes_per_value * expected - _BYTES_TO_COLLECT // 2 * n_values
        check_memory(method.estimator, needed, f"the part of {stream.name} that has been read")
        yield batch


def _check_labels(classes: StreamClasses, stream: Stream, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches as long as their labels are among the classes, or the first two that occur."""
    for batch in batches:
        with name_rows_in_errors(batch, stream):
            classes.encode(batch.labels)
        yield batch


def _learn(run: Run, rows: Matrix) -> None:
    """Train the model of a run on all rows, or on its sample."""
    model, stream = run.model, run.stream
    if run.sample is not None:
        if run.sample.permuted is not None:
            rows = rows._replace(y=run.sample.permuted.of_rows(rows.y, np.arange(len(rows.y))))
        learns, target = run.sample.learns(np.arange(len(rows.y))), classes_for_matrix(model, rows.y)
        n_rows = np.bincount(target.encode(rows.y)[learns])
        require_enough_rows(stream.name, f"the model of {run.sample} learns", target, n_rows)
        rows = rows.take(np.flatnonzero(learns))
    try:
        fit_all_rows(model, rows.X, rows.y, rows.id_base, stream.feature_names or stream.naming)
    except ValueError as error:
        raise DataError(f"{stream.name}: {error}") from None
    if stream.naming is not None and stream.can_be_read_again:
        model.names = MemberNames(stream.names(model.members()[0]))
    run.history.rows.append(len(rows.y))


def _as_batch(rows: Matrix) -> Batch:
    """Return all rows as one batch, with their ids."""
    X = rows.X
    return Batch(X.indptr, X.indices + rows.id_base, X.data, rows.y, X.shape[1] + rows.id_base - 1, zero_seen=False)
