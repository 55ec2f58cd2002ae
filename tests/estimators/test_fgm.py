"""FGM: groups as the paper forms them, sub-problems solved to their optimum, and how good the features are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_data import split
from sklearn.preprocessing import normalize
from strategies import random_problem

from thresher import FGM, L1SVM, datasets
from thresher.training.solvers import fgm


@pytest.fixture
def problem():
    return random_problem(400, 100, 0.3, seed=5)


def objective(X, Y, W, b, groups, C):
    norms = [np.linalg.norm(W[groups == t]) for t in np.unique(groups)]
    return sum(norms) ** 2 / 2 + C / 2 * np.square(np.maximum(0, 1 - Y * (X @ W + b))).sum()


class TestSubProblem:
    @given(
        st.lists(st.tuples(st.integers(0, 3), st.floats(-3, 3)), min_size=1, max_size=12),
        st.floats(1e-3, 1e3),
    )
    def test_shrinking_is_the_proximal_step(self, entries, step):
        """Each norm gives up ς, and ς is step times the sum of what is left: found by bisection here."""
        groups = np.unique(np.array([group for group, _ in entries]), return_inverse=True)[1]
        weights = np.array([[value] for _, value in entries])
        norms = np.sqrt(np.bincount(groups, weights=weights[:, 0] ** 2))
        low, high = 0.0, norms.max() + 1.0
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if step * np.maximum(0, norms - middle).sum() > middle else (low, middle)
        factor = np.where(norms > 0, np.maximum(0, 1 - low / np.where(norms > 0, norms, 1)), 0)
        np.testing.assert_allclose(fgm._shrink(weights, groups, step), weights * factor[groups, None], atol=1e-9)

    @pytest.mark.parametrize("n_outputs", [1, 3])
    @pytest.mark.parametrize("fit_intercept", [False, True])
    def test_is_solved_to_its_optimum(self, problem, n_outputs, fit_intercept):
        """A convex problem: where no group's gradient can lower the objective, nothing can."""
        X, y = problem
        X = normalize(X.astype(np.float64))[:, :40]
        Y = np.column_stack([y, np.roll(y, 1), np.roll(y, 2)])[:, :n_outputs].astype(np.float64)
        sizes, C = [8, 8, 8, 8, 8], 10.0
        machine = fgm._Machine(Y, C, fit_intercept)
        solution = machine.start()
        for t in range(1, 6):
            solution = machine.solve(X[:, : 8 * t], sizes[:t], solution)
        W, b, groups = solution.weights, solution.intercept, np.repeat(np.arange(5), 8)
        assert solution.objective == pytest.approx(objective(X, Y, W, b, groups, C))
        slack = C * Y * np.maximum(0, 1 - Y * (X @ W + b))
        norms = np.array([np.linalg.norm(W[groups == t]) for t in range(5)])
        total = norms.sum()
        for t in range(5):
            pull = (X.T @ slack)[groups == t]
            if norms[t] > 0:
                np.testing.assert_allclose(pull, total * W[groups == t] / norms[t], atol=2e-3 * total)
            else:
                assert np.linalg.norm(pull) <= total * 1.001
        if fit_intercept:
            np.testing.assert_allclose(slack.sum(axis=0), 0.0, atol=2e-3 * total)
        else:
            assert not b.any()


class TestGroups:
    def test_are_those_of_largest_pull(self, problem):
        """The first round sees α = C for every row, the second what the first left unsolved."""
        X, y = problem
        rows = normalize(X.astype(np.float64))
        first = FGM(8, group_size=8).fit(X, y)
        pull = np.abs(rows.T @ y)
        assert set(first.selected_) == set(np.argsort(-pull)[:8])
        slack = np.maximum(0, 1 - y * first.decision_function(X))
        pull = np.abs(rows.T @ (slack * y))
        pull[first.selected_] = 0
        second = FGM(13, group_size=8).fit(X, y)  # the last group is cut at the budget
        assert set(second.selected_) == set(first.selected_) | set(np.argsort(-pull)[:5])

    def test_default_size_is_a_tenth_of_the_budget(self, problem):
        X, y = problem
        np.testing.assert_array_equal(FGM(50).fit(X, y).objective_, FGM(50, group_size=5).fit(X, y).objective_)
        np.testing.assert_array_equal(FGM(7).fit(X, y).objective_, FGM(7, group_size=1).fit(X, y).objective_)

    def test_classes_share_their_groups(self, problem):
        X, y = problem
        y = y + 4 * (np.arange(400) % 2)
        model = FGM(30).fit(X, y)
        assert model.coef_.shape == (4, 100)
        assert 0 < len(model.selected_) <= 30
        assert model.score(X, y) > 0.4
        Y = np.where(y[:, None] == model.classes_, 1.0, -1.0)
        pull = np.square(normalize(X.astype(np.float64)).T @ Y).sum(axis=1)
        assert set(FGM(4, group_size=4).fit(X, y).selected_) == set(np.argsort(-pull)[:4])

    def test_stops_when_a_round_brings_little(self, problem):
        X, y = problem
        short, long = FGM(100, tol=0.05).fit(X, y), FGM(100, tol=1e-9).fit(X, y)
        assert len(short.selected_) < len(long.selected_) <= 100
        falls = -np.diff(short.objective_) / short.objective_[0]
        assert (falls[:-1] >= 0.05).all()
        assert falls[-1] < 0.05


@pytest.mark.parametrize(("name", "value"), [("C", 0), ("C", float("nan")), ("group_size", 0), ("tol", 0.0)])
def test_parameters(problem, name, value):
    with pytest.raises(ValueError, match=rf"{name} of FGM must be .* Got .* instead"):
        FGM(**{name: value}).fit(*problem)


def assert_falls_every_round(model: FGM) -> None:
    """Until the last round, after which there is nothing more to gain."""
    falls = -np.diff(model.objective_)
    assert (falls[:-1] > 0).all()
    assert falls[-1] >= 0


@pytest.mark.slow
def test_x1():
    X, y, informative = datasets.make_x1(20_000, return_informative=True)
    X_test, y_test = datasets.make_x1(10_000, start=100_000)
    model = FGM(200).fit(X, y)
    found = int(np.isin(model.selected_, informative).sum())
    few = FGM(50).fit(X, y)
    print(f"X1: {found} of 200, {model.score(X_test, y_test):.4f}; B=50 {few.score(X_test, y_test):.4f}")
    assert found >= 190
    assert few.score(X_test, y_test) >= 0.76
    for fitted in (model, few):
        assert_falls_every_round(fitted)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_train"), [("relathe", 1_000), ("basehock", 1_500)])
def test_no_more_than_two_points_below_l1svm(name, n_train):
    scores = []
    for repetition in range(5):
        X, y, X_test, y_test = split(name, n_train, repetition)
        model = FGM(200).fit(X, y)
        assert_falls_every_round(model)
        scores.append((model.score(X_test, y_test), L1SVM(200).fit(X, y).score(X_test, y_test)))
    ours, l1svm = 100 * np.mean(scores, axis=0)
    print(f"{name} B=200: FGM {ours:.2f}, L1SVM {l1svm:.2f}")
    assert ours >= l1svm - 2.0
