"""Training from a stream: passes, progress, validation, and what happened along the way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from thresher import parameters
from thresher.labels import Labels, together
from thresher.model import Model
from thresher.progress import progress_bar
from thresher.runs import History, Run, Team
from thresher.streams import DataError, Stream, open_stream
from thresher.streams.shuffling import shuffled


class Streamable(Protocol):
    """An estimator that lends its model to a training run."""

    def _lend_model(self) -> Model: ...

    def _take_back(self, model: Model) -> None: ...


def train(
    model: Model | Streamable,
    stream: Stream | str | os.PathLike[str],
    passes: int | None = None,
    validate: Stream | str | os.PathLike[str] | None = None,
    *,
    shuffle: bool | None = None,
    classes: ArrayLike | None = None,
    multiclass: bool = False,
    progress: bool = False,
    callback: Callable[[History], None] | None = None,
) -> History:
    """Train a model on a stream; reading, parsing and learning overlap.

    Parameters
    ----------
    model : estimator or Model
        One that was trained before goes on learning.
    stream : Stream or path
        What to learn from. A path is opened with `open_stream`.
    passes : int, optional
        How often to read it; by default the model's `n_passes`.
    validate : Stream or path, optional
        Data to measure accuracy on at the end of each pass.
    shuffle : bool, optional
        Take the rows in random order, seeded by the model's `random_state`; by default the model's `shuffle`.
    classes : array, optional
        The classes, where they are to be fixed up front. Without them two are expected, whichever turn up.
    multiclass : bool, default=False
        Look for the classes first, however many there are. That reads the stream once more; to name them with
        `classes` is faster.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.
    callback : callable, optional
        Called with the history at each point.

    Returns
    -------
    History

    Examples
    --------
    >>> from thresher import SOFS, datasets, train
    >>> model = SOFS(n_features_to_select=200)
    >>> history = train(model, datasets.make_x2(2_000, n_features=20_000, n_informative=200))
    >>> history.rows[-1], len(model.selected_)
    (2000, 200)
    """
    with _lent([model]) as models:
        return _run(
            models,
            stream,
            passes,
            validate,
            shuffle=shuffle,
            classes=classes,
            multiclass=multiclass,
            progress=progress,
            callback=callback,
        )[0]


def train_many(
    models: Sequence[Model | Streamable],
    stream: Stream | str | os.PathLike[str],
    passes: int | None = None,
    validate: Stream | str | os.PathLike[str] | None = None,
    *,
    classes: ArrayLike | None = None,
    multiclass: bool = False,
    n_threads: int | None = None,
) -> list[History]:
    """Train several models on one read of a stream; each becomes what `train` alone would have made of it, to the bit.

    The models are spread over the cores: a batch is learned by all of them before the next one is taken, so it is read
    and parsed once and stays in the cache.

    Parameters
    ----------
    models : sequence of estimators or Models
        All new, or all trained before on data that count their ids alike. None may ask for a shuffle of its own.
    stream : Stream or path
        What to learn from, in its order.
    passes : int, optional
        How often to read it; by default the models' `n_passes`, which must then be the same.
    validate : Stream or path, optional
        Data to measure each model's accuracy on at the end of each pass.
    classes, multiclass
        As in `train`.
    n_threads : int, optional
        How many models learn at the same time; by default one a core.

    Returns
    -------
    list of History
        One a model, in their order. Their `seconds` are those of the whole run.

    Examples
    --------
    >>> from thresher import SOFS, datasets
    >>> from thresher.training import train_many
    >>> models = [SOFS(200, gamma=gamma) for gamma in (0.1, 1.0, 10.0)]
    >>> histories = train_many(models, datasets.make_x2(2_000, n_features=20_000, n_informative=200))
    >>> best = min(models, key=lambda model: model.n_mistakes_)
    """
    with _lent(models) as lent:
        _check_team(lent, passes)
        return _run(
            lent, stream, passes, validate, shuffle=False, classes=classes, multiclass=multiclass, n_threads=n_threads
        )


@contextmanager
def _lent(models: Sequence[Model | Streamable]) -> Iterator[list[Model]]:
    """Borrow the models of estimators, which take them back, trained, when the block ends."""
    lent = [model if isinstance(model, Model) else _lend(model) for model in models]
    try:
        yield lent
    finally:
        for lender, model in zip(models, lent, strict=True):
            if not isinstance(lender, Model) and model.classes is not None:
                lender._take_back(model)


def _lend(estimator: Streamable) -> Model:
    if not hasattr(estimator, "_lend_model"):
        name = type(estimator).__name__
        raise TypeError(f"{name} can't learn from a stream: it needs all rows at once. Use its fit.")
    return estimator._lend_model()


def _check_team(models: Sequence[Model], passes: int | None) -> None:
    """See that models can share one read."""
    if len({id(model) for model in models}) < len(models):
        raise ValueError("a model can be trained only once at a time, but it is named twice.")
    for place, model in enumerate(models):
        first = models[0]
        if model.parameters["shuffle"]:
            raise ValueError(f"models[{place}] has shuffle=True, but all models share one read: shuffle the stream.")
        if passes is None and model.parameters["n_passes"] != first.parameters["n_passes"]:
            raise ValueError(
                f"models[{place}] has n_passes={model.parameters['n_passes']} and models[0] has "
                f"{first.parameters['n_passes']}, but all models share one read: give passes=."
            )
        if (model.classes is None, model.id_base) != (first.classes is None, first.id_base):
            raise ValueError(f"models[{place}] and models[0] don't count ids alike: train them apart.")


def _run(
    models: Sequence[Model],
    data: Any,
    passes: int | None,
    validate: Any,
    *,
    shuffle: bool | None,
    classes: ArrayLike | None,
    multiclass: bool,
    progress: bool = False,
    callback: Callable[[History], None] | None = None,
    n_threads: int | None = None,
) -> list[History]:
    """Train models on one read; what is asked of the first stands for all, since they agree on it."""
    if not models:
        return []
    started = time.perf_counter()
    model = models[0]
    stream = data if isinstance(data, Stream) else open_stream(data)
    held_out = validate if validate is None or isinstance(validate, Stream) else open_stream(validate)
    n_passes = model.parameters["n_passes"] if passes is None else passes
    parameters.check("passes", n_passes, parameters.Whole(1))
    parameters.check("n_threads", n_threads, parameters.Whole(1), parameters.OneOf((None,)))
    if n_passes > 1 and not stream.can_be_read_again:
        raise DataError(f"{stream.name} can be read only once, but passes={n_passes}: write it to a file first.")
    if multiclass and classes is None and model.classes is None:
        classes = _find_classes(stream, progress)
    if model.parameters["shuffle"] if shuffle is None else shuffle:
        stream = shuffled(stream, parameters.random_generator(model.parameters["random_state"]), progress=progress)
    team = Team([Run(each, stream, callback, started) for each in models], n_threads)
    with progress_bar("training", stream, n_passes, progress) as bar, team:
        for _ in range(n_passes):
            for each in models:
                each.begin_stream(classes)
            try:
                team.one_pass(bar)
            except KeyboardInterrupt:
                team.interrupt()
            except BaseException:
                team.abandon()
                raise
            team.end_pass()
            if held_out is not None and not team.interrupted:
                team.validate(held_out)
            team.tell()
            if team.interrupted:
                break
    for run in team.runs:
        if stream.feature_names is not None and not run.goes_on:
            run.model.feature_names = stream.feature_names
    team.runs[0].runs.warn_if_sorted(stream.name)
    return [run.history for run in team.runs]


def _find_classes(stream: Stream, progress: bool) -> Labels | None:
    """Read a stream for its labels alone: a learner must know up front how many classes there are.

    Fewer than two are none; the training will say what is wrong with that.
    """
    if not stream.can_be_read_again:
        raise DataError(
            f"{stream.name} can be read only once, so its classes can't be looked for first: "
            "name them with classes= (--classes a,b,c)."
        )
    found: list[Labels] = []
    with progress_bar("looking for classes", stream, 1, progress) as bar:
        for batch in stream.batches():
            found = [np.unique(together([*found, batch.labels]))]
            bar.advance(batch.n_bytes, batch.n_rows, None)
    classes = together(found)
    return classes if len(classes) > 1 else None
