"""What holds for every online estimator: it equals its oracle, and however rows arrive the bits are the same."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from every import (
    ONLINE,
    applicable,
    budgeted,
    in_order,
    made,
    new_model,
    online,
    own_parameters,
    rate_of,
    row_of,
    second_order,
)
from hypothesis import given
from hypothesis import strategies as st
from oracles import ORACLES
from real_data import split
from scipy.special import log_softmax
from states import OF_MARGINS, assert_same_scale, assert_same_state, model_of, state_of
from strategies import TIES, budgets, class_counts, norms, problems, random_problem

from thresher import FOFS, ShadowSOFS, _core, datasets, load, methods, save, train
from thresher.model import learning
from thresher.model.model import Model

# Rows of values too small to square.
pytestmark = pytest.mark.filterwarnings("ignore:The precision of every feature")


def test_every_estimator_has_an_oracle():
    assert {estimator.__name__ for estimator in ONLINE} == set(ORACLES)


# Counters that ShadowSOFS leaves alone when rows come again.
OF_FIRST_READINGS = ("n_predicted", "n_mistakes", "error", "n_undecided_first", "n_undecided_second")


def with_oracle(estimator, budget, n_classes=2, dtype=None, **given):
    """Return an estimator that learns the rows in their order, and its oracle with the same parameters."""
    model = in_order(estimator, budget, **given)
    method, asked = row_of(estimator), model.get_params()
    steps = {*method.kernel_parameters(asked), *methods.BUDGET, "norm", "fit_intercept"}
    parameters = {name: value for name, value in asked.items() if name in steps}
    return model, ORACLES[estimator.__name__](n_classes=n_classes, dtype=dtype or np.float32, **parameters)


@cache
def real_oracle(estimator, name: str, n_rows: int, budget: int):
    X, y, _, _ = split(name, n_rows, 0)
    classes, codes = np.unique(y, return_inverse=True)
    return with_oracle(estimator, budget, len(classes))[1].fit(X, codes)


def assert_equals_oracle(model, oracle) -> None:
    columns, weights = model_of(model).members()
    assert (model.n_updates_, model.n_mistakes_) == (oracle.n_updates, oracle.n_mistakes)
    if oracle.dtype is np.float32:
        assert columns.tolist() == oracle.selected
        # FOFS updates its norm, the oracle sums all of it again: the last bit of the common scalar can differ, and the
        # last bits of a weight that is almost too small for a float32 are a large part of it.
        near = {"rtol": 1e-6, "atol": 4 * np.finfo(np.float32).smallest_subnormal} if isinstance(model, FOFS) else {}
        np.testing.assert_allclose(weights, oracle.weights, **{"rtol": 0, **near})
        np.testing.assert_array_equal(model.intercept_, np.array(oracle.intercept, dtype=float))
        assert_same_scale(model, oracle.margins)
        return
    assert sorted(columns.tolist()) == sorted(oracle.selected)
    by_column = dict(zip(oracle.selected, oracle.weights, strict=True))
    expected = np.array([by_column[column] for column in columns.tolist()]).reshape(weights.shape)
    np.testing.assert_allclose(weights, expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, oracle.intercept, rtol=1e-3, atol=1e-3)


def assert_same_bits(a, b) -> None:
    assert_same_state(a, b)
    np.testing.assert_array_equal(a.selected_, b.selected_)


@online
class TestOracle:
    """The product has the members and the weights of a naive implementation, to the bit (FOFS: nearly so)."""

    @given(st.data(), problems(n_classes=class_counts), budgets, norms, st.booleans())
    def test_random_values(self, estimator, data, problem, budget, norm, fit_intercept):
        X, y = problem
        given = {"norm": norm, "fit_intercept": fit_intercept, **data.draw(own_parameters(estimator))}
        model, oracle = with_oracle(estimator, budget, len(np.unique(y)), **given)
        assert_equals_oracle(model.fit(X, y), oracle.fit(X, y))

    @given(st.data(), problems(TIES, max_rows=60, n_classes=class_counts), budgets, norms)
    def test_ties(self, estimator, data, problem, budget, norm):
        X, y = problem
        given = {"norm": norm, **data.draw(own_parameters(estimator))}
        model, oracle = with_oracle(estimator, budget, len(np.unique(y)), **given)
        assert_equals_oracle(model.fit(X, y), oracle.fit(X, y))

    @given(
        problems(n_classes=class_counts),
        budgets,
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=25, max_size=25),
    )
    def test_sample_weight(self, estimator, problem, budget, weights):
        X, y = problem
        weights = np.array(weights[: X.shape[0]])
        weights[0] = 1.0
        model, oracle = with_oracle(estimator, budget, len(np.unique(y)))
        assert_equals_oracle(model.fit(X, y, sample_weight=weights), oracle.fit(X, y, weights))
        assert model.n_samples_seen_ == np.count_nonzero(weights)

    @pytest.mark.slow
    @pytest.mark.parametrize("budget", [1, 100])
    @pytest.mark.parametrize(("name", "n_rows"), [("basehock", 150), ("news20.multiclass", 50)])
    def test_real_data(self, estimator, simd, name, n_rows, budget):
        X, y, _, _ = split(name, n_rows, 0)
        assert_equals_oracle(in_order(estimator, budget).fit(X, y), real_oracle(estimator, name, n_rows, budget))

    @pytest.mark.parametrize("norm", ["l2", None])
    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_float64_agrees(self, estimator, norm, n_classes):
        X, y = random_problem(400, 200, 0.1, seed=7, n_classes=n_classes)
        model, oracle = with_oracle(estimator, 20, n_classes, dtype=np.float64, norm=norm)
        assert_equals_oracle(model.fit(X, y), oracle.fit(X, np.maximum(y, 0)))

    def test_float64_agrees_on_ties(self, estimator):
        random = np.random.default_rng(3)
        X = sp.csr_matrix((random.random((300, 60)) < 0.2).astype(np.float32))
        y = (X[:, :30].sum(1).A1 > X[:, 30:].sum(1).A1).astype(int)
        model, oracle = with_oracle(estimator, 15, dtype=np.float64, norm=None)
        assert_equals_oracle(model.fit(X, y), oracle.fit(X, y))


@online
class TestSameBits:
    """However the rows arrive, the result is the same to the bit."""

    @given(problems(max_rows=40, n_classes=class_counts), budgets, st.lists(st.integers(1, 12), min_size=40))
    def test_any_batching(self, estimator, problem, budget, sizes):
        X, y = problem
        whole = in_order(estimator, budget, fit_intercept=True).fit(X, y)
        parts, at = in_order(estimator, budget, fit_intercept=True), 0
        for size in sizes:
            if at < X.shape[0]:
                parts.partial_fit(X[at : at + size], y[at : at + size], classes=np.unique(y))
            at += size
        assert_same_bits(whole, parts)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_blocks_of_a_long_fit(self, estimator, monkeypatch, n_classes):
        X, y = random_problem(500, 100, 0.1, seed=1, n_classes=n_classes)
        whole = made(estimator, 20).fit(X, y)
        monkeypatch.setattr("thresher.batch.BLOCK_NONZEROS", 37)
        assert_same_bits(whole, made(estimator, 20).fit(X, y))

    @given(problems(n_classes=class_counts), budgets)
    def test_id_width(self, estimator, problem, budget):
        X, y = problem
        wide = X.copy()
        wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        assert_same_bits(made(estimator, budget).fit(X, y), made(estimator, budget).fit(wide, y))

    @given(problems(), budgets)
    def test_value_width_and_container(self, estimator, problem, budget):
        X, y = problem
        model = made(estimator, budget).fit(X, y)
        for form in (X.astype(np.float64), sp.csr_array(X), X.tocsc(), X.toarray()):
            assert_same_bits(model, made(estimator, budget).fit(form, y))

    @pytest.mark.parametrize("fit_intercept", [False, True])
    def test_stored_zeros_do_not_matter(self, estimator, fit_intercept):
        """They shift the values behind them, and with them the places where sums are rounded."""
        X, y = random_problem(400, 60, 0.4, seed=8)
        X.data *= 10.0 ** np.random.default_rng(0).integers(-6, 6, len(X.data)).astype(np.float32)
        X.data[::3] = 0.0
        without = X.copy()
        without.eliminate_zeros()
        for norm in ("l2", None):
            one, other = (made(estimator, 7, norm=norm, fit_intercept=fit_intercept).fit(Z, y) for Z in (X, without))
            assert_same_bits(one, other)
            np.testing.assert_array_equal(one.decision_function(X), one.decision_function(without))

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_simd_path(self, estimator, simd, n_classes):
        X, y = datasets.make_x1(2_000, n_features=3_000, permute=True)
        if n_classes > 2:
            y = y + (np.arange(len(y)) % 5 == 0)
        _core.use_simd("scalar")
        scalar = made(estimator, 150, fit_intercept=True).fit(X, y)
        margins = scalar.decision_function(X)
        _core.use_simd(simd)
        assert_same_bits(scalar, made(estimator, 150, fit_intercept=True).fit(X, y))
        np.testing.assert_array_equal(margins, scalar.decision_function(X))

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_prefix_purity(self, estimator, n_classes):
        """The model after n rows does not depend on later rows."""
        X, y = random_problem(200, 50, 0.2, seed=5, n_classes=n_classes)
        model = in_order(estimator, 10)
        for begin, end in itertools.pairwise([0, n_classes, 40, 41, 100, 200]):
            model.partial_fit(X[begin:end], y[begin:end], classes=np.unique(y))
            assert_same_bits(in_order(estimator, 10).fit(X[:end], y[:end]), model)

    def test_unsorted_and_repeated_ids(self, estimator):
        X, y = random_problem(100, 50, 0.2, seed=2)
        messy = X.copy()
        for r in range(100):
            row = slice(X.indptr[r], X.indptr[r + 1])
            messy.indices[row] = X.indices[row][::-1]
            messy.data[row] = X.data[row][::-1]
        before = messy.indices.copy()
        model = in_order(estimator, 10).fit(X, y)
        assert_same_bits(model, in_order(estimator, 10).fit(messy, y))
        assert_same_bits(model, in_order(estimator, 10).partial_fit(messy, y, classes=[-1, 1]))
        np.testing.assert_array_equal(messy.indices, before)  # the caller's matrix does not change
        twice = sp.csr_matrix((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        assert_same_bits(model, in_order(estimator, 10).fit(twice, y))
        # Also where each draw changes the generator.
        shuffled = [
            made(estimator, 10, random_state=np.random.RandomState(0)).fit(rows, y) for rows in (X, messy, twice)
        ]
        assert_same_bits(shuffled[0], shuffled[1])
        assert_same_bits(shuffled[0], shuffled[2])

    def test_passes_and_shuffle(self, estimator):
        X, y = random_problem(300, 60, 0.2, seed=6)
        twice = in_order(estimator, 10, n_passes=2).fit(X, y)
        states = [
            state_of(each) for each in (twice, made(estimator, 10).partial_fit(X, y, classes=[-1, 1]).partial_fit(X, y))
        ]
        for state in states:  # to partial_fit all rows are new
            for name in (*OF_MARGINS, *(OF_FIRST_READINGS if estimator is ShadowSOFS else ())):
                del state["learned"]["counters"][name]
        assert_same_state(*states)
        order = np.random.default_rng(5).permutation(300)
        shuffled = in_order(estimator, 10, shuffle=True, random_state=5).fit(X, y)
        assert_same_bits(shuffled, in_order(estimator, 10).fit(X[order], y[order]))


@budgeted
class TestBudget:
    @given(problems(max_rows=40, n_classes=class_counts), budgets)
    def test_at_every_moment(self, estimator, problem, budget):
        X, y = problem
        model = estimator(budget)
        for r in range(X.shape[0]):
            model.partial_fit(X[r], y[r : r + 1], classes=np.unique(y))
            assert len(model.selected_) <= budget
            assert len(np.unique(model.coef_.nonzero()[1])) <= budget
            assert len(set(model.selected_.tolist())) == len(model.selected_)

    def test_share(self, estimator):
        X, y = random_problem(100, 50, 0.5, seed=0)
        assert len(estimator(0.1).fit(X, y).selected_) == 5
        assert len(estimator(0.999).fit(X, y).selected_) == 49
        assert len(estimator(0.001).fit(X, y).selected_) == 1

    def test_more_than_there_are(self, estimator):
        X, y = random_problem(100, 50, 0.5, seed=0)
        everything = estimator(50).fit(X, y)
        np.testing.assert_array_equal(estimator(10**12).fit(X, y).selected_, everything.selected_)


@online
class TestClasses:
    @given(problems(n_classes=class_counts), budgets, norms, st.booleans())
    def test_predict_follows_the_decision_function(self, estimator, problem, budget, norm, fit_intercept):
        X, y = problem
        model = made(estimator, budget, norm=norm, fit_intercept=fit_intercept).fit(X, y)
        scores = model.decision_function(X)
        places = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[places.astype(int)])

    @given(problems(n_classes=class_counts), st.booleans())
    def test_scores_are_weights_times_rows(self, estimator, problem, fit_intercept):
        X, y = problem
        model = made(estimator, 7, norm=None, fit_intercept=fit_intercept).fit(X, y)
        by_hand = X.astype(float) @ model.coef_.toarray().T + model.intercept_
        scores = model.decision_function(X)
        np.testing.assert_allclose(scores.reshape(by_hand.shape), by_hand, rtol=1e-4, atol=1e-4)

    def test_one_set_for_all_classes(self, estimator):
        X, y = random_problem(400, 60, 0.3, seed=3, n_classes=4)
        model = made(estimator, 9).fit(X, y)
        assert model.coef_.shape == (4, 60)
        assert model.intercept_.shape == (4,)
        assert set(model.coef_.indices.tolist()) == set(model.selected_.tolist())
        assert model.transform(X).shape == (400, len(model.selected_))

    def test_a_class_that_never_comes(self, estimator):
        """A third class without rows still takes part: rows must be separated from it too."""
        X, y = random_problem(300, 40, 0.3, seed=8)
        model, oracle = with_oracle(estimator, 10, n_classes=3)
        model.partial_fit(X, y, classes=[-1, 1, 7])
        assert model.classes_.tolist() == [-1, 1, 7]
        assert model.decision_function(X).shape == (300, 3)
        assert_equals_oracle(model, oracle.fit(X, np.maximum(y, 0)))

    def test_order_of_labels_and_their_type(self, estimator):
        X, y = random_problem(200, 40, 0.3, seed=4, n_classes=3)
        names = np.array(["oak", "ash", "elm"])
        model = made(estimator, 10).fit(X, names[y])
        assert model.classes_.tolist() == ["ash", "elm", "oak"]
        as_numbers = made(estimator, 10).fit(X, np.argsort(np.argsort(names))[y])
        np.testing.assert_array_equal(model.decision_function(X), as_numbers.decision_function(X))


@second_order
class TestExtremes:
    @pytest.mark.filterwarnings("ignore:The precision of every feature")
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_weights_stay_finite(self, estimator, n_classes):
        X, y = random_problem(200, 30, 0.3, seed=4, n_classes=n_classes)
        random = np.random.default_rng(0)
        mixed = X.copy()
        mixed.data = (np.sign(X.data) * 10.0 ** random.uniform(-30, 18, X.nnz)).astype(np.float32)
        weights = 10.0 ** random.uniform(-20, 20, len(y))
        for rows, norm, gamma, weight in itertools.product(
            (X, X * np.float32(1e17), mixed), ("l2", None), (1e-300, 1e-30, 1e-10, 1e30, 1e300), (1e-39, 1e39, weights)
        ):
            model = made(estimator, 10, gamma=gamma, norm=norm).fit(rows, y, sample_weight=weight)
            assert np.isfinite(model.coef_.data).all()
            assert np.isfinite(model.decision_function(X)).all()


@online
class TestProbabilities:
    @given(problems(n_classes=class_counts), st.booleans())
    def test_sum_to_one_and_agree_with_predict(self, estimator, problem, fit_intercept):
        X, y = problem
        model = made(estimator, 7, fit_intercept=fit_intercept).fit(X, y)
        chances = model.predict_proba(X)
        assert chances.shape == (X.shape[0], len(model.classes_))
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_the_scale_learns_from_new_rows_only(self, estimator, n_classes):
        X, y = random_problem(500, 100, 0.1, n_classes=n_classes, seed=1)
        scales = [model_of(in_order(estimator, 30, n_passes=n).fit(X, y)).counters["margin_scale"] for n in (1, 3)]
        assert scales[0] == scales[1]

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_the_scale_is_that_of_the_margins_before_learning(self, estimator, n_classes):
        """Its log loss on them is nearly the least that any scale has."""
        X, y = random_problem(2_000, 300, 0.1, n_classes=n_classes, seed=1)
        model = new_model(made(estimator, 30))
        margins = []
        for r in range(X.shape[0]):
            if r > 0:
                margins.append(np.atleast_2d(model.decision_function(X[r]))[0])
            learning.partial_fit(model, X[r], y[r : r + 1], classes=np.unique(y))
        scores = np.array(margins)
        if n_classes == 2:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        truth = np.searchsorted(model.target.labels, y[1:])
        counted = np.arange(2, X.shape[0] + 1) ** (2.0 if estimator is ShadowSOFS else 0.0)

        def log_loss(scale: float) -> float:
            return -np.average(log_softmax(scale * scores, axis=1)[np.arange(len(truth)), truth], weights=counted)

        best = min(log_loss(2.0**power) for power in np.arange(-8, 8, 0.1))
        assert log_loss(model.counters["margin_scale"]) < 1.02 * best


@online
class TestKeeping:
    @pytest.mark.parametrize("n_classes", [2, 4])
    @pytest.mark.parametrize("way", ["file", "pickle", "copy"])
    def test_what_was_kept_goes_on_like_the_original(self, estimator, n_classes, way, tmp_path):
        X, y = random_problem(300, 50, 0.3, seed=9, n_classes=n_classes)
        model = in_order(estimator, 7, fit_intercept=True).partial_fit(X[:150], y[:150], classes=np.unique(y))
        if way == "file":
            save(model, tmp_path / "model.thresher")
            twin = load(tmp_path / "model.thresher")
        else:
            twin = pickle.loads(pickle.dumps(model)) if way == "pickle" else copy.deepcopy(model)
        assert type(twin) is estimator
        assert twin.get_params() == model.get_params()
        np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
        for each in (model, twin):
            each.partial_fit(X[150:], y[150:])
        assert_same_bits(model, twin)
        assert_same_bits(model, in_order(estimator, 7, fit_intercept=True).fit(X, y))

    @pytest.mark.parametrize("size", [1e-17, 1e9, 1e17])
    def test_values_of_any_size_can_be_kept(self, estimator, size, tmp_path):
        X, y = random_problem(60, 10, 0.5, seed=9)
        model = made(estimator, 7, norm=None).fit(X * np.float32(size), y)
        save(model, tmp_path / "model.thresher")
        assert_same_bits(load(tmp_path / "model.thresher"), model)

    def test_parameters_that_changed_are_those_it_goes_on_with(self, estimator):
        rate = rate_of(estimator)
        stream = datasets.make_x2(500, n_features=2_000, n_informative=50)
        by_train, by_hand = made(estimator, 7), made(estimator, 7)
        for model in (by_train, by_hand):
            train(model, stream)
            model.set_params(**{rate: 0.125})
        train(by_train, stream)
        for rows, labels in stream:
            by_hand.partial_fit(rows[:, : by_hand.n_features_in_], labels)
        assert model_of(by_train).parameters[rate] == 0.125
        np.testing.assert_array_equal(by_train.selected_, by_hand.selected_)

    def test_a_failed_batch_does_not_change_parameters(self, estimator):
        X, y = random_problem(60, 10, 0.5, seed=9)
        model = made(estimator, 7).fit(X, y)
        before = dict(model_of(model).parameters)
        bad = X.copy()
        bad.data[3] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model.set_params(fit_intercept=True).partial_fit(bad, y)
        assert model_of(model).parameters == before

    def test_ctrl_c_in_fit_keeps_the_old_model(self, estimator, monkeypatch):
        X, y = random_problem(60, 10, 0.5, seed=9)
        model = made(estimator, 7).fit(X, y)

        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(learning, "fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(pd.DataFrame(X.toarray()[:, :4], columns=list("abcd")), y)
        assert model.predict(X).shape == (60,)
        assert not hasattr(model, "feature_names_in_")

    def test_a_stream_learns_the_same(self, estimator, tmp_path):
        X, y = random_problem(300, 50, 0.3, seed=9, n_classes=3)
        path = tmp_path / "rows.svm"
        lines = []
        for r in range(300):
            row = slice(X.indptr[r], X.indptr[r + 1])
            pairs = zip(X.indices[row] + 1, X.data[row], strict=True)
            lines.append(" ".join([str(y[r]), *(f"{j}:{float(x)!r}" for j, x in pairs)]))
        path.write_text("\n".join(lines) + "\n")
        direct = in_order(estimator, 7).fit(X, y)
        for asked in ({"classes": [0, 1, 2]}, {"multiclass": True}):
            model = in_order(estimator, 7)
            train(model, path, **asked)
            np.testing.assert_array_equal(model.selected_, direct.selected_)
            np.testing.assert_array_equal(model.coef_.toarray(), direct.coef_.toarray()[:, : model.n_features_in_])


@pytest.mark.slow
@online
def test_memory_does_not_grow_with_the_rows(estimator):
    """The state is for features, not for rows: ten times the rows take no more memory."""
    code = f"""
