"""MRMR: the order of a naive implementation and of the authors' own, speed, and the paper's accuracy."""

from __future__ import annotations

import time

import batch_oracles
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from real_data import load, split
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from strategies import TIES, problems, random_problem

from thresher import MRMR, datasets
from thresher.training.solvers import mrmr

BUDGETS = (100, 200, 300, 400, 500)
schemes = st.sampled_from(["MID", "MIQ"])
ways = st.sampled_from(["auto", "presence", "mean_std"])


def naive_order(X, y, how: str, budget: int, scheme: str) -> list[int]:
    dense = X.toarray().astype(np.float64)
    levels = np.column_stack([batch_oracles.discretize(column, how) for column in dense.T])
    return batch_oracles.mrmr(levels, y, budget, scheme)


# Printed by `python benchmarks/record_pymrmr.py`: relathe's 1,427 rows and 4,322 columns, presence for value.
# pymrmr 0.1.11 copies the matrix for each pair of columns, which takes hours; these came from a build in which
# calMutualInfo takes its matrix by reference, and nothing else is changed.
PYMRMR = {
    "MID": "287 2059 2149 612 2368 286 1887 4223 812 661 3358 2850 608 987 2857 2330 1480 673 4300 1655",
    "MIQ": "287 397 3026 2594 2765 2213 15 231 1862 3691 1679 3101 2368 4023 3368 53 693 2811 2118 1030",
}


class TestOrder:
    @given(problems(), schemes, ways)
    def test_equals_the_naive_one(self, problem, scheme, how):
        X, y = problem
        model = MRMR(8, scheme=scheme, discretize=how, norm=None)
        if X.count_nonzero() == 0:
            assert len(model.fit(X, y).selected_) == 0
            return
        assert model.fit(X, y).selected_.tolist() == naive_order(X, y, how, 8, scheme)

    @given(problems(TIES), schemes)
    def test_equals_the_naive_one_where_scores_tie(self, problem, scheme):
        X, y = problem
        selected = MRMR(8, scheme=scheme, norm=None).fit(X, y).selected_.tolist()
        assert selected == naive_order(X, y, "auto", 8, scheme)

    @pytest.mark.parametrize("scheme", ["MID", "MIQ"])
    def test_equals_the_naive_one_with_four_classes(self, scheme):
        X, y = random_problem(150, 30, 0.3, seed=2)
        y = y + 4 * (np.arange(150) % 2)
        model = MRMR(30, scheme=scheme, norm=None).fit(X, y)
        assert model.selected_.tolist() == naive_order(X, y, "auto", 30, scheme)
        assert model.coef_.shape == (4, 30)

    @pytest.mark.parametrize("n_entries", [1, 100])
    def test_pieces_of_work_change_nothing(self, n_entries, monkeypatch):
        X, y = random_problem(150, 30, 0.3, seed=3)
        whole = MRMR(20).fit(X, y)
        monkeypatch.setattr(mrmr, "_PIECE", n_entries)
        assert MRMR(20).fit(X, y).selected_.tolist() == whole.selected_.tolist()

    def test_one_value_says_nothing(self):
        """A column that never changes has a score of 0, above that of a useful but redundant one; it is passed over."""
        X = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0]], dtype=np.float32)
        for how in ("auto", "presence"):
            assert MRMR(4, discretize=how, norm=None).fit(X, [1, 1, 0, 0]).selected_.tolist() == [1, 2]

    @pytest.mark.parametrize("scheme", PYMRMR)
    def test_equals_pymrmr_on_relathe(self, scheme):
        model = MRMR(20, scheme=scheme, discretize="presence").fit(*load("relathe"))
        assert model.selected_.tolist() == [int(column) for column in PYMRMR[scheme].split()]


