"""Predictions, selected columns and conversions of streams, from Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every import every, made
from strategies import random_problem

from thresher import MRMR, SOFS, convert, evaluate, open_stream, train
from thresher.evaluation.prediction import as_model, write_predictions
from thresher.evaluation.transform import write_selected
from thresher.model.model import Model


def write_rows(path, X, y):
    """Write svmlight text whose ids count from 1."""
    lines = (
        f"{label} " + " ".join(f"{i + 1}:{v}" for i, v in zip(row.indices, row.data, strict=True))
        for row, label in zip(X, y, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def rows(tmp_path):
    X, y = random_problem(300, 40, 0.2, seed=5)
    return write_rows(tmp_path / "rows.svm", X, y)


@every
def test_what_is_written_is_what_the_estimator_says(estimator, rows, tmp_path):
    X, y, _ = open_stream(rows).to_csr()
    model = made(estimator, 5)
    train(model, rows)
    done = write_predictions(model, rows, str(tmp_path / "out.csv"), margins=True)
    table = pd.read_csv(tmp_path / "out.csv")
    assert (done.n_rows, done.n_skipped) == (300, 0)
    # A batch estimator sums in another order than the model that scores its streams.
    np.testing.assert_allclose(table["margin"], model.decision_function(X), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(table["label"], np.where(table["margin"] > 0, 1, -1))
    write_selected(model, rows, str(tmp_path / "small.svm"))
    small, labels, _ = open_stream(tmp_path / "small.svm", zero_based=False).to_csr()
    expected = model.transform(X).toarray()
    np.testing.assert_array_equal(small.toarray(), expected[:, : small.shape[1]])
    assert not expected[:, small.shape[1] :].any()  # columns that do not occur
    np.testing.assert_array_equal(labels, y)


@every
def test_paths_and_streams_are_predicted_as_they_are_written(estimator, rows, tmp_path):
    model = made(estimator, 5)
    train(model, rows)
    has_probabilities = hasattr(model, "predict_proba")
    write_predictions(model, rows, str(tmp_path / "out.parquet"), margins=True, probabilities=has_probabilities)
    table = pd.read_parquet(tmp_path / "out.parquet")
    X, _, _ = open_stream(rows).to_csr()
    for data in (rows, str(rows), open_stream(rows)):
        np.testing.assert_array_equal(model.decision_function(data), table["margin"])
        np.testing.assert_array_equal(model.predict(data), table["label"])
        if has_probabilities:
            np.testing.assert_array_equal(model.predict_proba(data)[:, 1], table["probability_1"])
        assert model.score(data) == evaluate(model, rows).accuracy
        picked = model.transform(data)
        assert sp.issparse(picked)
        np.testing.assert_array_equal(picked.toarray(), model.transform(X).toarray())


@pytest.mark.parametrize("label", [None, np.nan, "", [None, 1.0] * 20, ["x", None] * 20], ids=str)
def test_rows_to_predict_may_lack_their_labels(label, tmp_path):
    """As they often come: with the column, and nothing in it."""
    frame = pd.DataFrame({"label": [1, 0] * 20, "site": ["a.com", "b.org"] * 20})
    model = SOFS(2)
    train(model, open_stream(frame, categorical="site"))
    without = frame.assign(label=label)
    without.to_csv(tmp_path / "without.csv", index=False)
    for data in (frame, without, frame.drop(columns="label"), tmp_path / "without.csv"):
        assert model.predict(data).tolist() == [1, 0] * 20
        assert model.transform(data).shape == (40, 2)
    with pytest.raises(ValueError, match="label"):
        evaluate(model, without)


def test_labels_are_those_of_the_model_that_has_the_margins(monkeypatch):
    """Though another thread fits in between."""
    X, (y, other) = np.eye(2), ([0, 1], ["a", "b"])
    model = SOFS(2).fit(X, y)
    scored = Model.decision_function

    def fit_meanwhile(trained, rows):
        margins = scored(trained, rows)
        monkeypatch.undo()
        model.fit(X, other)
        return margins

    monkeypatch.setattr(Model, "decision_function", fit_meanwhile)
    assert model.predict(X).tolist() == y
    assert model.predict(X).tolist() == other


def test_no_rows_have_no_predictions(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("a 1:1\nb 2:1\nc 3:1\n" * 20)
    model = SOFS(3)
    train(model, path, classes=["a", "b", "c"])
    nothing = tmp_path / "nothing.svm"
    nothing.write_text("\n")
    assert model.predict(nothing).shape == (0,)
    assert model.decision_function(nothing).shape == model.predict_proba(nothing).shape == (0, 3)
    assert model.transform(nothing).shape == (0, 3)


def test_labels_that_score_needs(rows):
    model = SOFS(5)
    train(model, rows)
    X, y, _ = open_stream(rows).to_csr()
    assert model.score(rows, y) == model.score(X, y) == model.score(rows)
    with pytest.raises(ValueError, match="y is None: score needs the label of each row of X"):
        model.score(X)
    with pytest.raises(ValueError, match="sample_weight can't be used without y"):
        model.score(rows, sample_weight=np.ones(300))


def test_skipped_rows_are_missing_in_the_result(rows, tmp_path):
    model = SOFS(5)
    train(model, rows)
    bad = tmp_path / "bad.svm"
    bad.write_text("1 x\n" + rows.read_text())
    for use in (model.predict, model.transform):
        with pytest.warns(UserWarning, match=r"bad.svm: the result has nothing for 1 bad row, .* line 1:"):
            found = use(open_stream(bad, on_bad_line="skip"))
        assert found.shape[0] == 300


def test_batches_can_be_predicted_one_by_one(rows):
    model = SOFS(5)
    train(model, rows)
    X, _, _ = open_stream(rows).to_csr()
    trained = as_model(model)
    margins = np.concatenate([trained.score_batch(batch) for batch in open_stream(rows).batches()])
    np.testing.assert_array_equal(trained.labels_of(margins), model.predict(X))
    np.testing.assert_array_equal(trained.probabilities_of(margins), model.predict_proba(X))


def test_labels_keep_one_type_in_all_batches(tmp_path):
    """With the classes 0.5 and 1 a batch of ones is no reason to write whole numbers."""
    path = tmp_path / "rows.svm"
    path.write_text("0.5 1:1\n1 2:1\n" * 50)
    model = Model("sofs", n_features_to_select=2)
    train(model, path)
    only_ones = tmp_path / "ones.svm"
    only_ones.write_text("1 2:1\n" * 3)
    write_predictions(model, [only_ones, path], str(tmp_path / "out.parquet"))
    assert pd.read_parquet(tmp_path / "out.parquet")["label"].tolist() == [1.0] * 3 + [0.5, 1.0] * 50


def test_an_output_is_not_an_input(rows, tmp_path):
    model = SOFS(5)
    train(model, rows)
    before = rows.read_bytes()
    (tmp_path / "link").symlink_to(rows)
    for write in (
        lambda path: write_predictions(model, rows, path),
        lambda path: write_selected(model, rows, path),
        lambda path: convert(rows, path),
    ):
        for name in ("rows.svm", "link"):
            with pytest.raises(ValueError, match="this file is also an input"):
                write(str(tmp_path / name))
    assert rows.read_bytes() == before


def test_what_is_skipped_is_returned(rows, tmp_path):
    model = SOFS(5)
    train(model, rows)
    bad = tmp_path / "bad.svm"
    bad.write_text(rows.read_text() + "1 x\n")
    for write in (
        lambda stream: write_predictions(model, stream, str(tmp_path / "out.csv")),
        lambda stream: write_selected(model, stream, str(tmp_path / "out.svm")),
        lambda stream: convert(stream, str(tmp_path / "out.thc")),
    ):
        done = write(open_stream(bad, on_bad_line="skip"))
        assert (done.n_rows, done.n_skipped) == (300, 1)
        assert "line 301" in done.skipped[0]
        assert not list(tmp_path.glob(".*"))


def test_a_failure_leaves_nothing(rows, tmp_path):
    model = SOFS(5)
    train(model, rows)
    (tmp_path / "bad").mkdir()
    bad = tmp_path / "bad" / "rows.svm"
    bad.write_text(rows.read_text() + "1 x\n")
    for name in ("out.csv", "out.parquet", "out.txt", "out.txt.gz"):
        with pytest.raises(ValueError, match="line 301"):
            write_predictions(model, bad, str(bad.with_name(name)))
    assert list(bad.parent.iterdir()) == [bad]


def test_probabilities_need_a_method_that_has_them(rows, tmp_path):
    model = MRMR(3)
    train(model, rows)
    with pytest.raises(ValueError, match="mrmr has no probabilities; use margins"):
        write_predictions(model, rows, str(tmp_path / "out.csv"), probabilities=True)


def test_a_model_must_be_trained(rows, tmp_path):
    with pytest.raises(ValueError, match="not trained yet"):
        write_predictions(Model("sofs"), rows, str(tmp_path / "out.csv"))
