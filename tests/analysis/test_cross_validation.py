"""`cross_validate`: every row scored by a model that never learned it, in one reading."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn.model_selection
from command_line import thresher
from every import ONLINE, made
from real_data import load as load_set
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from states import assert_same_state
from strategies import random_problem

from thresher import L1SVM, SOFS, ShadowSOFS, convert, cross_validate, datasets, evaluate, open_stream, train
from thresher.analysis import resampling
from thresher.streams import DataError
from thresher.training.samples import fold_of


@pytest.fixture(scope="module")
def problem():
    return random_problem(900, 120, 0.1, seed=0)


def cut(X, y, sizes=(100, 250, 550)):
    ends = np.cumsum(sizes)
    return [(X[end - size : end], y[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


@pytest.mark.parametrize("estimator", ONLINE, ids=lambda each: each.__name__)
def test_each_model_is_a_run_of_its_own(estimator, problem):
    X, y = problem
    template = made(estimator, 15)
    cv = cross_validate(template, cut(X, y), folds=3)
    folds = fold_of(np.arange(900), 3, 0)
    for fold, evaluation in enumerate(cv.folds):
        model = made(estimator, 15)
        train(model, (X[folds != fold], y[folds != fold]), shuffle=False)
        alone = evaluate(model, (X[folds == fold], y[folds == fold]))
        assert evaluation.to_dict() == alone.to_dict() | {"log_loss": pytest.approx(alone.log_loss, abs=1e-12)}
    model = made(estimator, 15)
    train(model, (X, y))
    assert_same_state(cv.model, model)
    assert not hasattr(template, "_model")


def test_metrics_over_all_folds(problem):
    X, y = problem
    cv = cross_validate(ShadowSOFS(15), (X, y), folds=3)
    folds = fold_of(np.arange(900), 3, 0)
    margins, probabilities = np.zeros(900), np.zeros((900, 2))
    for fold in range(3):
        model = ShadowSOFS(15)
        train(model, (X[folds != fold], y[folds != fold]), shuffle=False)
        model.n_features_in_ = X.shape[1]
        margins[folds == fold] = model.decision_function(X[folds == fold])
        probabilities[folds == fold] = model.predict_proba(X[folds == fold])
    e = cv.evaluation
    assert cv.accuracy == e.accuracy == np.mean((margins > 0) == (y > 0))
    np.testing.assert_allclose(e.log_loss, log_loss(y, probabilities))
    by_fold = [(y[folds == k] > 0, margins[folds == k]) for k in range(3)]
    np.testing.assert_allclose(e.roc_auc, np.mean([roc_auc_score(*each) for each in by_fold]))
    np.testing.assert_allclose(e.average_precision, np.mean([average_precision_score(*each) for each in by_fold]))
    accuracies = [np.mean((margin > 0) == truth) for truth, margin in by_fold]
    np.testing.assert_allclose(cv.standard_error, np.std(accuracies, ddof=1) / np.sqrt(3))
    assert e.confusion.sum() == 900
    assert set(cv.standard_errors) >= {"log_loss", "roc_auc", "average_precision", ("f1", 1), ("recall", -1)}


def test_shuffled_rows_keep_their_folds(problem):
    """In each pass rows come in another order, but a row is always left out by the same model."""
    X, y = problem
    cv = cross_validate(SOFS(15, n_passes=3), (X, y), folds=4, shuffle=True)
    folds = fold_of(np.arange(900), 4, 0)
    for fold, evaluation in enumerate(cv.folds):
        assert evaluation.n_rows == np.count_nonzero(folds == fold)
        assert evaluation.per_class[1].support == np.count_nonzero(y[folds == fold] == 1)
    # A constant column and one that names the row: a model that had learned a row would know it.
    identity = np.eye(200, dtype=np.float32)
    labels = np.random.default_rng(0).integers(0, 2, 200)
    cv = cross_validate(ShadowSOFS(200, n_passes=5), (identity, labels), folds=4, shuffle=True)
    assert cv.accuracy < 0.65 < ShadowSOFS(200, n_passes=5).fit(identity, labels).score(identity, labels)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_closing_pass_leaves_the_fold_out_too(n_classes):
    """With three passes and a closing one, a fold's model is the one that was trained without the fold's rows."""
    X, y = random_problem(900, 40, 0.2, seed=2, n_classes=n_classes)
    cv = cross_validate(ShadowSOFS(10), (X, y), folds=3, shuffle=False, classes=list(np.unique(y)))
    folds = fold_of(np.arange(900), 3, 0)
    for fold, evaluation in enumerate(cv.folds):
        rest, left_out = folds != fold, folds == fold
        model = ShadowSOFS(10)
        history = train(model, (X[rest], y[rest]), shuffle=False, classes=list(np.unique(y)))
        assert (history.n_passes, history.refitted) == (3, True)
        assert evaluation.to_dict() == evaluate(model, (X[left_out], y[left_out])).to_dict()


def test_sorted_rows(problem):
    X, y = problem
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="Training starts again"):
        cv = cross_validate(ShadowSOFS(15), (X[order], y[order]), folds=3)
    assert abs(cv.accuracy - cross_validate(ShadowSOFS(15), problem, folds=3).accuracy) < 0.04


@pytest.mark.parametrize("limit", [1 << 29, 1_000])
def test_short_of_memory_the_data_are_read_again(problem, tmp_path, monkeypatch, limit):
    monkeypatch.setattr(resampling, "MEMORY_LIMIT", limit)
    convert(iter([problem]), str(tmp_path / "rows.svm"))
    from_file = cross_validate(ShadowSOFS(15), tmp_path / "rows.svm", folds=3)
    stream = open_stream([problem])
    assert from_file.evaluation.to_dict() == cross_validate(ShadowSOFS(15), stream, folds=3).evaluation.to_dict()


def test_an_iterator_is_read_once_or_refused(problem, monkeypatch):
    once = ShadowSOFS(15, n_passes=1)  # with "auto", data that can be read again would be read three times
    expected = cross_validate(once, problem, folds=3).evaluation.to_dict()
    for model in (once, ShadowSOFS(15)):
        assert cross_validate(model, iter([problem]), folds=3).evaluation.to_dict() == expected
    monkeypatch.setattr(resampling, "MEMORY_LIMIT", 1_000)
    with pytest.raises(DataError, match="must read them twice, but they can be read only once: write them to a file"):
        cross_validate(ShadowSOFS(15), iter([problem]), folds=3)


def test_batch_methods(problem):
    X, y = problem
    cv = cross_validate(L1SVM(10), (X, y), folds=3)
    folds = fold_of(np.arange(900), 3, 0)
    for fold, evaluation in enumerate(cv.folds):
        model = L1SVM(10).fit(X[folds != fold], y[folds != fold])
        assert evaluation.accuracy == model.score(X[folds == fold], y[folds == fold])
    assert cv.model.selected_.tolist() == L1SVM(10).fit(X, y).selected_.tolist()
    assert cv.evaluation.log_loss is None


def test_rows_of_a_batch_method_are_in_memory_in_any_case(problem, monkeypatch):
    expected = cross_validate(L1SVM(10), problem, folds=3).evaluation.to_dict()
    monkeypatch.setattr(resampling, "MEMORY_LIMIT", 1_000)
    assert cross_validate(L1SVM(10), iter([problem]), folds=3).evaluation.to_dict() == expected


def test_many_classes():
    X, y = random_problem(900, 120, 0.2, seed=2, n_classes=4)
    cv = cross_validate(ShadowSOFS(40), (X, y), folds=3, multiclass=True)
    assert cv.evaluation.confusion.shape == (4, 4)
    assert cv.accuracy > 0.4
    assert cv.evaluation.roc_auc is None
    assert "± " in str(cv).splitlines()[2]


@pytest.mark.parametrize("name", ["basehock", "ccat", "w8a"])
def test_agrees_with_scikit_learn(name):
    X, y = load_set(name)
    budget = 100
    cv = cross_validate(ShadowSOFS(budget), (X, y), shuffle=True)
    folds = sklearn.model_selection.StratifiedKFold(5, shuffle=True, random_state=0)
    scores = sklearn.model_selection.cross_val_score(ShadowSOFS(budget), X, y, cv=folds)
    error = np.hypot(cv.standard_error, scores.std(ddof=1) / np.sqrt(5))
    print(f"{name}: {cv.accuracy:.4f} ± {cv.standard_error:.4f}, scikit-learn {scores.mean():.4f}")
    assert abs(cv.accuracy - scores.mean()) <= 2 * error


@pytest.mark.parametrize(
    ("folds", "message"),
    [(1, "folds must be a whole number from 2 to 100"), (101, "folds must be"), ("5", "folds must be"), (2.5, "folds")],
)
def test_bad_folds(problem, folds, message):
    with pytest.raises(ValueError, match=message):
        cross_validate(SOFS(5), problem, folds=folds)


def test_a_fold_with_one_class(problem):
    X, _ = problem
    y = np.where(np.arange(900) == 400, 1, -1)
    with pytest.raises(
        DataError, match=r"fold \d of 5 .* rows of one class only \(-1\): use fewer folds or samples, or more rows"
    ):
        cross_validate(SOFS(5), (X, y))
    with pytest.raises(
        DataError, match=r"fold \d of 5 .* rows of one class only \(-1\): use fewer folds or samples, or more rows"
    ):
        cross_validate(L1SVM(5), (X, y))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("cv") / "train.svm"
    convert(datasets.make_x1(1_500), str(path))
    return path


def test_skipped_lines(path):
    path.with_name("bad.svm").write_text("1 x\n" + path.read_text())
    found = cross_validate(SOFS(5), open_stream(path.with_name("bad.svm"), on_bad_line="skip"), folds=2)
    assert found.to_dict()["lines_skipped"] == 1
    assert "bad.svm, line 1" in found.evaluation.skipped[0]


def test_names_do_not_count_in_the_memory_limit(tmp_path):
    """Of rows that are kept until they are scored, only what scores need."""
    (tmp_path / "a.vw").write_text("".join(f"{k % 2} {1 + k % 3} |f {'w' * 500}{k % 5}\n" for k in range(60)))
    (batch,) = open_stream(tmp_path / "a.vw").batches()
    rows = resampling._StoredRows(open_stream(tmp_path / "a.vw"), 1e9)
    rows.store(batch, np.arange(60))
    ((kept, _),) = rows.batches(None, rows._stream)
    assert kept.names is None
    assert batch.names is not None
    # Starts; the id, value, label, weight, line and number of each row.
    assert rows._n_bytes == 61 * 8 + 60 * (8 + 4 + 8 + 8 + 4 + 8)


def test_a_fold_without_rows():
    X, y = random_problem(12, 5, 0.9, seed=0)
    with pytest.raises(DataError, match=r"fold \d+ of 40 has no rows: use fewer folds"):
        cross_validate(SOFS(2), (X, y), folds=40)


class TestCommandLine:
    def test_json(self, path):
        done = thresher("train", path, "-k", 100, "--cv", 4, "--json", "-o", path.with_suffix(".thresher"))
        cv = cross_validate(ShadowSOFS(100), path, folds=4)
        found = json.loads(done.stdout)
        assert found["cv"] == cv.to_dict()
        assert found["cv"]["folds"] == 4
        assert found["cv"]["standard_error"] == cv.standard_error
        plain = json.loads(thresher("train", path, "-k", 100, "--json").stdout)
        assert found["selected"] == plain["selected"]
        assert found["weights"] == plain["weights"]

    def test_text(self, path):
        out = thresher("train", path, "-k", 100, "--cv", 4).stdout
        assert "4-fold cross-validation, 1,500 rows" in out
        assert "ROC AUC" in out

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--cv", "1"], "--cv must be a whole number from 2 to 100. Got 1 instead"),
            (["--cv", "5", "--from", "x.thresher"], "--cv can't be used with --from"),
        ],
    )
    def test_bad_input(self, path, options, message):
        done = thresher("train", path, *options)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
