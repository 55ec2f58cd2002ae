"""The scikit-learn interface: its own checks, further checks, and errors for bad input."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import scipy.sparse as sp
from every import (
    BUDGETED,
    OF_NUMBERS,
    ONLINE,
    applicable,
    every,
    in_order,
    made,
    of_any_target,
    online,
    rate_of,
    row_of,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from states import model_of, same_state
from strategies import random_problem

from thresher import PET, methods, train, train_many
from thresher.parameters import Between, OneOf, Parameter
from tools import write_estimators

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a row of weight 2 takes one larger step; two equal rows take two steps, the second from where the first led"
    ),
    "check_sample_weight_equivalence_on_sparse_data": "as for dense data",
    "check_class_weight_classifiers": (
        "without an intercept, the paper's default, x and −x get different labels, so no weight can bring all rows to "
        "one class; with fit_intercept=True the check is run below and passes"
    ),
}


@parametrize_with_checks(
    [estimator() for estimator in ONLINE],
    expected_failed_checks=lambda estimator: {
        check: why
        for check, why in EXPECTED_FAILURES.items()
        if check != "check_class_weight_classifiers" or not estimator.fit_intercept
    },
)
@pytest.mark.filterwarnings("ignore:The precision of every feature")  # class weights of 1000 and 0.0001
def test_scikit_learn_checks(estimator, check):
    check(estimator)


LEFT_OUT = [
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
    estimator_checks.check_set_output_transform_polars,
    estimator_checks.check_global_output_transform_pandas,
    estimator_checks.check_global_set_output_transform_polars,
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas,
    estimator_checks.check_dataframe_column_names_consistency,
    estimator_checks.check_inplace_ensure_writeable,
]


@pytest.mark.parametrize("check", LEFT_OUT, ids=lambda check: check.__name__)
@of_any_target
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")  # the checks mix frames and arrays
def test_checks_that_scikit_learn_leaves_out(estimator, check):
    check(estimator.__name__, estimator())


@online
@pytest.mark.filterwarnings("ignore:The precision of every feature")  # class weights of 1000 and 0.0001
def test_class_weight_check_with_an_intercept(estimator):
    estimator_checks.check_class_weight_classifiers(estimator.__name__, estimator(fit_intercept=True))


@of_any_target
def test_signature_matches_the_parameter_table(estimator):
    defaults = {name: p.default for name, p in inspect.signature(estimator).parameters.items()}
    table = {name: p.default for name, p in row_of(estimator).parameters.items()}
    assert defaults == table


@of_any_target
def test_parameters_are_written_from_the_table(estimator):
    """Guards against a row of methods.py that was changed without `make format`, and an estimator changed by hand."""
    text = Path(inspect.getfile(estimator)).read_text()
    assert write_estimators.written(row_of(estimator), text) == text


def test_a_new_parameter_is_a_row_of_the_table():
    method, text = methods.find("pet"), Path(inspect.getfile(PET)).read_text()
    decay = Parameter(0.5, (Between(0.0, 1.0), OneOf(("none",))), "how fast weights decay")
    text = write_estimators.written(dataclasses.replace(method, own={**method.own, "decay": decay}), text)
    for line in (
        '    decay : float or "none", default=0.5\n        How fast weights decay.\n    norm : ',
        "        decay: float | str = 0.5,\n",
        "        self.decay = decay\n",
    ):
        assert text.count(line) == 1


@pytest.fixture
def problem():
    return random_problem(200, 50, 0.3, seed=11)


@online
class TestSelector:
    def test_transform_takes_the_selected_columns(self, estimator, problem):
        X, y = problem
        model = made(estimator, 7).fit(X, y)
        columns = sorted(model.selected_.tolist())
        assert model.get_support(indices=True).tolist() == columns
        assert np.flatnonzero(model.get_support()).tolist() == columns
        for form in (X, sp.csr_array(X), X.astype(np.float64), X.tocsc()):
            picked = model.transform(form)
            assert picked.dtype == form.dtype
            assert sp.issparse(picked)
            assert isinstance(picked, sp.sparray) == isinstance(form, sp.sparray)
            np.testing.assert_array_equal(picked.toarray(), X.toarray()[:, columns])
        np.testing.assert_array_equal(model.transform(X.toarray()), X.toarray()[:, columns])

    def test_inverse_transform_puts_them_back(self, estimator, problem):
        X, y = problem
        model = made(estimator, 7).fit(X, y)
        columns = model.selected_
        expected = np.where(model.get_support(), X.toarray(), 0)
        np.testing.assert_array_equal(model.inverse_transform(model.transform(X)).toarray(), expected)
        np.testing.assert_array_equal(model.inverse_transform(model.transform(X.toarray())), expected)
        n = len(columns)
        with pytest.raises(ValueError, match=f"6 columns, but {n} features"):
            model.inverse_transform(np.zeros((2, 6)))
        with pytest.raises(ValueError, match=f"outside 0 … {n - 1}"):
            model.inverse_transform(broken(model.transform(X), indices=(0, -1)))
        nothing = made(estimator, 7).fit(np.zeros((4, 3)), [0, 1, 0, 1])
        with pytest.warns(UserWarning, match="No features were selected"):
            assert nothing.transform(np.ones((4, 3))).shape == (4, 0)
        assert nothing.inverse_transform(np.zeros((4, 0))).shape == (4, 3)

    def test_names_follow_the_columns(self, estimator, problem):
        X, y = problem
        frame = pd.DataFrame(X.toarray(), columns=[f"word{j}" for j in range(50)])
        model = made(estimator, 7).fit(frame, y)
        names = [f"word{j}" for j in model.get_support(indices=True)]
        assert model.get_feature_names_out().tolist() == names
        assert model.set_output(transform="pandas").transform(frame).columns.tolist() == names
        polars_frame = polars.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
        out = model.set_output(transform="polars").transform(polars_frame)
        assert out.columns == names
        np.testing.assert_array_equal(out.to_numpy(), frame[names].to_numpy())
        plain = made(estimator, 7).fit(X, y)
        assert plain.get_feature_names_out().tolist() == [f"x{j}" for j in plain.get_support(indices=True)]
        assert plain.get_feature_names_out(list(frame.columns)).tolist() == names
        with pytest.raises(ValueError, match="length equal to number of features"):
            plain.get_feature_names_out(["a"])

    def test_a_frame_keeps_its_types(self, estimator):
        frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.5, 1, 2, 3], "c": [True, False, True, True]})
        model = made(estimator, 3).set_output(transform="pandas").fit(frame, [0, 1, 0, 1])
        assert model.transform(frame).dtypes.equals(frame.dtypes)

    def test_coef_holds_the_selected_weights(self, estimator, problem):
        X, y = problem
        model = made(estimator, 7, norm=None).fit(X, y)
        assert model.coef_.shape == (1, 50)
        assert sorted(model.coef_.indices.tolist()) == sorted(model.selected_.tolist())
        margins = (X @ model.coef_.T).toarray()[:, 0] + model.intercept_
        np.testing.assert_allclose(margins, model.decision_function(X), atol=1e-5)

    def test_wide_data_cost_nothing_for_their_width(self, estimator):
        """A trillion columns: any array of that length, or a look at each column, would never end."""
        d = 10**12
        X = sp.csr_matrix((np.arange(1, 7, dtype=np.float32), [0, 5, d - 1, 5, 7, d - 1], [0, 3, 6]), shape=(2, d))
        model = made(estimator, 2).fit(X, [0, 1])
        assert model.n_features_in_ == d
        assert model.coef_.shape == (1, d)
        n_selected = 2 if estimator in BUDGETED else 4
        assert model.transform(X).shape == (2, n_selected)
        assert model.inverse_transform(model.transform(X)).shape == (2, d)
        assert len(model.get_feature_names_out()) == n_selected
        assert model.predict(X).shape == (2,)
        assert pickle.loads(pickle.dumps(model)).selected_.tolist() == model.selected_.tolist()


@online
class TestCopies:
    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
    def test_a_copy_goes_on_like_the_original(self, estimator, problem, duplicate):
        X, y = problem
        model = made(estimator, 7, fit_intercept=True).fit(X[:100], y[:100])
        twin, n_seen = duplicate(model), model.n_samples_seen_
        model.partial_fit(X[100:], y[100:])
        assert twin.n_samples_seen_ == n_seen < model.n_samples_seen_
        twin.partial_fit(X[100:], y[100:])
        assert pickle.dumps(model_of(model).learner.state()) == pickle.dumps(model_of(twin).learner.state())
        np.testing.assert_array_equal(model.decision_function(X), twin.decision_function(X))

    def test_clone_forgets(self, estimator, problem):
        fitted = made(estimator, 7).fit(*problem)
        model = clone(fitted)
        assert model.get_params() == fitted.get_params()
        with pytest.raises(NotFittedError):
            model.predict(problem[0])

    def test_parameters_may_change_between_batches(self, estimator, problem):
        X, y = problem
        model = made(estimator, 7).partial_fit(X, y, classes=[-1, 1])
        changed = copy.deepcopy(model).set_params(**{rate_of(estimator): 0.01}).partial_fit(X, y)
        assert not np.array_equal(changed.decision_function(X), model.partial_fit(X, y).decision_function(X))
        if estimator in BUDGETED:
            with pytest.raises(ValueError, match="n_features_to_select can't be changed from 7 to 3"):
                model.set_params(n_features_to_select=3).partial_fit(X, y)

    def test_ctrl_c_in_the_first_batch_keeps_the_rows_learned(self, estimator, problem, monkeypatch):
        X, y = problem
        blocks = [(0, 80), (80, 200)]

        def broken_off(*_):
            yield blocks[0]
            raise KeyboardInterrupt

        monkeypatch.setattr("thresher.model.learning.blocks", broken_off)
        model = made(estimator, 7)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y, classes=[-1, 1])
        monkeypatch.undo()
        same = made(estimator, 7).partial_fit(X[:80], y[:80], classes=[-1, 1])
        assert model.n_samples_seen_ == 80
        np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))

    def test_numpy_scalars_are_parameters_too(self, estimator, problem):
        X, y = problem
        given = {"shuffle": np.True_, "norm": np.str_("l2"), "random_state": np.random.RandomState(0)}
        model = made(estimator, np.float64(0.5), **given).fit(X, y, sample_weight=2.0)
        assert len(model.selected_) == (25 if estimator in BUDGETED else 50)
        assert len(made(estimator, 2**70).fit(X, y).selected_) == 50

    def test_in_a_pipeline_and_a_grid(self, estimator):
        texts = ["cheap pills now", "meeting at noon", "pills cheap buy", "lunch meeting today"] * 30
        labels = ["spam", "mail"] * 60
        pipeline = make_pipeline(HashingVectorizer(), made(estimator, 5))
        assert cross_val_score(pipeline, texts, labels).min() == 1.0
        n_jobs = 2 if estimator is ONLINE[0] else 1  # once, since starting processes takes seconds
        search = GridSearchCV(estimator(), {rate_of(estimator): [0.1, 1.0]}, n_jobs=n_jobs)
        search.fit(HashingVectorizer().transform(texts), labels)
        assert search.best_estimator_.classes_.tolist() == ["mail", "spam"]


@online
class TestWeights:
    def test_class_weight_multiplies_sample_weight(self, estimator, problem):
        X, y = problem
        random = np.random.default_rng(0).random(200)
        both = made(estimator, 7, class_weight={-1: 3.0}).fit(X, y, sample_weight=random)
        by_hand = made(estimator, 7).fit(X, y, sample_weight=np.where(y == -1, 3.0, 1.0) * random)
        np.testing.assert_array_equal(both.decision_function(X), by_hand.decision_function(X))

    def test_balanced(self, estimator, problem):
        X, y = problem
        share = {label: 200 / (2 * np.count_nonzero(y == label)) for label in (-1, 1)}
        balanced = made(estimator, 7, class_weight="balanced").fit(X, y)
        np.testing.assert_array_equal(
            balanced.decision_function(X), made(estimator, 7, class_weight=share).fit(X, y).decision_function(X)
        )

    def test_weight_zero_is_absence(self, estimator, problem):
        X, y = problem
        weights = (np.arange(200) % 3 > 0).astype(float)
        kept = weights > 0
        np.testing.assert_array_equal(
            made(estimator, 7, shuffle=False).fit(X, y, weights).decision_function(X),
            made(estimator, 7, shuffle=False).fit(X[kept], y[kept]).decision_function(X),
        )


def broken(X: sp.csr_matrix, **arrays) -> sp.csr_matrix:
    """Return a copy of X with entries of its arrays overwritten behind scipy's back."""
    X = X.copy()
    for name, (at, value) in arrays.items():
        getattr(X, name)[at] = value
    return X