class TestDiscretize:
    def test_auto_takes_presence_for_sparse_counts_only(self):
        columns = {"sparse counts": [0, 0, 3, 1], "dense counts": [1, 2, 3, 0], "signed": [0, -1, 0, 2]}
        X = sp.csr_matrix(np.array(list(columns.values()), dtype=float).T)
        starts, ids, levels = mrmr.discretize(X, "auto")
        dense = sp.csr_matrix((levels, ids, starts), shape=X.shape).toarray()
        for k, column in enumerate(columns.values()):
            expected = batch_oracles.discretize(np.array(column, dtype=float), "auto")
            found, at = np.unique(dense[:, k], return_inverse=True)
            assert [expected[at == u].min() for u in range(len(found))] == [
                expected[at == u].max() for u in range(len(found))
            ]
            assert len(found) == len(np.unique(expected))

    def test_x1_needs_bins(self):
        """Presence is all that X1's informative columns have in common."""
        X, y, informative = datasets.make_x1(5_000, return_informative=True)
        assert np.isin(MRMR(50).fit(X, y).selected_, informative).all()
        assert not np.isin(MRMR(50, discretize="presence").fit(X, y).selected_, informative).any()


class TestClassifier:
    def test_is_a_perceptron_on_the_selected_columns(self):
        X, y = random_problem(200, 50, 0.3, seed=4)
        model = MRMR(10, norm=None, fit_intercept=True).fit(X, y)
        perceptron = Perceptron(random_state=0).fit(X[:, model.selected_].astype(np.float64), y)
        np.testing.assert_allclose(model.coef_.toarray()[0, model.selected_], perceptron.coef_[0])
        np.testing.assert_allclose(model.intercept_, perceptron.intercept_)
        np.testing.assert_array_equal(model.predict(X), perceptron.predict(X[:, model.selected_]))

    def test_may_be_another_linear_one(self):
        X, y = random_problem(200, 50, 0.3, seed=4)
        model = MRMR(10, norm=None, classifier=LogisticRegression()).fit(X, y)
        other = LogisticRegression().fit(X[:, model.selected_].astype(np.float64), y)
        margins = other.decision_function(X[:, model.selected_])
        np.testing.assert_allclose(model.decision_function(X), margins, rtol=1e-6, atol=1e-6)  # weights are float32
        with pytest.raises(ValueError, match="classifier must be linear: KNeighborsClassifier has no coef_"):
            MRMR(10, classifier=KNeighborsClassifier()).fit(X, y)
        with pytest.raises(ValueError, match="classifier of MRMR must be"):
            MRMR(10, classifier=3).fit(X, y)


@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "n_train", "limit"),
    [("relathe", 1_000, 2), ("basehock", 1_500, 2), ("pcmac", 1_500, 2), ("ccat", 13_149, 60)],
)
def test_500_features_take_little_time(name, n_train, limit):
    X, y = split(name, n_train, 0)[:2]
    started = time.perf_counter()
    assert len(MRMR(500).fit(X, y).selected_) == 500
    seconds = time.perf_counter() - started
    print(f"{name}: {seconds:.2f} s")
    assert seconds < limit


@pytest.mark.parametrize(
    ("name", "n_train", "n_splits", "paper"),
    [
        ("relathe", 1_000, 5, (74.19, 77.87, 78.92, 79.13, 79.60)),
        ("basehock", 1_500, 5, (93.78, 95.15, 95.03, 95.25, 94.89)),
        ("ccat", 13_149, 2, (82.75, 85.71, 86.42, 86.94, 87.40)),
    ],
)
@pytest.mark.parametrize("scheme", ["MID", "MIQ"])
def test_no_more_than_three_points_below_the_paper(scheme, name, n_train, n_splits, paper):
    splits = [split(name, n_train, repetition) for repetition in range(n_splits)]
    for budget, published in zip(BUDGETS, paper, strict=True):
        scores = [MRMR(budget, scheme=scheme).fit(X, y).score(*test) for X, y, *test in splits]
        accuracy = 100 * float(np.mean(scores))
        print(f"{name} {scheme} B={budget}: {accuracy:.2f} (paper {published})")
        assert accuracy >= published - 3.0, (name, scheme, budget)
