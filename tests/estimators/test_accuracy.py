"""The paper's accuracy, on the paper's data."""

from __future__ import annotations

import numpy as np
import pytest
from real_data import split

from thresher import SOFS, datasets

BUDGETS = (100, 200, 300, 400, 500)
GAMMAS = tuple(2.0**power for power in range(-5, 6))


def best_gamma(X, y, budget: int) -> float:
    """Choose by 5-fold cross-validation on the training rows; test rows are never looked at."""
    folds = np.arange(X.shape[0]) % 5

    def accuracy(gamma: float) -> float:
        models = (SOFS(budget, gamma=gamma, shuffle=False).fit(X[folds != k], y[folds != k]) for k in range(5))
        return float(np.mean([model.score(X[folds == k], y[folds == k]) for k, model in enumerate(models)]))

    return max(GAMMAS, key=accuracy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_train", "n_splits", "paper"),
    [
        ("basehock", 1_500, 10, (90.34, 94.52, 95.86, 96.41, 96.68)),
        ("ccat", 13_149, 3, (82.76, 86.35, 87.94, 89.00, 89.75)),
    ],
)
def test_no_more_than_a_point_below_the_paper(name, n_train, n_splits, paper):
    splits = [split(name, n_train, repetition) for repetition in range(n_splits)]
    for budget, published in zip(BUDGETS, paper, strict=True):
        gamma = best_gamma(*splits[0][:2], budget)
        scores = [
            SOFS(budget, gamma=gamma, shuffle=False).fit(X, y).score(X_test, y_test) for X, y, X_test, y_test in splits
        ]
        accuracy = 100 * float(np.mean(scores))
        print(f"{name} B={budget}: γ={gamma:g}, {accuracy:.2f} (paper {published})")
        assert accuracy >= published - 1.0, (name, budget, gamma)


@pytest.mark.slow
@pytest.mark.parametrize("permute", [False, True])
def test_x1(permute):
    X, y, informative = datasets.make_x1(100_000, permute=permute, return_informative=True)
    X_test, y_test = datasets.make_x1(10_000, permute=permute, start=100_000)
    model = SOFS(200).fit(X, y)
    accuracy = model.score(X_test, y_test)
    print(f"X1, permute={permute}: {accuracy:.4f}")
    assert sorted(model.selected_.tolist()) == sorted(informative.tolist())
    assert accuracy >= 0.985
