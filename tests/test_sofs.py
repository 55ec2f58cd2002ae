"""SOFS: against its oracles, and the properties that users rely on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import SofsOracle
from real_data import split
from strategies import TIES, budgets, gammas, norms, problems, random_problem

from thresher import SOFS, _core, datasets
from thresher.model import Model


def assert_equals_oracle(model: SOFS, oracle: SofsOracle) -> None:
    assert model.selected_.tolist() == oracle.selected
    np.testing.assert_array_equal(model._model.members()[1], oracle.weights)
    assert (model.n_updates_, model.n_mistakes_) == (oracle.n_updates, oracle.n_mistakes)


def assert_same_bits(a: SOFS, b: SOFS) -> None:
    for one, other in zip(a._model._learner.state(), b._model._learner.state(), strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))
    np.testing.assert_array_equal(a.selected_, b.selected_)


@pytest.mark.filterwarnings("ignore:The precision of every feature")  # rows of values too small to square
class TestOracle:
    """The product has the members and the weights of a naive implementation, to the bit."""

    @given(problems(), budgets, gammas, norms, st.booleans())
    def test_random_values(self, problem, budget, gamma, norm, fit_intercept):
        X, y = problem
        model = SOFS(budget, gamma=gamma, norm=norm, fit_intercept=fit_intercept).fit(X, y)
        oracle = SofsOracle(budget, gamma, norm, fit_intercept).fit(X, y)
        assert_equals_oracle(model, oracle)
        assert model.intercept_[0] == oracle.mean.get(SofsOracle.INTERCEPT, 0.0)

    @given(problems(TIES, max_rows=60), budgets, gammas, norms)
    def test_ties(self, problem, budget, gamma, norm):
        X, y = problem
        model = SOFS(budget, gamma=gamma, norm=norm).fit(X, y)
        assert_equals_oracle(model, SofsOracle(budget, gamma, norm).fit(X, y))

    @given(problems(), budgets, st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=25, max_size=25))
    def test_sample_weight(self, problem, budget, weights):
        X, y = problem
        weights = np.array(weights[: X.shape[0]])
        weights[0] = 1.0
        model = SOFS(budget).fit(X, y, sample_weight=weights)
        assert_equals_oracle(model, SofsOracle(budget).fit(X, y, weights))
        assert model.n_samples_seen_ == np.count_nonzero(weights)

    @pytest.mark.parametrize("budget", [1, 100, 500])
    def test_basehock(self, simd, budget):
        X, y, _, _ = split("basehock", 300, 0)
        assert_equals_oracle(SOFS(budget).fit(X, y), SofsOracle(budget).fit(X, y))

    @pytest.mark.parametrize(("gamma", "norm"), [(1.0, "l2"), (0.125, "l2"), (2.0, None)])
    def test_float64_agrees(self, gamma, norm):
        X, y = random_problem(400, 200, 0.1, seed=7)
        model = SOFS(20, gamma=gamma, norm=norm).fit(X, y)
        oracle = SofsOracle(20, gamma, norm, dtype=np.float64).fit(X, y)
        assert model.selected_.tolist() == oracle.selected
        np.testing.assert_allclose(model._model.members()[1], oracle.weights, atol=1e-3)

    def test_float64_agrees_on_ties(self):
        random = np.random.default_rng(3)
        X = sp.csr_matrix((random.random((300, 60)) < 0.2).astype(np.float32))
        y = np.where(X[:, :30].sum(1).A1 > X[:, 30:].sum(1).A1, 1, -1)
        model = SOFS(15, norm=None).fit(X, y)
        oracle = SofsOracle(15, norm=None, dtype=np.float64).fit(X, y)
        assert model.selected_.tolist() == oracle.selected
        np.testing.assert_allclose(model._model.members()[1], oracle.weights, atol=1e-3)


class TestSameBits:
    """However the rows arrive, the result is the same to the bit."""

    @given(problems(max_rows=40), budgets, st.lists(st.integers(1, 12), min_size=40, max_size=40))
    def test_any_batching(self, problem, budget, sizes):
        X, y = problem
        whole = SOFS(budget).fit(X, y)
        parts, at = SOFS(budget), 0
        for size in sizes:
            if at < X.shape[0]:
                parts.partial_fit(X[at : at + size], y[at : at + size], classes=[-1, 1])
            at += size
        assert_same_bits(whole, parts)

    def test_blocks_of_a_long_fit(self, monkeypatch):
        X, y = random_problem(500, 100, 0.1, seed=1)
        whole = SOFS(20).fit(X, y)
        monkeypatch.setattr("thresher.rows.BLOCK_NONZEROS", 37)
        assert_same_bits(whole, SOFS(20).fit(X, y))

    @given(problems(), budgets)
    def test_id_width(self, problem, budget):
        X, y = problem
        wide = X.copy()
        wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        assert_same_bits(SOFS(budget).fit(X, y), SOFS(budget).fit(wide, y))

    @given(problems(), budgets)
    def test_value_width_and_container(self, problem, budget):
        X, y = problem
        model = SOFS(budget).fit(X, y)
        assert_same_bits(model, SOFS(budget).fit(X.astype(np.float64), y))
        assert_same_bits(model, SOFS(budget).fit(sp.csr_array(X), y))
        assert_same_bits(model, SOFS(budget).fit(X.tocsc(), y))
        assert_same_bits(model, SOFS(budget).fit(X.toarray(), y))

    def test_simd_path(self, simd):
        X, y = datasets.make_x1(2_000, n_features=3_000, permute=True)
        _core.use_simd("scalar")
        scalar = SOFS(150, fit_intercept=True).fit(X, y)
        margins, chances = scalar.decision_function(X), scalar.predict_proba(X)
        _core.use_simd(simd)
        assert_same_bits(scalar, SOFS(150, fit_intercept=True).fit(X, y))
        np.testing.assert_array_equal(margins, scalar.decision_function(X))
        np.testing.assert_array_equal(chances, scalar.predict_proba(X))

    def test_prefix_purity(self):
        X, y = random_problem(200, 50, 0.2, seed=5)
        model = SOFS(10)
        for begin, end in itertools.pairwise([0, 2, 40, 41, 100, 200]):
            model.partial_fit(X[begin:end], y[begin:end], classes=[-1, 1])
            assert_same_bits(SOFS(10).fit(X[:end], y[:end]), model)

    def test_unsorted_and_repeated_ids(self):
        X, y = random_problem(100, 50, 0.2, seed=2)
        messy = X.copy()
        for r in range(100):
            row = slice(X.indptr[r], X.indptr[r + 1])
            messy.indices[row] = X.indices[row][::-1]
            messy.data[row] = X.data[row][::-1]
        before = messy.indices.copy()
        assert_same_bits(SOFS(10).fit(X, y), SOFS(10).fit(messy, y))
        assert_same_bits(SOFS(10).fit(X, y), SOFS(10).partial_fit(messy, y, classes=[-1, 1]))
        np.testing.assert_array_equal(messy.indices, before)  # the caller's matrix is left alone
        twice = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        assert_same_bits(SOFS(10).fit(X, y), SOFS(10).fit(twice, y))


class TestBudget:
    @given(problems(max_rows=40), budgets)
    def test_at_every_moment(self, problem, budget):
        X, y = problem
        model = SOFS(budget)
        for r in range(X.shape[0]):
            model.partial_fit(X[r], y[r : r + 1], classes=[-1, 1])
            assert len(model.selected_) <= budget
            assert model.coef_.nnz <= budget
            assert len(set(model.selected_.tolist())) == len(model.selected_)

    def test_share(self):
        X, y = random_problem(100, 50, 0.5, seed=0)
        assert len(SOFS(0.1).fit(X, y).selected_) == 5
        assert len(SOFS(0.999).fit(X, y).selected_) == 49
        assert len(SOFS(0.001).fit(X, y).selected_) == 1

    def test_more_than_there_are(self):
        X, y = random_problem(100, 50, 0.5, seed=0)
        everything = SOFS(50).fit(X, y)
        np.testing.assert_array_equal(SOFS(10**12).fit(X, y).selected_, everything.selected_)


class TestPrecision:
    """float32 ends somewhere, and that is told."""

    @staticmethod
    def model_at(excess: float) -> Model:
        """Return a model of one feature with the given precision − 1."""
        model = Model("sofs", norm=None).partial_fit(sp.csr_matrix([[1.0]]), [1], classes=[-1, 1])
        ids, cells, intercept, counters = model._learner.state()
        model._learner = model._new_learner(1)
        model._learner.restore(ids, np.array([cells[0], -excess], dtype=np.float32), intercept, counters)
        return model

    def test_grows_below_the_end(self):
        model = self.model_at(2.0**24 - 1)
        model.partial_fit(sp.csr_matrix([[1.0]]), [-1])
        assert -model._learner.state()[1][1] == 2.0**24

    def test_the_end_is_reported_and_weights_go_on_learning(self):
        model = self.model_at(2.0**24)
        before = model.members()[1][0]
        with pytest.warns(RuntimeWarning, match="end of float32"):
            model.partial_fit(sp.csr_matrix([[1.0]]), [-1])
        assert -model._learner.state()[1][1] == 2.0**24
        for _ in range(1_000):  # told once, not once a batch
            model.partial_fit(sp.csr_matrix([[1.0]]), [-1])
        assert model.members()[1][0] < before
        assert model.counters["n_saturated"] == 1_001

    def test_an_intercept_does_not_hide_it(self):
        X, y = random_problem(50, 20, 0.5, seed=0)
        with pytest.warns(RuntimeWarning, match="end of float32"):
            SOFS(5, norm=None, fit_intercept=True).fit(X * np.float32(1e-25), y)
        X = sp.csr_matrix((50, 20))
        SOFS(5, gamma=1e300, fit_intercept=True).fit(X, y)  # no feature, nothing to tell; warnings are errors here

    def test_a_gamma_that_lets_nothing_grow(self):
        X, y = random_problem(50, 20, 0.5, seed=0)
        with pytest.warns(RuntimeWarning, match="end of float32"):
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

    @pytest.mark.filterwarnings("ignore:The precision of every feature")
    def test_extreme_parameters_stay_finite(self):
        X, y = random_problem(200, 30, 0.3, seed=4)
        for scale, norm, gamma, weight in itertools.product(
            (1.0, 1e17), ("l2", None), (1e-300, 1e-39, 1e-30, 1e30, 1e300), (1e-39, 1.0, 1e39)
        ):
            model = SOFS(10, gamma=gamma, norm=norm).fit(X * np.float32(scale), y, sample_weight=weight)
            assert np.isfinite(model.coef_.data).all()
            assert np.isfinite(model.decision_function(X)).all()


def test_members_are_left_alone():
    """The lazy heap: a sift for each change near the boundary, not one for each member touched."""
    X, y = datasets.make_x1(20_000)
    model = SOFS(200).fit(X, y)
    touched_members = model.n_updates_ * 200
    assert model._model._learner.n_sifts < touched_members / 500


def test_passes_and_shuffle():
    X, y = random_problem(300, 60, 0.2, seed=6)
    twice = SOFS(10, n_passes=2).fit(X, y)
    assert_same_bits(twice, SOFS(10).partial_fit(X, y, classes=[-1, 1]).partial_fit(X, y))
    order = np.random.default_rng(5).permutation(300)
    assert_same_bits(SOFS(10, shuffle=True, random_state=5).fit(X, y), SOFS(10).fit(X[order], y[order]))


def test_intercept_helps_where_it_is_needed():
    random = np.random.default_rng(0)
    X = random.random((2_000, 5)).astype(np.float32)
    y = X[:, 0] > 0.8
    without, with_it = SOFS(5, norm=None).fit(X, y), SOFS(5, norm=None, fit_intercept=True).fit(X, y)
    assert with_it.score(X, y) > without.score(X, y) + 0.02
    assert with_it.intercept_[0] < 0
    margins = X @ with_it.coef_.toarray()[0] + with_it.intercept_[0]
    np.testing.assert_allclose(margins, with_it.decision_function(X), rtol=1e-4, atol=1e-5)


def test_probabilities():
    X, y = datasets.make_x1(5_000)
    model = SOFS(200).fit(X, y)
    chances, margins = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(chances.sum(1), 1)
    np.testing.assert_array_equal(chances[:, 1] > 0.5, margins > 0)
    # Φ(m/√v), with v = Σ x²/P over members, by hand for one row
    ids, cells, _, _ = model._model._learner.state()
    cells = cells.reshape(-1, 2)
    precision = dict(zip(ids.tolist(), 1 + np.abs(cells[:, 1]), strict=True))
    x = X[0].toarray()[0] / np.linalg.norm(X[0].data)
    variance = sum(x[j] ** 2 / precision[j] for j in model.selected_.tolist())
    from scipy.stats import norm

    np.testing.assert_allclose(chances[0, 1], norm.cdf(margins[0] / np.sqrt(variance)), rtol=1e-5)
    assert SOFS(200).fit(X, y).predict_proba(sp.csr_matrix((1, 20_000)))[0].tolist() == [0.5, 0.5]
