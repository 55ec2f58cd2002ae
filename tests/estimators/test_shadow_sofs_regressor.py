"""ShadowSOFSRegressor: equal to a naive implementation, to the bit, however rows arrive and wherever they are kept."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import NumbersOracle
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from states import assert_same_state, state_of
from strategies import TIES, budgets, problems, random_problem

from thresher import ShadowSOFSRegressor, datasets, distributed, load, open_stream, save, train
from thresher.io.model_files import save_model

pytestmark = [
    pytest.mark.filterwarnings("ignore:The precision of every feature"),
    pytest.mark.filterwarnings("ignore:all labels are"),
]

IN_ORDER = {"n_passes": 1, "shuffle": False, "refit": False}
norms = st.sampled_from(["mean", None])
numbers = st.floats(-1e6, 1e6).filter(lambda y: y == 0 or abs(y) > 1e-6)


@st.composite
def number_problems(draw, values=None, targets=numbers):
    """Draw rows of any shape, and a number for each."""
    X, _ = draw(problems() if values is None else problems(values, max_rows=60))
    y = draw(st.lists(targets, min_size=X.shape[0], max_size=X.shape[0]))
    return X, np.array(y)


def assert_equals_oracle(model, oracle, X) -> None:
    assert model.selected_.tolist() == oracle.selected
    learned = state_of(model)["learned"]
    cells = learned["predicting_cells"].reshape(-1, 2)
    known = learned["predicting_ids"].tolist()
    np.testing.assert_array_equal(cells[:, 0], np.array([oracle.w[j] for j in known], np.float32))
    np.testing.assert_array_equal(cells[:, 1], np.array([oracle.growth[j] for j in known], np.float32))
    np.testing.assert_allclose(model.predict(X), oracle.predict(X), rtol=1e-12, atol=1e-12)
    assert learned["counters"]["squared_error"] == pytest.approx(sum(oracle.squared_errors))


class TestOracle:
    @given(number_problems(), budgets, norms, st.booleans(), st.sampled_from([0.1, 0.5, 4.0]), st.booleans())
    def test_random_values(self, problem, budget, norm, fit_intercept, gamma, keeps):
        X, y = problem
        given = {"gamma": gamma, "norm": norm, "fit_intercept": fit_intercept, "keep": [0] if keeps else None}
        model = ShadowSOFSRegressor(budget, **given, **IN_ORDER).fit(X, y)
        assert_equals_oracle(model, NumbersOracle(budget, **given).fit(X, y), X)

    @given(number_problems(TIES, st.sampled_from([0.0, 1.0, 7.5])), budgets)
    def test_ties(self, problem, budget):
        X, y = problem
        model = ShadowSOFSRegressor(budget, **IN_ORDER).fit(X, y)
        assert_equals_oracle(model, NumbersOracle(budget, 0.5).fit(X, y), X)

    @given(number_problems(), budgets, st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=25, max_size=25))
    def test_sample_weight(self, problem, budget, weights):
        X, y = problem
        weights = np.array(weights[: X.shape[0]])
        weights[0] = 1.0
        model = ShadowSOFSRegressor(budget, **IN_ORDER).fit(X, y, sample_weight=weights)
        assert_equals_oracle(model, NumbersOracle(budget, 0.5).fit(X, y, weights), X)

    @given(number_problems(), budgets)
    def test_a_closing_pass(self, problem, budget):
        X, y = problem
        model = ShadowSOFSRegressor(budget, **{**IN_ORDER, "refit": True}).fit(X, y)
        oracle = NumbersOracle(budget, 0.5).fit(X, y)
        oracle.start_layer()
        assert_equals_oracle(model, oracle.fit(X, y, is_refit=True), X)

    @given(number_problems(), budgets, norms)
    def test_decoys(self, problem, budget, norm):
        X, y = problem
        model = ShadowSOFSRegressor(budget, norm=norm, decoys=1.0, **IN_ORDER).fit(X, y)
        oracle = NumbersOracle(budget, 0.5, norm=norm).fit(X, y)
        assert_equals_oracle(model, oracle, X)
        learned = state_of(model)["learned"]
        cells = learned["decoy_cells"].reshape(-1, 2)
        known = learned["decoy_ids"].tolist()
        # Of values that are too small to square, nothing is stored.
        assert known == sorted(j for j, excess in oracle.decoy_excess.items() if excess or oracle.decoy_weight[j])
        np.testing.assert_array_equal(cells[:, 0], np.array([oracle.decoy_weight[j] for j in known], np.float32))

    @pytest.mark.parametrize("norm", ["mean", None])
    def test_float64_agrees(self, norm):
        X, y = made(400, 200)
        model = ShadowSOFSRegressor(20, norm=norm, **IN_ORDER).fit(X, y)
        oracle = NumbersOracle(20, 0.5, norm=norm, dtype=np.float64).fit(X, y)
        assert sorted(model.selected_.tolist()) == sorted(oracle.selected)
        np.testing.assert_allclose(model.predict(X), oracle.predict(X), rtol=1e-3, atol=1e-3)


def made(n_rows: int, n_features: int, seed: int = 0, noise: float = 0.1):
    """Return sparse rows, and numbers that ten columns decide."""
    X, _ = random_problem(n_rows, n_features, 0.1, seed)
    random = np.random.default_rng(seed)
    truth = np.where(np.arange(n_features) < 10, random.standard_normal(n_features), 0.0)
    return X, 100.0 + X @ truth + noise * random.standard_normal(n_rows)


@given(number_problems(), budgets, st.lists(st.integers(0, 25)))
def test_any_batching_gives_the_same_bits(problem, budget, cuts):
    X, y = problem
    whole = ShadowSOFSRegressor(budget, decoys=1.0, **IN_ORDER).fit(X, y)
    cut = ShadowSOFSRegressor(budget, decoys=1.0, **IN_ORDER)
    for begin, end in pairwise(sorted({0, len(y), *(min(each, len(y)) for each in cuts)})):
        cut.partial_fit(X[begin:end], y[begin:end])
        cut = pickle.loads(pickle.dumps(cut))
    assert_same_state(whole, cut)


@given(number_problems(), budgets, st.integers(-10, 10), norms)
def test_predictions_scale_with_the_numbers(problem, budget, power, norm):
    """By a power of two nothing is rounded, so the selection is the same and predictions are exact multiples."""
    X, y = problem
    factor = 2.0**power
    one = ShadowSOFSRegressor(budget, norm=norm).fit(X, y)
    other = ShadowSOFSRegressor(budget, norm=norm).fit(X, factor * y)
    np.testing.assert_array_equal(other.selected_, one.selected_)
    np.testing.assert_array_equal(other.predict(X), factor * one.predict(X))


@given(number_problems(), budgets)
def test_predictions_depend_on_the_selected_columns_alone(problem, budget):
    X, y = problem
    model = ShadowSOFSRegressor(budget).fit(X, y)
    others_zero = sp.csr_matrix(X.multiply(np.isin(np.arange(X.shape[1]), model.selected_)))
    np.testing.assert_array_equal(model.predict(others_zero), model.predict(X))


@given(number_problems(), budgets, norms, st.booleans())
def test_weights_are_in_the_units_of_the_columns(problem, budget, norm, fit_intercept):
    X, y = problem
    model = ShadowSOFSRegressor(budget, norm=norm, fit_intercept=fit_intercept).fit(X, y)
    expected = X.astype(np.float64) @ model.coef_.toarray()[0] + model.intercept_[0]
    scale = max(1.0, float(np.abs(y).max()))
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-4, atol=1e-4 * scale)
    parts = [sum(part for _, part in row) for row in model.explain(X, n=None)]
    np.testing.assert_allclose(parts, model.predict(X), rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("memory", ["hash", "auto", "sketch"])
def test_every_memory_gives_the_same_model(memory):
    X, y = made(600, 300)
    dense, other = (ShadowSOFSRegressor(15, memory=each, decoys=1.0).fit(X, y) for each in ("dense", memory))
    np.testing.assert_array_equal(other.selected_, dense.selected_)
    np.testing.assert_array_equal(other.predict(X), dense.predict(X))
    np.testing.assert_array_equal(other.q_values_, dense.q_values_)


@pytest.mark.parametrize("given", [{}, {"gamma": "auto"}, {"decoys": True}, {"memory": "sketch"}])
def test_saved_pickled_and_cloned(tmp_path, given):
    X, y = made(600, 100)
    model = ShadowSOFSRegressor(10, **given).fit(X, y)
    save(model, tmp_path / "m.thresher")
    save_model(model._model, tmp_path / "compact.thresher", compact=True)
    for other in (pickle.loads(pickle.dumps(model)), load(tmp_path / "m.thresher")):
        assert_same_state(other, model)
    compact = load(tmp_path / "compact.thresher")
    np.testing.assert_array_equal(compact.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_stream_equals_a_matrix(tmp_path, shuffle):
    X, y = made(300, 100)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"))
    read = ShadowSOFSRegressor(10, n_passes=2)
    train(read, open_stream(tmp_path / "rows.svm", zero_based=True), shuffle=shuffle)
    X, y = open_stream(tmp_path / "rows.svm", zero_based=True).to_csr()[:2]  # with the digits of the text
    assert_same_state(ShadowSOFSRegressor(10, n_passes=2, shuffle=shuffle).fit(X, y), read)


class TestShards:
    def test_one_shard_is_training_alone(self):
        X, y = made(500, 100)
        alone, shard = (ShadowSOFSRegressor(10, n_passes=1, decoys=True) for _ in range(2))
        train(alone, (X, y), shuffle=False)
        distributed.train(shard, (X, y), n_shards=1, syncs=1, engine="local")
        np.testing.assert_array_equal(shard.selected_, alone.selected_)
        np.testing.assert_allclose(shard.predict(X), alone.predict(X), rtol=1e-5)

    def test_many_are_about_as_good(self):
        X, y = made(8_000, 200, noise=0.5)
        X_test, y_test = X[6_000:], y[6_000:]
        scores = []
        for n_shards in (1, 4, 16):
            model = ShadowSOFSRegressor(15, n_passes=1, refit=False)
            history = distributed.train(model, (X[:6_000], y[:6_000]), n_shards=n_shards, syncs=8, engine="local")
            assert history.rows[-1] == 6_000
            assert model.intercept_[0] == pytest.approx(y[:6_000].mean(), abs=0.1)
            scores.append(model.score(X_test, y_test))
        assert min(scores) > scores[0] - 0.03

    def test_a_closing_pass_counts_each_row_once(self):
        X, y = made(1_000, 100)
        model = ShadowSOFSRegressor(10, n_passes=1, refit=True)
        distributed.train(model, (X, y), n_shards=4, syncs=4, engine="local")
        lengths = state_of(model)["learned"]["learner"]
        assert lengths["target_weight"] == 1_000
        assert lengths["member_rows"] == (X[:, model.selected_].getnnz(axis=1) > 0).sum()


def test_sorted_rows_are_shuffled(tmp_path):
    X, y = made(2_000, 100)
    order = np.argsort(y)
    dump_svmlight_file(X[order], y[order], str(tmp_path / "rows.svm"))
    model = ShadowSOFSRegressor(10, n_passes=1)
    with pytest.warns(UserWarning, match=r"grouped by label \(targets up to .* Training starts again"):
        history = train(model, tmp_path / "rows.svm")
    assert history.shuffled
    with pytest.warns(UserWarning, match="grouped by label"):
        ShadowSOFSRegressor(10, shuffle=False).fit(X[order], y[order])


def test_a_large_mean_loses_no_digits():
    X, y = made(2_000, 50)
    near, far = (ShadowSOFSRegressor(10).fit(X[:1_500], y[:1_500] + shift) for shift in (0.0, 1e9))
    assert far.score(X[1_500:], y[1_500:] + 1e9) == pytest.approx(near.score(X[1_500:], y[1_500:]), abs=0.01)


def test_wide_dense_rows():
    """On few rows with many columns the second layer is what makes predictions as good as a ridge's."""
    scores = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        X = random.standard_normal((1_500, 5_000)).astype(np.float32)
        y = X[:, :10] @ random.choice([-1.0, 1.0], 10) + 0.5 * random.standard_normal(1_500)
        model = ShadowSOFSRegressor(20).fit(X[:500], y[:500])
        ridge = Ridge().fit(model.transform(X[:500]), y[:500])
        scores.append((model.score(X[500:], y[500:]), ridge.score(model.transform(X[500:]), y[500:])))
    ours, of_ridge = np.mean(scores, axis=0)
    assert ours >= of_ridge - 0.03


