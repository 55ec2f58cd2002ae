"""Weights of classes in streams, and weights of rows in tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import thresher
from every import in_order, made, online
from hypothesis import given
from hypothesis import strategies as st
from states import assert_same_state, model_of
from strategies import random_problem

from thresher import SOFS, ShadowSOFS, evaluate, load, open_stream, save, train
from thresher.model.class_weights import ClassWeights
from thresher.streams import DataError


def naive_balanced(codes, own, n_classes):
    counts = [0] * n_classes
    weights = []
    for code, weight in zip(codes, own, strict=True):
        if weight == 0:
            weights.append(0.0)
            continue
        counts[code] += 1
        weights.append(weight * (sum(counts) / (n_classes * counts[code])))
    return weights


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 2.5])), min_size=1),
    st.lists(st.integers(0, 40)),
)
def test_balanced_counts_rows_one_by_one(rows, cuts):
    codes, own = np.array([c for c, _ in rows], np.int32), np.array([w for _, w in rows])
    weights, found = ClassWeights("balanced"), []
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(rows)], strict=True):
        found += weights.of_rows(codes[begin:end], own[begin:end], [0, 1, 2, 3]).tolist()
    np.testing.assert_array_equal(found, naive_balanced(codes, own, 4))


@online
class TestStreams:
    def test_balanced_in_any_batching_and_resumed(self, estimator, tmp_path):
        X, y = random_problem(300, 40, 0.2, seed=0)
        weights = np.array(naive_balanced((y > 0).astype(int), np.ones(300), 2))
        expected = in_order(estimator, 6).fit(X, y, sample_weight=weights)
        whole = in_order(estimator, 6, class_weight="balanced")
        train(whole, (X, y))
        parts = in_order(estimator, 6, class_weight="balanced")
        for begin, end in ((0, 1), (1, 130), (130, 300)):
            parts.partial_fit(X[begin:end], y[begin:end], classes=[-1, 1])
            save(parts, tmp_path / "m.thresher")
            parts = load(tmp_path / "m.thresher")
        for model in (whole, parts):
            assert_same_state(model, expected)

    def test_a_dict_without_naming_the_classes(self, estimator):
        X, y = random_problem(300, 40, 0.2, seed=1)
        words = np.where(y > 0, "spam", "mail")
        expected = made(estimator, 6, shuffle=False, class_weight={"spam": 3.0}).fit(X, words)
        model = made(estimator, 6, class_weight={"spam": 3.0})
        train(model, [(X[:50], words[:50]), (X[50:], words[50:])])
        assert_same_state(model, expected)

    def test_a_class_that_does_not_occur(self, estimator):
        X, y = random_problem(300, 40, 0.2, seed=1)
        with pytest.raises(DataError, match="class_weight names class 7, which is not among the classes"):
            train(made(estimator, 6, class_weight={7: 3.0}), (X, y))


def test_the_first_rows_are_of_one_class():
    X, y = random_problem(300, 40, 0.2, seed=2)
    order = np.argsort(y[:40], kind="stable")
    X, y = X[np.append(order, np.arange(40, 300))], y[np.append(order, np.arange(40, 300))]
    model = SOFS(5, class_weight={1: 2.0})
    train(model, [(X[:10], y[:10]), (X[10:], y[10:])], shuffle=False)
    expected = SOFS(5, class_weight={1: 2.0}, shuffle=False).fit(X, y)
    assert_same_state(model, expected)


def test_zero_weights_do_not_count_in_balanced():
    X, y = random_problem(200, 30, 0.3, seed=3)
    weights = (np.arange(200) % 3 > 0).astype(float)
    one = ShadowSOFS(5, class_weight="balanced", shuffle=False).fit(X, y, sample_weight=weights)
    other = ShadowSOFS(5, class_weight="balanced", shuffle=False).fit(X[weights > 0], y[weights > 0])
    assert_same_state(one, other)


def test_an_error_counts_nothing():
    X, y = random_problem(100, 10, 0.5, seed=0)
    model = SOFS(3, class_weight={1: 2.0}).partial_fit(X, y, classes=[-1, 1])
    before = model_of(model).class_weights.state()
    with pytest.raises(ValueError, match="class_weight names class 9"):
        model.set_params(class_weight={9: 1.0}).partial_fit(X, y)
    assert model_of(model).class_weights.state() == before


def test_nothing_but_zero_weights():
    X, y = random_problem(100, 10, 0.5, seed=0)
    with pytest.raises(DataError, match="every row has weight 0: there is nothing to learn from"):
        train(SOFS(3), (X, y, np.zeros(100)))
    with pytest.raises(DataError, match="every row has weight 0"):
        train(SOFS(3, class_weight={1: 0, -1: 0}), (X, y))


def test_later_passes_are_balanced_as_fit_is():
    _, y = random_problem(300, 40, 0.2, seed=0)
    codes = (y > 0).astype(np.int32)
    weights = ClassWeights("balanced")
    weights.of_rows(codes, None, [-1, 1])
    again = weights.of_rows(codes, None, [-1, 1], are_new=False)
    np.testing.assert_array_equal(again, np.where(y > 0, 300 / 2 / np.sum(y > 0), 300 / 2 / np.sum(y < 0)))
    assert weights.counts.sum() == 300


def test_balanced_finds_more_of_a_rare_class():
    X, y = random_problem(6_000, 100, 0.2, seed=0)
    noise = np.random.default_rng(0).random(6_000)
    rows = np.flatnonzero((y == -1) | (noise < 0.05))
    X, y = X[rows], np.where(noise[rows] < 0.02, 1, y[rows])
    half = len(y) // 2
    recall = {}
    for weight in (None, "balanced"):
        model = ShadowSOFS(20, class_weight=weight)
        train(model, (X[:half], y[:half]))
        recall[weight] = evaluate(model, (X[half:], y[half:])).per_class[1].recall
    assert recall["balanced"] > recall[None] + 0.05


class TestTables:
    @pytest.fixture
    def table(self, tmp_path):
        random = np.random.default_rng(0)
        X, y = random_problem(200, 4, 0.9, seed=5)
        dense, weights = X.toarray(), random.choice([0.0, 1.0, 2.5], 200)
        lines = ["row,a,b,w,c,d,label"]
        for r in range(200):
            a, b, c, d = dense[r]
            lines.append(f"{r},{a:.6g},{b:.6g},{weights[r]},{c:.6g},{d:.6g},{'spam' if y[r] > 0 else 'mail'}")
        path = tmp_path / "t.csv"
        path.write_text("\n".join(lines) + "\n")
        return path, dense, np.where(y > 0, "spam", "mail"), weights

    def test_weight_and_ignore(self, table):
        path, _, labels, weights = table
        X, y, found = open_stream(path, weight="w", ignore=["row"]).to_csr()
        assert X.shape == (200, 4)
        assert open_stream(path, weight="w", ignore="row").feature_names == ["a", "b", "c", "d"]
        np.testing.assert_array_equal(found, weights)
        np.testing.assert_array_equal(y, labels)

    def test_parquet(self, table, tmp_path):
        pandas = pytest.importorskip("pandas")
        pandas.read_csv(table[0]).to_parquet(tmp_path / "t.parquet")
        one = open_stream(tmp_path / "t.parquet", weight="w", ignore=["row"]).to_csr()
        other = open_stream(table[0], weight="w", ignore=["row"]).to_csr()
        np.testing.assert_array_equal(one[2], other[2])
        assert (one[0] != other[0]).nnz == 0

    def test_command_line(self, table, tmp_path):
        path, model = table[0], tmp_path / "m.thresher"
        options = ["--weight", "w", "--ignore", "row"]
        done = thresher("train", path, "-k", 2, *options, "--class-weight", "spam=3", "-o", model, "--json")
        expected = ShadowSOFS(2, class_weight={"spam": 3.0})
        train(expected, open_stream(path, weight="w", ignore=["row"], roles="auto"))
        assert json.loads(done.stdout)["weights"] == model_of(expected).members()[1][:, 0].astype(float).tolist()
        assert load(model).class_weight == {"spam": 3.0}
        for command in ("evaluate", "predict"):
            assert thresher(command, model, path, *options).returncode == 0
        assert thresher("train", path, "-k", 2, *options, "--class-weight", "balanced").returncode == 0

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--weight", "x"], "there is no column 'x' for weights; there are row, a, b"),
            (["--ignore", "x"], "there is no column 'x' to ignore"),
            (["--ignore", "label"], "column 'label' can't be ignored: it is the label. Name another label"),
            (["--weight", "label"], "column 'label' can't be both label and weight"),
            (["--weight", "a"], "the weight, column 'a', is -"),
            (["--class-weight", "spam"], "--class-weight must be balanced, or give weights as A=1,B=20. Got 'spam'"),
            (["--class-weight", "spam=-1"], "--class-weight['spam'] is -1.0: weights must be finite and not negative"),
            (["--class-weight", "span=2"], "--class-weight names class 'span', which is not among the classes"),
            (["--class-weight", "balanced", "--method", "fgm"], "--class-weight can't be used with --method fgm"),
        ],
    )
    def test_bad_input(self, table, tmp_path, options, message):
        done = thresher("train", table[0], "-k", 2, *options, "-o", tmp_path / "m.thresher")
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "m.thresher").exists()

    def test_not_for_text(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
        done = thresher("train", tmp_path / "a.svm", "--weight", "w")
        assert done.returncode == 2
        assert "--weight w has no meaning for svmlight data" in done.stderr
