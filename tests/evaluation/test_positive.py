"""`positive=`: which of two labels counts as found, in whatever is measured."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import thresher
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from states import assert_same_state
from strategies import random_problem

from thresher import L1SVM, PET, ShadowSOFS, convert, cross_validate, evaluate, set_threshold, train, write_report
from thresher.evaluation.prediction import as_model


@pytest.fixture(scope="module")
def mail():
    """Rows of spam, and fewer of ham."""
    X, y = random_problem(1_200, 60, 0.2, seed=0)
    rows = np.flatnonzero((y == 1) | (np.arange(1_200) % 4 == 0))
    return X[rows], np.where(y[rows] == 1, "spam", "ham")


@pytest.mark.parametrize("estimator", [ShadowSOFS, PET, L1SVM])
def test_ham_is_found_as_scikit_learn_finds_it(mail, estimator):
    X, y = mail
    model = estimator(10).fit(X[:400], y[:400])
    test, is_ham = (X[400:], y[400:]), y[400:] == "ham"
    before, margins = evaluate(model, test), model.decision_function(X[400:])
    found = evaluate(model, test, positive="ham")
    assert (before.positive, found.positive) == ("spam", "ham")
    near = pytest.approx if estimator is not L1SVM else lambda value: pytest.approx(value, abs=1e-3)  # rounds otherwise
    assert found.average_precision == near(metrics.average_precision_score(is_ham, -margins))
    assert before.average_precision == near(metrics.average_precision_score(~is_ham, margins))
    assert found.roc_auc == pytest.approx(before.roc_auc)
    if estimator is not L1SVM:
        false, true, _ = metrics.roc_curve(is_ham, -margins, drop_intermediate=False)
        np.testing.assert_allclose(found.roc_curve, np.column_stack([false, true]))
        precision, recall, _ = metrics.precision_recall_curve(is_ham, -margins)
        np.testing.assert_allclose(found.precision_recall_curve, np.column_stack([recall, precision])[-2::-1])
    # What is of a label, or of both, does not change.
    assert found.labels == before.labels == model.classes_.tolist() == ["ham", "spam"]
    assert found.per_class == before.per_class
    assert (found.accuracy, found.log_loss) == (before.accuracy, before.log_loss)
    np.testing.assert_array_equal(found.confusion, before.confusion)


def test_it_is_named_where_a_figure_depends_on_it(mail, tmp_path):
    model = ShadowSOFS(10).fit(*mail)
    for positive, name in ((None, "spam"), ("spam", "spam"), ("ham", "ham")):
        found = evaluate(model, mail, positive=positive)
        assert f", average precision {found.average_precision:.4f} (for {name})\n" in str(found)
        assert f"average precision {found.average_precision:.4f} (for {name})" in found._repr_html_()
        assert f"recall of {name}" in found._repr_html_()
        assert found.to_dict()["positive"] == name
        write_report(tmp_path / "run.html", model, evaluation=found)
        assert f"<dt>average precision (for {name})</dt>" in (tmp_path / "run.html").read_text()
    three = random_problem(200, 30, 0.3, seed=1, n_classes=3)
    found = evaluate(ShadowSOFS(5).fit(*three), three)
    assert found.positive is found.to_dict()["positive"] is None


def test_nothing_remembers_it(mail):
    model = ShadowSOFS(10).fit(*mail)
    before = as_model(model).untrained_copy(), evaluate(model, mail).to_dict()
    chances = model.predict_proba(mail[0])
    evaluate(model, mail, positive="ham")
    np.testing.assert_array_equal(model.predict_proba(mail[0]), chances)
    assert evaluate(model, mail).to_dict() == before[1]


@pytest.mark.parametrize(("labels", "positive"), [
    ([-1, 1], -1), ([-1, 1], "-1"), ([-1, 1], "-1.0"), ([0.0, 1.0], 0), ([0, 1], np.int64(0)), ([False, True], False),
    (["0", "1"], 0), (["no", "yes"], "no"), ([1, 2], "+1"), ([2**60, 2**60 + 1], 2**60),
])  # fmt: skip
def test_a_label_may_be_written_as_files_write_it(labels, positive):
    X, y = random_problem(100, 10, 0.5, seed=3)
    y = np.array(labels)[(y > 0).astype(int)]
    assert evaluate(ShadowSOFS(3).fit(X, y), (X, y), positive=positive).positive == labels[0]


@pytest.mark.parametrize("target", ["f1", "precision=0.9", "precision=1.0"])
def test_a_threshold_finds_it(mail, target):
    X, y = mail
    model = ShadowSOFS(10).fit(X[:300], y[:300])
    rows, margins, is_ham = (X[300:], y[300:]), model.decision_function(X[300:]), y[300:] == "ham"
    threshold = set_threshold(model, rows, target, positive="ham")
    found = model.predict(X[300:]) == "ham"
    np.testing.assert_array_equal(found, margins <= threshold)
    every = [margins <= other for other in [*margins, np.inf]]
    if target == "f1":
        assert metrics.f1_score(is_ham, found) == max(metrics.f1_score(is_ham, each) for each in every)
        return
    wanted = float(target.partition("=")[2])
    good = [each for each in every if metrics.precision_score(is_ham, each, zero_division=0) >= wanted]
    assert metrics.precision_score(is_ham, found) >= wanted
    assert metrics.recall_score(is_ham, found) == max(metrics.recall_score(is_ham, each) for each in good)


@given(
    st.lists(st.tuples(st.sampled_from([-2.0, -0.1, 0.0, 0.5, np.nextafter(0.5, 1), 3.0]), st.booleans()), min_size=2)
)
def test_thresholds_of_either_class_are_mirror_images(rows):
    """The margins of the mirrored model have the other sign, and its labels the other order."""
    margins, truth = np.array([m for m, _ in rows]), np.array([t for _, t in rows])
    if truth.all() or not truth.any():
        return
    model, mirrored = (PET(1, norm=None).fit([[1.0], [-1.0]], labels) for labels in (["b", "a"], ["a", "b"]))
    X, y = (margins / model.coef_[0, 0]).reshape(-1, 1), np.where(truth, "a", "b")
    set_threshold(model, (X, y), "f1", positive="a")
    set_threshold(mirrored, (X, np.where(truth, "b", "a")), "f1")
    np.testing.assert_array_equal(model.predict(X) == "a", mirrored.predict(X) == "b")


def test_cross_validation(mail):
    cv, found = cross_validate(ShadowSOFS(10), mail, folds=3), cross_validate(ShadowSOFS(10), mail, 3, positive="ham")
    assert [fold.positive for fold in found.folds] == ["ham"] * 3
    assert found.evaluation.positive == "ham"
    assert found.evaluation.average_precision == np.mean([fold.average_precision for fold in found.folds])
    assert found.evaluation.average_precision != cv.evaluation.average_precision
    assert found.evaluation.accuracy == cv.evaluation.accuracy
    assert_same_state(found.model, cv.model)
    assert " (for ham)\n" in str(found)
    assert " (for spam)\n" in str(cv)


@pytest.mark.parametrize(
    "measure", [evaluate, cross_validate, lambda *given, **named: set_threshold(*given, "f1", **named)]
)
def test_bad_input(mail, measure):
    model = ShadowSOFS(3).fit(*mail)
    for strange in ("eggs", 3, "", ["ham"], float("nan")):
        with pytest.raises(
            ValueError, match=r"positive=.* is not among the model's classes \(ham, spam\): name one of"
        ):
            measure(model, mail, positive=strange)
    X, y = random_problem(200, 30, 0.3, seed=1, n_classes=3)
    if measure is not cross_validate:
        model = ShadowSOFS(5).fit(X, y)
        message = r"needs two classes, but the model has 3"
        with pytest.raises(ValueError, match=message):
            measure(model, (X, y), positive=1)
    else:
        with pytest.raises(ValueError, match="positive=1 needs two classes, but the model has 3: leave it out"):
            measure(model, (X, y), positive=1, multiclass=True)


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def data(self, mail, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        X, y = mail
        convert((X[:400], y[:400]), "train.svm")
        convert((X[400:], y[400:]), "test.svm")

    def test_evaluate(self):
        assert thresher("train", "train.svm", "-k", 10, "-o", "m").returncode == 0
        model = ShadowSOFS(10)
        train(model, "train.svm")
        assert (
            thresher("evaluate", "m", "test.svm", "--positive", "ham").stdout
            == f"{evaluate(model, 'test.svm', positive='ham')}\n"
        )
        found = json.loads(thresher("evaluate", "m", "test.svm", "--positive", "ham", "--json").stdout)
        assert found == evaluate(model, "test.svm", positive="ham").to_dict()

    def test_train(self):
        command = ("train", "train.svm", "-k", 10, "--test", "test.svm")
        model = ShadowSOFS(10)
        train(model, "train.svm")
        assert " (for spam)\n" in thresher(*command).stdout
        found = evaluate(model, "test.svm", positive="ham")
        printed = thresher(*command, "--positive", "ham").stdout
        assert f", average precision {found.average_precision:.4f} (for ham)\n" in printed
        assert json.loads(thresher(*command, "--positive", "ham", "--json").stdout)["test"] == found.to_dict()
        done = thresher(*command, "--positive", "ham", "--threshold", "precision=0.95", "--cv", 3, "--json")
        report = json.loads(done.stdout)
        assert report["threshold"] == set_threshold(model, "test.svm", "precision=0.95", positive="ham")
        assert report["test"]["per_class"]["ham"]["precision"] >= 0.95
        assert report["cv"]["positive"] == "ham"

    def test_a_label_that_is_found_to_be_strange_after_training_leaves_the_model(self, tmp_path):
        done = thresher("train", "train.svm", "-k", 10, "--test", "test.svm", "--positive", "hma", "-o", "m")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "thresher: --positive hma is not among the model's classes (ham, spam): name one of them. The model was "
            "trained and written to m.\n"
        )
        assert (tmp_path / "m").exists()