def with_ids(X: sp.csr_matrix, dtype: type) -> sp.csr_matrix:
    """Return a copy whose ids are of another type, which scipy never makes itself."""
    X = X.copy()
    X.indices = X.indices.astype(dtype)
    return X


BAD_ROWS = {
    "nan": (lambda X: broken(X, data=(X.indptr[3], np.nan)), r"X\[3, \d+\] is NaN: values must be finite"),
    "infinity": (lambda X: broken(X, data=(X.indptr[3], -np.inf)), r"X\[3, \d+\] is -infinity: values must be finite"),
    "float64 too large": (
        lambda X: broken(X.astype(np.float64), data=(X.indptr[3], 1e300)),
        r"X\[3, \d+\] is 1e\+300: the absolute value must not be above 3.4e38",
    ),
    "id beyond int64": (
        lambda X: with_ids(broken(X, indices=(X.indptr[3], -1)), np.uint64),
        "Row 3 of X has column id 18446744073709551615, but X has 50 columns",
    ),
    "negative id": (lambda X: broken(X, indices=(X.indptr[3], -4)), "Row 3 of X has column id -4: ids must not be neg"),
    "id too large": (
        lambda X: broken(X, indices=(X.indptr[4] - 1, 50)),
        "Row 3 of X has column id 50, but X has 50 columns",
    ),
    "id too large among unsorted": (
        lambda X: broken(X, indices=(X.indptr[3], 77)),
        "Row 3 of X has column id 77, but X has 50 columns",
    ),
}


