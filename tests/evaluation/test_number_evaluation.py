"""`evaluate` and `write_predictions` for models of numbers: scikit-learn's metrics, and naive standard errors."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from command_line import thresher
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from test_evaluation import stream_of

from thresher import (
    SOFS,
    ShadowSOFSRegressor,
    convert,
    evaluate,
    open_stream,
    save,
    set_threshold,
    train,
    write_predictions,
)
from thresher.evaluation import Evaluation, NumberEvaluation
from thresher.evaluation.residuals import Residuals, error_of_r2_alone
from thresher.streams import DataError


def problem(n_rows, noise=1.0, seed=0, scale=1.0):
    """Numbers that two of twenty columns decide."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 20)).astype(np.float32)
    return X, scale * (3 * X[:, 4] - 2 * X[:, 11] + 7 + noise * random.standard_normal(n_rows))


@pytest.fixture(scope="module")
def model():
    return ShadowSOFSRegressor(4).fit(*problem(500))


@given(data=st.data())
def test_equals_sklearn_in_any_batching(model, data):
    n_rows = data.draw(st.integers(2, 60))
    X, y = problem(n_rows, noise=data.draw(st.sampled_from([0.0, 1.0, 30.0])), seed=data.draw(st.integers(0, 99)))
    y += data.draw(st.sampled_from([0.0, -1e3, 1e6]))
    cuts = data.draw(st.lists(st.integers(0, n_rows), max_size=3))
    found, predicted = evaluate(model, stream_of(X, y, cuts)), model.predict(X)
    assert found.n_rows == n_rows
    assert found.r2 == pytest.approx(metrics.r2_score(y, predicted), rel=1e-9)
    assert found.rmse == pytest.approx(metrics.root_mean_squared_error(y, predicted))
    assert found.mae == pytest.approx(metrics.mean_absolute_error(y, predicted))
    assert found.baseline == pytest.approx(metrics.root_mean_squared_error(y, np.full(n_rows, y.mean())))
    np.testing.assert_array_equal(found.actual, y)
    np.testing.assert_array_equal(found.predicted, predicted)
    whole = evaluate(model, stream_of(X, y))
    assert (whole.metrics, whole.standard_errors) == (found.metrics, found.standard_errors)
    assert whole.r2 == pytest.approx(model.score(X, y), rel=1e-9)


@pytest.mark.parametrize("noise", [0.3, 1.0, 10.0])
def test_standard_errors_are_those_of_the_jackknife(model, noise):
    """Of each metric without each of the rows."""
    X, y = problem(800, noise)
    found = evaluate(model, (X, y))
    left_out = [Residuals(*(np.delete(each, k) for each in (found.actual, found.predicted))) for k in range(800)]
    for name in ("r2", "rmse", "mae"):
        values = np.array([getattr(each, name) for each in left_out])
        expected = np.sqrt(799 / 800 * np.square(values - values.mean()).sum())
        assert found.standard_errors[name] == pytest.approx(expected, rel=0.02)
    assert found.standard_error == found.standard_errors["r2"]


@pytest.mark.parametrize(("noise", "scale"), [(0.3, 1), (1.0, 1), (4.0, 1), (1.0, 1.2), (0.5, -0.3)])
def test_standard_error_of_r2_by_its_value_alone(noise, scale):
    """Errors that are normal: those of the best predictions, or noise in what is predicted where R² is below 0."""
    random = np.random.default_rng(0)
    predicted, error = random.standard_normal((2, 200_000))
    residuals = Residuals(predicted + noise * error, predicted)
    assert float(error_of_r2_alone(residuals.r2, 200_000)) == pytest.approx(residuals.error_of_r2, rel=0.02)
    worse = Residuals(predicted, scale * error)
    assert worse.r2 < 0
    assert float(error_of_r2_alone(worse.r2, 200_000)) == pytest.approx(worse.error_of_r2, rel=0.02)


def test_numbers_that_are_all_equal_and_single_rows(model):
    X, y = problem(10)
    for rows in (slice(0, 10), slice(0, 1)):
        found = evaluate(model, (X[rows], np.full(len(y[rows]), 7.0)))
        assert (found.r2, found.baseline, found.standard_error, found.remarks) == (0.0, 0.0, 0.0, [])
        assert found._repr_html_().count("<svg") == 2
    exact = evaluate(model, (X[:1], model.predict(X[:1])))
    assert (exact.r2, exact.rmse, exact.standard_errors) == (1.0, 0.0, {"r2": 0.0, "rmse": 0.0, "mae": 0.0})


def test_several_are_pooled(model):
    X, y = problem(300, seed=1)
    parts = [evaluate(model, (X[rows], y[rows])) for rows in (slice(0, 100), slice(100, 300))]
    assert Evaluation.pool(parts).metrics == evaluate(model, (X, y)).metrics


