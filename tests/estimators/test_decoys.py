"""Decoys: what they learn, the q-values that come of them, and models that are trimmed to those told from chance."""

from __future__ import annotations

import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import DecoysOracle
from real_data import load as load_real
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from states import DECOYS, assert_same_state, state_of
from strategies import budgets, class_counts, norms, problems, random_problem

from thresher import SOFS, ShadowSOFS, datasets, distributed, load, open_stream, save, train
from thresher.io.model_files import save_model

pytestmark = pytest.mark.filterwarnings("ignore:The precision of every feature")

IN_ORDER = {"n_passes": 1, "shuffle": False, "refit": False}


def learned(model) -> dict:
    return state_of(model)["learned"]


def assert_equals_oracle(model, oracle) -> None:
    """Compare cells, the row whose features come next, and q-values."""
    state = learned(model)
    known = sorted(set().union(*oracle.decoy_excess))
    assert state["decoy_ids"].tolist() == known
    cells = state["decoy_cells"].reshape(len(known), len(oracle.vectors), 2)
    for v in oracle.vectors:
        np.testing.assert_array_equal(cells[:, v, 0], np.array([oracle.decoy_weight[v][j] for j in known], np.float32))
        np.testing.assert_array_equal(cells[:, v, 1], np.array([oracle.decoy_excess[v][j] for j in known], np.float32))
    assert state["shown_ids"].tolist() == [j for j, _ in oracle.shown]
    np.testing.assert_allclose(model.q_values_, oracle.q_values)
    ranks, stand_for = model._model.strongest_decoys(5)
    expected = sorted((rank for j in known if (rank := oracle.decoy_rank(j)) > 0), reverse=True)[:5]
    np.testing.assert_allclose(ranks, np.array(expected, np.float32))
    assert stand_for.tolist() == [1.0] * len(ranks)


@given(problems(n_classes=class_counts), budgets, norms, st.booleans(), st.booleans())
def test_equal_to_the_oracle(problem, budget, norm, has_intercept, keeps):
    X, y = problem
    keep = [0] if keeps else None
    model = ShadowSOFS(budget, norm=norm, fit_intercept=has_intercept, keep=keep, decoys=1.0, **IN_ORDER).fit(X, y)
    oracle = DecoysOracle(
        n_classes=len(set(y)), n_features_to_select=budget, norm=norm, fit_intercept=has_intercept, keep=keep, gamma=0.5
    )
    assert_equals_oracle(model, oracle.fit(X, y))


@given(problems(n_classes=st.integers(2, 3)), st.integers(2, 3))
def test_a_row_keeps_its_partner_in_later_passes(problem, n_passes):
    X, y = problem
    model = ShadowSOFS(5, n_passes=n_passes, random_state=0, refit=False, decoys=1.0).fit(X, y)
    random = np.random.default_rng(0)
    orders = [random.permutation(len(y)) for _ in range(n_passes)]
    partner = dict(zip(orders[0][1:], orders[0][:-1], strict=True))
    oracle = DecoysOracle(n_classes=len(set(y)), n_features_to_select=5, fit_intercept=True, gamma=0.5)
    for order in orders:
        for r in order:
            oracle.shown = []
            if r in partner:
                oracle.show(X[partner[r]].indices, X[partner[r]].data)
            oracle.step(X[r].indices.tolist(), X[r].data, int(y[r]), 1.0)
    known = learned(model)["decoy_ids"]
    assert known.tolist() == sorted(set().union(*oracle.decoy_excess))
    np.testing.assert_allclose(model.q_values_, oracle.q_values)


@given(problems(n_classes=class_counts), budgets, st.data())
def test_they_change_nothing_else(problem, budget, data):
    X, y = problem
    share = data.draw(st.sampled_from([True, 0.3, 1.0]))
    weights = data.draw(st.sampled_from([None, np.arange(len(y)) % 3]))
    with_decoys, without = (
        ShadowSOFS(budget, decoys=decoys).fit(X, y, sample_weight=weights) for decoys in (share, False)
    )
    nothing = {name: learned(without)[name] for name in DECOYS}
    assert_same_state({"learned": {**learned(with_decoys), **nothing}}, without)


