"""Model files: whatever a file says, a model that can be used and saved is loaded, or it is refused in one line."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from forged import container as mutated
from inputs import ROOM, check_refusal, file_of

from thresher.io.model_files import load_model, save_model
from thresher.model.learning import partial_fit
from thresher.model.model import Model

__all__ = ["mutated", "run"]


def run(data: bytes) -> None:
    """Load a model, save it, load it again, and use it."""
    with file_of(data) as path:
        try:
            model = load_model(path)
        except (ValueError, MemoryError) as error:
            return check_refusal(error, path)
    once, twice = ROOM / "once.thresher", ROOM / "twice.thresher"
    save_model(model, once)
    again = load_model(once)
    save_model(again, twice)
    assert once.read_bytes() == twice.read_bytes()
    _equal(model, again)
    return None


def _equal(one: Model, other: Model) -> None:
    """Demand that two models have the same members and predict the same."""
    for a, b in zip(one.members(), other.members(), strict=True):
        assert np.array_equal(a, b)
    assert one.n_features is not None
    assert one.target is not None
    columns = np.unique(np.append(one.members()[0][:3], [0, one.n_features - 1]))
    columns = columns[(columns >= 0) & (columns < one.n_features)]
    values, starts = np.ones(len(columns), np.float32), np.array([0, len(columns)])
    rows = sp.csr_matrix((values, columns, starts), shape=(1, one.n_features))
    assert np.array_equal(one.decision_function(rows), other.decision_function(rows), equal_nan=True)
    labels = [model.labels_of(model.decision_function(rows)).tolist() for model in (one, other)]
    assert labels[0] == labels[1]
    if one.compact or one.n_features == 0 or one.parameters.get("gamma") == "auto":
        return  # it can't learn a row
    label = one.target.by_code[:1] or [1.5]
    for model in (one, other):
        partial_fit(model, rows, label, sample_weight=[0.5], feature_names=one.feature_names)
    assert np.array_equal(one.members()[1], other.members()[1], equal_nan=True)
