"""`set_threshold`: the margin from which on the second class is predicted."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import thresher
from every import every, made
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score
from states import model_of
from strategies import random_problem

from thresher import SOFS, ShadowSOFS, convert, datasets, evaluate, load, set_threshold, train
from thresher.analysis.threshold import _best, _between
from thresher.io.model_files import save_model
from thresher.streams import DataError

MARGINS = st.lists(st.tuples(st.sampled_from([-2.0, -1.0, -0.1, 0.0, 0.5, 1.0, 3.0]), st.booleans()), min_size=2)


# These two ask below `set_threshold`, which would need a trained model for each list of margins.
@given(MARGINS)
def test_best_f1_of_all_thresholds(rows):
    margins, truth = np.array([m for m, _ in rows]), np.array([t for _, t in rows])
    if not truth.any():
        return
    next_margins, score = _best(margins, truth, None)
    threshold = _between(*next_margins[::-1])
    every = [f1_score(truth, margins > t) for t in [-10, *margins]]
    np.testing.assert_allclose(score, max(every))
    np.testing.assert_allclose(f1_score(truth, margins > threshold), max(every))


@given(MARGINS, st.sampled_from([0.3, 0.5, 0.9, 1.0]))
def test_most_rows_found_at_a_precision(rows, wanted):
    margins, truth = np.array([m for m, _ in rows]), np.array([t for _, t in rows])
    if not truth.any():
        return
    cuts = [t for t in [-10, *margins] if (margins > t).any()]
    good = [t for t in cuts if precision_score(truth, margins > t) >= wanted]
    next_margins, score = _best(margins, truth, wanted)
    threshold = _between(*next_margins[::-1])
    if not good:
        np.testing.assert_allclose(score, max(precision_score(truth, margins > t) for t in cuts))
        return
    assert precision_score(truth, margins > threshold) >= wanted
    assert recall_score(truth, margins > threshold) == max(recall_score(truth, margins > t) for t in good)


@pytest.fixture(scope="module")
def rare():
    """One row in ten is of the second class."""
    X, y = random_problem(4_000, 100, 0.2, seed=0)
    rows = np.flatnonzero((y == -1) | (np.arange(4_000) % 9 == 0))
    return X[rows], y[rows]


@every
def test_predict_uses_it_and_nothing_else_does(estimator, rare):
    X, y = rare
    model = (
        made(estimator, 10).fit(X[:1000], y[:1000])
        if estimator().get_params().get("n_passes")
        else estimator(10).fit(X[:1000], y[:1000])
    )
    margins = model.decision_function(X)
    threshold = set_threshold(model, (X[1000:], y[1000:]), "f1")
    np.testing.assert_array_equal(model.predict(X) == 1, margins > threshold)
    np.testing.assert_array_equal(model.decision_function(X), margins)
    found = evaluate(model, (X[1000:], y[1000:]))
    np.testing.assert_allclose(found.per_class[1].f1, f1_score(y[1000:], model.predict(X[1000:])))
    assert found.threshold == threshold
    assert f"above a margin of {threshold:.4g}" in str(found) or threshold == 0.0


def test_precision_holds_on_new_rows(rare):
    X, y = rare
    model = ShadowSOFS(20).fit(X[:1000], y[:1000])
    model.threshold_ = -2.0
    assert precision_score(y[1600:], model.predict(X[1600:])) < 0.9
    set_threshold(model, (X[1000:1600], y[1000:1600]), "precision=0.98")
    assert precision_score(y[1600:], model.predict(X[1600:])) > 0.93


def test_any_number(rare):
    X, y = rare
    model = ShadowSOFS(20).fit(X, y)
    model.threshold_ = 0.25
    np.testing.assert_array_equal(model.predict(X) == 1, model.decision_function(X) > 0.25)
    model.threshold_ = np.float32(0.5)
    assert model.threshold_ == 0.5
    with pytest.raises(ValueError, match="threshold_ must be a finite number"):
        model.threshold_ = float("nan")


def test_a_failed_run_keeps_it(rare, tmp_path):
    model = ShadowSOFS(20).fit(*rare)
    model.threshold_ = 0.25
    (tmp_path / "bad.svm").write_text("bad bad\n")
    with pytest.raises(DataError):
        train(model, tmp_path / "bad.svm")
    assert model.threshold_ == 0.25


def test_saved_and_loaded(rare, tmp_path):
    model = ShadowSOFS(20).fit(*rare)
    threshold = set_threshold(model, rare, "precision=0.95")
    for compact in (True, False):
        save_model(model_of(model), tmp_path / "m.thresher", compact=compact)
        np.testing.assert_array_equal(load(tmp_path / "m.thresher").predict(rare[0]), model.predict(rare[0]))
    assert load(tmp_path / "m.thresher").threshold_ == threshold


def test_learning_more_sets_it_back(rare):
    X, y = rare
    model = ShadowSOFS(20).fit(X, y)
    set_threshold(model, (X, y), "precision=0.95")
    with pytest.warns(UserWarning, match="was chosen before the model learned these rows and is back at 0"):
        model.partial_fit(X[:10], y[:10])
    np.testing.assert_array_equal(model.predict(X) == 1, model.decision_function(X) > 0)
    set_threshold(model, (X, y), "precision=0.95")
    with pytest.warns(UserWarning, match="is back at 0"):
        train(model, (X, y), shuffle=False)


@pytest.mark.parametrize("target", ["f2", "precision", "precision=", "precision=0", "precision=1.5", "recall=0.5", 0.5])
def test_unknown_targets(target, rare):
    with pytest.raises(ValueError, match=r'target must be "f1" or "precision=P" with P above 0'):
        set_threshold(SOFS(5).fit(*rare), rare, target)


def test_what_can_not_be_done(rare):
    X, y = rare
    model = SOFS(5).fit(X, y)
    with pytest.raises(DataError, match=r"rows of the classes -1, 1 are needed, and no others. It has -1."):
        set_threshold(model, (X[y == -1], y[y == -1]), "f1")
    with pytest.raises(DataError, match=r"rows of the classes -1, 1 are needed, and no others. It has -1, 1, 7."):
        set_threshold(model, (X, np.where(np.arange(len(y)) == 3, 7, y)), "f1")
    random = np.random.default_rng(0).permutation(y)
    with pytest.raises(DataError, match=r"no threshold has a precision of 0.99 there; the highest is 0"):
        set_threshold(
            model, (X[np.argsort(-model.decision_function(X))], np.where(random == 1, 1, -1)), "precision=0.99"
        )
    assert model.threshold_ == 0.0
    three = random_problem(200, 30, 0.3, seed=1, n_classes=3)
    model = SOFS(5).fit(*three)
    with pytest.raises(ValueError, match="a threshold needs two classes, but the model has 3"):
        set_threshold(model, three, "f1")
    with pytest.raises(ValueError, match="a threshold needs two classes, but the model has 3"):
        model.threshold_ = 0.5


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    here = tmp_path_factory.mktemp("threshold")
    convert(datasets.make_x1(1_500), str(here / "train.svm"))
    convert(datasets.make_x1(500, start=1_500), str(here / "test.svm"))
    return here / "train.svm", here / "test.svm", here / "m.thresher"


class TestCommandLine:
    def test_train_show_evaluate_predict(self, files):
        data, test, model = files
        done = thresher("train", data, "-k", 50, "--test", test, "--threshold", "precision=0.9", "-o", model, "--json")
        found = json.loads(done.stdout)
        expected = ShadowSOFS(50)
        train(expected, data)
        assert found["threshold"] == set_threshold(expected, test, "precision=0.9") > 0
        assert json.loads(thresher("show", model, "--json").stdout)["threshold"] == found["threshold"]
        evaluation = json.loads(thresher("evaluate", model, test, "--json").stdout)
        assert evaluation["threshold"] == found["threshold"]
        assert evaluation["per_class"]["1"]["precision"] >= 0.9
        assert evaluation["accuracy"] == found["accuracy_on_test"]
        labels = thresher("predict", model, test).stdout.split()
        assert labels.count("1") == sum(row[1] for row in evaluation["confusion"])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--threshold", "f1"], "--threshold needs --test FILE"),
            (["--threshold", "f3", "--test", "TEST"], "--threshold must be"),
        ],
    )
    def test_bad_input(self, files, options, message):
        done = thresher("train", files[0], *[str(files[1]) if each == "TEST" else each for each in options])
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