def test_as_text_and_values(model):
    found = evaluate(model, problem(300, seed=1))
    assert isinstance(found, NumberEvaluation)
    errors = found.standard_errors
    r2, rmse, mae, baseline = (metric.cell(value, errors.get(metric.name)) for metric, value in found.known)
    assert r2 == f"{found.r2:.4f} ± {errors['r2']:.4f}"
    assert rmse.partition(" ± ")[0] == f"{found.rmse:.4g}"
    assert str(found) == f"300 rows, R² {r2}, RMSE {rmse}, MAE {mae}, RMSE of the mean {baseline}"
    assert json.loads(json.dumps(found.to_dict())) == {
        "rows": 300, "lines_skipped": 0, "r2": found.r2, "rmse": found.rmse, "mae": found.mae,
        "baseline": found.baseline, "standard_error": errors["r2"], "remarks": [], "standard_errors": errors,
    }  # fmt: skip
    for each in (copy.copy(found), pickle.loads(pickle.dumps(found))):
        assert (each.r2, each.rmse) == (found.r2, found.rmse)
    with pytest.raises(AttributeError, match="'NumberEvaluation' object has no attribute 'accuracy'"):
        _ = found.accuracy


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e5, 1e10])
def test_numbers_of_any_size_have_four_digits(scale):
    X, y = problem(2_000, scale=scale)
    found = evaluate(ShadowSOFSRegressor(2).fit(X, y), (X, y))
    written = str(found).partition("RMSE ")[2].split()[0]
    assert float(written.replace(",", "")) == pytest.approx(found.rmse, rel=1e-3)
    digits = written.partition("e")[0].replace(",", "").replace(".", "").lstrip("0")
    assert 3 <= len(digits) <= 6, written


def test_no_better_than_the_mean_is_said(model):
    X, y = problem(400, seed=2)
    shuffled = np.random.default_rng(0).permutation(y)
    assert evaluate(model, (X, y)).remarks == []
    worse = evaluate(model, (X, shuffled))
    assert worse.remarks == ["The R² is worse than the baseline: always predicting the mean does better."]
    assert str(worse).endswith(f"\n\n{worse.remarks[0]}")
    assert worse.remarks[0] in worse._repr_html_()
    mean = ShadowSOFSRegressor(1).fit(np.ones((100, 1)), shuffled[:100])
    near = evaluate(mean, (np.ones((100, 1)), shuffled[:100]))
    assert near.remarks[0].startswith("The R² is w")


class TestPictures:
    def test_show_the_rows(self, model):
        found = evaluate(model, problem(300, seed=1))
        charts = found.charts()
        assert list(charts) == ["predicted", "residuals"]
        cloud = charts["predicted"].lines[-1]
        np.testing.assert_array_equal([cloud.x, cloud.y], [found.actual, found.predicted])
        cloud = charts["residuals"].lines[-1]
        np.testing.assert_array_equal([cloud.x, cloud.y], [found.predicted, found.actual - found.predicted])
        for chart in charts.values():
            (left, right), (low, high) = chart.limits()
            assert all(left < x < right for x in chart.lines[-1].x)
            assert all(low < y < high for y in chart.lines[-1].y)
        assert found._repr_html_().count("<svg") == 2

    def test_of_many_rows_some_are_shown(self, model):
        found = evaluate(model, problem(20_000, seed=1))
        cloud = found.charts()["predicted"].lines[-1]
        assert len(cloud.x) == 500
        assert set(zip(cloud.x, cloud.y, strict=True)) <= set(
            zip(found.actual.tolist(), found.predicted.tolist(), strict=True)
        )

    def test_on_matplotlib(self, model):
        pytest.importorskip("matplotlib").use("agg")
        found = evaluate(model, problem(300, seed=1))
        assert found.plot().get_xlabel() == "actual"
        assert found.plot("residuals").get_ylabel() == "actual minus predicted"
        with pytest.raises(ValueError, match="kind='roc' is not available for this evaluation; it has predicted, res"):
            found.plot("roc")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("train.svm", problem(600)), ("rows.svm", problem(300, seed=1))):
        convert(rows, name)
    save(of_file(), "numbers.thresher")
    save(SOFS(2).fit(np.eye(2), ["ant", "bee"]), "classes.thresher")
    return tmp_path


def of_file():
    model = ShadowSOFSRegressor(3)
    train(model, "train.svm")
    return model


