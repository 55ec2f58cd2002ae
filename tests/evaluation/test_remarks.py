"""The baseline, and what an evaluation says of its own figures."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from command_line import thresher
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from strategies import random_problem

from thresher import SOFS, ShadowSOFS, convert, cross_validate, evaluate, save, train, write_report


@given(labels=st.lists(st.sampled_from(["ant", "bee", "cat"]), min_size=1, max_size=30))
@pytest.mark.filterwarnings("ignore:.*no row was predicted right", "ignore:.*not among the model's classes")
def test_baseline_is_that_of_a_dummy(labels):
    """Also with a label that the model does not know."""
    found = evaluate(BUGS, (np.ones((len(labels), 2)), labels))
    y = np.array(labels)
    assert found.baseline == DummyClassifier(strategy="most_frequent").fit(y, y).score(y, y)
    assert found.standard_error == pytest.approx(np.std(found.accuracy * len(y) > np.arange(len(y))) / np.sqrt(len(y)))
    assert (found.to_dict()["baseline"], found.to_dict()["standard_error"]) == (found.baseline, found.standard_error)


BUGS = SOFS(2).fit(np.eye(2), ["ant", "bee"])


def rows_of(*n_rows):
    """Rows whose only column says what is predicted; the numbers are for label -1 as -1, 1; label 1 as -1, 1."""
    x, y = np.repeat([-1.0, 1.0, -1.0, 1.0], n_rows), np.repeat([-1, -1, 1, 1], n_rows)
    return x.reshape(-1, 1), y


WITHIN = "is within one standard error ({}) of the baseline: always predicting {} does about as well"


@pytest.fixture
def as_it_says():
    """A model that predicts what the only column says."""
    return SOFS(1, norm=None).fit(np.array([[-1.0], [1.0]] * 10), [-1, 1] * 10)


@pytest.mark.parametrize(
    ("n_rows", "remark"),
    [
        ((90, 0, 0, 10), None),
        ((90, 0, 6, 4), None),  # 0.94, with a standard error of 0.024
        ((88, 2, 6, 4), WITHIN.format("0.0271", -1)),
        ((90, 0, 10, 0), WITHIN.format("0.0300", -1)),
        ((4, 6, 2, 88), WITHIN.format("0.0271", 1)),
        ((80, 10, 10, 0), "is worse than the baseline: always predicting -1 does better"),
        ((90, 10, 0, 0), None),  # of one label: there is nothing to compare with
    ],
)
def test_accuracy_near_the_baseline_is_said(as_it_says, n_rows, remark):
    found = evaluate(as_it_says, rows_of(*n_rows))
    expected = [] if remark is None else [f"The accuracy {remark}."]
    assert found.remarks == found.to_dict()["remarks"] == expected
    assert str(found).endswith("".join(f"\n\n{each}" for each in expected))
    for each in expected:
        assert each in found._repr_html_()


@pytest.fixture(scope="module")
def rare():
    """One row in fifty is of the second class."""
    X, y = random_problem(4_000, 40, 0.3, seed=0)
    rows = np.flatnonzero((y == -1) | (np.arange(4_000) % 40 == 0))
    return X[rows], y[rows]


def test_a_class_that_is_never_predicted_is_said_where_a_threshold_would_help(rare):
    model = ShadowSOFS(20, gamma=8.0).fit(*rare)
    found = evaluate(model, rare)
    assert found.roc_auc > 0.8
    assert not any("never" in each for each in found.remarks)
    model.threshold_ = 100.0
    missed = evaluate(model, rare)
    assert missed.roc_auc == found.roc_auc
    assert missed.remarks[1] == (
        f"1 is never predicted, although ROC AUC is {found.roc_auc:.4f}: choose another threshold with set_threshold, "
        "or train an online method with class_weight='balanced'."
    )
    model.threshold_ = -100.0
    assert [each.partition(",")[0] for each in evaluate(model, rare).remarks] == [
        "The accuracy is worse than the baseline: always predicting -1 does better.",
        "-1 is never predicted",
    ]
    X, y = rare
    by_chance = np.random.default_rng(0).permutation(y)
    model.threshold_ = 100.0
    assert len(evaluate(model, (X, by_chance)).remarks) == 1  # ROC AUC is 0.5


def test_cross_validation_goes_by_the_errors_of_its_folds():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((600, 5)), random.integers(0, 10, 600) == 0
    cv = cross_validate(ShadowSOFS(2), (X, y.astype(int)), folds=3)
    assert cv.baseline == cv.to_dict()["baseline"] == np.mean(~y)
    expected = f"The accuracy is within one standard error ({cv.standard_error:.4f}) of the baseline: always predicting"
    assert cv.remarks == cv.to_dict()["remarks"] == [f"{expected} 0 does about as well."]
    assert cv.to_dict()["standard_error"] == cv.standard_error != cv.evaluation.standard_error
    assert str(cv).endswith(f"\n\n{cv.remarks[0]}")


def test_the_command_line_and_the_report_name_its_options(rare, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    convert(rare, "rows.svm")
    model = ShadowSOFS(20, gamma=8.0)
    train(model, "rows.svm")
    model.threshold_ = 100.0
    save(model, "m.thresher")
    of_options = "choose another threshold with --threshold, or train an online method with --class-weight balanced."
    assert thresher("evaluate", "m.thresher", "rows.svm").stdout.rstrip().endswith(of_options)
    found = json.loads(thresher("evaluate", "m.thresher", "rows.svm", "--json").stdout)
    assert found["remarks"][1].endswith(of_options)
    write_report("run.html", model, evaluation=evaluate(model, "rows.svm"))
    page = (tmp_path / "run.html").read_text()
    assert "choose another threshold with set_threshold, or train an online method with class_weight=" in page
    command = "train rows.svm -k 1 --method sofs --cv 3 --report cv.html --no-shuffle"
    assert thresher(*shlex.split(command)).returncode == 0
    assert "always predicting -1 does" in (tmp_path / "cv.html").read_text()
