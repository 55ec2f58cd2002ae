"""`evaluate`: the same numbers as scikit-learn's metrics on the same predictions."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import real_data
import scipy.sparse as sp
from every import BATCH, applicable, every
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from strategies import random_problem

from thresher import AROW, MRMR, PET, SOFS, ShadowSOFS, cross_validate, datasets, evaluate, open_stream, write_report
from thresher.evaluation import Evaluation
from thresher.evaluation.metrics import METRICS, Metric
from thresher.evaluation.prediction import as_model
from thresher.model.labels import label_text
from thresher.streams import Batch, DataError, Stream


def stream_of(X, y, cuts=()):
    """Rows as a stream, cut into batches at the places given; ids are columns."""
    X = sp.csr_matrix(X, dtype=np.float32)
    edges = [0, *sorted(cuts), X.shape[0]]

    def batches():
        for begin, end in itertools.pairwise(edges):
            rows = X[begin:end]
            yield Batch(
                rows.indptr, rows.indices, rows.data, np.asarray(y[begin:end]), int(rows.indices.max(initial=-1)),
                zero_seen=True, file="memory",
            )  # fmt: skip

    return Stream("memory", batches, id_base=0)


def check_against_sklearn(found, model, X, y):
    """`y` holds labels as the stream does; where labels are of two kinds all are compared as text."""
    classes = model.classes_.tolist()
    predicted = model.predict(X)
    actual, predicted = ([label_text(label) for label in labels] for labels in (list(y), predicted.tolist()))
    labels = [label_text(label) for label in found.labels]
    known = [label_text(label) for label in classes]
    assert labels[: len(known)] == known
    assert sorted(labels[len(known) :]) == sorted(set(actual) - set(known))
    assert found.n_rows == len(actual)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(actual, predicted))
    np.testing.assert_array_equal(found.confusion, metrics.confusion_matrix(actual, predicted, labels=labels))
    expected = metrics.precision_recall_fscore_support(actual, predicted, labels=labels, zero_division=0)
    scores = list(found.per_class.values())
    assert list(found.per_class) == found.labels
    np.testing.assert_allclose([s.precision for s in scores], expected[0])
    np.testing.assert_allclose([s.recall for s in scores], expected[1])
    np.testing.assert_allclose([s.f1 for s in scores], expected[2])
    np.testing.assert_array_equal([s.support for s in scores], expected[3])
    knows_all = set(actual) <= set(known)
    if knows_all and hasattr(model, "predict_proba"):
        order = np.argsort(known)  # scikit-learn wants the labels sorted
        probabilities = model.predict_proba(X)[:, order]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rounding in sums
            expected_loss = metrics.log_loss(actual, probabilities, labels=[known[at] for at in order])
        assert found.log_loss == pytest.approx(expected_loss, rel=1e-9, abs=1e-12)
    else:
        assert found.log_loss is None
    if len(known) == 2 and knows_all and len(set(actual)) == 2:
        margins = model.decision_function(X)
        is_second = np.array([label == known[1] for label in actual])
        assert found.roc_auc == pytest.approx(metrics.roc_auc_score(is_second, margins))
        assert found.average_precision == pytest.approx(metrics.average_precision_score(is_second, margins))
    else:
        assert found.roc_auc is None
        assert found.average_precision is None


NAMES = {
    "numbers": [-1.0, 1.0, 30.0, 2.5],
    "words": ["ant", "bee", "cat 1", "é"],
    "numbers as words": ["1", "10", "2", "x"],
}


@settings(max_examples=25)  # each asks scikit-learn for seven metrics
@given(data=st.data())
@pytest.mark.filterwarnings("ignore:.*no row was predicted right", "ignore:.*not among the model's classes")
@pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
def test_equals_sklearn(names, data):
    """Few features with few values, so that many margins tie; labels that the model does not know; any batches."""
    estimator = data.draw(st.sampled_from([ShadowSOFS, AROW, PET]))  # with probabilities, without a budget, neither
    n_classes = data.draw(st.integers(2, 3))
    n_rows = data.draw(st.integers(1, 40))
    rows = st.lists(st.sampled_from([0.0, 0.0, 1.0, -1.0]), min_size=3, max_size=3)
    X_train = np.array(data.draw(st.lists(rows, min_size=12, max_size=12)))
    y_train = np.array([names[k % n_classes] for k in range(12)])
    X = np.array(data.draw(st.lists(rows, min_size=n_rows, max_size=n_rows)))
    n_labels = data.draw(st.sampled_from([n_classes, len(names)]))
    y = np.array(data.draw(st.lists(st.sampled_from(names[:n_labels]), min_size=n_rows, max_size=n_rows)))
    model = estimator(**applicable(estimator, 2)).fit(X_train, y_train)
    cuts = data.draw(st.lists(st.integers(0, n_rows), max_size=3))
    found = evaluate(model, stream_of(X, y, cuts))
    check_against_sklearn(found, model, X, y.tolist())
    again = evaluate(as_model(model), stream_of(X, y))
    assert again.labels == found.labels
    np.testing.assert_array_equal(again.confusion, found.confusion)
    assert again.roc_auc == found.roc_auc


@every
def test_every_estimator(estimator):
    X, y = random_problem(300, 30, 0.3, seed=2)
    model = estimator(**applicable(estimator, 5)).fit(X[:200], y[:200])
    found = evaluate(model, stream_of(X[200:], y[200:], [30]))
    assert found.roc_auc is not None
    assert (found.log_loss is None) == (not hasattr(model, "predict_proba"))
    if estimator in BATCH:
        # The core sums margins in another order than a batch estimator does.
        assert found.accuracy == pytest.approx(model.score(X[200:], y[200:]), abs=0.01)
    else:
        check_against_sklearn(found, model, X[200:], y[200:].tolist())


@pytest.mark.filterwarnings("ignore:.*not among the model's classes")
def test_numbers_and_words_among_the_labels_are_told_apart_by_what_they_say(tmp_path):
    """A batch holds words if one of its labels is a word; the label 1 is the class 1 in either."""
    X, y = random_problem(100, 10, 0.5, seed=3)
    model = SOFS(5).fit(X, y)
    X = X[:6]
    numbers, words = np.array([1.0, -1.0, 7.0]), np.array(["1", "7", "seven"])
    batches = [stream_of(X[:3], numbers), stream_of(X[3:], words)]
    for order in (batches, batches[::-1]):
        both = Stream("both", lambda order=order: itertools.chain(*(part.batches() for part in order)), id_base=0)
        found = evaluate(model, both)
        assert found.labels == [-1, 1, 7.0, "seven"]
        assert [scores.support for scores in found.per_class.values()] == [1, 2, 2, 1]


def test_no_row_right_is_a_warning():
    X, y = random_problem(100, 10, 0.5, seed=3)
    model = SOFS(5).fit(X, y)
    with pytest.warns(UserWarning, match="memory: no row was predicted right; the model's classes are -1, 1"):
        assert evaluate(model, stream_of(X, -model.predict(X))).accuracy == 0.0


def test_labels_that_the_model_does_not_know_are_a_warning():
    X, y = random_problem(100, 10, 0.5, seed=3)
    model = SOFS(5).fit(X, np.where(y > 0, "good", "bad"))
    message = r"memory: 100 of 100 rows have labels \(-1, 1\) not among the model's classes \(bad, good\), so no"
    with pytest.warns(UserWarning, match=message):
        found = evaluate(model, stream_of(X, y))
    assert found.accuracy == 0.0
    assert found.labels == ["bad", "good", "-1", "1"]


def test_what_can_not_be_measured_is_an_error(tmp_path):
    X, y = random_problem(300, 10, 0.5, seed=3)
    model = SOFS(5).fit(X, y)
    with pytest.raises(DataError, match="memory: there are no rows"):
        evaluate(model, stream_of(X[:0], y[:0]))
    path = tmp_path / "rows.svm"
    path.write_text("1:1 2:1\n2:1\n")
    with pytest.raises(DataError, match=r"rows\.svm, line 1: the row has no label, so there is nothing to compare"):
        evaluate(model, open_stream(path, labelled=False, zero_based=False))
    message = r"memory: it has more than 100 labels that are not among the model's classes \(-1, 1\), such as 10\d"
    with pytest.raises(DataError, match=message):
        evaluate(model, stream_of(X, np.arange(300.0)))
    with pytest.raises(ValueError, match="not trained"):
        evaluate(as_model(model).__class__("sofs"), stream_of(X, y))


def test_skipped_lines_are_counted(tmp_path):
    X, y = random_problem(100, 10, 0.5, seed=3)
    model = SOFS(5).fit(X, y)
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 x\n-1 1:1\n1 y\n")
    found = evaluate(model, open_stream(path, on_bad_line="skip", zero_based=True))
    assert (found.n_rows, found.n_skipped, len(found.skipped)) == (2, 2, 2)
    assert "line 2" in found.skipped[0]
    assert found.to_dict()["lines_skipped"] == 2


def test_parts_with_the_same_unknown_label_are_pooled():
    X, y = random_problem(100, 10, 0.5, seed=3)
    model = SOFS(5).fit(X, y)
    parts = []
    for strange in ([7.0, 8.0], [9.0], [9.0]):
        with pytest.warns(UserWarning, match="not among"):
            parts.append(evaluate(model, stream_of(X[:20], [*strange, *y[: 20 - len(strange)]])))
    found = Evaluation.pool(parts)
    assert found.labels == [-1, 1, 7, 8, 9]
    assert found.confusion.sum(axis=1).tolist()[2:] == [1, 1, 2]
    assert found.n_rows == 60


def test_it_reads_as_a_table():
    X, y = random_problem(200, 10, 0.5, seed=3)
    found = evaluate(SOFS(5).fit(X, y), stream_of(X, y))
    first, blank, heading, *lines = str(found).splitlines()
    assert first.startswith(f"200 rows, accuracy {found.accuracy:.4f}, ")
    assert ", log loss " in first
    assert (blank, heading.split()) == ("", ["class", "precision", "recall", "f1", "support"])
    assert [line.split()[0] for line in lines] == ["-1", "1"]
    assert lines[0].split()[1:] == [
        f"{found.per_class[-1].precision:.4f}", f"{found.per_class[-1].recall:.4f}", f"{found.per_class[-1].f1:.4f}",
        f"{found.per_class[-1].support}",
    ]  # fmt: skip
    assert str(evaluate(SOFS(5).fit(X, y), stream_of(X[:1], y[:1]))).startswith("1 row, accuracy ")


@pytest.mark.parametrize(
    ("name", "n_train", "estimator"),
    [("basehock", 1_500, ShadowSOFS), ("basehock", 1_500, MRMR), ("w8a", 10_000, SOFS), ("w8a", 10_000, PET)],
)
def test_real_data(name, n_train, estimator):
    X, y, X_test, y_test = real_data.split(name, n_train, 0)
    model = estimator(100).fit(X, y)
    found = evaluate(model, stream_of(X_test, y_test, [100, 101]))
    if estimator is MRMR:  # its estimator and its model sum in different orders
        assert found.accuracy == pytest.approx(model.score(X_test, y_test), abs=0.002)
        margins = model.decision_function(X_test)
        assert found.roc_auc == pytest.approx(metrics.roc_auc_score(y_test, margins), abs=1e-3)
    else:
        check_against_sklearn(found, model, X_test, y_test.tolist())
    assert found.accuracy > 0.8


def test_real_data_of_twenty_classes():
    X, y = real_data.load("news20.multiclass")
    model = ShadowSOFS(500).fit(X[:3_000], y[:3_000])
    found = evaluate(model, stream_of(X[3_000:5_000], y[3_000:5_000]))
    check_against_sklearn(found, model, X[3_000:5_000], y[3_000:5_000].tolist())
    assert found.confusion.shape == (20, 20)


class TestManyClasses:
    """Time and memory go by the rows, and by the pairs of labels that occur."""

    @pytest.mark.filterwarnings("ignore:memory. no row was predicted right")
    def test_memory(self):
        n_classes = 8_000
        X = np.random.default_rng(0).standard_normal((2 * n_classes, 3))
        y = np.arange(2 * n_classes) % n_classes
        model = AROW().fit(X, y)
        n_bytes = model.decision_function(X[:100]).nbytes
        tracemalloc.start()
        try:
            found = evaluate(model, stream_of(X[:100], y[:100], [50]))
            whole = Evaluation.pool([found, found])
            assert len(json.dumps(found.to_dict())) + len(str(found)) + len(found._repr_html_()) < 3_000_000
            assert tracemalloc.get_traced_memory()[1] < 3 * n_bytes + 10_000_000
        finally:
            tracemalloc.stop()
        assert whole.confusion_pairs[:, 2].sum() == 200
        assert found.to_dict()["confusion"] is None

    @pytest.mark.parametrize("few", [0, 7, 1 << 12])
    def test_pairs_are_the_confusion_matrix(self, monkeypatch, few):
        monkeypatch.setattr("thresher.evaluation.counts._FEW_PAIRS", few)
        X, y = random_problem(400, 20, 0.5, seed=0)
        y = np.random.default_rng(0).integers(0, 30, len(y))
        model = SOFS(10).fit(X[:200], y[:200])
        actual = np.where(np.arange(400) % 9, y, 99)  # which the model does not know
        with pytest.warns(UserWarning, match="not among the model's classes"):
            found = evaluate(model, stream_of(X, actual, range(0, 400, 13)))
        check_against_sklearn(found, model, X, actual.tolist())
        rows, columns = np.nonzero(found.confusion)
        np.testing.assert_array_equal(
            found.confusion_pairs, np.column_stack([rows, columns, found.confusion[rows, columns]])
        )
        assert found.to_dict()["confusion"] == found.confusion.tolist()
        with pytest.warns(UserWarning, match="not among the model's classes"):
            parts = [evaluate(model, stream_of(X[rows], actual[rows])) for rows in (slice(0, 150), slice(150, 400))]
        together = Evaluation.pool(parts)
        np.testing.assert_array_equal(together.confusion, found.confusion)
        assert (together.per_class, together.accuracy) == (found.per_class, found.accuracy)


class TestCurves:
    def evaluated(self, n_rows, decimals=9):
        random = np.random.default_rng(0)
        y = random.integers(0, 2, n_rows)
        X = (y + random.normal(0, 1.2, n_rows)).round(decimals).reshape(-1, 1)
        model = AROW(norm=None, fit_intercept=True).fit(X[:200], y[:200])
        return evaluate(model, stream_of(X, y)), y, model.decision_function(X)

    @pytest.mark.parametrize("decimals", [9, 1])
    def test_are_those_of_scikit_learn(self, decimals):
        e, y, margins = self.evaluated(400, decimals)
        false, true, _ = metrics.roc_curve(y, margins, drop_intermediate=False)
        np.testing.assert_allclose(e.roc_curve, np.column_stack([false, true]))
        precision, recall, _ = metrics.precision_recall_curve(y, margins)
        # It ends, and ours does not begin, with a threshold above all margins.
        np.testing.assert_allclose(e.precision_recall_curve, np.column_stack([recall, precision])[-2::-1])

    def test_of_many_rows_some_points_are_kept(self):
        e, y, margins = self.evaluated(20_000)
        false, true, _ = metrics.roc_curve(y, margins, drop_intermediate=False)
        exact = set(zip(false, true, strict=True))
        assert 300 < len(e.roc_curve) <= 500
        assert all(tuple(point) in exact for point in e.roc_curve)
        assert (e.roc_curve[0].tolist(), e.roc_curve[-1].tolist()) == ([0, 0], [1, 1])
        assert metrics.auc(*e.roc_curve.T) == pytest.approx(e.roc_auc, abs=1e-4)
        recall, precision = e.precision_recall_curve.T
        assert np.sum(np.diff(recall, prepend=0) * precision) == pytest.approx(e.average_precision, abs=0.005)
        # The largest gaps could not be seen in a picture of 400 points.
        assert np.diff(e.roc_curve, axis=0).max() < 1 / 100

    def test_need_two_classes_that_occur(self, tmp_path):
        X, y = datasets.make_x1(200, n_features=50, n_informative=5, n_noise=5)
        model = AROW().fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = evaluate(model, stream_of(X[y == 1], y[y == 1]))
            strange = evaluate(model, stream_of(X, np.where(np.arange(200) < 3, 5, y)))
        many = evaluate(AROW().fit(X, np.arange(200) % 3), stream_of(X, np.arange(200) % 3))
        for each in (one, strange, many):
            assert (each.roc_curve, each.precision_recall_curve) == (None, None)


@pytest.fixture(scope="module")
def rows():
    return datasets.make_x1(900, n_features=400, n_informative=40, n_noise=60)


def test_a_row_of_the_table_is_a_metric_everywhere(rows, monkeypatch, tmp_path):
    per_thousand = Metric(
        "wrong_per_thousand",
        "wrong per thousand",
        "Wrong predictions in 1,000 rows.",
        lambda found: 1e3 * (1 - found.n_right / found.n_rows),
    )
    monkeypatch.setitem(METRICS, "classes", (*METRICS["classes"], per_thousand))
    cv = cross_validate(ShadowSOFS(20), rows, folds=3)
    evaluation = evaluate(cv.model, rows)
    expected = pytest.approx(1e3 * (1 - evaluation.accuracy))
    for found in (evaluation, pickle.loads(pickle.dumps(evaluation)), copy.copy(evaluation)):
        assert found.wrong_per_thousand == found.to_dict()["wrong_per_thousand"] == expected
    assert f", wrong per thousand {evaluation.wrong_per_thousand:.4f}\n" in str(evaluation)
    assert f"wrong per thousand  {1e3 * (1 - cv.accuracy):.4f} ± {1e3 * cv.standard_error:.4f}\n" in str(cv)
    assert cv.to_dict()["standard_errors"]["wrong_per_thousand"] == pytest.approx(1e3 * cv.standard_error)
    write_report(tmp_path / "run.html", cv.model, evaluation=[evaluation, cv])
    assert (tmp_path / "run.html").read_text().count("wrong per thousand") == 2


def test_what_is_no_metric_is_no_attribute(rows):
    evaluation = evaluate(ShadowSOFS(20).fit(*rows), rows)
    with pytest.raises(AttributeError, match="'ClassEvaluation' object has no attribute 'acuracy'"):
        _ = evaluation.acuracy
    assert not hasattr(evaluation.per_class[1], "accuracy")
