"""The z-scores of a second-order method: how sure each of its weights is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import methods
from thresher.model.model import Model


def z_scores(model: Model, columns: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return z = μ·√(γ(P − 1)/s²) of the given columns, or of the members, best first; with many classes, one each.

    s² is the mean squared loss of the rows that had one, times their typical weight, times the number of passes. A
    column that was never learned has z = 0.
    """
    if not model.method.has_z_scores:
        having = " or ".join(each.estimator for each in methods.METHODS.values() if each.has_z_scores)
        raise ValueError(f"{model.method.estimator} has no z-scores; use {having}.")
    ids = (model.members()[0] if columns is None else _check_columns(model, columns)) + model.id_base
    if model.gamma_changed:
        raise ValueError("gamma was changed while the model learned, so its z-scores have no common scale: use fit.")
    assert model.learner is not None
    assert model.gamma is not None
    counters, rows = model.counters, model.class_weights
    mean_loss = counters["loss"] / max(1, counters["n_updates"])
    # A row that is learned again, or with a larger weight, is not more rows.
    n_rows = max(1, int(rows.counts.sum()))
    scale = mean_loss * rows.typical_weight * max(1.0, counters["n_samples"] / n_rows)
    # The states of features by class: μ, and P − 1 with a sign that marks members.
    cells = model.learner.cells(np.ascontiguousarray(ids)).reshape(len(ids), model.n_vectors, 2)
    mean, excess = np.moveaxis(cells.astype(np.float64), 2, 0)
    z = mean * np.sqrt(model.gamma * np.abs(excess) / scale) if scale > 0 else np.zeros(mean.shape)
    return np.ascontiguousarray(z[:, 0] if model.n_vectors == 1 else z)


def _check_columns(model: Model, columns: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(columns)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ValueError(f"columns must be a list of whole numbers. Got {columns!r} instead.")
    wrong = given[(given < 0) | (given >= (model.n_features or 0))]
    if len(wrong):
        raise ValueError(f"there is no column {wrong[0]}: the model has {model.n_features}.")
    if model.compact and not np.isin(given, model.members()[0]).all():
        raise ValueError(
            "the model was saved compact, with its selected features only: for others, save it in full, with save."
        )
    return given.astype(np.int64)
