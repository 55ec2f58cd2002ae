"""L1SVM: LIBLINEAR's own fit, at the largest C that keeps to the budget."""

from __future__ import annotations

import numpy as np
import pytest
from real_data import split
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from strategies import random_problem

from thresher import L1SVM, datasets, train


def linear_svc(C: float, **parameters) -> LinearSVC:
    return LinearSVC(penalty="l1", dual=False, C=C, fit_intercept=False, random_state=0, **parameters)


def n_selected(svm: LinearSVC) -> int:
    return int(np.count_nonzero(svm.coef_.any(axis=0)))


@pytest.fixture
def problem():
    return random_problem(400, 100, 0.3, seed=5)


@pytest.mark.parametrize("budget", [1, 7, 40])
def test_is_liblinear_at_the_largest_c_within_the_budget(problem, budget):
    X, y = problem
    model = L1SVM(budget).fit(X, y)
    rows = normalize(X.astype(np.float64))
    same = linear_svc(model.C_, max_iter=20_000).fit(rows, y)
    # Weights are as precise as a model file: float32.
    np.testing.assert_allclose(model.coef_.toarray(), same.coef_.astype(np.float32), atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(rows), rtol=1e-6, atol=1e-6)
    assert len(model.selected_) == n_selected(same) <= budget
    assert n_selected(linear_svc(model.C_ * 1.011, max_iter=20_000).fit(rows, y)) > budget
    streamed = L1SVM(budget)
    train(streamed, (X, y))
    assert (streamed.C_, streamed.n_iter_) == (model.C_, model.n_iter_)
    sizes = np.abs(model.coef_.toarray()[0, model.selected_])
    assert (np.diff(sizes) <= 0).all()


def test_below_the_least_c_nothing_is_selected(problem):
    X, y = problem
    from thresher.training.solvers.l1svm import _least_c
    from thresher.training.solvers.problem import problem_of

    small = problem_of(X, "l2", (y > 0).astype(np.int32), 2, 10, np.zeros(0, np.int64))
    for fit_intercept in (False, True):
        least = _least_c(small, fit_intercept)
        for C, selects in ((0.99 * least, False), (1.1 * least, True)):
            svm = linear_svc(C).set_params(fit_intercept=fit_intercept).fit(small.X, y)
            assert bool(n_selected(svm) or np.any(svm.intercept_)) == selects


def test_more_than_there_are(problem):
    X, y = problem
    assert 90 <= len(L1SVM(1_000).fit(X, y).selected_) <= 100


def test_a_feature_is_selected_if_any_class_uses_it(problem):
    X, y = problem
    y = y + 4 * (np.arange(400) % 2)
    model = L1SVM(30).fit(X, y)
    assert model.coef_.shape == (4, 100)
    assert 24 <= len(model.selected_) <= 30
    same = linear_svc(model.C_, max_iter=20_000).fit(normalize(X.astype(np.float64)), y)
    assert sorted(model.selected_.tolist()) == np.flatnonzero(same.coef_.any(axis=0)).tolist()


def test_fits_that_do_not_converge_do_not_count(problem):
    X, y = problem
    few = L1SVM(40, max_iter=15).fit(X, y)
    assert few.C_ < L1SVM(40).fit(X, y).C_
    rows = normalize(X.astype(np.float64))
    assert linear_svc(few.C_, max_iter=15).fit(rows, y).n_iter_ < 15
    with pytest.warns(ConvergenceWarning, match=r"No fit .* converged in max_iter=1 iterations.*raise max_iter"):
        assert len(L1SVM(40, max_iter=1).fit(X, y).selected_) == 0


@pytest.mark.slow
def test_an_unconverged_fit_would_inflate_the_count():
    """relathe at C = 1000: 614 features after 1,000 iterations, 499 converged. Why only converged fits count."""
    X, y = split("relathe", 1_000, 0)[:2]
    rows = normalize(X.astype(np.float64))
    with pytest.warns(ConvergenceWarning):
        assert n_selected(linear_svc(1_000, max_iter=1_000).fit(rows, y)) > 550
    assert n_selected(linear_svc(1_000, max_iter=20_000).fit(rows, y)) < 550


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_train", "budgets"), [("relathe", 1_000, (50, 100, 200, 300)), ("ccat", 13_149, (50, 100, 200, 500))]
)
def test_the_budget_is_used(name, n_train, budgets):
    X, y, X_test, y_test = split(name, n_train, 0)
    for budget in budgets:
        model = L1SVM(budget).fit(X, y)
        accuracy = model.score(X_test, y_test)
        print(f"{name} B={budget}: {len(model.selected_)} features at C={model.C_:.4g}, {accuracy:.4f}")
        assert 0.8 * budget <= len(model.selected_) <= budget


@pytest.mark.slow
@pytest.mark.parametrize("budget", [50, 200])
def test_the_budget_is_used_on_x1(budget):
    X, y = datasets.make_x1(5_000)
    model = L1SVM(budget).fit(X, y)
    print(f"X1 B={budget}: {len(model.selected_)} features at C={model.C_:.4g}")
    assert 0.8 * budget <= len(model.selected_) <= budget
