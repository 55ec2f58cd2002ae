"""ShadowSOFSRegressor in river: numbers, row by row or many at once, are those of the estimator on the same rows."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

pytest.importorskip("river", reason="river is not installed")

import pandas as pd
import scipy.sparse as sp
from river import datasets, dummy, evaluate, metrics, preprocessing, stats

import thresher
from thresher import _core, river


def random_rows(n_rows, seed=0):
    """Draw rows of a few of 40 names, and numbers that three of the names decide."""
    draw = random.Random(seed)
    rows = [{f"name{draw.randrange(40)}": draw.gauss(0, 1) for _ in range(8)} for _ in range(n_rows)]
    numbers = [
        10 + 3 * x.get("name1", 0) - 2 * x.get("name2", 0) + x.get("name3", 0) + draw.gauss(0, 0.1) for x in rows
    ]
    return rows, numbers


def test_rows_one_by_one_are_those_of_a_matrix():
    rows, numbers = random_rows(400)
    model = river.ShadowSOFSRegressor(5)
    for x, y in zip(rows, numbers, strict=True):
        model.learn_one(x, y)
    ids = [_core.name_ids(list(x)) for x in rows]
    values = np.array([value for x in rows for value in x.values()])
    X = sp.csr_array((values, np.concatenate(ids), np.cumsum([0, *map(len, ids)])), shape=(len(rows), 2**62))
    X.sort_indices()
    estimator = thresher.ShadowSOFSRegressor(5, memory="hash").partial_fit(X, numbers)
    assert _core.name_ids(model.selected_names_).tolist() == estimator.selected_.tolist()
    predicted = [model.predict_one(x) for x in rows]
    np.testing.assert_array_equal(predicted, estimator.predict(X))
    np.testing.assert_array_equal(model.predict_many(pd.DataFrame(rows)), predicted)
    assert {"name1", "name2", "name3"} <= set(model.selected_names_)


def test_many_at_once_and_pickled():
    rows, numbers = random_rows(300)
    one, many = river.ShadowSOFSRegressor(5), river.ShadowSOFSRegressor(5)
    for x, y in zip(rows, numbers, strict=True):
        one.learn_one(x, y)
    many.learn_many(pd.DataFrame(rows[:150]), pd.Series(numbers[:150]))
    many = pickle.loads(pickle.dumps(many))
    many.learn_many(pd.DataFrame(rows[150:]), pd.Series(numbers[150:]))
    assert many.weights == one.weights
    assert many.intercept == one.intercept


def test_in_a_pipeline():
    """The mean absolute error before learning is below that of the mean, on the data of river's documentation."""

    def error(model):
        return evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get()

    of_mean = error(dummy.StatisticRegressor(stats.Mean()))
    assert error(preprocessing.StandardScaler() | river.ShadowSOFSRegressor(3)) < 0.6 * of_mean


@pytest.mark.parametrize("y", ["high", None, float("nan"), 1e13])
def test_labels_that_are_no_numbers(y):
    with pytest.raises(ValueError, match=r"^y: the label"):
        river.ShadowSOFSRegressor(5).learn_one({"a": 1.0}, y)
