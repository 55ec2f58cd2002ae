"""`path`, `cross_validate` and `stability` for models of numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import thresher
from sklearn import metrics

from thresher import ShadowSOFSRegressor, convert, cross_validate, evaluate, path, stability, train
from thresher.evaluation.residuals import error_of_r2_alone
from thresher.streams import DataError

BUDGETS = [1, 2, 5, 20]


def problem(n_rows=1_500, seed=0):
    """Numbers that five of sixty columns decide."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 60)).astype(np.float32)
    return X, X[:, ::12] @ np.array([5.0, -4.0, 3.0, 2.0, 1.0]) + 7 + 2 * random.standard_normal(n_rows)


class TestPath:
    def test_on_validation_data_it_is_what_evaluate_says(self):
        rows, held_out = problem(), problem(700, seed=1)
        curve = path(ShadowSOFSRegressor(), rows, BUDGETS, held_out)
        for k, budget in enumerate(BUDGETS):
            model = ShadowSOFSRegressor(budget)
            train(model, rows)
            found = evaluate(model, held_out)
            assert (curve.r2[k], curve.standard_error[k]) == (found.r2, found.standard_error)
            assert curve.rmse[k] == pytest.approx(found.rmse)
            assert curve.baseline == found.baseline
        assert curve.suggested == 5
        assert evaluate(curve.model, held_out).r2 == curve.r2[2]
        assert curve.n_rows == 700
        assert not hasattr(curve, "accuracy")

    def test_without_them_it_is_what_the_histories_say(self):
        rows = problem()
        curve = path(ShadowSOFSRegressor(), rows, BUDGETS)
        for k, budget in enumerate(BUDGETS):
            history = train(ShadowSOFSRegressor(budget), rows)
            assert (curve.r2[k], curve.baseline) == (1 - history.error[-1], history.baseline)
            assert curve.rmse[k] == pytest.approx(history.rmse[-1])
        assert curve.n_rows == 1_499  # nothing predicts the first
        np.testing.assert_array_equal(curve.standard_error, error_of_r2_alone(curve.r2, 1_499))
        # Errors are normal here.
        held_out = path(ShadowSOFSRegressor(), rows, BUDGETS, problem(1_499, seed=1))
        np.testing.assert_allclose(error_of_r2_alone(held_out.r2, 1_499), held_out.standard_error, rtol=0.15)

    def test_a_suggestion_that_is_no_better_is_said(self):
        X, y = problem()
        (remark,) = path(ShadowSOFSRegressor(), (X, np.random.default_rng(0).permutation(y)), [1, 5]).remarks
        assert remark.startswith("The R² with ")
        assert "always predicting the mean does" in remark

    def test_as_text_values_and_picture(self, tmp_path):
        convert(problem(), str(tmp_path / "rows.svm"))
        curve = path(ShadowSOFSRegressor(), tmp_path / "rows.svm", BUDGETS)
        lines = str(curve).splitlines()
        assert lines[0] == f"R² on rows before they were learned, 1,499 rows, RMSE of the mean {curve.baseline:.3f}"
        assert lines[2].split() == ["features", "R²", "standard", "error", "RMSE"]
        for k, line in enumerate(lines[3:]):
            assert [float(word) for word in line.split()[:4]] == pytest.approx(
                [BUDGETS[k], curve.r2[k], curve.standard_error[k], curve.rmse[k]], abs=1e-3
            )
        assert sum("suggested" in line for line in lines) == 1
        assert "<th" in curve._repr_html_()
        (low, high), chart = curve.chart().limits()[1], curve.chart()
        assert low < min(chart.lines[0].y) <= max(chart.lines[0].y) < high
        command = ("path", tmp_path / "rows.svm", "-k", "1,2,5,20", "--target", "number")
        assert thresher(*command).stdout == f"{curve}\n"
        found = json.loads(thresher(*command, "--json").stdout)
        assert found == {**curve.to_dict(), "report": None}
        assert found["r2"] == curve.r2.tolist()

    def test_worse_than_the_mean_can_be_drawn(self):
        random = np.random.default_rng(0)
        rows = random.standard_normal((300, 60)), random.standard_normal(300)
        curve = path(ShadowSOFSRegressor(), rows, [1, 50])
        assert curve.r2.min() < 0
        (low, _), chart = curve.chart().limits()[1], curve.chart()
        assert low <= min(chart.lines[0].band()[0])

    def test_grouped_rows_say_nothing_before_they_are_learned(self):
        X, y = problem()
        order = np.argsort(y)
        with (
            pytest.warns(UserWarning, match="grouped"),
            pytest.raises(DataError, match="so the R² on rows before they"),
        ):
            path(ShadowSOFSRegressor(), (X[order], y[order]), BUDGETS, shuffle=False)


