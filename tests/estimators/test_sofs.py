"""What is special about SOFS; what holds for every online estimator is in test_online.py."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from states import model_of, state_of
from strategies import random_problem

from thresher import SOFS, datasets
from thresher.model.state import restore


class TestPrecision:
    """When float32 can't represent the growth of a precision, there is a warning."""

    @staticmethod
    def model_at(excess: float) -> SOFS:
        """Return a model of one feature with the given precision − 1."""
        model = SOFS(norm=None).partial_fit(sp.csr_matrix([[1.0]]), [1], classes=[-1, 1])
        state = state_of(model)
        cells = np.array([state["learned"]["cells"][0], -excess], dtype=np.float32)
        restore(model_of(model), {**state, "learned": {**state["learned"], "cells": cells}})
        return model

    def test_grows_below_the_end(self):
        model = self.model_at(2.0**24 - 1)
        model.partial_fit(sp.csr_matrix([[1.0]]), [-1])
        assert -state_of(model)["learned"]["cells"][1] == 2.0**24

    def test_the_end_is_reported_and_weights_go_on_learning(self):
        model = self.model_at(2.0**24)
        before = model_of(model).members()[1][0]
        with pytest.warns(RuntimeWarning, match="limit of float32"):
            model.partial_fit(sp.csr_matrix([[1.0]]), [-1])
        assert -state_of(model)["learned"]["cells"][1] == 2.0**24
        for _ in range(1_000):  # one warning, not one per batch
            model.partial_fit(sp.csr_matrix([[1.0]]), [-1])
        assert model_of(model).members()[1][0] < before
        assert model_of(model).counters["n_saturated"] == 1_001

    def test_an_intercept_does_not_hide_it(self):
        X, y = random_problem(50, 20, 0.5, seed=0)
        with pytest.warns(RuntimeWarning, match="limit of float32"):
            SOFS(5, norm=None, fit_intercept=True).fit(X * np.float32(1e-25), y)
        X = sp.csr_matrix((50, 20))
        SOFS(5, gamma=1e300, fit_intercept=True).fit(X, y)  # no feature, so no warning; warnings are errors here

    def test_a_gamma_that_lets_nothing_grow(self):
        X, y = random_problem(50, 20, 0.5, seed=0)
        with pytest.warns(RuntimeWarning, match="limit of float32"):
            SOFS(5, gamma=1e300).fit(X, y)

    def test_rows_of_explicit_zeros_are_no_such_case(self):
        X = sp.csr_matrix((np.zeros(4, np.float32), [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2))
        assert SOFS(1).fit(X, [0, 1]).selected_.size == 0

    @pytest.mark.parametrize("scale", [1e-42, 1e-20, 1e20, 1e38])
    def test_unit_rows_whatever_the_scale(self, scale):
        X, y = random_problem(100, 30, 0.3, seed=4)
        X.data = np.sign(X.data)  # so that tiny values lose no digits
        scaled = X.copy()
        scaled.data = (X.data.astype(np.float64) * scale).astype(np.float32)
        model, other = SOFS(10).fit(X, y), SOFS(10).fit(scaled, y)
        np.testing.assert_array_equal(model.selected_, other.selected_)
        np.testing.assert_allclose(model.coef_.toarray(), other.coef_.toarray(), rtol=1e-4)


def test_intercept_helps_where_it_is_needed():
    random = np.random.default_rng(0)
    X = random.random((2_000, 5)).astype(np.float32)
    y = X[:, 0] > 0.8
    without, with_it = (
        SOFS(5, norm=None, n_passes=3, fit_intercept=intercept).fit(X, y) for intercept in (False, True)
    )
    assert with_it.score(X, y) > without.score(X, y) + 0.02
    assert with_it.intercept_[0] < 0
    margins = X @ with_it.coef_.toarray()[0] + with_it.intercept_[0]
    np.testing.assert_allclose(margins, with_it.decision_function(X), rtol=1e-4, atol=1e-5)


def test_probabilities():
    X, y = datasets.make_x1(5_000)
    model = SOFS(200).fit(X, y)
    chances, margins = model.predict_proba(X), model.decision_function(X)
    scale = model_of(model).counters["margin_scale"]
    np.testing.assert_allclose(chances[:, 1], 1 / (1 + np.exp(-scale * margins)))
    assert model.predict_proba(sp.csr_matrix((1, 20_000)))[0].tolist() == [0.5, 0.5]