@given(problems(n_classes=class_counts), st.lists(st.integers(0, 25)), st.integers(0, 2**32 - 1))
def test_any_batching_gives_the_same_bits(problem, cuts, seed):
    X, y = problem
    weights = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    weights[0] = 1.0
    whole = ShadowSOFS(3, decoys=1.0, **IN_ORDER).fit(X, y, sample_weight=weights)
    cut = ShadowSOFS(3, decoys=1.0, **IN_ORDER)
    bounds = sorted({0, len(y), *(min(each, len(y)) for each in cuts)})
    for begin, end in pairwise(bounds):
        cut.partial_fit(X[begin:end], y[begin:end], classes=np.unique(y), sample_weight=weights[begin:end])
        cut = pickle.loads(pickle.dumps(cut))
    assert_same_state(whole, cut)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_memory_gives_the_same_q_values(n_classes):
    X, y = random_problem(400, 300, 0.1, seed=1, n_classes=n_classes)
    models = [ShadowSOFS(20, decoys=1.0, memory=memory).fit(X, y) for memory in ("dense", "hash", "auto", "sketch")]
    for model in models[1:]:
        np.testing.assert_array_equal(model.q_values_, models[0].q_values_)


@pytest.mark.parametrize("given", [{}, {"passes": 3}, {"passes": 3, "shuffle": True}])
def test_a_stream_equals_a_matrix(tmp_path, given):
    X, y = random_problem(300, 100, 0.1, seed=2)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    model = ShadowSOFS(10, decoys=1.0, refit=False)
    train(model, open_stream(tmp_path / "rows.svm", zero_based=False), **{"passes": 1, "shuffle": False, **given})
    # What is read from text are the same numbers, with ids from 1.
    X = sp.hstack([sp.csr_matrix((300, 1)), X]).tocsr().astype(np.float32)
    fitted = ShadowSOFS(10, decoys=1.0, refit=False, n_passes=given.get("passes", 1), shuffle="shuffle" in given)
    fitted.fit(X, y)
    np.testing.assert_array_equal(model.selected_ + 1, fitted.selected_)
    np.testing.assert_array_equal(learned(model)["decoy_cells"], learned(fitted)["decoy_cells"])


@pytest.mark.parametrize("shuffle", [False, True])
def test_resume_equals_never_stopped(tmp_path, shuffle):
    X, y = random_problem(2_000, 100, 0.1, seed=3)
    stream, given = tmp_path / "rows.svm", {"shuffle": shuffle, "passes": 2}
    dump_svmlight_file(X, y, str(stream), zero_based=False)
    saving = {"checkpoint": tmp_path / "run.ckpt", "every": 300}

    def stop(history):
        if history.rows[-1] >= 2_500:
            raise RuntimeError("stopped")

    whole, stopped, resumed = (ShadowSOFS(10, max_fdr=0.5) for _ in range(3))
    train(whole, stream, **given)
    with pytest.raises(RuntimeError, match="stopped"):
        train(stopped, stream, **given, **saving, callback=stop)
    train(resumed, stream, **given, **saving, resume=True)
    assert_same_state(whole, resumed)


class TestShards:
    X, y, informative = datasets.make_x1(n_samples=8_000, random_state=2, return_informative=True)

    def trained(self, n_shards, syncs, **given):
        model = ShadowSOFS(300, max_fdr=0.1, n_passes=1, **given)
        distributed.train(model, (self.X, self.y), n_shards=n_shards, syncs=syncs, engine="local", workers=1)
        return model

    @pytest.mark.parametrize("memory", ["dense", "hash", "sketch"])
    def test_one_shard_is_one_pass(self, memory):
        in_order = ShadowSOFS(300, max_fdr=0.1, memory=memory, **IN_ORDER).fit(self.X, self.y)
        sharded = self.trained(1, 1, memory=memory)
        np.testing.assert_array_equal(np.sort(sharded.selected_), np.sort(in_order.selected_))
        np.testing.assert_allclose(np.sort(sharded.q_values_), np.sort(in_order.q_values_))

    def test_decoys_of_several_are_merged(self):
        model = self.trained(4, 8)
        assert 100 < len(model.selected_) < 300
        assert np.isin(model.selected_, self.informative).mean() > 0.8


