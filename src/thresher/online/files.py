"""Saving and loading estimators."""

from __future__ import annotations

import os

from thresher.model import Model
from thresher.model_files import load_model, save_model
from thresher.online.arow import AROW
from thresher.online.base import OnlineSelector
from thresher.online.fofs import FOFS
from thresher.online.ogd import OGD
from thresher.online.pet import PET
from thresher.online.shadow_sofs import ShadowSOFS
from thresher.online.sofs import SOFS

ESTIMATORS: dict[str, type[OnlineSelector]] = {
    estimator._method: estimator for estimator in (SOFS, ShadowSOFS, PET, FOFS, AROW, OGD)
}


def save(model: OnlineSelector | Model, path: str | os.PathLike[str]) -> None:
    """Write a trained estimator to a file, with all it needs to go on learning with the same bits.

    The file is there whole or not at all.
    """
    if not isinstance(model, Model | OnlineSelector):
        raise TypeError(f"{type(model).__name__} can't be saved as a model file: only online methods can. Pickle it.")
    save_model(model if isinstance(model, Model) else model._fitted_model(), path)


def load(path: str | os.PathLike[str]) -> OnlineSelector:
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