@online
class TestBadInput:
    @pytest.mark.parametrize("fault", BAD_ROWS)
    def test_rows(self, estimator, problem, fault):
        X, y = problem
        spoil, message = BAD_ROWS[fault]
        bad = spoil(X)
        with pytest.raises(ValueError, match=message):
            made(estimator, 7).fit(bad, y)
        model = made(estimator, 7).fit(X, y)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad, y)
        for use in (model.predict, model.transform):
            with pytest.raises(ValueError, match=message):
                use(bad)
        assert pickle.dumps(model) == before  # a failed partial_fit leaves the model as it was

    def test_values_too_large_to_square(self, estimator, problem):
        X, y = problem
        bad = broken(X, data=(X.indptr[3], 1e20))
        with pytest.raises(
            ValueError, match=r"X\[3, \d+\] is 1e\+20: the absolute value must not be above 1e18 with norm=None"
        ):
            made(estimator, 7, norm=None).fit(bad, y)
        made(estimator, 7).fit(bad, y)

    def test_a_failed_fit_leaves_the_model(self, estimator, problem):
        X, y = problem
        model = made(estimator, 7).fit(X, y)
        selected = model.selected_
        with pytest.raises(ValueError, match="NaN"):
            model.fit(broken(X[:, :20].tocsr(), data=(5, np.nan)), y)
        np.testing.assert_array_equal(model.selected_, selected)
        assert model.n_features_in_ == 50
        assert model.coef_.shape == (1, 50)
        frame = pd.DataFrame(X.toarray(), columns=[f"word{j}" for j in range(50)])
        model.fit(frame, y)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(broken(X, data=(5, np.nan)), y)
        assert model.get_feature_names_out()[0].startswith("word")
        fresh = made(estimator, 7)
        with pytest.raises(ValueError, match="NaN"):
            fresh.partial_fit(broken(X, data=(5, np.nan)), y, classes=[-1, 1])
        assert not hasattr(fresh, "n_features_in_")

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (lambda y: np.ones_like(y), r"There is 1 class \(1\), but two are needed"),
            (lambda y: np.full(len(y), "oak", dtype=object), r"There is 1 class \('oak'\), but two are needed"),
            (lambda y: np.array([1, "oak"] * 100, dtype=object), "Unknown label type"),
            (lambda y: y[:-1], "inconsistent numbers of samples"),
        ],
    )
    def test_labels(self, estimator, problem, labels, message):
        X, y = problem
        with pytest.raises(ValueError, match=message):
            made(estimator, 7).fit(X, labels(y))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_features_to_select", 0),
            ("n_features_to_select", -3),
            ("n_features_to_select", 0.0),
            ("n_features_to_select", 1.0),
            ("n_features_to_select", 2.5),
            ("n_features_to_select", "ten"),
            *((name, value) for name in ("gamma", "eta", "lam") for value in (0, -1.0, float("nan"), float("inf"))),
            ("loss", "squared"),
            ("norm", "l1"),
            ("n_passes", 0),
            ("random_state", -1),
        ],
    )
    def test_parameters(self, estimator, problem, name, value):
        X, y = problem
        if name not in estimator().get_params():
            with pytest.raises(TypeError, match=name):
                estimator(**{name: value})
            return
        model = estimator(**{name: value})
        for learn in (lambda: model.fit(X, y), lambda: model.partial_fit(X, y, classes=[-1, 1])):
            with pytest.raises(ValueError, match=rf"'?{name}'? (parameter )?of \w+ must be .* Got .* instead"):
                learn()

    def test_every_parameter_is_checked(self, estimator, problem):
        X, y = problem
        for name in estimator().get_params():
            with pytest.raises(ValueError, match=rf"{name} of {estimator.__name__} must be"):
                estimator(**{name: object()}).fit(X, y)

    def test_partial_fit_classes(self, estimator, problem):
        X, y = problem
        with pytest.raises(ValueError, match="classes must be given on the first call"):
            made(estimator, 7).partial_fit(X, y)
        with pytest.raises(ValueError, match=r"classes must have at least two entries. Got \[1\]"):
            made(estimator, 7).partial_fit(X, y, classes=[1])
        model = made(estimator, 7).partial_fit(X, y, classes=[1, -1])
        with pytest.raises(ValueError, match=r"y\[1\] is 5, which is not in classes=\[-1, 1\]"):
            model.partial_fit(X[:2], [1, 5])
        with pytest.raises(ValueError, match=r"classes=\[0, 1\] differ from the classes that the model was trained on"):
            model.partial_fit(X, y, classes=[0, 1])

    def test_classes_that_are_no_numbers(self, estimator, problem):
        X, y = problem
        with pytest.raises(ValueError, match="classes contains nan"):
            made(estimator, 7).partial_fit(X, y, classes=[-1, 1, float("nan")])
        with pytest.raises(ValueError, match="sample_weight must contain numbers"):
            made(estimator, 7).fit(X, y, sample_weight=["a"] * 200)

    def test_width(self, estimator, problem):
        X, y = problem
        model = made(estimator, 7).fit(X, y)
        for call in (lambda X: model.partial_fit(X, y), model.predict, model.transform):
            with pytest.raises(ValueError, match=r"X has 40 features, but \w+ is expecting 50"):
                call(X[:, :40])

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.full(200, -1.0), r"sample_weight\[0\] is -1"),
            (np.full(200, np.nan), r"sample_weight\[0\] is nan"),
            (np.ones(3), r"sample_weight has shape \(3,\), but X has 200 rows"),
            (np.zeros(200), "sample_weight .*zero for every row"),
        ],
    )
    def test_sample_weight(self, estimator, problem, weights, message):
        with pytest.raises(ValueError, match=message):
            made(estimator, 7).fit(*problem, sample_weight=weights)

    def test_class_weight(self, estimator, problem):
        with pytest.raises(ValueError, match="class_weight names class 4"):
            made(estimator, 7, class_weight={4: 1.0}).fit(*problem)
        with pytest.raises(ValueError, match=r"class_weight\[1\] is -2"):
            made(estimator, 7, class_weight={1: -2}).fit(*problem)

    def test_unfitted(self, estimator, problem):
        X, _ = problem
        model = made(estimator, 7)
        calls = [model.predict, model.decision_function, model.predict_proba, model.transform, model.inverse_transform]
        for call in calls:
            with pytest.raises(NotFittedError, match="not fitted"):
                call(X)
        with pytest.raises(NotFittedError):
            model.get_support()
        assert not hasattr(model, "coef_")