class TestShare:
    X, y = random_problem(300, 20_000, 0.05, seed=4)

    def share(self, decoys, shift=0, **given):
        X = sp.csr_matrix((self.X.data, self.X.indices.astype(np.int64) + shift, self.X.indptr), (300, 20_000 + shift))
        return len(learned(ShadowSOFS(10, decoys=decoys, **given).fit(X, self.y))["decoy_ids"]) / 20_000

    def test_low_columns_have_one_each_and_others_one_in_eight(self):
        assert self.share(True) > 0.99
        assert 0.12 < self.share(True, shift=1 << 16) < 0.13
        assert 0.12 < self.share(True, shift=1 << 40, memory="hash") < 0.13

    def test_a_number_is_the_share(self):
        assert 0.24 < self.share(0.25) < 0.26
        assert 0.24 < self.share(0.25, shift=1 << 40, memory="hash") < 0.26
        assert self.share(1.0, shift=1 << 16) > 0.99

    def test_each_stands_for_those_without(self):
        """One decoy above all members counts for as many features as have none."""
        all_have, few_have = (ShadowSOFS(50, decoys=share).fit(self.X, self.y).q_values_ for share in (1.0, 0.125))
        assert abs(np.median(all_have) - np.median(few_have)) < 0.5
        assert few_have.min() >= min(1.0, 8 / 50)

    @pytest.mark.parametrize("memory", ["dense", "hash", "sketch"])
    def test_the_strongest_stand_for_those_without(self, memory):
        model = ShadowSOFS(50, decoys=0.125, memory=memory).fit(self.X, self.y)
        ranks, stand_for = model._model.strongest_decoys(30)
        assert len(ranks) == 30
        assert (np.diff(ranks) <= 0).all()
        assert set(stand_for.tolist()) == {8.0}
        least = [(1 + (ranks >= rank).sum()) * 8.0 / k for k, rank in enumerate(model._model.ranks(), 1)]
        assert (model.q_values_ <= np.minimum(1.0, least)).all()


class TestMaxFdr:
    X, y, informative = datasets.make_x1(n_samples=12_000, random_state=1, return_informative=True)
    X_test, y_test = datasets.make_x1(n_samples=2_000, random_state=1, start=12_000)

    def test_leaves_what_is_told_from_chance(self):
        model, every = (ShadowSOFS(400, **given).fit(self.X, self.y) for given in ({"max_fdr": 0.1}, {"decoys": True}))
        told = every.q_values_ <= 0.1
        np.testing.assert_array_equal(model.selected_, every.selected_[told])
        np.testing.assert_array_equal(model.q_values_, every.q_values_[told])
        assert np.isin(model.selected_, self.informative).mean() > 0.8
        assert model.score(self.X_test, self.y_test) > every.score(self.X_test, self.y_test)

    @pytest.mark.parametrize("how", [{}, {"memory": "hash"}, {"memory": "sketch"}, {"refit": False}, {"norm": None}])
    def test_everything_follows(self, tmp_path, how):
        model = ShadowSOFS(400, max_fdr=0.1, **how).fit(self.X, self.y)
        columns = np.sort(model.selected_)
        assert 0 < len(columns) < 400
        assert set(model.coef_.indices) <= set(columns)
        assert model.transform(self.X_test).shape == (2_000, len(columns))
        alone = self.X_test.tolil()
        alone[:, np.setdiff1d(np.arange(20_000), columns)] = 0
        margins = model.decision_function(self.X_test)
        np.testing.assert_array_equal(margins, model.decision_function(alone.tocsr()))
        save(model, tmp_path / "full.thresher")
        save_model(model._model, tmp_path / "compact.thresher", compact=True)
        for same in (
            load(tmp_path / "full.thresher"),
            load(tmp_path / "compact.thresher"),
            pickle.loads(pickle.dumps(model)),
        ):
            np.testing.assert_array_equal(same.selected_, model.selected_)
            np.testing.assert_array_equal(same.q_values_, model.q_values_)
            np.testing.assert_array_equal(same.decision_function(self.X_test), margins)

    def test_all_go_on_learning(self, tmp_path):
        first, rest = slice(0, 6_000), slice(6_000, None)
        stopped = ShadowSOFS(300, max_fdr=0.1, **IN_ORDER).partial_fit(self.X[first], self.y[first], classes=[-1, 1])
        save(stopped, tmp_path / "m.thresher")
        goes_on = load(tmp_path / "m.thresher").partial_fit(self.X[rest], self.y[rest])
        assert_same_state(goes_on, ShadowSOFS(300, max_fdr=0.1, **IN_ORDER).fit(self.X, self.y))

    def test_what_is_kept_stays_and_has_no_q_value(self):
        noise = np.setdiff1d(np.arange(20_000), self.informative)[:3]
        model = ShadowSOFS(300, max_fdr=0.1, keep=noise.tolist()).fit(self.X, self.y)
        is_kept = np.isin(model.selected_, noise)
        assert is_kept.sum() == 3
        np.testing.assert_array_equal(np.isnan(model.q_values_), is_kept)


