"""`save` and `load`: estimators to model files and back."""

from __future__ import annotations

import os
from typing import Any

from thresher.io.model_files import load_with_parameters, save_model
from thresher.model.model import Model


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a trained estimator to a file. An online estimator can later continue learning with the same result.

    Parameters that were set since it was trained are written too. As in memory, they count when it learns next, and
    predictions go by those that it was trained with.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    path : path
        The file, which is written completely or not at all.
    """
    if not isinstance(model, Model):
        if not hasattr(model, "_fitted_model"):
            raise TypeError(f"{type(model).__name__} can't be saved as a model file: only thresher's estimators can.")
        trained = model._fitted_model()
        given = trained.method_row.complete(model.get_params(deep=False))
        save_model(trained, path, set_since=None if given == trained.parameters else given)
    else:
        save_model(model, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file that `save` or `thresher train` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        Of the class that was trained.

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
    model, given = load_with_parameters(path)
    estimator = model.method_row.load_estimator()(**given)
    estimator._set_model(model)
    return estimator
