"""`path`: accuracy against the number of features."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import thresher
from every import BUDGETED
from sklearn.linear_model import SGDClassifier
from strategies import random_problem

from thresher import AROW, L1SVM, SOFS, ShadowSOFS, convert, datasets, evaluate, path, train
from thresher.analysis.curve import _curve
from thresher.evaluation.prediction import as_model
from thresher.model.model import Model
from thresher.streams import DataError
from thresher.training import History

BUDGETS = [5, 20, 60]


@pytest.fixture(scope="module")
def problem():
    X, y = random_problem(1_500, 200, 0.1, seed=0)
    return (X[:1_000], y[:1_000]), (X[1_000:], y[1_000:])


@pytest.mark.parametrize("estimator", BUDGETED, ids=lambda each: each.__name__)
def test_each_point_is_a_run_of_its_own(estimator, problem):
    rows, held_out = problem
    curve = path(estimator(), rows, BUDGETS, held_out)
    prequential = path(estimator(), rows, BUDGETS)
    for n, share, own in zip(BUDGETS, curve.accuracy, prequential.accuracy, strict=True):
        model = estimator(n)
        history = train(model, rows)
        assert share == evaluate(model, held_out).accuracy
        assert own == 1 - history.error[-1] == 1 - model.n_mistakes_ / 1_000
    assert (curve.n_rows, prequential.n_rows) == (500, 1_000)


def test_batch_methods_and_many_classes():
    X, y = random_problem(600, 100, 0.2, seed=1, n_classes=4)
    rows, held_out = (X[:400], y[:400]), (X[400:], y[400:])
    curve = path(L1SVM(), rows, [5, 20], held_out, multiclass=True)
    assert curve.accuracy.tolist() == [evaluate(L1SVM(n).fit(*rows), held_out).accuracy for n in (5, 20)]
    suggested = [5, 20].index(curve.suggested)
    assert (curve.history.rows, curve.history.validation) == ([400], [curve.accuracy[suggested]])
    online = path(ShadowSOFS(), rows, [5, 20], held_out, classes=[0, 1, 2, 3])
    model = ShadowSOFS(20)
    train(model, rows, classes=[0, 1, 2, 3])
    assert online.accuracy[1] == evaluate(model, held_out).accuracy


def test_the_template_does_not_change(problem):
    model = SOFS(7).fit(*problem[0])
    before = model.selected_.tolist()
    path(model, problem[0], BUDGETS)
    assert model.n_features_to_select == 7
    assert model.selected_.tolist() == before


def test_suggestion_is_the_smallest_within_one_standard_error():
    """Asked below `path`: models have no accuracies that are just inside and just outside one standard error."""
    budgets, models, histories = [10, 20, 40, 80], ["a", "b", "c", "d"], [History(n_passes=k) for k in range(4)]
    curve = _curve(budgets, [0.80, 0.889, 0.90, 0.895], 900, "", models, histories, 0.5)
    np.testing.assert_allclose(curve.standard_error[2], 0.01)
    assert (curve.suggested, curve.model, curve.history) == (40, "c", histories[2])
    assert _curve(budgets, [0.80, 0.8901, 0.90, 0.895], 900, "", models, histories, 0.5).suggested == 20


def test_baseline_is_that_of_the_rows_measured():
    X, y = random_problem(1_500, 200, 0.1, seed=0)
    rows, held_out = (X[:1_000], y[:1_000]), (X[1_000:], y[1_000:])
    on_held_out, prequential = path(ShadowSOFS(), rows, BUDGETS, held_out), path(ShadowSOFS(), rows, BUDGETS)
    for curve, labels in ((on_held_out, held_out[1]), (prequential, rows[1])):
        expected = max(np.mean(labels == 1), np.mean(labels == -1))
        assert curve.baseline == curve.to_dict()["baseline"] == expected
        assert curve.heading.endswith(f", baseline {expected:.4f}")
        assert curve.remarks == curve.to_dict()["remarks"] == []


def test_a_suggestion_that_is_no_better_is_said():
    """Asked below `path`: models have no accuracies that are just inside and just outside one standard error."""
    models, histories = ["a", "b"], [History(n_passes=1)] * 2
    near, far, below = (_curve([10, 20], [0.85, 0.90], 900, "", models, histories, b) for b in (0.891, 0.889, 0.911))
    (remark,) = near.remarks
    assert remark == (
        "The accuracy with 20 features is within one standard error (0.0100) of the baseline: always predicting the "
        "most frequent label does about as well."
    )
    assert str(near).endswith(f"\n\n{remark}")
    assert remark in near._repr_html_()
    assert far.remarks == []
    assert below.remarks[0].startswith("The accuracy with 20 features is worse than the baseline")


def test_a_class_that_is_never_predicted_is_said(tmp_path):
    X, y = random_problem(4_000, 40, 0.3, seed=0)
    rare = np.flatnonzero((y == -1) | (np.arange(4_000) % 40 == 0))
    rows, held_out = (X[rare[:1_500]], y[rare[:1_500]]), (X[rare[1_500:]], y[rare[1_500:]])
    curve = path(ShadowSOFS(), rows, [3], held_out)
    expected = evaluate(curve.model, held_out)
    assert expected.roc_auc > 0.8
    assert curve.remarks[1] == expected.remarks[1]
    assert "choose another threshold with set_threshold" in curve.remarks[1]
    one_pass = ShadowSOFS(n_passes=1)  # validation data are read after each
    once = path(one_pass, rows, [3], iter([held_out]))  # which can't be read again for ROC AUC
    assert once.remarks == path(one_pass, rows, [3], held_out).remarks[:1]
    convert(rows, tmp_path / "rows.svm")
    convert(held_out, tmp_path / "test.svm")
    command = ("path", tmp_path / "rows.svm", "-k", 3, "--test", tmp_path / "test.svm")
    assert "choose another threshold with --threshold, or train" in thresher(*command).stdout
    assert thresher(*command, "--report", tmp_path / "path.html").returncode == 0
    assert "choose another threshold with --threshold, or train" in (tmp_path / "path.html").read_text()


@pytest.mark.parametrize("template", [ShadowSOFS(), Model("shadow_sofs"), L1SVM()], ids=["estimator", "model", "batch"])
def test_the_model_is_that_of_the_suggestion(template, problem):
    rows, held_out = problem
    curve = path(template, rows, BUDGETS, held_out)
    found = curve.accuracy[BUDGETS.index(curve.suggested)]
    assert evaluate(curve.model, held_out).accuracy == found
    assert len(as_model(curve.model).members()[0]) == curve.suggested
    assert curve.history.rows[-1] == (1_000 if isinstance(template, L1SVM) else 3_000)  # in three passes
    assert len(curve.history.rows) == len(curve.history.seconds)


@pytest.mark.slow
def test_suggestion_on_x1():
    """200 columns are informative."""
    rows, held_out = datasets.make_x1(20_000), datasets.make_x1(10_000, start=20_000)
    curve = path(ShadowSOFS(), rows, range(50, 401, 25), held_out)
    assert 175 <= curve.suggested <= 275, curve


def test_as_text_and_values(problem):
    curve = path(ShadowSOFS(), problem[0], BUDGETS, problem[1])
    lines = str(curve).splitlines()
    assert [int(line.split()[0]) for line in lines[3:]] == BUDGETS
    assert sum("suggested" in line for line in lines) == 1
    assert json.loads(json.dumps(curve.to_dict()))["suggested"] == curve.suggested


@pytest.mark.parametrize(
    ("model", "budgets", "message"),
    [
        (SOFS(), [], "n_features must be a list of budgets"),
        (SOFS(), 5, "n_features must be a list of budgets"),
        (SOFS(), [5, 5], "the budget 5 is listed twice"),
        (SOFS(), [5, 0], "each budget in n_features must be a whole number of at least 1. Got 0"),
        (SOFS(), [0.5], "each budget in n_features must be a whole number"),
        (SOFS(keep=[1, 2]), [1, 5], "keep lists 2 features, more than the budget of 1"),
        (AROW(), [5], "AROW keeps all features"),
        (L1SVM(), [5], "validate is needed with L1SVM"),
        (SOFS(n_passes=2), [5], "validate is needed with passes=2"),
    ],
)
def test_bad_input(model, budgets, message, problem):
    with pytest.raises(ValueError, match=message):
        path(model, problem[0], budgets)


def test_skipped_lines_are_reported(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\nbad bad\n" * 30)
    done = thresher("path", tmp_path / "a.svm", "-k", "1,2", "--on-bad-line", "skip")
    assert done.returncode == 0
    assert "30 lines were skipped" in done.stderr


@pytest.mark.parametrize("model", [ShadowSOFS, SGDClassifier()])
def test_not_an_estimator_of_ours(model, problem):
    with pytest.raises(TypeError, match="model must be an estimator of thresher, such as ShadowSOFS"):
        path(model, problem[0], BUDGETS)


def test_grouped_rows_say_nothing_before_they_are_learned(problem):
    X, y = problem[0]
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="grouped"), pytest.raises(DataError, match="use shuffle=True"):
        path(SOFS(), (X[order], y[order]), BUDGETS, shuffle=False)
    with pytest.warns(UserWarning, match="Training starts again"):
        assert path(ShadowSOFS(), (X[order], y[order]), BUDGETS).accuracy.max() > 0.6


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    here = tmp_path_factory.mktemp("x1")
    convert(datasets.make_x1(2_000), str(here / "train.svm"))
    convert(datasets.make_x1(500, start=2_000), str(here / "test.svm"))
    return here / "train.svm", here / "test.svm"


class TestCommandLine:
    def test_json_and_text(self, files):
        done = thresher("path", files[0], "--features", "20,100,200", "--test", files[1], "--json")
        curve = path(ShadowSOFS(), files[0], [20, 100, 200], files[1])
        assert json.loads(done.stdout) == {**curve.to_dict(), "report": None}
        assert thresher("path", files[0], "-k", "20,100,200", "--test", files[1]).stdout == f"{curve}\n"
        assert done.stderr == ""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["-k", "5,x"], "-k must list whole numbers of at least 1, as 50,100,200. Got '5,x'"),
            (["-k", "5,5"], "the budget 5 is listed twice"),
            (["-k", "5", "--method", "arow"], "-k can't be used with --method arow: it selects all features"),
            (["-k", "5", "--method", "fgm"], "--test is needed with FGM"),
            ([], "Missing option '-k'"),
        ],
    )
    def test_bad_input(self, files, options, message):
        done = thresher("path", files[0], *options)
        assert done.returncode == 2
        assert message in done.stderr.replace("'--features' / ", "")
        assert done.stderr.count("\n") == 1
        assert done.stdout == ""
