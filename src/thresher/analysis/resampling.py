"""Models on samples of the rows, beside one on all rows, while the data are read once.

Cross-validation scores each row by a model that never learned it, when that model is trained. So the rows stay in
memory until then, up to a limit; longer data are read a second time.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.evaluation.evaluation import Evaluation, evaluation_of
from thresher.evaluation.prediction import as_model
from thresher.evaluation.tally import Tally
from thresher.methods import Method, find
from thresher.model.labels import Labels, shown
from thresher.model.model import Model
from thresher.streams import Batch, Data, DataError, Stream, as_stream
from thresher.streams.alignment import batches_for
from thresher.streams.matrix import Matrix
from thresher.streams.shuffling import ShuffledStream
from thresher.threads import default_threads
from thresher.training.at_once import LearnsAtOnce, fit_rows, read_at_once
from thresher.training.history import History
from thresher.training.loop import borrowed_models, refuse_for_batch, run
from thresher.training.samples import AllBut, Half, Sample, fold_of

MEMORY_LIMIT = 1 << 29  # bytes of rows that stay in memory until they are scored


@dataclass(frozen=True)
class Resampled:
    """The models, the history and the evaluations of a resampling run.

    Attributes
    ----------
    model : estimator or Model
        Trained on all rows.
    history : History
        Of that model.
    folds : list of Evaluation
        Of the model that left out each fold, on that fold.
    halves : list of estimators or Models
        Each trained on another half of the rows.
    """

    model: Any
    history: History
    folds: list[Evaluation]
    halves: list[Any]


def resample(
    template: Any,
    data: Data,
    *,
    n_folds: int = 0,
    n_halves: int = 0,
    passes: int | None = None,
    shuffle: bool | str = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool = False,
    progress: bool = False,
) -> Resampled:
    """Train a model on all rows, one without each fold, and one on each of several random halves.

    `template` does not change: all of them are new, with its parameters.
    """
    if n_halves:
        demand_budget(template)
    seed = _seed(template)
    samples: list[Sample | None] = [None]
    samples += [AllBut(fold, n_folds, seed) for fold in range(n_folds)]
    samples += [Half(number, seed) for number in range(n_halves)]
    models = [untrained(template) for _ in samples]
    stream = as_stream(data)
    if isinstance(models[0], LearnsAtOnce):
        refuse_for_batch(models[0], passes, shuffle)
        history, folds = _at_once(
            models, samples, stream, n_folds, seed, classes=classes, multiclass=multiclass, progress=progress
        )
    else:
        history, folds = _online(
            models, samples, stream, n_folds, seed,
            passes=passes, shuffle=shuffle, classes=classes, multiclass=multiclass, progress=progress,
        )  # fmt: skip
    return Resampled(models[0], history, folds, models[1 + n_folds :])


def demand_budget(template: Any) -> None:
    """Raise an error unless a model or estimator of thresher selects features."""
    method = _method(template)
    if not method.has_budget:
        raise ValueError(f"{method.estimator} keeps all features, so there is nothing to select.")


def _method(template: Any) -> Method:
    name = template.method if isinstance(template, Model) else getattr(template, "_method", None)
    if name is None or isinstance(template, type):
        what = f"the class {template.__name__}" if isinstance(template, type) else f"a {type(template).__name__}"
        raise TypeError(f"model must be an estimator of thresher, such as ShadowSOFS(). Got {what} instead.")
    return find(name)


def untrained(template: Any) -> Any:
    """Return a new model with the parameters of a model or estimator."""
    if isinstance(template, Model):
        return template.untrained()
    new = type(template)(**template.get_params(deep=False))
    if isinstance(new, LearnsAtOnce) and template._written_keep:
        new._keep_as_written(template._written_keep)
    return new


def _online(
    models: list[Any],
    samples: Sequence[Sample | None],
    stream: Stream,
    n_folds: int,
    seed: int,
    **options: Any,
) -> tuple[History, list[Evaluation]]:
    rows = _StoredRows(stream)
    # Shuffled rows are in memory, or in a temporary file, in any case.
    watch = rows.store if n_folds and options["shuffle"] is not True else None
    with borrowed_models(models) as borrowed:
        passes = options.pop("passes")
        runs = run(borrowed, stream, passes, None, samples=samples, watch=watch, **options)
        history = runs[0].history
        if history.interrupted:
            return history, []
        for sample, model in zip(samples[1:], borrowed[1:], strict=True):
            _demand_two(stream, f"the model of {sample} learns", model.class_weights.counts, model.classes)
        if n_folds == 0:
            return history, []
        again = rows.batches(borrowed[0], runs[0].stream)
        return history, _score(borrowed[1 : 1 + n_folds], again, stream, seed)


def _score(
    models: list[Model], batches: Iterator[tuple[Batch, NDArray[np.int64]]], stream: Stream, seed: int
) -> list[Evaluation]:
    """Score each row by the model that left out its fold."""
    n_folds = len(models)
    tallies = [Tally(model) for model in models]
    with ThreadPoolExecutor(min(n_folds, default_threads()), thread_name_prefix="thresher-score") as pool:
        for batch, numbers in batches:
            folds = fold_of(numbers, n_folds, seed)
            list(pool.map(Tally.add, tallies, repeat(batch), [np.flatnonzero(folds == k) for k in range(n_folds)]))
    for fold, (tally, model) in enumerate(zip(tallies, models, strict=True)):
        _demand_two(stream, f"fold {fold + 1} of {n_folds} has", tally.support, model.classes)
    return [evaluation_of(tally, stream.name) for tally in tallies]


def _demand_two(stream: Stream, who_has: str, counts: NDArray[np.int64], classes: Labels | None) -> None:
    """Raise DataError unless there are rows of two classes or more."""
    assert classes is not None
    codes = np.flatnonzero(counts)
    if len(codes) < 2:
        which = f"rows of one class only ({shown(classes[codes[0]])})" if len(codes) else "no rows"
        raise DataError(f"{stream.name}: {who_has} {which}: use fewer folds or samples, or more rows.")


class _StoredRows:
    """The rows of a stream as they were read, to be scored later."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._batches: list[tuple[Batch, NDArray[np.int64]]] | None = []
        self._n_bytes = 0

    def store(self, batch: Batch, numbers: NDArray[np.int64]) -> None:
        """Store a batch, unless the limit is passed."""
        if self._batches is None:
            return
        stored = copy.copy(batch)
        stored.names = None  # scores do not need them
        arrays = (
            stored.indptr, stored.indices, stored.data, stored.labels, stored.importances, stored.numbers, numbers,
        )  # fmt: skip
        self._n_bytes += sum(array.nbytes for array in arrays if array is not None)
        self._batches.append((stored, numbers))
        if self._n_bytes > MEMORY_LIMIT:
            self._batches = None
            if not self._stream.can_be_read_again:
                raise DataError(
                    f"{self._stream.name}: the rows take more than {MEMORY_LIMIT >> 20} MB, so that cross-validation "
                    "must read them twice, but they can be read only once: write them to a file first."
                )

    def batches(self, model: Model, stream: Stream) -> Iterator[tuple[Batch, NDArray[np.int64]]]:
        """Yield the batches again, with the numbers of their rows."""
        if self._batches is not None and not isinstance(stream, ShuffledStream):
            yield from self._batches
            return
        self._batches = None
        n_rows = 0
        for batch in batches_for(model, stream):
            yield batch, batch.rows_from(n_rows)
            n_rows += batch.n_rows


