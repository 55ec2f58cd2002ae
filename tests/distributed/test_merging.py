"""Merging shards: beside a naive oracle on whole states, in any grouping, for every method and memory."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from every import BUDGETED, ONLINE, SECOND_ORDER, made, new_model, online
from hypothesis import given, settings
from hypothesis import strategies as st
from states import assert_same_state, state_of
from strategies import problems, random_problem

from thresher import FOFS, OGD, PET, SOFS, ShadowSOFS
from thresher.model.class_weights import ClassWeights
from thresher.model.learning import partial_fit
from thresher.model.merging import MergeSizes, merge
from thresher.model.model import Model
from thresher.model.session import Session
from thresher.model.settling import include_id


def untrained(estimator, budget, X, y, **given):
    """Return a model that knows its classes and columns, and has learned nothing yet."""
    model = new_model(made(estimator, budget, **given))
    Session(model, np.unique(y), 0, None, X.shape[1]).finish(0)
    include_id(model, X.shape[1] - 1)
    return model


def learned(start: Model, X, y) -> Model:
    model = copy.deepcopy(start)
    if X.shape[0]:
        partial_fit(model, X, y)
    return model


def merged(start: Model, shards: list[Model], size: float, grouping=None) -> Model:
    changes = [changes_since(copy.deepcopy(shard), start) for shard in shards]
    total = (
        grouping(type(start.selector).added, changes)
        if grouping
        else left_to_right(type(start.selector).added, changes)
    )
    model = copy.deepcopy(start)
    merge(model, total, MergeSizes(size, size), ClassWeights(None))
    return model


def changes_since(model: Model, start: Model):
    return model.selector.changes_since(start.selector)


def left_to_right(added, changes):
    total = changes[0]
    for each in changes[1:]:
        total = added(total, each)
    return total


def as_a_tree(added, changes):
    if len(changes) == 1:
        return changes[0]
    half = len(changes) // 2
    return added(as_a_tree(added, changes[:half]), as_a_tree(added, changes[half:]))


class Naive:
    """A state, or that of its predicting layer, as dicts, and the merge written out."""

    def __init__(self, model: Model, is_second_order: bool, layer: str = "") -> None:
        state = state_of(model)["learned"]
        n = model.n_vectors
        scale = state["learner"].get("scale", 1.0)
        ids, cells = state[layer + "ids"], state[layer + "cells"]
        cells = cells.reshape(len(ids), n, len(cells) // max(1, len(ids) * n))
        self.weight, self.precision, self.members = {}, {}, set()
        for id_, cell, raw in zip(ids.tolist(), cells.astype(float), cells, strict=True):
            self.weight[id_] = cell[:, 0] * scale
            self.precision[id_] = np.abs(cell[:, 1]) if is_second_order else np.zeros(n)
            if np.signbit(raw[0, -1]) if is_second_order else raw[0, -1] != 0:
                self.members.add(id_)
        self.n = n

    def at(self, id_):
        zero = np.zeros(self.n)
        return self.weight.get(id_, zero), self.precision.get(id_, zero)


def naive_merge(start: Naive, shards: list[Naive], size: float, is_second_order: bool):
    """Return the merged weights and precisions of every feature that any shard knows."""
    out = {}
    for id_ in set().union(start.weight, *(shard.weight for shard in shards)):
        w0, p0 = start.at(id_)
        moves = np.array([shard.at(id_)[0] - w0 for shard in shards])
        won = np.array([shard.at(id_)[1] - p0 for shard in shards]) if is_second_order else (moves != 0).astype(float)
        total = won.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (won * moves).sum(axis=0) / total
            won_by_one = (won**2).sum(axis=0) / total
            at_most = total / won_by_one
            if is_second_order:  # where much was won, moves count by the logarithm
                by_logarithm = np.log1p(total / (1.0 + p0)) / np.log1p(won_by_one / (1.0 + p0))
                at_most = np.where(at_most > 1.0, np.minimum(at_most, by_logarithm), at_most)
        step = np.where(total > 0, np.minimum(size, at_most) * mean, 0.0)
        out[id_] = (w0 + step, p0 + total if is_second_order else p0)
    return out


def of_posteriors(id_, start: Naive, *shards: Naive, size: float):
    """Return weight and precision of the predicting layer: Q and Q·w add up, and the start counts once."""
    (w0, g0), ends = start.at(id_), [shard.at(id_) for shard in shards]
    growth = g0 + sum(growth - g0 for _, growth in ends)
    total = (0.1 + g0) * w0 + sum((0.1 + growth) * w - (0.1 + g0) * w0 for w, growth in ends)
    return w0 + size * (total / (0.1 + growth) - w0), growth


SIZES = st.sampled_from([1.0, 2.0, 3.5, 16.0])


@online
@pytest.mark.parametrize("n_classes", [2, 4])
@settings(max_examples=25)
@given(data=st.data())
def test_equals_the_oracle(estimator, n_classes, data):
    X, y = data.draw(problems(n_classes=st.just(n_classes), max_rows=30))
    n_shards, size, budget = data.draw(st.integers(1, 5)), data.draw(SIZES), data.draw(st.integers(1, 12))
    is_second_order = estimator in SECOND_ORDER
    start = untrained(estimator, budget, X, y)
    if data.draw(st.booleans()):
        start = learned(start, X[::-1], y[::-1])
    cuts = np.linspace(0, X.shape[0], n_shards + 1).astype(int)
    shards = [learned(start, X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]
    found = merged(start, shards, size)
    naive = [Naive(model, is_second_order) for model in (start, *shards)]
    expected = naive_merge(naive[0], naive[1:], size, is_second_order)
    candidates = set().union(*(shard.members for shard in naive[1:]))

    def rank(id_):
        weight, precision = expected[id_]
        if estimator is SOFS:
            return precision.sum()
        return (weight**2 * (1 + precision)).sum() if is_second_order else np.abs(weight).sum()

    result = Naive(found, is_second_order)
    if estimator not in BUDGETED:
        chosen = set(expected)
    else:
        assert len(result.members) == min(budget, len(candidates))
        ranks = sorted((rank(id_) for id_ in candidates), reverse=True)
        lowest = ranks[min(budget, len(ranks)) - 1] if ranks else 0.0
        chosen = result.members
        tolerance = 1e-4 * max(1.0, abs(lowest))
        assert all(rank(id_) >= lowest - tolerance for id_ in chosen)
        assert all(rank(id_) <= lowest + tolerance for id_ in candidates - chosen)
    for id_, (weight, precision) in expected.items():
        got_weight, got_precision = result.at(id_)
        if id_ in chosen or estimator is ShadowSOFS:
            np.testing.assert_allclose(got_weight, weight, rtol=1e-4, atol=1e-4)
        else:
            assert not got_weight.any()
        np.testing.assert_allclose(got_precision, precision, rtol=1e-4, atol=1e-5)
    assert found.counters["n_samples"] == start.counters["n_samples"] + X.shape[0]
    layers = [Naive(model, True, "predicting_") for model in (found, start, *shards)]
    for id_ in set().union(*(each.weight for each in layers)):
        np.testing.assert_allclose(layers[0].at(id_), of_posteriors(id_, *layers[1:], size=size), rtol=1e-3, atol=1e-4)


@online
@pytest.mark.parametrize("memory", ["dense", "hash", "sketch"])
def test_one_shard_is_the_shard_itself(estimator, memory):
    """Its move is the whole move: members and weights are those that it has learned."""
    if memory == "sketch" and estimator not in (SOFS, ShadowSOFS):
        pytest.skip("has no sketch")
    X, y = random_problem(300, 200, 0.1, seed=1)
    start = untrained(estimator, 20, X, y, memory=memory)
    alone = learned(start, X, y)
    again = merged(start, [alone], 1.0)
    np.testing.assert_array_equal(np.sort(again.members()[0]), np.sort(alone.members()[0]))
    order = [np.argsort(model.members()[0]) for model in (again, alone)]
    np.testing.assert_allclose(again.members()[1][order[0]], alone.members()[1][order[1]], rtol=1e-5, atol=1e-6)
    assert again.counters["n_mistakes"] == alone.counters["n_mistakes"]


@online
@pytest.mark.parametrize("memory", ["auto", "sketch"])
def test_any_grouping_gives_the_same(estimator, memory):
    if memory == "sketch" and estimator not in (SOFS, ShadowSOFS):
        pytest.skip("has no sketch")
    X, y = random_problem(800, 300, 0.05, seed=2)
    given = {"memory_bytes": 1 << 12} if memory == "sketch" else {}
    start = learned(untrained(estimator, 30, X, y, memory=memory, **given), X[:200], y[:200])
    shards = [learned(start, X[a : a + 75], y[a : a + 75]) for a in range(200, 800, 75)]
    one, other = merged(start, shards, 4.0), merged(start, shards, 4.0, as_a_tree)
    assert one.counters["n_samples"] == other.counters["n_samples"]
    shared = set(one.members()[0].tolist()) & set(other.members()[0].tolist())
    assert len(shared) >= 29 if estimator in BUDGETED else len(shared) == len(one.members()[0])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-3, atol=1e-3)
    assert_same_state(merged(start, shards, 4.0, as_a_tree), other)


@pytest.mark.parametrize("estimator", ONLINE)
def test_a_merged_model_goes_on(estimator):
    """After a merge it is a state like any other: it can be saved, restored and learned from, to the same bits."""
    X, y = random_problem(600, 200, 0.05, seed=3)
    start = untrained(estimator, 15, X, y)
    shards = [learned(start, X[a : a + 100], y[a : a + 100]) for a in range(0, 400, 100)]
    model = merged(start, shards, 2.0)
    restored = copy.deepcopy(model)
    assert_same_state(learned(model, X[400:], y[400:]), learned(restored, X[400:], y[400:]))
    assert len(model.members()[0]) <= 15 or estimator not in BUDGETED


def test_changes_are_those_of_what_was_touched():
    X, y = random_problem(400, 2_000, 0.01, seed=4)
    start = learned(untrained(ShadowSOFS, 20, X, y), X[:300], y[:300])
    changes = changes_since(learned(start, X[300:310], y[300:310]), start)
    touched = set(np.unique(X[300:310].indices).tolist())
    assert set(changes["ids"].tolist()) <= touched
    assert len(changes["changes"]) == 2 * len(changes["ids"])
    assert len(changes["sums"]) == 0


def test_kept_features_stay():
    X, y = random_problem(400, 100, 0.1, seed=5)
    start = untrained(ShadowSOFS, 5, X, y, keep=[97, 98])
    shards = [learned(start, X[a : a + 100], y[a : a + 100]) for a in range(0, 400, 100)]
    assert {97, 98} <= set(merged(start, shards, 2.0).members()[0].tolist())


@pytest.mark.parametrize("estimator", [PET, FOFS])
def test_weights_of_outsiders_are_zero(estimator):
    X, y = random_problem(400, 100, 0.1, seed=6)
    start = untrained(estimator, 5, X, y)
    shards = [learned(start, X[a : a + 100], y[a : a + 100]) for a in range(0, 400, 100)]
    model = merged(start, shards, 4.0)
    state = state_of(model)["learned"]
    assert len(state["ids"]) == len(model.members()[0]) == 5


def test_models_of_another_kind_are_refused():
    X, y = random_problem(100, 50, 0.1, seed=7)
    start, other = untrained(ShadowSOFS, 5, X, y), untrained(ShadowSOFS, 6, X, y)
    with pytest.raises(ValueError, match="the start is of another kind"):
        changes_since(learned(other, X, y), start)
    of_ogd = untrained(OGD, 5, X, y)
    changes = changes_since(learned(of_ogd, X, y), of_ogd)
    with pytest.raises(ValueError, match="the changes are of another kind"):
        merge(start, changes, MergeSizes(), ClassWeights(None))


@pytest.mark.parametrize("estimator", [SOFS, ShadowSOFS])
def test_all_slots_of_a_sketch_are_as_good_as_some(estimator):
    """A shard that has changed most of the table sends all of it, without numbers of slots."""
    X, y = random_problem(400, 3_000, 0.03, seed=8)
    start = untrained(estimator, 10, X, y, memory="sketch", memory_bytes=1 << 12)
    much = changes_since(learned(start, X[:380], y[:380]), start)
    little = changes_since(learned(start, X[380:381, :], y[380:381]), start)
    assert len(much["slots"]) == 0
    assert len(much["slot_changes"]) > len(little["slot_changes"]) > 0 < len(little["slots"])
    width = len(much["slot_changes"]) // much["n_slots"]
    assert much["slot_changes"].nbytes <= 1 << 12
    table = much["slot_changes"].reshape(-1, width)
    slots = np.flatnonzero(table.any(axis=1))
    by_slot = {**much, "slots": slots.astype(np.uint32), "slot_changes": table[slots].ravel()}
    states = []
    for first in (much, by_slot):
        for pair in ((first, little), (little, first)):
            model = copy.deepcopy(start)
            merge(model, type(start.selector).added(*pair), MergeSizes(1.5, 3.0), ClassWeights(None))
            states.append(state_of(model))
    for state in states[1:]:
        assert_same_state(states[0], state)