@online
def test_rows_sorted_by_label_are_told(estimator):
    X, y = random_problem(2_000, 50, 0.3, seed=1)
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match=r"y: the rows are grouped by label .*: use shuffle=True") as caught:
        made(estimator, 7, shuffle=False).fit(X[order], y[order])
    assert caught[0].filename == __file__
    made(estimator, 7).fit(X[order], y[order])  # warnings are errors here


@pytest.mark.slow
@online
def test_memory_is_taken_for_what_is_touched(estimator):
    """A few rows over a billion columns; reading, copying and predicting take no memory for the rest."""
    code = f"""
import copy, resource
from thresher import {estimator.__name__} as Estimator, datasets
(X, y), = datasets.make_x2(100)
model = Estimator(**{applicable(estimator, 100)!r}).fit(X, y)
model = copy.deepcopy(model)
for X, y in datasets.make_x2(1_000, start=1_000):
    model.predict(X)
model.partial_fit(*next(iter(datasets.make_x2(50, start=100))))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) < 1.5  # GB; 75,000 noise entries in pages of 4 KB, twice, and the interpreter


@online
def test_canonical_csr_is_read_where_it_lies(estimator, monkeypatch, problem):
    X, y = problem
    seen = []
    from thresher.model import model as model_module

    real = model_module._core.CsrBatch

    def spy(indptr, indices, values, n_features):
        seen.append([a.__array_interface__["data"][0] for a in (indptr, indices, values)])
        return real(indptr, indices, values, n_features)

    monkeypatch.setattr(model_module._core, "CsrBatch", spy)
    for form in (X, X.astype(np.float64)):
        seen.clear()
        made(estimator, 7).fit(form, y)
        assert seen == [[a.__array_interface__["data"][0] for a in (form.indptr, form.indices, form.data)]]


@online
def test_other_threads_run_while_it_learns(estimator):
    """The interpreter is free during `fit`: a counting thread keeps running, and two threads can share a model."""
    X, y = random_problem(20_000, 5_000, 0.02, seed=1)
    model = made(estimator, 100, n_passes=10)
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.wait(0.001):
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        model.fit(X, y)
    finally:
        stop.set()
        counter.join()
    assert counted[0] >= 10
    threads = [threading.Thread(target=model.partial_fit, args=(X, y)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_samples_seen_ == 14 * 20_000
    assert len(model.selected_) == (100 if estimator in BUDGETED else 5_000)


@online
def test_the_first_partial_fit_of_several_threads_loses_no_row(estimator):
    """The rows of every thread are learned, whichever thread creates the model."""
    X = sp.random(400, 60, density=0.2, format="csr", random_state=0, dtype=np.float32)
    y = np.where(np.arange(400) % 2, 1, -1)
    for _ in range(10):
        model = estimator()
        gate = threading.Barrier(4)

        def learn(k, model=model, gate=gate):
            gate.wait()
            model.partial_fit(X[k::4], y[k::4], classes=[-1, 1])

        threads = [threading.Thread(target=learn, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert model.n_samples_seen_ == 400


@online
@pytest.mark.parametrize("order", [1, -1])
def test_threads_that_train_the_same_estimators_take_turns(estimator, order):
    """Each stream is learned whole, also where threads name the estimators in different orders."""
    X, y = random_problem(400, 60, 0.2, seed=1)
    models = [in_order(estimator, 10).partial_fit(X, y, classes=[-1, 1]) for _ in range(2)]
    both_orders = [copy.deepcopy(models[0]) for _ in range(2)]
    second_reads = threading.Event()

    def slow_rows():
        yield X[:100], y[:100]
        second_reads.wait(0.2)
        yield X[100:200], y[100:200]

    def rows():
        second_reads.set()
        yield X[200:], y[200:]

    slow = threading.Thread(target=lambda: train_many(models, slow_rows(), passes=1, shuffle=False))
    slow.start()
    train_many(models[::order], rows(), passes=1, shuffle=False)
    slow.join()
    for model, streams in zip(both_orders, ((slow_rows, rows), (rows, slow_rows)), strict=True):
        for stream in streams:
            train(model, stream(), passes=1, shuffle=False)
    assert all(any(same_state(model, other) for other in both_orders) for model in models)


@every
@pytest.mark.parametrize(
    "of",
    [lambda f: f, lambda f: f.astype({"city": "category"}), polars.from_pandas, pa.Table.from_pandas],
    ids=["pandas", "categories", "polars", "pyarrow"],
)
def test_text_in_a_frame_is_named_by_its_column(estimator, of):
    frame = of(pd.DataFrame({"age": [7.0, 5.0] * 2, "shoes": ["41", "38.5"] * 2, "city": ["", "Lima" * 20] * 2}))
    model, y = estimator(**applicable(estimator, 2)), [0, 1] * 2
    first = "X: column 'city' has the value '', which is not a number: use train(model, open_stream(X, label=…, "
    with pytest.raises(ValueError, match=re.escape(first)) as caught:
        model.fit(frame, y)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"column 'city' has the value '(Lima){10}…', .*ColumnHasher in a pipeline"):
        model.fit(frame[1:], y[1:])
    assert not hasattr(model, "n_features_in_")


MISSING = {
    "None among words": (["a", None, "b", None], "None"),
    "None among numbers": ([0.0, None, 1.0, 0.0], "None"),
    "None in a Series": (pd.Series(["a", None, "b", "a"], dtype=object), "None"),
    "NaN among words": (np.array(["a", np.nan, "b", "a"], dtype=object), "nan"),
    "NA of pandas": (pd.Series(["a", None, "b", "a"], dtype="string"), "<NA>"),
}


@of_any_target
@pytest.mark.parametrize(("y", "value"), MISSING.values(), ids=list(MISSING))
def test_a_missing_label_is_named_by_its_row(estimator, y, value):
    X = sp.csr_matrix(np.eye(4, dtype=np.float32))
    model = estimator(**applicable(estimator, 2))
    with pytest.raises(ValueError, match=rf"y\[1\] is {value}: the label is missing\. Drop the row"):
        model.fit(X, y)
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match=rf"y\[1\] is {value}: the label is missing"):
            model.partial_fit(X, y, **({} if estimator in OF_NUMBERS else {"classes": ["a", "b"]}))
    assert not hasattr(model, "n_features_in_")
