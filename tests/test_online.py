"""What holds for every online estimator: it equals its oracle, and however rows arrive the bits are the same.

A new algorithm gets all of it by standing in ORACLES.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import SofsOracle
from real_data import split
from strategies import TIES, budgets, gammas, norms, problems, random_problem

from thresher import SOFS, ShadowSOFS, _core, datasets

ORACLES = {SOFS: SofsOracle, ShadowSOFS: partial(SofsOracle, shadow=True)}
every_estimator = pytest.mark.parametrize("estimator", ORACLES, ids=lambda estimator: estimator.__name__)


def assert_equals_oracle(model, oracle: SofsOracle) -> None:
    assert model.selected_.tolist() == oracle.selected
    np.testing.assert_array_equal(model._model.members()[1], oracle.weights)
    assert (model.n_updates_, model.n_mistakes_) == (oracle.n_updates, oracle.n_mistakes)


def assert_same_bits(a, b) -> None:
    for one, other in zip(a._model._learner.state(), b._model._learner.state(), strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))
    np.testing.assert_array_equal(a.selected_, b.selected_)


@every_estimator
@pytest.mark.filterwarnings("ignore:The precision of every feature")  # rows of values too small to square
class TestOracle:
    """The product has the members and the weights of a naive implementation, to the bit."""

    @given(problems(), budgets, gammas, norms, st.booleans())
    def test_random_values(self, estimator, problem, budget, gamma, norm, fit_intercept):
        X, y = problem
        model = estimator(budget, gamma=gamma, norm=norm, fit_intercept=fit_intercept).fit(X, y)
        oracle = ORACLES[estimator](budget, gamma, norm, fit_intercept).fit(X, y)
        assert_equals_oracle(model, oracle)
        assert model.intercept_[0] == oracle.mean.get(SofsOracle.INTERCEPT, 0.0)

    @given(problems(TIES, max_rows=60), budgets, gammas, norms)
    def test_ties(self, estimator, problem, budget, gamma, norm):
        X, y = problem
        model = estimator(budget, gamma=gamma, norm=norm).fit(X, y)
        assert_equals_oracle(model, ORACLES[estimator](budget, gamma, norm).fit(X, y))

    @given(problems(), budgets, st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=25, max_size=25))
    def test_sample_weight(self, estimator, problem, budget, weights):
        X, y = problem
        weights = np.array(weights[: X.shape[0]])
        weights[0] = 1.0
        model = estimator(budget).fit(X, y, sample_weight=weights)
        assert_equals_oracle(model, ORACLES[estimator](budget).fit(X, y, weights))
        assert model.n_samples_seen_ == np.count_nonzero(weights)

    @pytest.mark.parametrize("budget", [1, 100, 500])
    def test_basehock(self, estimator, simd, budget):
        X, y, _, _ = split("basehock", 300, 0)
        assert_equals_oracle(estimator(budget).fit(X, y), ORACLES[estimator](budget).fit(X, y))

    @pytest.mark.parametrize(("gamma", "norm"), [(1.0, "l2"), (0.125, "l2"), (2.0, None)])
    def test_float64_agrees(self, estimator, gamma, norm):
        X, y = random_problem(400, 200, 0.1, seed=7)
        model = estimator(20, gamma=gamma, norm=norm).fit(X, y)
        oracle = ORACLES[estimator](20, gamma, norm, dtype=np.float64).fit(X, y)
        assert model.selected_.tolist() == oracle.selected
        np.testing.assert_allclose(model._model.members()[1], oracle.weights, atol=1e-3)

    def test_float64_agrees_on_ties(self, estimator):
        random = np.random.default_rng(3)
        X = sp.csr_matrix((random.random((300, 60)) < 0.2).astype(np.float32))
        y = np.where(X[:, :30].sum(1).A1 > X[:, 30:].sum(1).A1, 1, -1)
        model = estimator(15, norm=None).fit(X, y)
        oracle = ORACLES[estimator](15, norm=None, dtype=np.float64).fit(X, y)
        assert model.selected_.tolist() == oracle.selected
        np.testing.assert_allclose(model._model.members()[1], oracle.weights, atol=1e-3)


@every_estimator
class TestSameBits:
    """However the rows arrive, the result is the same to the bit."""

    @given(problems(max_rows=40), budgets, st.lists(st.integers(1, 12), min_size=40, max_size=40))
    def test_any_batching(self, estimator, problem, budget, sizes):
        X, y = problem
        whole = estimator(budget).fit(X, y)
        parts, at = estimator(budget), 0
        for size in sizes:
            if at < X.shape[0]:
                parts.partial_fit(X[at : at + size], y[at : at + size], classes=[-1, 1])
            at += size
        assert_same_bits(whole, parts)

    def test_blocks_of_a_long_fit(self, estimator, monkeypatch):
        X, y = random_problem(500, 100, 0.1, seed=1)
        whole = estimator(20).fit(X, y)
        monkeypatch.setattr("thresher.rows.BLOCK_NONZEROS", 37)
        assert_same_bits(whole, estimator(20).fit(X, y))

    @given(problems(), budgets)
    def test_id_width(self, estimator, problem, budget):
        X, y = problem
        wide = X.copy()
        wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        assert_same_bits(estimator(budget).fit(X, y), estimator(budget).fit(wide, y))

    @given(problems(), budgets)
    def test_value_width_and_container(self, estimator, problem, budget):
        X, y = problem
        model = estimator(budget).fit(X, y)
        assert_same_bits(model, estimator(budget).fit(X.astype(np.float64), y))
        assert_same_bits(model, estimator(budget).fit(sp.csr_array(X), y))
        assert_same_bits(model, estimator(budget).fit(X.tocsc(), y))
        assert_same_bits(model, estimator(budget).fit(X.toarray(), y))

    def test_simd_path(self, estimator, simd):
        X, y = datasets.make_x1(2_000, n_features=3_000, permute=True)
        _core.use_simd("scalar")
        scalar = estimator(150, fit_intercept=True).fit(X, y)
        margins, chances = scalar.decision_function(X), scalar.predict_proba(X)
        _core.use_simd(simd)
        assert_same_bits(scalar, estimator(150, fit_intercept=True).fit(X, y))
        np.testing.assert_array_equal(margins, scalar.decision_function(X))
        np.testing.assert_array_equal(chances, scalar.predict_proba(X))

    def test_prefix_purity(self, estimator):
        X, y = random_problem(200, 50, 0.2, seed=5)
        model = estimator(10)
        for begin, end in itertools.pairwise([0, 2, 40, 41, 100, 200]):
            model.partial_fit(X[begin:end], y[begin:end], classes=[-1, 1])
            assert_same_bits(estimator(10).fit(X[:end], y[:end]), model)

    def test_unsorted_and_repeated_ids(self, estimator):
        X, y = random_problem(100, 50, 0.2, seed=2)
        messy = X.copy()
        for r in range(100):
            row = slice(X.indptr[r], X.indptr[r + 1])
            messy.indices[row] = X.indices[row][::-1]
            messy.data[row] = X.data[row][::-1]
        before = messy.indices.copy()
        assert_same_bits(estimator(10).fit(X, y), estimator(10).fit(messy, y))
        assert_same_bits(estimator(10).fit(X, y), estimator(10).partial_fit(messy, y, classes=[-1, 1]))
        np.testing.assert_array_equal(messy.indices, before)  # the caller's matrix is left alone
        twice = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        assert_same_bits(estimator(10).fit(X, y), estimator(10).fit(twice, y))


@every_estimator
class TestBudget:
    @given(problems(max_rows=40), budgets)
    def test_at_every_moment(self, estimator, problem, budget):
        X, y = problem
        model = estimator(budget)
        for r in range(X.shape[0]):
            model.partial_fit(X[r], y[r : r + 1], classes=[-1, 1])
            assert len(model.selected_) <= budget
            assert model.coef_.nnz <= budget
            assert len(set(model.selected_.tolist())) == len(model.selected_)

    def test_share(self, estimator):
        X, y = random_problem(100, 50, 0.5, seed=0)
        assert len(estimator(0.1).fit(X, y).selected_) == 5
        assert len(estimator(0.999).fit(X, y).selected_) == 49
        assert len(estimator(0.001).fit(X, y).selected_) == 1

    def test_more_than_there_are(self, estimator):
        X, y = random_problem(100, 50, 0.5, seed=0)
        everything = estimator(50).fit(X, y)
        np.testing.assert_array_equal(estimator(10**12).fit(X, y).selected_, everything.selected_)


@every_estimator
def test_passes_and_shuffle(estimator):
    X, y = random_problem(300, 60, 0.2, seed=6)
    twice = estimator(10, n_passes=2).fit(X, y)
    assert_same_bits(twice, estimator(10).partial_fit(X, y, classes=[-1, 1]).partial_fit(X, y))
    order = np.random.default_rng(5).permutation(300)
    assert_same_bits(estimator(10, shuffle=True, random_state=5).fit(X, y), estimator(10).fit(X[order], y[order]))
