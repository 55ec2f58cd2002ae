"""What is special about PET; what holds for every online estimator is in test_online.py."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from states import state_of
from strategies import random_problem

from thresher import FOFS, PET


def truncated_perceptron(X, y, budget: int) -> np.ndarray:
    """As the paper describes it, on dense arrays: all of w is sorted after each mistake."""
    w = np.zeros(X.shape[1])
    for x, label in zip(X.toarray().astype(float), y, strict=True):
        if label * (w @ x) <= 0:
            w += label * x
            w[np.argsort(np.abs(w))[:-budget]] = 0
    return w


def test_is_the_perceptron_with_truncation():
    X, y = random_problem(500, 80, 0.3, seed=3)
    model = PET(12, norm=None, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.coef_.toarray()[0], truncated_perceptron(X, y, 12), atol=1e-4)


def test_eta_scales_the_weights_of_a_perceptron_and_nothing_else():
    X, y = random_problem(300, 60, 0.3, seed=1)
    one, four = PET(9).fit(X, y), PET(9, eta=4.0).fit(X, y)
    np.testing.assert_array_equal(one.selected_, four.selected_)
    np.testing.assert_array_equal(4 * one.coef_.toarray(), four.coef_.toarray())


def test_hinge_learns_from_rows_that_are_right_too():
    X, y = random_problem(300, 60, 0.3, seed=1)
    assert PET(60, loss="hinge").fit(X, y).n_updates_ > PET(60).fit(X, y).n_updates_


def test_a_weight_that_falls_to_zero_makes_room():
    """Two rows cancel feature 0; an outsider then takes its place, though its own weight is small."""
    X = sp.csr_matrix([[1.0, 0.0], [1.0, 0.0], [0.0, 0.001]])
    model = PET(1, norm=None, loss="hinge", shuffle=False).fit(X, [1, 0, 1])
    assert model.selected_.tolist() == [1]


def spread(X: sp.csr_matrix, n_features: int) -> sp.csr_matrix:
    """Return the same rows with their ids spread out, in the same order."""
    ids = X.indices.astype(np.int64) * (n_features // X.shape[1])
    return sp.csr_matrix((X.data, ids, X.indptr.astype(np.int64)), shape=(X.shape[0], n_features))


@pytest.mark.timed
@pytest.mark.parametrize("estimator", [PET, FOFS])
def test_time_does_not_depend_on_the_width(estimator):
    """Only the members have a place in memory, so a column costs the same wherever it lies."""
    random = np.random.default_rng(0)
    X = sp.random(20_000, 10_000, 0.005, "csr", np.float32, random, random.standard_normal)
    y = random.integers(0, 2, 20_000)
    seconds = {10**4: [], 10**8: []}
    for _ in range(7):
        for n_features, times in seconds.items():
            wide = spread(X, n_features)
            start = time.process_time()
            estimator(200).fit(wide, y)
            times.append(time.process_time() - start)
    narrow, wide = (min(times) for times in seconds.values())
    print(f"{estimator.__name__}: {narrow:.4f} s at 1e4 columns, {wide:.4f} s at 1e8")
    assert wide < 2 * narrow


@pytest.mark.parametrize("estimator", [PET, FOFS])
def test_only_members_are_kept(estimator):
    X, y = random_problem(500, 400, 0.1, seed=0)
    model = estimator(7).fit(X, y)
    assert len(state_of(model)["learned"]["ids"]) == 7
