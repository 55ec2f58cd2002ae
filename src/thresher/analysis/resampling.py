"""Models on samples of the rows, beside one on all rows, while the data are read once.

Cross-validation scores each row, after training, with a model that never learned it. So the rows stay in memory until
then, up to a limit; longer data are read a second time.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.evaluation.alignment import batches_for
from thresher.evaluation.base import Evaluation
from thresher.evaluation.evaluation import evaluation_of, tally_for
from thresher.methods import Method, find
from thresher.model.model import Model
from thresher.streams import Batch, Data, DataError, Stream, as_stream
from thresher.streams.shuffling import ShuffledStream
from thresher.threads import default_threads
from thresher.training.history import History
from thresher.training.job import Request
from thresher.training.loop import models_of, run
from thresher.training.samples import AllBut, Half, Sample, fold_of, permuted_labels, require_enough_rows

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
    permuted : list of estimators or Models
        Trained on the same halves, with labels that were permuted.
    """

    model: Any
    history: History
    folds: list[Evaluation]
    halves: list[Any]
    permuted: list[Any]


def resample(
    template: Any, data: Data, request: Request, *, n_folds: int = 0, n_halves: int = 0, positive: Any = None
) -> Resampled:
    """Train a model on all rows, one without each fold, and two on each of several random halves.

    The second one of a half learns permuted labels. `template` does not change: all are new, with its parameters.
    `positive` is for the scores of the folds.
    """
    if n_halves:
        require_budget(template)
    seed = _seed(template)
    samples: list[Sample | None] = [None]
    samples += [AllBut(fold, n_folds, seed) for fold in range(n_folds)]
    for permuted in (None, permuted_labels(_method(template).predicts, seed)):
        samples += [Half(number, seed, permuted) for number in range(n_halves)]
    models = [untrained_copy(template) for _ in samples]
    stream = as_stream(data)
    # The rows of a batch method are all in memory in any case.
    rows = _StoredRows(stream, np.inf if _method(template).is_batch else MEMORY_LIMIT)
    folds: list[Evaluation] = []
    # Shuffled rows are in memory, or in a temporary file, in any case.
    on_batch = rows.store if n_folds and request.shuffle is not True else None
    with models_of(models) as trained:
        runs = run(trained, stream, replace(request, samples=samples, on_batch=on_batch))
        history = runs[0].history
        if n_folds and not history.interrupted:
            again = rows.batches(trained[0], runs[0].stream)
            folds = _score(trained[1 : 1 + n_folds], again, stream, seed, positive)
    halves = models[1 + n_folds :]
    return Resampled(models[0], history, folds, halves[:n_halves], halves[n_halves:])


def require_budget(template: Any) -> None:
    """Raise an error unless a model or estimator of thresher selects features."""
    method = _method(template)
    if not method.has_budget:
        raise ValueError(f"{method.estimator} keeps all features, so there is nothing to select.")


def _method(template: Any) -> Method:
    name = template.method.name if isinstance(template, Model) else getattr(template, "_method", None)
    if name is None or isinstance(template, type):
        what = f"the class {template.__name__}" if isinstance(template, type) else f"a {type(template).__name__}"
        raise TypeError(f"model must be an estimator of thresher, such as ShadowSOFS(). Got {what} instead.")
    return find(name)


def untrained_copy(template: Any) -> Any:
    """Return a new model with the parameters of a model or estimator."""
    if isinstance(template, Model):
        return template.untrained_copy()
    return type(template)(**template.get_params(deep=False))


def _score(
    models: list[Model],
    batches: Iterator[tuple[Batch, NDArray[np.int64]]],
    stream: Stream,
    seed: int,
    positive: Any,
) -> list[Evaluation]:
    """Score each row by the model that left out its fold."""
    n_folds = len(models)
    tallies = [tally_for(model, positive=positive) for model in models]
    with ThreadPoolExecutor(min(n_folds, default_threads()), thread_name_prefix="thresher-score") as pool:
        for batch, numbers in batches:
            folds = fold_of(numbers, n_folds, seed)
            of_folds = [np.flatnonzero(folds == k) for k in range(n_folds)]
            list(pool.map(lambda tally, *of_fold: tally.add(*of_fold), tallies, repeat(batch), of_folds))
    for fold, (tally, model) in enumerate(zip(tallies, models, strict=True)):
        require_enough_rows(stream.name, f"fold {fold + 1} of {n_folds} has", model.target, tally.support)
    return [evaluation_of(tally, stream.name) for tally in tallies]


class _StoredRows:
    """The rows of a stream as they were read, to be scored later."""

    def __init__(self, stream: Stream, most_bytes: float) -> None:
        self._stream, self._most_bytes = stream, most_bytes
        self._batches: list[tuple[Batch, NDArray[np.int64]]] | None = []
        self._n_bytes = 0

    def store(self, batch: Batch, numbers: NDArray[np.int64]) -> None:
        """Store a batch, unless the limit is passed."""
        if self._batches is None:
            return
        stored = copy.copy(batch)
        stored.names = None  # scores do not need them
        arrays = (
            stored.indptr, stored.indices, stored.data, stored.labels, stored.row_weights, stored.numbers, numbers,
        )  # fmt: skip
        self._n_bytes += sum(array.nbytes for array in arrays if array is not None)
        self._batches.append((stored, numbers))
        if self._n_bytes > self._most_bytes:
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


def _seed(template: Any) -> int:
    """Return the seed of the samples: the model's random_state, where that is a number."""
    _method(template)  # refuses what is not ours
    values = template.parameters if isinstance(template, Model) else template.get_params(deep=False)
    seed = values.get("random_state")
    return int(seed) if isinstance(seed, int | np.integer) else 0
