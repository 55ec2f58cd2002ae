"""How good probabilities are on rows that the model has not seen; what they are is in test_online.py."""

from __future__ import annotations

import numpy as np
import pytest
from real_data import split
from scipy.optimize import minimize
from scipy.special import log_softmax

from thresher import ShadowSOFS

DATA = {
    "ccat": (lambda: split("ccat", 13_149, 0), 100),
    "w8a": (lambda: split("w8a", 40_000, 0), 100),
    "enron1": (lambda: split("enron1", 4_000, 0), 100),
    "news20.multiclass": (lambda: split("news20.multiclass", 12_000, 0), 2_000),
}


def log_loss(log_chances: np.ndarray, codes: np.ndarray) -> float:
    return -float(log_chances[np.arange(len(codes)), codes].mean())


def rescaled(scores: np.ndarray, slope: float, offset: float) -> np.ndarray:
    """Return log probabilities: sigmoid scaling of two classes, the temperature of more."""
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
        return log_softmax(slope * scores + [0.0, offset], axis=1)
    return log_softmax(slope * scores, axis=1)


def calibration_error(chances: np.ndarray, happened: np.ndarray) -> float:
    """Expected calibration error in ten bins of equal width."""
    bins = np.minimum((chances * 10).astype(int), 9)
    gaps = [abs(chances[bins == k].sum() - happened[bins == k].sum()) for k in range(10)]
    return float(np.sum(gaps) / len(chances))


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
def test_are_as_good_as_those_of_a_scaling_on_held_out_rows(name):
    load, budget = DATA[name]
    X, y, X_test, y_test = load()
    model = ShadowSOFS(budget).fit(X, y)
    chances, scores = model.predict_proba(X_test), model.decision_function(X_test)
    codes = np.searchsorted(model.classes_, y_test)
    half = np.arange(len(codes)) % 2 == 0

    fitted = minimize(lambda by: log_loss(rescaled(scores[half], *by), codes[half]), [4.0, 0.0], method="Nelder-Mead").x
    ours, theirs = (
        log_loss(np.log(chances[~half]), codes[~half]),
        log_loss(rescaled(scores[~half], *fitted), codes[~half]),
    )
    each_class = [calibration_error(chances[:, k], codes == k) for k in range(chances.shape[1])]
    top = calibration_error(chances.max(axis=1), chances.argmax(axis=1) == codes)
    print(f"{name}: log loss {ours:.4f}, rescaled {theirs:.4f}; errors {np.mean(each_class):.4f} and {top:.4f}")
    assert ours <= 1.05 * theirs
    assert np.mean(each_class) <= 0.03
    assert (chances.argmax(axis=1) == np.searchsorted(model.classes_, model.predict(X_test))).all()
