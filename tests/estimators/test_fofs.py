"""What is special about FOFS; what holds for every online estimator is in test_online.py."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from oracles import FofsOracle
from strategies import random_problem

from thresher import FOFS


def test_decay_that_would_turn_the_weights_around():
    X, y = random_problem(20, 5, 0.5, seed=0)
    for eta, lam in ((1.0, 1.0), (200.0, 0.01)):
        with pytest.raises(ValueError, match=rf"eta times lam .* Got eta={eta:g} and lam={lam:g} instead"):
            FOFS(eta=eta, lam=lam).fit(X, y)
    FOFS(eta=0.999, lam=1.0).fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("eta", "lam"), [(0.2, 0.01), (2.0, 0.3), (32.0, 0.03), (0.03, 0.32), (0.03, 32.0)])
def test_weights_stay_in_the_ball(eta, lam, n_classes):
    X, y = random_problem(400, 60, 0.3, seed=2, n_classes=n_classes)
    for norm in ("l2", None):
        model = FOFS(20, eta=eta, lam=lam, norm=norm).fit(X, y)
        assert np.linalg.norm(model.coef_.toarray()) <= (1 + 1e-6) / np.sqrt(lam)


def test_the_lazy_scalar_equals_plain_decay():
    """Folding comes every 25 updates here; the oracle decays and projects every weight at every step."""
    X, y = random_problem(600, 60, 0.3, seed=4)
    model = FOFS(15, eta=2.0, lam=0.28, shuffle=False).fit(X, y)
    oracle = FofsOracle(n_features_to_select=15, eta=2.0, lam=0.28, dtype=np.float64).fit(X, y > 0)
    expected = np.zeros(60)
    expected[oracle.selected] = oracle.weights[:, 0]
    np.testing.assert_allclose(model.coef_.toarray()[0], expected, rtol=1e-4, atol=1e-6)


CORNERS = [(0.2, 0.01), *itertools.product((2.0**-5, 2.0**5), (2.0**-5 / 100, 2.0**5 / 100))]


@pytest.mark.slow
@pytest.mark.parametrize(("eta", "lam"), [(eta, lam) for eta, lam in CORNERS if eta * lam < 1])
@pytest.mark.parametrize("norm", ["l2", None])
def test_a_million_updates_stay_finite(eta, lam, norm):
    X, y = random_problem(1_000, 30, 0.3, seed=5)
    y = np.random.default_rng(1).integers(0, 2, 1_000)  # random labels, so that updates never end
    model = FOFS(10, eta=eta, lam=lam, norm=norm, n_passes=1_100)
    while not hasattr(model, "classes_") or model.n_updates_ < 1_000_000:
        model.partial_fit(X, y, classes=[0, 1]) if hasattr(model, "classes_") else model.fit(X, y)
    assert np.isfinite(model.coef_.data).all()
    assert np.linalg.norm(model.coef_.data) <= (1 + 1e-6) / np.sqrt(lam)
    assert np.isfinite(model.decision_function(X)).all()


def test_extreme_values_stay_finite():
    X, y = random_problem(200, 30, 0.3, seed=6)
    for scale, eta, lam in itertools.product((1e-17, 1.0, 1e17), (1e-30, 0.9, 1e30), (1e-30, 0.99)):
        if eta * lam < 1:
            model = FOFS(10, eta=eta, lam=lam, norm=None).fit(X * np.float32(scale), y)
            assert np.isfinite(model.coef_.data).all()
            assert np.isfinite(model.decision_function(X)).all()


def test_the_intercept_neither_decays_nor_counts_in_the_norm():
    """Rows of the intercept alone, whose x is 0.3: each adds 0.3·eta to its weight, whatever lam says."""
    X = np.zeros((5, 2), dtype=np.float32)
    y = [1, 0, 1, 1, 1]
    model = FOFS(1, eta=0.25, lam=3.0, fit_intercept=True, shuffle=False).fit(X, y)
    # +1, −1, then three times +1 until the margin is 1
    assert model.intercept_[0] == pytest.approx(0.3 * 0.3 * 0.25 * 3)