def test_gamma_is_chosen_by_squared_error():
    X, y = made(3_000, 200, noise=1.0)
    model = ShadowSOFSRegressor(10, gamma="auto", n_passes=1, shuffle=False).fit(X, y)
    race = model._model.race
    (left,) = set(race[-1]["gamma"]) - set(race[-1]["dropped"])
    assert model.gamma_ == left
    each = {gamma: ShadowSOFSRegressor(10, gamma=gamma, **IN_ORDER).fit(X[:512], y[:512]) for gamma in race[0]["gamma"]}
    errors = [state_of(model)["learned"]["counters"]["squared_error"] for model in each.values()]
    np.testing.assert_allclose(race[0]["mistakes"], errors)


def test_max_fdr_without_a_signal_leaves_the_mean():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((400, 30)), 5.0 + random.standard_normal(400)
    with pytest.warns(UserWarning, match="predictions are the mean of the labels"):
        model = ShadowSOFSRegressor(5, max_fdr=0.05).fit(X, y)
    assert len(model.selected_) == 0
    np.testing.assert_allclose(model.predict(X), y.mean())


class TestBadLabels:
    def test_all_alike(self, tmp_path):
        (tmp_path / "rows.svm").write_text("2.5 1:1\n2.5 2:1\n2.5 1:2\n")
        with pytest.warns(UserWarning, match=r"all labels are 2\.5"):
            model = ShadowSOFSRegressor(1).fit(np.eye(3), [2.5] * 3)
        np.testing.assert_array_equal(model.predict(np.eye(3)), 2.5)
        with pytest.warns(UserWarning, match=r"all labels are 2\.5"):
            history = train(ShadowSOFSRegressor(1), tmp_path / "rows.svm")
        assert (history.error[-1], history.remarks) == (1.0, [])

    def test_dates(self):
        with pytest.raises(ValueError, match=r"y\[0\]: the label 2020-01-01 is a date"):
            ShadowSOFSRegressor(1).fit(np.eye(2), np.array(["2020-01-01", "2020-01-02"], "M8[D]"))

    def test_in_arrays(self):
        X = np.ones((3, 2))
        for y, message in (
            (["a", "b", "c"], r"could not convert|y\[0\]: the label 'a' is not a number"),
            ([1.0, np.nan, 2.0], "NaN"),
            ([1.0, 2.0, 3e12], r"y\[2\]: the label 3e\+12 is larger than 1e\+12"),
            ([1e-13, 1e-14, 0.0], "no label is larger than 1e-13"),
        ):
            with pytest.raises(ValueError, match=message):
                ShadowSOFSRegressor(1).fit(X, y)

    def test_in_files(self, tmp_path):
        path = tmp_path / "rows.svm"
        for label, message in (("spam", "line 2: the label 'spam' is not a number"), ("4e12", "line 2: the label 4e")):
            path.write_text(f"1.5 1:1\n{label} 2:1\n2.5 1:2\n")
            with pytest.raises(ValueError, match=message):
                train(ShadowSOFSRegressor(1), path)

    def test_classes_are_refused(self):
        X, y = made(20, 5)
        with pytest.raises(ValueError, match=r"classes=.* can't be used where numbers are predicted"):
            train(ShadowSOFSRegressor(1), (X, y), classes=[0, 1])
        with pytest.raises(ValueError, match=r"multiclass=True can't be used where numbers are predicted"):
            train(ShadowSOFSRegressor(1), (X, y), multiclass=True)


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a row of weight 2 takes one larger step; two equal rows take two steps, the second from where the first led"
    ),
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
}


@parametrize_with_checks([ShadowSOFSRegressor()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_r2_is_scikit_learns():
    X, y = made(500, 50)
    model = ShadowSOFSRegressor(10).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) == r2_score(y[400:], model.predict(X[400:]))


def test_chance_finds():
    """Planted weights on the columns of X1, with noise of the signal's size."""
    X, _, informative = datasets.make_x1(20_000, return_informative=True)
    shares = {0.05: [], 0.1: [], 0.2: []}
    for seed in range(3):
        random = np.random.default_rng(seed)
        signal = X[:, informative] @ random.standard_normal(len(informative))
        y = signal + signal.std() * random.standard_normal(X.shape[0])
        model = ShadowSOFSRegressor(400, decoys=True, n_passes=1, random_state=seed).fit(X, y)
        is_chance = ~np.isin(model.selected_, informative)
        for limit, found in shares.items():
            told = model.q_values_ <= limit
            found.append(is_chance[told].mean() if told.any() else 0.0)
    means = {limit: float(np.mean(found)) for limit, found in shares.items()}
    assert all(share <= limit + 0.02 for limit, share in means.items())