class TestCrossValidation:
    def test_every_row_is_predicted_once(self):
        X, y = problem(600)
        cv = cross_validate(ShadowSOFSRegressor(5), (X, y), folds=4)
        whole = cv.evaluation
        np.testing.assert_array_equal(np.sort(whole.actual), np.sort(y))
        assert cv.r2 == whole.r2 == pytest.approx(metrics.r2_score(whole.actual, whole.predicted))
        assert cv.rmse == pytest.approx(metrics.root_mean_squared_error(whole.actual, whole.predicted))
        assert cv.mae == pytest.approx(metrics.mean_absolute_error(whole.actual, whole.predicted))
        assert cv.baseline == pytest.approx(y.std())
        assert len(cv.model.selected_) == 5

    def test_standard_errors_are_those_over_the_folds(self):
        cv = cross_validate(ShadowSOFSRegressor(5), problem(600), folds=4)
        for name in ("r2", "rmse", "mae", "baseline"):
            expected = np.std([getattr(fold, name) for fold in cv.folds], ddof=1) / 2
            assert cv.standard_errors[name] == pytest.approx(expected)
        assert cv.standard_error == cv.standard_errors["r2"]

    def test_any_batching_has_the_same(self, tmp_path):
        X, y = problem(600)
        convert((X, y), str(tmp_path / "rows.svm"))
        found = [cross_validate(ShadowSOFSRegressor(5), data, folds=3) for data in ((X, y), tmp_path / "rows.svm")]
        assert found[0].evaluation.metrics == found[1].evaluation.metrics
        assert found[0].standard_errors == found[1].standard_errors

    def test_as_text_and_values(self, tmp_path):
        convert(problem(600), str(tmp_path / "rows.svm"))
        cv = cross_validate(ShadowSOFSRegressor(5), tmp_path / "rows.svm", folds=3)
        assert str(cv).splitlines()[2].split() == ["R²", f"{cv.r2:.4f}", "±", f"{cv.standard_error:.4f}"]
        assert cv.to_dict()["r2_of_folds"] == [fold.r2 for fold in cv.folds]
        command = ("train", tmp_path / "rows.svm", "-k", 5, "--target", "number", "--cv", 3)
        assert str(cv) in thresher(*command).stdout
        assert json.loads(thresher(*command, "--json").stdout)["cv"] == json.loads(json.dumps(cv.to_dict()))

    def test_no_better_than_the_mean_is_said(self):
        X, y = problem(600)
        cv = cross_validate(ShadowSOFSRegressor(5), (X, np.random.default_rng(1).permutation(y)), folds=3)
        assert cv.remarks == cv.to_dict()["remarks"]
        assert "always predicting the mean does" in cv.remarks[0]


@pytest.mark.parametrize("shuffle", [False, True])
def test_stability_tells_the_features_that_matter(shuffle):
    found = stability(ShadowSOFSRegressor(5), problem(3_000), n=6, shuffle=shuffle)
    above = {column for column, share in found.frequency.items() if share > found.chance}
    assert {0, 12, 24, 36} <= above <= {0, 12, 24, 36, 48}