class TestBadInput:
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (
                "1.5 1:1\nspam 1:1\n",
                r"line 2: the model predicts numbers, but the label 'spam' is not a number: name the column",
            ),
            ("1.5 1:1\n1e13 1:1\n", r"line 2: the model predicts numbers, but the label 1e\+13 is larger than 1e\+12"),
        ],
    )
    def test_labels_that_are_no_numbers(self, files, model, rows, message):
        (files / "bad.svm").write_text(rows)
        with pytest.raises(DataError, match=rf"bad\.svm, {message}"):
            evaluate(model, files / "bad.svm")
        done = thresher("evaluate", "numbers.thresher", "bad.svm")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)

    def test_rows_without_labels_and_no_rows(self, files, model):
        (files / "bad.svm").write_text("1:1\n1:1\n")
        with pytest.raises(DataError, match=r"bad\.svm, line 1: the row has no label, so there is nothing to compare"):
            evaluate(model, open_stream("bad.svm", labelled=False, zero_based=False))
        with pytest.raises(DataError, match="memory: there are no rows"):
            evaluate(model, stream_of(*(each[:0] for each in problem(2))))

    def test_options_of_classes(self, files, model):
        with pytest.raises(ValueError, match="positive=1 needs two classes, but the model predicts numbers: leave it"):
            evaluate(model, "rows.svm", positive=1)
        with pytest.raises(ValueError, match="a threshold needs two classes, but the model predicts numbers"):
            set_threshold(model, "rows.svm", "f1")
        with pytest.raises(ValueError, match="probabilities needs classes, but the model predicts numbers: leave it"):
            write_predictions(model, "rows.svm", "out.csv", probabilities=True)
        assert not (files / "out.csv").exists()
        for options in (
            ["evaluate", "numbers.thresher", "rows.svm", "--positive", "1"],
            ["predict", "numbers.thresher", "rows.svm", "--probabilities"],
            ["predict", "numbers.thresher", "rows.svm", "--margins"],
        ):
            done = thresher(*options)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
            assert f"{options[3]} " in done.stderr

    def test_a_model_of_classes_on_numbers(self, files):
        done = thresher("evaluate", "classes.thresher", "rows.svm")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "more than 100 labels that are not among the model's classes (ant, bee)" in done.stderr


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "txt"])
def test_predictions_are_written_as_numbers(files, ending):
    X, _ = problem(300, seed=1)
    model = of_file()
    assert write_predictions(model, "rows.svm", f"out.{ending}").n_rows == 300
    if ending == "txt":
        found = np.loadtxt("out.txt")
    else:
        read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda path: pd.read_json(path, lines=True)}
        table = read[ending](f"out.{ending}")
        assert table.columns.tolist() == ["prediction"]
        found = table["prediction"]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12 if ending != "jsonl" else 1e-9)


class TestCommandLine:
    def test_evaluate(self, files):
        found = evaluate(of_file(), "rows.svm")
        assert thresher("evaluate", "numbers.thresher", "rows.svm").stdout == f"{found}\n"
        assert json.loads(thresher("evaluate", "numbers.thresher", "rows.svm", "--json").stdout) == found.to_dict()

    def test_train(self, files):
        command = ["train", "train.svm", "-k", "3", "--target", "number", "--test", "rows.svm", "-o", "m.thresher"]
        lines = thresher(*command).stdout.splitlines()
        new = ShadowSOFSRegressor(3)
        history, found = train(new, "train.svm"), evaluate(new, "rows.svm")
        _, rmse, mae, baseline = (f"{words} {value}" for words, value, _ in found.rows_of_metrics())
        assert lines[0] == "train.svm: 600 rows in 3 passes and a closing one, 20 columns, numbers"
        assert lines[2] == history.error_in_words()
        assert lines[2].startswith(
            f"R² while learning {1 - history.error[-1]:.4f}, RMSE {history.rmse[-1]:.4g} (RMSE of"
        )
        assert lines[3:5] == [f"R² on rows.svm {found.r2:.4f} ({baseline})", f"{rmse}, {mae}"]
        report = json.loads(thresher(*command, "--json").stdout)
        assert report["r2_while_learning"] == 1 - history.error[-1]
        assert (report["rmse_while_learning"], report["baseline_while_learning"]) == (
            history.rmse[-1], history.baseline,
        )  # fmt: skip
        assert report["r2_on_test"] == report["test"]["r2"] == found.r2
        assert not [name for name in report if "accuracy" in name or name.startswith("error")]

    @pytest.mark.parametrize("option", ["--threshold f1", "--positive 1"])
    def test_train_without_options_of_classes(self, files, option):
        save(of_file(), "full.thresher")
        for start in (["--target", "number"], ["--from", "full.thresher"]):
            done = thresher("train", "rows.svm", *start, *option.split(), "--test", "rows.svm", "-o", "m.thresher")
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
            assert not (files / "m.thresher").exists()