def _at_once(
    models: list[LearnsAtOnce],
    samples: Sequence[Sample | None],
    stream: Stream,
    n_folds: int,
    seed: int,
    *,
    classes: ArrayLike | None,
    multiclass: bool,
    progress: bool,
) -> tuple[History, list[Evaluation]]:
    """Train models of a batch method, one after the other, on rows that are read once."""
    started = time.perf_counter()
    rows, history = read_at_once(models[0], stream, classes=classes, multiclass=multiclass, progress=progress)
    numbers = np.arange(len(rows.y))
    for model, sample in zip(models, samples, strict=True):
        learned = numbers if sample is None else numbers[sample.learns(numbers)]
        if sample is not None:
            found, counts = np.unique(rows.y[learned], return_counts=True)
            _demand_two(stream, f"the model of {sample} learns", counts, found)
        fit_rows(model, stream, rows if sample is None else rows.take(learned))
    history.seconds.append(time.perf_counter() - started)
    history.validation.append(None)
    learned_models = [as_model(model) for model in models[1 : 1 + n_folds]]
    batches = ((batch, batch.rows_from(0)) for batch in [_as_batch(rows)])
    return history, _score(learned_models, batches, stream, seed) if n_folds else []


def _as_batch(rows: Matrix) -> Batch:
    """Return all rows as one batch, with their ids."""
    X = rows.X
    return Batch(X.indptr, X.indices + rows.id_base, X.data, rows.y, X.shape[1] + rows.id_base - 1, zero_seen=False)


def _seed(template: Any) -> int:
    """Return the seed of the samples: the model's random_state, where that is a number."""
    _method(template)  # refuses what is not ours
    values = template.parameters if isinstance(template, Model) else template.get_params(deep=False)
    seed = values.get("random_state")
    return int(seed) if isinstance(seed, int | np.integer) else 0
