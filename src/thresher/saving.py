"""Saving and loading estimators."""

from __future__ import annotations

import os
from typing import Any

from thresher.batch import FGM, L1SVM, MRMR
from thresher.batch.base import BatchSelector
from thresher.model import Model
from thresher.model_files import load_model, save_model
from thresher.online import AROW, FOFS, OGD, PET, SOFS, ShadowSOFS
from thresher.online.base import OnlineSelector

Estimator = OnlineSelector | BatchSelector

ESTIMATORS: dict[str, type[Estimator]] = {
    estimator._method: estimator for estimator in (SOFS, ShadowSOFS, PET, FOFS, AROW, OGD, MRMR, L1SVM, FGM)
}


def save(model: Estimator | Model, path: str | os.PathLike[str]) -> None:
    """Write a trained estimator to a file; an online one with all it needs to go on learning with the same bits.

    The file is there whole or not at all.
    """
    if not isinstance(model, Model | OnlineSelector | BatchSelector):
        raise TypeError(f"{type(model).__name__} can't be saved as a model file: only thresher's estimators can.")
    save_model(model if isinstance(model, Model) else model._fitted_model(), path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that `save` or `thresher train` wrote. Nothing in the file is run.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import SOFS, datasets, load, save
    >>> X, y = datasets.make_x1(1_000)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.thresher"
    >>> save(SOFS(50).fit(X, y), path)
    >>> load(path).partial_fit(X, y).n_samples_seen_
    2000
    """
    model = load_model(path)
    estimator = ESTIMATORS[model.method](**model.parameters)
    estimator._take_back(model)
    return estimator