def test_a_compact_file_has_the_q_values_although_it_has_no_decoys(tmp_path):
    """Also if all features are selected, so that it loses nothing else."""
    X, y = random_problem(400, 30, 0.5, seed=7)
    model = ShadowSOFS(40, decoys=True).fit(X, np.random.default_rng(0).permutation(y))
    save_model(model._model, tmp_path / "m.thresher", compact=True)
    np.testing.assert_array_equal(load(tmp_path / "m.thresher").q_values_, model.q_values_)


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False), (0.5, 0.25), (False, None)])
def test_decoys_begin_with_the_first_row(before, after):
    X, y = random_problem(100, 20, 0.3, seed=0)
    model = ShadowSOFS(5, decoys=before).partial_fit(X, y, classes=[-1, 1])
    changed = {"max_fdr": 0.1} if after is None else {"decoys": after}
    with pytest.raises(ValueError, match=r"which features have decoys can't be changed to decoys=.* use fit"):
        model.set_params(**changed).partial_fit(X, y)


def test_ctrl_c_leaves_a_trimmed_model(monkeypatch):
    X, y = TestMaxFdr.X, TestMaxFdr.y
    model = ShadowSOFS(400, max_fdr=0.1).partial_fit(X, y, classes=[-1, 1])
    n = len(model.selected_)
    assert n < 400
    calls = iter([None])

    def blocks(*_):
        yield 0, 1
        next(calls)
        raise KeyboardInterrupt

    # Between two blocks of rows Ctrl-C takes effect; a test can't press it there.
    monkeypatch.setattr("thresher.model.learning.blocks", blocks)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[:10], y[:10])
    assert 0 < len(model.selected_) < 400


class TestNothingTold:
    X, y = random_problem(500, 100, 0.1, seed=5)
    y = np.random.default_rng(0).permutation(y)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 500)

    def fitted(self, **given):
        with pytest.warns(UserWarning, match=r"No feature could be told from chance at max_fdr=0\.01"):
            return ShadowSOFS(20, max_fdr=0.01, **given).fit(self.X, self.y, sample_weight=self.weights)

    @pytest.mark.parametrize("how", [{}, {"fit_intercept": False}, {"refit": False}, {"class_weight": {1: 3.0}}])
    def test_it_predicts_the_weighted_frequencies(self, how, tmp_path):
        model = self.fitted(**how)
        assert len(model.selected_) == len(model.q_values_) == model.coef_.nnz == 0
        weights = self.weights * np.where(self.y == 1, 3.0 if "class_weight" in how else 1.0, 1.0)
        share = weights[self.y == 1].sum() / weights.sum()
        np.testing.assert_allclose(model.predict_proba(self.X), np.tile([1 - share, share], (500, 1)))
        np.testing.assert_allclose(model.decision_function(self.X), model.intercept_[0])
        save(model, tmp_path / "m.thresher")
        np.testing.assert_array_equal(load(tmp_path / "m.thresher").predict_proba(self.X), model.predict_proba(self.X))

    def test_many_classes(self):
        X, y = random_problem(500, 100, 0.1, seed=6, n_classes=4)
        y = np.random.default_rng(0).permutation(y)
        with pytest.warns(UserWarning, match="No feature could be told from chance"):
            model = ShadowSOFS(20, max_fdr=0.01).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.bincount(y) / 500)
        assert (model.predict(X) == np.bincount(y).argmax()).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_fdr": 0.0}, "max_fdr of ShadowSOFS must be None or a number above 0 and below 1. Got 0.0 instead."),
        ({"max_fdr": 1.5}, "Got 1.5 instead."),
        ({"decoys": 1.5}, "decoys of ShadowSOFS must be one of False, True, 1.0 or a number above 0 and below 1."),
        ({"decoys": "yes"}, "Got 'yes' instead."),
    ],
)
def test_bad_values(given, message):
    with pytest.raises(ValueError, match=f"^[^\n]*{re.escape(message)}[^\n]*$"):
        ShadowSOFS(5, **given).fit([[1.0], [2.0]], [0, 1])


def test_without_decoys_there_are_no_q_values():
    model = ShadowSOFS(5).fit(*random_problem(100, 20, 0.3, seed=0))
    with pytest.raises(AttributeError, match="fit with decoys=True"):
        _ = model.q_values_
    assert model._model.strongest_decoys(5) is None
    assert not hasattr(SOFS(5), "q_values_")


def test_clone_and_parameters():
    assert clone(ShadowSOFS(decoys=0.5, max_fdr=0.2)).get_params()["max_fdr"] == 0.2


@pytest.mark.parametrize("name", ["relathe", "pcmac"])
def test_permuted_labels_give_no_features(name):
    X, y = load_real(name)
    found = 0
    for seed in range(5):
        labels = np.random.default_rng(seed).permutation(y)
        model = ShadowSOFS(50, decoys=True).fit(X, labels)
        found += bool((model.q_values_ <= 0.1).any())
    assert found <= 1
