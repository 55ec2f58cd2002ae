"""The history of a training run: its points, and the changes of members between them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from command_line import thresher
from every import ONLINE, in_order, made, online
from test_gamma_auto import stream_of

from thresher import AROW, MRMR, SOFS, ShadowSOFS, ShadowSOFSRegressor, datasets, distributed, train
from thresher.training import train_many

X, Y = datasets.make_x1(3_000, n_features=1_000, n_informative=100, n_noise=200)
CUTS = ([], [1], [99, 100, 101, 1_600], list(range(7, 3_000, 311)))


def points(history):
    """Return what must not depend on time."""
    return {**history.state(), "seconds": None}


def test_points_are_a_quarter_apart():
    expected = [100]
    while expected[-1] + expected[-1] // 4 < 3_000:
        expected.append(expected[-1] + expected[-1] // 4)
    for estimator in ONLINE:
        history = train(made(estimator, 10), stream_of(X, Y), passes=1, shuffle=False)
        assert history.rows == [*expected, 3_000], estimator.__name__


@online
@pytest.mark.parametrize("weights", [None, "some are 0"])
def test_is_the_same_for_any_batching(estimator, weights):
    given = None if weights is None else np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(Y))
    found = []
    for cuts in CUTS:
        found.append(points(train(made(estimator, 10), stream_of(X, Y, given, cuts), shuffle=False, passes=2)))
    assert len(found[0]["rows"]) > 10
    for each in found[1:]:
        assert each == found[0]


def test_is_the_same_for_any_batching_of_a_race():
    found = [points(train(ShadowSOFS(10, gamma="auto"), stream_of(X, Y, cuts=cuts), shuffle=False)) for cuts in CUTS]
    assert found[0]["race"]
    for each in found[1:]:
        assert each == found[0]


def test_entered_is_what_a_comparison_of_selections_says():
    """Models that are trained on the first rows alone show who was selected at each point."""
    history = train(ShadowSOFS(20), stream_of(X, Y), passes=1, shuffle=False)
    selected = [set(in_order(ShadowSOFS, 20).fit(X[:n], Y[:n]).selected_.tolist()) for n in history.rows]
    assert history.entered == [len(now - before) for before, now in itertools.pairwise([set(), *selected])]
    assert history.entered[0] == 20
    assert sum(history.entered[1:]) > 0


def test_a_trained_model_starts_with_its_members():
    model = ShadowSOFS(20)
    train(model, stream_of(X, Y), shuffle=False)
    before = set(model.selected_.tolist())
    history = train(model, stream_of(X[:100], Y[:100]), shuffle=False)
    assert history.rows == [100]
    assert history.entered == [len(set(model.selected_.tolist()) - before)]
    assert history.entered[0] < 20


def test_a_pass_that_ends_at_a_point_is_one_point():
    held_out = stream_of(X[1_000:], Y[1_000:])
    history = train(ShadowSOFS(20), stream_of(X[:100], Y[:100]), validate=held_out, shuffle=False, passes=2)
    assert history.rows == [100, 125, 156, 195, 200]
    assert history.entered[0] == 20
    assert [value is None for value in history.validation] == [False, True, True, True, False]


def test_methods_without_a_budget_have_no_members_to_change():
    assert train(AROW(), stream_of(X, Y), shuffle=False).entered == []
    assert train(MRMR(5), stream_of(X[:200], Y[:200])).entered == []


def test_many_models_have_the_histories_of_each_alone():
    models = [ShadowSOFS(10), ShadowSOFS(20), ShadowSOFS(20, gamma=4.0)]
    together = train_many(models, stream_of(X, Y, cuts=[500]), shuffle=False, n_threads=2)
    for model, history in zip(models, together, strict=True):
        alone = train(ShadowSOFS(**model.get_params()), stream_of(X, Y), shuffle=False)
        assert points(history) == points(alone)


class TestBaseline:
    """The share of the most frequent label, among the rows that were measured."""

    labels = np.where(np.arange(3_000) % 10 < 3, 1, -1)  # 70 % are -1

    @pytest.mark.parametrize("estimator", [SOFS, ShadowSOFS])
    def test_counts_the_rows_of_the_error(self, estimator):
        weights = np.where((self.labels == -1) & (np.arange(3_000) < 1_500), 0.0, 1.0)
        for passes in (1, 3):
            history = train(estimator(10), stream_of(X, self.labels), passes=passes, shuffle=False)
            assert history.baseline == 0.7
            history = train(estimator(10), stream_of(X, self.labels, weights), passes=passes, shuffle=False)
            assert history.baseline == 1_050 / 1_950  # rows of weight 0 are not learned

    def test_of_a_trained_model_is_that_of_the_new_rows(self):
        model = ShadowSOFS(10)
        train(model, stream_of(X, self.labels), shuffle=False)
        few = np.where(np.arange(500) % 5 == 0, -1, 1)
        assert train(model, stream_of(X[:500], few), shuffle=False).baseline == 0.8
        assert train(ShadowSOFS(10), stream_of(X[:500], few), shuffle=False).baseline == 0.8  # whichever label it is

    def test_of_validation_data_is_theirs(self):
        for model in (ShadowSOFS(10), MRMR(5)):
            history = train(model, stream_of(X, self.labels), validate=stream_of(X[:90], self.labels[10:100]))
            assert history.validation_baseline == 0.7
            assert history.remarks[0].startswith("The accuracy on validation data is w")
        assert (history.baseline, train(MRMR(5), stream_of(X, Y)).validation_baseline) == (None, None)

    def test_of_shards_is_that_of_all(self):
        rows = [(X, self.labels)]
        done = distributed.train(ShadowSOFS(10), rows, n_shards=2, syncs=2, engine="local", workers=1, validate=rows)
        assert (done.baseline, done.validation_baseline) == (0.7, 0.7)

    def test_before_the_end_of_a_pass_there_is_none(self):
        seen = []
        history = train(
            SOFS(10), stream_of(X, self.labels), callback=lambda each: seen.append(each.baseline), shuffle=False
        )
        assert (seen[0], history.baseline, seen[-1]) == (None, 0.7, 0.7)

    def test_an_error_that_is_no_better_is_said(self, tmp_path):
        assert train(ShadowSOFS(20), stream_of(X, Y), shuffle=False).remarks == []
        history = train(AROW(gamma=1e6), stream_of(X, self.labels), shuffle=False)
        (remark,) = history.remarks
        assert remark.startswith(
            ("The error while learning is within one standard error (", "The error while learning is wo")
        )
        assert remark.endswith("It counts the first mistakes too: measure the model on other rows (validate=).")
        assert "measure the model on other rows" in history._repr_html_()
        (tmp_path / "rows.svm").write_text("1 1:1\n-1 1:1\n-1 1:1\n" * 40)
        printed = thresher("train", tmp_path / "rows.svm", "--no-intercept", "--passes", 1).stdout
        assert " (baseline 33.33%)\nThe error while learning is " in printed
        assert "on other rows (--test)." in printed


class TestOfNumbers:
    """The error is 1 − R² of rows before they were learned, the baseline the RMSE of the mean of the rows before."""

    X = sp.csr_matrix(np.random.default_rng(0).standard_normal((600, 30)), dtype=np.float32)
    y = X[:, [4, 11]] @ np.array([3.0, -2.0]) + 7 + np.random.default_rng(1).standard_normal(600)

    def predicted_before(self):
        """Predict each row but the first by a model that has learned the rows before it."""
        model, predicted = ShadowSOFSRegressor(3, norm=None), []
        for k in range(len(self.y)):
            if k:
                predicted.append(model.predict(self.X[k : k + 1])[0])
            model.partial_fit(self.X[k : k + 1], self.y[k : k + 1])
        return np.array(predicted)

    @pytest.mark.parametrize("passes", [1, 3])
    def test_counts_rows_before_they_are_learned(self, passes):
        history = train(ShadowSOFSRegressor(3, norm=None), stream_of(self.X, self.y), passes=passes, shuffle=False)
        squared = np.square(self.y[1:] - self.predicted_before())
        means = np.cumsum(self.y)[:-1] / np.arange(1, 600)
        of_mean = np.square(self.y[1:] - means)
        for k, n in enumerate(history.rows):
            n = min(n, 600) - 1
            assert history.error[k] == pytest.approx(squared[:n].sum() / of_mean[:n].sum(), rel=1e-6)
            assert history.rmse[k] == pytest.approx(np.sqrt(squared[:n].mean()), rel=1e-6)
        between, *_ = history.charts()["error"].lines
        for k, (begin, end) in enumerate(itertools.pairwise(between.x), 1):
            expected = squared[begin - 1 : end - 1].sum() / of_mean[begin - 1 : end - 1].sum()
            assert between.y[k] == pytest.approx(expected, rel=1e-6)
        assert history.baseline == pytest.approx(np.sqrt(of_mean.mean()))
        assert (history.n_predicted, history.target, history.remarks) == (599, "numbers", [])
        assert history.n_first_points() == sum(n <= 600 for n in history.rows)

    def test_is_the_same_for_any_batching(self):
        cuts = ([], [1], [99, 100, 101, 400], list(range(7, 600, 31)))
        found = [
            points(train(ShadowSOFSRegressor(3), stream_of(self.X, self.y, cuts=each), shuffle=False)) for each in cuts
        ]
        assert found[0]["rows"][-1] == 1_800
        assert all(each == found[0] for each in found[1:])

    def test_of_a_trained_model_is_that_of_the_new_rows(self):
        model = ShadowSOFSRegressor(3, norm=None, refit=False)
        train(model, stream_of(self.X[:300], self.y[:300]), shuffle=False, passes=1)
        history = train(model, stream_of(self.X[300:], self.y[300:]), shuffle=False)
        squared = np.square(self.y[300:] - self.predicted_before()[299:])
        assert history.n_predicted == 300
        assert history.rmse[-1] == pytest.approx(np.sqrt(squared.mean()), rel=1e-6)

    def test_validation_is_r2(self):
        held_out = self.X[:100], self.y[:100]
        model = ShadowSOFSRegressor(3)
        history = train(model, (self.X, self.y), validate=held_out, passes=1)
        assert history.validation[-1] == pytest.approx(model.score(*held_out))
        assert history.validation_baseline == pytest.approx(held_out[1].std())
        worse = train(model, (self.X, self.y), validate=(self.X[:100], self.y[100:200]))
        assert worse.remarks == [
            "The R² on validation data is worse than the baseline: always predicting the mean does better."
        ]

    def test_an_error_that_is_no_better_is_said(self):
        noise = np.random.default_rng(3).standard_normal(600)
        (remark,) = train(ShadowSOFSRegressor(20), (self.X, noise)).remarks
        assert remark.startswith("The error while learning is worse than the baseline: always predicting the mean does")

    def test_pictures(self):
        history = train(ShadowSOFSRegressor(3), stream_of(self.X, self.y), passes=3, validate=(self.X, self.y))
        chart = history.charts()["error"]
        _, so_far, validation = chart.lines
        assert list(so_far.y) == history.error[: len(so_far.y)]
        assert max(so_far.x) == 600
        assert validation.y == pytest.approx([1 - each for each in history.validation if each is not None])
        assert "R²" in chart.y_label
        assert history._repr_html_().count("<svg") == 2

    def test_numbers_that_are_all_equal(self):
        with pytest.warns(UserWarning, match="all labels are 5"):
            history = train(ShadowSOFSRegressor(3), (self.X, np.full(600, 5.0)), shuffle=False)
        assert (history.error[-1], history.rmse[-1], history.baseline) == (1.0, 0.0, 0.0)  # there is nothing to explain

    def test_of_shards_has_the_same_figures(self):
        rows = [(self.X, self.y)]
        done = distributed.train(
            ShadowSOFSRegressor(3), rows, n_shards=2, syncs=4, passes=2, engine="local", workers=1, validate=rows
        )
        assert (done.target, len(done.rmse)) == ("numbers", len(done.rows))
        assert done.n_first_points() == 4
        assert 598 <= done.n_predicted <= 599  # nothing predicts the first row, here or on each shard
        assert done.error[-1] == pytest.approx((done.rmse[-1] / done.baseline) ** 2)
        assert done.validation[-1] > 0.8
        assert done.charts()["error"].lines[1].x == done.rows[:4]
