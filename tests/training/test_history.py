"""The history of a training run: its points, and the changes of members between them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from every import ONLINE, in_order, made, online
from test_gamma_auto import stream_of

from thresher import AROW, MRMR, ShadowSOFS, datasets, train
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
