"""Batch methods beyond `fit`: their model files, and the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command_line import thresher
from every import BATCH, batch, row_of
from sklearn.linear_model import RidgeClassifier
from strategies import random_problem

from thresher import MRMR, datasets, evaluate, load, open_stream, save, train
from thresher.io.model_files import load_model
from thresher.model.learning import partial_fit
from thresher.model.model import Model
from thresher.streams import DataError, Stream
from thresher.streams.formats import text
from thresher.training import train_many
from thresher.training.solvers import memory_check

METHODS = [row_of(estimator).name for estimator in BATCH]


@batch
class TestModelFiles:
    @pytest.mark.parametrize("n_classes", [2, 4])
    @pytest.mark.parametrize("given", [{}, {"norm": None, "fit_intercept": True}])
    def test_what_was_saved_is_what_is_loaded(self, estimator, n_classes, given, tmp_path):
        X, y = random_problem(300, 50, 0.3, seed=3, n_classes=n_classes)
        model = estimator(7, **given).fit(X, y)
        save(model, tmp_path / "model.thresher")
        twin = load(tmp_path / "model.thresher")
        assert type(twin) is estimator
        assert twin.get_params() == model.get_params()
        np.testing.assert_array_equal(twin.selected_, model.selected_)
        np.testing.assert_array_equal(twin.coef_.toarray(), model.coef_.toarray())
        np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(twin.transform(X).toarray(), model.transform(X).toarray())
        save(twin, tmp_path / "again.thresher")
        assert (tmp_path / "again.thresher").read_bytes() == (tmp_path / "model.thresher").read_bytes()

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_the_model_in_the_file_predicts_as_the_estimator(self, estimator, n_classes, tmp_path):
        """The core sums in another order, so margins agree to float32's precision."""
        X, y = random_problem(300, 50, 0.3, seed=4, n_classes=n_classes)
        estimator_ = estimator(7, fit_intercept=True).fit(X, y)
        save(estimator_, tmp_path / "model.thresher")
        model = load_model(tmp_path / "model.thresher")
        margins = estimator_.decision_function(X)
        np.testing.assert_allclose(model.decision_function(X), margins, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(model.members()[0], estimator_.selected_)

    def test_what_is_set_after_the_fit_does_not_count(self, estimator, tmp_path):
        X, y = random_problem(300, 50, 0.3, seed=3)
        model = estimator(7, fit_intercept=True).fit(X, y)
        before = model.decision_function(X)
        model.set_params(fit_intercept=False, norm=None, n_features_to_select=1)
        save(model, tmp_path / "model.thresher")
        np.testing.assert_array_equal(load(tmp_path / "model.thresher").decision_function(X), before)
        np.testing.assert_array_equal(model.decision_function(X), before)

    def test_names_are_kept(self, estimator, tmp_path):
        X, y = random_problem(200, 10, 0.5, seed=5)
        frame = pd.DataFrame(X.toarray(), columns=[f"column {i}" for i in range(10)])
        model = estimator(3).fit(frame, y)
        save(model, tmp_path / "model.thresher")
        named = load(tmp_path / "model.thresher").get_feature_names_out()
        assert named.tolist() == model.get_feature_names_out().tolist()
        assert named[0].startswith("column ")

    def test_it_can_be_fitted_anew_but_not_further(self, estimator, tmp_path):
        X, y = random_problem(200, 50, 0.3, seed=6)
        save(estimator(7).fit(X, y), tmp_path / "model.thresher")
        model = load_model(tmp_path / "model.thresher")
        with pytest.raises(ValueError, match="does not support incremental training; retrain with fit"):
            partial_fit(model, X, y)
        fresh = load(tmp_path / "model.thresher").fit(X[:100], y[:100])
        np.testing.assert_array_equal(fresh.selected_, estimator(7).fit(X[:100], y[:100]).selected_)

    def test_loaded_and_saved_again_nothing_is_lost(self, estimator, files, tmp_path):
        """Neither how ids count nor the names, which a model from a file has for its selected columns only."""
        one, two, three = (tmp_path / f"{name}.thresher" for name in ("one", "two", "three"))
        model = estimator(5)
        train(model, files / "test.svm")
        save(model, one)
        save(load(one), two)
        assert load_model(two).id_base == 1
        assert two.read_bytes() == one.read_bytes()
        X, y = random_problem(200, 10, 0.5, seed=5)
        save(estimator(3).fit(pd.DataFrame(X.toarray(), columns=list("abcdefghij")), y), two)
        save(load(two), three)
        assert two.read_bytes() == three.read_bytes()


def test_a_classifier_of_ones_own_is_for_pickle(tmp_path):
    X, y = random_problem(60, 10, 0.5, seed=1)
    model = MRMR(3, classifier=RidgeClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"classifier=RidgeClassifier.* can't be written to a model file"):
        save(model, tmp_path / "model.thresher")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("x1")
    for name, rows, start in (("train", 2_000, 0), ("test", 500, 2_000)):
        assert thresher("synth", "x1", "-o", folder / f"{name}.svm", "--rows", rows, "--start", start).returncode == 0
    return folder


@batch
def test_the_command_line_does_what_fit_does(estimator, files, tmp_path):
    method = row_of(estimator).name
    path = tmp_path / "model.thresher"
    done = thresher(
        "train", files / "train.svm", "-k", 30, "--method", method, "--test", files / "test.svm", "-o", path, "--json"
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    X, y = datasets.make_x1(2_000)
    X_test, y_test = datasets.make_x1(500, start=2_000)
    model = estimator(30).fit(X, y)
    assert report["selected"] == [str(column + 1) for column in model.selected_]
    assert report["accuracy_on_test"] == pytest.approx(model.score(X_test, y_test), abs=0.005)
    assert report["error_while_learning"] is None

    assert np.array_equal(load(path).predict(X_test), model.predict(X_test))
    predicted = thresher("predict", path, files / "test.svm").stdout.split()
    assert np.mean(np.array(predicted, dtype=float) == model.predict(X_test)) > 0.995
    assert json.loads(thresher("show", path, "--json").stdout)["rows_seen"] == 2_000
    assert thresher("transform", path, files / "test.svm", "-o", tmp_path / "small.svm").returncode == 0
    told = thresher("train", files / "train.svm", "-k", 30, "--method", method).stdout
    assert "selected 30 features" in told
    assert "error while learning" not in told


@pytest.mark.parametrize("method", METHODS)
def test_ids_from_zero_and_many_classes(method, tmp_path):
    X, y = random_problem(200, 30, 0.3, seed=8, n_classes=3)
    lines = [
        f"{label} " + " ".join(f"{i}:{v}" for i, v in zip(row.indices, row.data, strict=True))
        for row, label in zip(X, y, strict=True)
    ]
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    refused = thresher("train", path, "-k", 5, "--method", method)
    assert refused.returncode == 2
    assert "is a third class" in refused.stderr
    for option in (["--multiclass"], ["--classes", "0,1,2"]):
        done = thresher("train", path, "-k", 5, "--method", method, *option, "--json", "-o", tmp_path / "m.thresher")
        report = json.loads(done.stdout)
        assert report["classes"] == ["0", "1", "2"]
        assert report["selected"] == [str(c) for c in load(tmp_path / "m.thresher").selected_]
        assert load(tmp_path / "m.thresher").n_features_in_ == 30


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 1:1\n-1 2:1\n", ["--gamma", 1], "--gamma can't be used with --method mrmr"),
        ("1 1:1\n-1 2:1\n", ["--passes", 2], "--passes can't be used with --method mrmr: it sees all rows at once"),
        ("1 1:1\n-1 2:1\n", ["--shuffle"], "--shuffle can't be used"),
        ("1 1:1\n-1 2:1\n", ["--full"], "--full can't be used"),
        ("1 1:1\n-1 2:1\n", ["--norm", "l1"], "--norm of --method mrmr must be one of 'l2', 'none'. Got 'l1' instead"),
        ("", [], "there are no rows"),
        ("1 1:1\n1 2:1\n", [], "There is 1 class"),
        ("1 1:1\n-1 2:x\n", [], "line 2: '2:x': the value must be a finite number"),
        ("1 1:1\n-1 2:1\n2 2:1\n", ["--classes", "1,-1"], "line 3: the label 2 is not among the classes"),
        ("1 0:1\n-1 2:1\n", ["--one-based"], "id 0 occurs"),
        ("1 2.0 | 1:1\n-1 | 2:1\n", ["--format", "vw"], "the rows have weights, which MRMR can't use"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text, options, message, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(text)
    options = [*options] if "--format" in options else [*options, "--format", "svmlight"]
    output = tmp_path / "model.thresher"
    done = thresher("train", path, "-k", 2, "--method", "mrmr", "-o", output, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not output.exists()


def test_labels_may_be_fractions(tmp_path):
    (tmp_path / "rows.svm").write_text("0.5 1:1\n1.5 2:1\n" * 20)
    done = thresher("train", tmp_path / "rows.svm", "-k", 2, "--method", "mrmr", "--json")
    assert json.loads(done.stdout)["classes"] == ["0.5", "1.5"]


def test_a_batch_model_does_not_go_on(files, tmp_path):
    path = tmp_path / "model.thresher"
    assert thresher("train", files / "test.svm", "-k", 3, "--method", "mrmr", "-o", path).returncode == 0
    done = thresher("train", files / "train.svm", "--from", path)
    assert done.returncode == 2
    assert "mrmr does not support incremental training; train without --from" in done.stderr


def as_text(X, y, id_base):
    return "".join(
        f"{label} " + " ".join(f"{i + id_base}:{v}" for i, v in zip(row.indices, row.data, strict=True)) + "\n"
        for row, label in zip(X, y, strict=True)
    )


@batch
class TestTrain:
    """`train` with a batch method is its `fit` on all rows of the stream."""

    @pytest.mark.parametrize("id_base", [0, 1])
    def test_equals_fit(self, estimator, id_base, tmp_path):
        X, y = random_problem(200, 40, 0.3, seed=11)
        (tmp_path / "rows.svm").write_text(as_text(X, y, id_base))
        (tmp_path / "test.svm").write_text(as_text(X[:50], y[:50], id_base))
        model = estimator(6)
        seen = []
        history = train(model, tmp_path / "rows.svm", validate=tmp_path / "test.svm", callback=seen.append)
        fitted = estimator(6).fit(X, y)
        np.testing.assert_array_equal(model.selected_, fitted.selected_)
        np.testing.assert_array_equal(model.coef_.toarray(), fitted.coef_.toarray())
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        assert history.rows == [200]
        assert history.validation == [pytest.approx(fitted.score(X[:50], y[:50]))]
        assert (history.error, history.loss, history.interrupted, seen) == ([], [], False, [history])
        assert history.n_bytes == (tmp_path / "rows.svm").stat().st_size
        # It predicts files as they count, and keeps that in its model file.
        assert evaluate(model, tmp_path / "rows.svm").accuracy == pytest.approx(fitted.score(X, y))
        save(model, tmp_path / "m.thresher")
        assert load_model(tmp_path / "m.thresher").id_base == id_base
        # fit forgets the files.
        save(model.fit(X, y), tmp_path / "m.thresher")
        assert load_model(tmp_path / "m.thresher").id_base == 0

    def test_a_model_learns_without_its_estimator(self, estimator, files, monkeypatch):
        path, budget = files / "test.svm", {"n_features_to_select": 3}
        model, shell = Model(row_of(estimator).name, **budget), estimator(3)
        solver = row_of(estimator).load_solver()
        with monkeypatch.context() as patch:

            def interrupted(*_):
                raise KeyboardInterrupt

            patch.setattr(solver, "solve", interrupted)
            with pytest.raises(KeyboardInterrupt):
                train(model, path)
        assert not model.is_trained
        train(model, path)
        train(shell, path)
        np.testing.assert_array_equal(model.members()[0], shell.selected_)
        np.testing.assert_array_equal(model.members()[1].T, shell.coef_.toarray()[:, shell.selected_])
        with pytest.raises(ValueError, match=f"{row_of(estimator).name} does not support incremental training"):
            train(model, path)

    def test_names_of_a_table_are_known(self, estimator, tmp_path):
        X, y = random_problem(100, 5, 0.8, seed=12)
        frame = pd.DataFrame(X.toarray(), columns=list("abcde")).assign(label=np.where(y > 0, "yes", "no"))
        frame.to_csv(tmp_path / "rows.csv", index=False)
        model = estimator(2)
        train(model, tmp_path / "rows.csv")
        assert model.feature_names_in_.tolist() == list("abcde")
        assert model.classes_.tolist() == ["no", "yes"]
        assert set(model.get_feature_names_out()) <= set("abcde")

    def test_many_classes_are_asked_for(self, estimator, tmp_path):
        X, y = random_problem(200, 30, 0.3, seed=8, n_classes=3)
        path = tmp_path / "rows.svm"
        path.write_text(as_text(X, y, 1))
        model = estimator(5)
        with pytest.raises(DataError, match=r"line \d+: the label \d is a third class"):
            train(model, path)
        assert not hasattr(model, "classes_")
        train(model, path, multiclass=True)
        assert model.classes_.tolist() == [0, 1, 2]
        with pytest.raises(DataError, match="the label 0 is not among the classes 1, 2"):
            train(model, path, classes=[1, 2])
        np.testing.assert_array_equal(model.selected_, estimator(5).fit(X, y).selected_)  # as it was

    def test_an_error_leaves_the_estimator_as_it_was(self, estimator, files, tmp_path):
        X, y = random_problem(60, 10, 0.5, seed=1)
        model = estimator(3).fit(X, y)
        before = model.predict(X), model.n_features_in_
        (tmp_path / "one.svm").write_text("1 1:1\n1 2:1\n")
        with pytest.raises(DataError, match=r"one\.svm: There is 1 class"):
            train(model, tmp_path / "one.svm")
        assert np.array_equal(model.predict(X), before[0])
        assert model.n_features_in_ == before[1]

    @pytest.mark.parametrize(("given", "name"), [({"passes": 2}, "passes=2"), ({"shuffle": True}, "shuffle=True")])
    def test_what_means_nothing_to_it_is_refused(self, estimator, given, name, files):
        with pytest.raises(ValueError, match=f"{name} can't be used with {estimator.__name__}, which sees all rows at"):
            train(estimator(3), files / "test.svm", **given)

    def test_it_does_not_share_a_reading(self, estimator, files):
        with pytest.raises(TypeError, match=f"{estimator.__name__} can't learn batch by batch.*train it alone"):
            train_many([estimator(3)], files / "test.svm")


def test_skipped_lines_are_in_the_history(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\nx\n-1 2:1\n-1 2:y\n")
    history = train(MRMR(1), open_stream(tmp_path / "rows.svm", on_bad_line="skip"), multiclass=True)
    assert (history.rows, history.n_skipped, len(history.skipped)) == ([3], 1, 1)


def test_too_many_rows_for_memory_are_refused_while_they_are_read(files, monkeypatch):
    monkeypatch.setattr(memory_check, "available_bytes", lambda: 5e7)
    monkeypatch.setattr(text, "BLOCK", 1 << 16)
    stream = open_stream(files / "train.svm")
    n_read = 0

    def counted():
        nonlocal n_read
        for rows in stream.batches():
            n_read += rows.n_rows
            yield rows

    model = MRMR()
    with pytest.raises(ValueError, match=r"MRMR needs about 0\.0[89]\d? GB in addition to .*, but 0\.05 GB are"):
        train(model, Stream(stream.name, counted, n_bytes=stream.n_bytes))
    assert n_read < 100
    assert not hasattr(model, "n_features_in_")