import resource
import numpy as np
from thresher import datasets, {estimator.__name__} as Estimator
two, three = (Estimator(**{applicable(estimator, 100)!r}) for _ in range(2))
def learn(first, n):
    for start in range(first, first + n, 500):
        X, y = datasets.make_x1(500, start=start)
        two.partial_fit(X, y, classes=[-1, 1])
        three.partial_fit(X, np.arange(500) % 3, classes=[0, 1, 2])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
before = learn(0, 1_000)
print(learn(1_000, 9_000) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) < 10  # MB


@online
def test_the_learner_is_the_kind_for_its_classes(estimator):
    """Two classes keep one vector, whether they were found or named."""
    X, y = random_problem(100, 30, 0.3, seed=1)
    found, named = in_order(estimator, 5).fit(X, y), in_order(estimator, 5).partial_fit(X, y, classes=[-1, 1])
    assert_same_bits(found, named)
    assert found.coef_.shape == (1, 30)
    assert isinstance(model_of(found), Model)
    state = state_of(found)["learned"]
    assert len(state["intercept"]) * len(state["ids"]) == len(state["cells"])


@budgeted
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rows_with_a_member_are_counted(estimator, n_classes, fit_intercept):
    """Row by row, against the members that there were before; by any batching the count is the same."""
    X, y = random_problem(300, 40, 0.1, 3, n_classes)
    model, n_expected = made(estimator, 5, fit_intercept=fit_intercept), 0
    for row in range(X.shape[0]):
        members = set(model.selected_.tolist()) if row else set()
        n_expected += bool(members & set(X[row].nonzero()[1].tolist()))
        model.partial_fit(X[row], y[row : row + 1], classes=np.unique(y))
    assert 0 < n_expected < X.shape[0]
    at_once = made(estimator, 5, fit_intercept=fit_intercept).partial_fit(X, y, classes=np.unique(y))
    for each in (model, at_once, pickle.loads(pickle.dumps(model))):
        assert model_of(each).counters["n_with_member"] == n_expected  # no public name: warnings go by it
