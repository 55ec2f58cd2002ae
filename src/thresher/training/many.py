"""`train_many`: train several models while a stream is read once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from numpy.typing import ArrayLike

from thresher.model.model import Model
from thresher.streams import Data
from thresher.training.history import History
from thresher.training.loop import Estimator, models_of, run


def train_many(
    models: Sequence[Model | Estimator],
    stream: Data,
    passes: int | None = None,
    validate: Data | None = None,
    *,
    shuffle: bool | Literal["auto"] = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool = False,
    n_threads: int | None = None,
) -> list[History]:
    """Train several models while a stream is read once; each gets exactly the same result as with `train` alone.

    The models are distributed over the cores. All of them learn a batch before the next one is read, so each batch is
    read and parsed once and stays in the cache.

    Parameters
    ----------
    models : sequence of estimators or Models
        All new, or all trained before on data whose ids count from the same base.
    stream : Stream, path, or anything else that `open_stream` takes
        The training data.
    passes : int, optional
        The number of passes; by default the models' `n_passes`, which must then be equal.
    validate : Stream or path, optional
        Data on which the accuracy of each model is measured at the end of each pass.
    shuffle : bool or "auto", default="auto"
        As in `train`, the same for all models. If the rows can be shuffled, all need the same `random_state`.
    classes, multiclass
        As in `train`.
    n_threads : int, optional
        How many models learn at the same time; by default one per core.

    Returns
    -------
    list of History
        One per model, in the same order. Their `seconds` are those of the whole run.

    Examples
    --------
    >>> from thresher import SOFS, datasets, train_many
    >>> models = [SOFS(200, gamma=gamma) for gamma in (0.1, 1.0, 10.0)]
    >>> histories = train_many(models, datasets.make_x2(2_000, n_features=20_000, n_informative=200))
    >>> best = min(models, key=lambda model: model.n_mistakes_)
    """
    with models_of(models) as each:
        _check_together(each, passes, shuffle)
        runs = run(
            each,
            stream,
            passes,
            validate,
            shuffle=shuffle,
            classes=classes,
            multiclass=multiclass,
            n_threads=n_threads,
        )
        return [done.history for done in runs]


def _check_together(models: Sequence[Model], passes: int | None, shuffle: bool | str) -> None:
    """Raise an error if models can't be trained together."""
    for model in models:
        if model.is_batch:
            name = model.method_row.estimator
            raise TypeError(f"{name} can't learn batch by batch from a stream: train it alone, with train.")
    if len({id(model) for model in models}) < len(models):
        raise ValueError("models contains the same model twice: pass each model once.")
    for place, model in enumerate(models):
        first = models[0]
        if passes is None and model.parameters["n_passes"] != first.parameters["n_passes"]:
            raise ValueError(
                f"models[{place}] has n_passes={model.parameters['n_passes']} and models[0] has "
                f"{first.parameters['n_passes']}, but all models read the stream equally often: give passes=."
            )
        can_shuffle = shuffle is True or (shuffle == "auto" and first.target is None)
        seed, first_seed = model.parameters["random_state"], first.parameters["random_state"]
        if can_shuffle and seed is not first_seed and seed != first_seed:
            raise ValueError(
                f"models[{place}] has random_state={seed!r} and models[0] has {first_seed!r}, but all models read the "
                "rows in the same order: use the same, or shuffle=False."
            )
        if (model.target is None, model.id_base) != (first.target is None, first.id_base):
            raise ValueError(f"models[{place}] and models[0] count ids from different bases: train them separately.")
