"""The history of a training run: its points, and the changes of members between them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from command_line import thresher
from every import ONLINE, in_order, made, online
from test_gamma_auto import stream_of

from thresher import AROW, MRMR, SOFS, ShadowSOFS, datasets, distributed, train
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
