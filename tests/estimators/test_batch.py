"""What all batch estimators share: the scikit-learn surface, copies, bad input, progress, and Ctrl-C."""

from __future__ import annotations

import copy
import os
import pickle
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from every import BATCH, batch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import random_problem

from thresher import methods
from thresher.training import all_rows
from thresher.training.solvers import memory_check

ROOT = Path(__file__).parents[2]


@parametrize_with_checks([estimator() for estimator in BATCH])
@pytest.mark.filterwarnings("ignore:No fit with a feature converged")  # two columns of which one is nearly the other
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", [method.name for method in methods.BATCH])
def test_a_method_has_its_files(method):
    code = [f"src/thresher/{folder}/{method}.py" for folder in ("training/solvers", "estimators")]
    for path in (*code, f"tests/estimators/test_{method}.py", f"docs/{method}.md"):
        assert (ROOT / path).exists(), path


def solver_of(estimator):
    return next(method.load_solver() for method in methods.BATCH if method.estimator == estimator.__name__)


@pytest.fixture
def problem():
    return random_problem(200, 50, 0.3, seed=11)


@batch
class TestSelector:
    def test_transform_takes_the_selected_columns(self, estimator, problem):
        X, y = problem
        model = estimator(7).fit(X, y)
        columns = sorted(model.selected_.tolist())
        assert model.selected_.dtype == np.int64
        assert 0 < len(columns) <= 7
        assert model.get_support(indices=True).tolist() == columns
        assert np.flatnonzero(model.get_support()).tolist() == columns
        for form in (X, sp.csr_array(X), X.astype(np.float64), X.tocsc()):
            picked = model.transform(form)
            assert picked.dtype == form.dtype
            assert isinstance(picked, sp.sparray) == isinstance(form, sp.sparray)
            np.testing.assert_array_equal(picked.toarray(), X.toarray()[:, columns])
        np.testing.assert_array_equal(model.transform(X.toarray()), X.toarray()[:, columns])
        expected = np.where(model.get_support(), X.toarray(), 0)
        np.testing.assert_array_equal(model.inverse_transform(model.transform(X)).toarray(), expected)

    def test_any_form_of_the_same_rows_gives_the_same_model(self, estimator, problem):
        X, y = problem
        model = estimator(7).fit(X, y)
        shuffled = X.copy()
        for begin, end in zip(X.indptr, X.indptr[1:], strict=False):
            shuffled.indices[begin:end] = X.indices[begin:end][::-1]
            shuffled.data[begin:end] = X.data[begin:end][::-1]
        shuffled.has_sorted_indices = False
        with_zeros = sp.csr_matrix((X.data.copy(), X.indices, X.indptr), shape=X.shape)
        dense = X.toarray()
        full = sp.csr_matrix((dense.ravel(), np.tile(np.arange(50), 200), np.arange(201) * 50), shape=X.shape)
        for form in (sp.csr_array(X), X.tocsc(), X.astype(np.float64), dense, shuffled, with_zeros, full):
            twin = estimator(7).fit(form, y)
            np.testing.assert_array_equal(twin.selected_, model.selected_)
            np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(form))

    def test_names_follow_the_columns(self, estimator, problem):
        X, y = problem
        frame = pd.DataFrame(X.toarray(), columns=[f"word{j}" for j in range(50)])
        model = estimator(7).fit(frame, y)
        names = [f"word{j}" for j in model.get_support(indices=True)]
        assert model.get_feature_names_out().tolist() == names
        assert model.set_output(transform="pandas").transform(frame).columns.tolist() == names
        polars_frame = polars.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
        assert model.set_output(transform="polars").transform(polars_frame).columns == names

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("fit_intercept", [False, True])
    def test_coef_holds_the_selected_weights(self, estimator, problem, n_classes, fit_intercept):
        X, y = problem
        y = np.where((n_classes == 3) & (np.arange(200) % 3 == 0), 5, y)
        model = estimator(7, norm=None, fit_intercept=fit_intercept).fit(X, y)
        n_outputs = 1 if n_classes == 2 else 3
        assert model.coef_.shape == (n_outputs, 50)
        assert model.intercept_.shape == (n_outputs,)
        assert fit_intercept or not model.intercept_.any()
        assert sorted(set(model.coef_.indices.tolist())) == sorted(model.selected_.tolist())
        margins = (X @ model.coef_.T).toarray() + model.intercept_
        np.testing.assert_allclose(model.decision_function(X).reshape(margins.shape), margins, atol=1e-5)
        expected = (margins[:, 0] > 0).astype(int) if n_classes == 2 else margins.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[expected])

    def test_norm_scales_rows(self, estimator, problem):
        X, y = problem
        scales = sp.diags(2.0 ** (np.arange(200) % 5))
        model, scaled = estimator(7).fit(X, y), estimator(7).fit(scales @ X, y)
        np.testing.assert_array_equal(scaled.selected_, model.selected_)
        np.testing.assert_allclose(scaled.decision_function(X), model.decision_function(scales @ X), rtol=1e-4)

    def test_wide_data_cost_nothing_for_their_width(self, estimator):
        """A trillion columns: any array of that length, or a look at each column, would never end."""
        d = 10**12
        X = sp.csr_matrix((np.ones(6, np.float32), [0, 5, d - 1, 5, 7, d - 1], [0, 3, 6]), shape=(2, d))
        model = estimator(2).fit(X, [0, 1])
        assert set(model.selected_.tolist()) <= {0, 7}
        assert model.coef_.shape == (1, d)
        assert model.transform(X).shape == (2, len(model.selected_))
        assert model.predict(X).tolist() == [0, 1]

    def test_nothing_to_select(self, estimator):
        model = estimator(7).fit(np.zeros((4, 3)), [0, 1, 0, 1])
        assert len(model.selected_) == 0
        assert model.coef_.shape == (1, 3)
        assert model.predict(np.ones((2, 3))).tolist() == [0, 0]
        with pytest.warns(UserWarning, match="No features were selected"):
            assert model.transform(np.ones((4, 3))).shape == (4, 0)

    def test_a_share_of_the_columns(self, estimator, problem):
        assert 0 < len(estimator(0.1).fit(*problem).selected_) <= 5


@batch
class TestCopies:
    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
    def test_a_copy_predicts_like_the_original(self, estimator, problem, duplicate):
        X, y = problem
        model = estimator(7, fit_intercept=True).fit(X, y)
        twin = duplicate(model)
        np.testing.assert_array_equal(twin.selected_, model.selected_)
        np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(twin.set_params(norm=None).predict(X), model.predict(X))

    def test_clone_forgets(self, estimator, problem):
        model = clone(estimator(7).fit(*problem))
        assert model.n_features_to_select == 7
        with pytest.raises(NotFittedError):
            model.predict(problem[0])

    def test_fitting_again_gives_the_same(self, estimator, problem):
        X, y = problem
        np.testing.assert_array_equal(
            estimator(7).fit(X, y).decision_function(X), estimator(7).fit(X, y).decision_function(X)
        )

    def test_in_a_pipeline_and_a_grid(self, estimator):
        texts = ["cheap pills now", "meeting at noon", "pills cheap buy", "lunch meeting today"] * 30
        labels = ["spam", "mail"] * 60
        assert cross_val_score(make_pipeline(HashingVectorizer(), estimator(5)), texts, labels).min() == 1.0
        search = GridSearchCV(estimator(), {"n_features_to_select": [2, 5]})
        search.fit(HashingVectorizer().transform(texts), labels)
        assert search.best_estimator_.classes_.tolist() == ["mail", "spam"]


def broken(X: sp.csr_matrix, **arrays) -> sp.csr_matrix:
    """Return a copy of X with entries of its arrays overwritten behind scipy's back."""
    X = X.copy()
    for name, (at, value) in arrays.items():
        getattr(X, name)[at] = value
    return X


BAD_ROWS = {
    "nan": (lambda X: broken(X, data=(X.indptr[3], np.nan)), r"X\[3, \d+\] is NaN: values must be finite"),
    "infinity": (lambda X: broken(X, data=(X.indptr[3], -np.inf)), r"X\[3, \d+\] is -infinity: values must be finite"),
    "negative id": (lambda X: broken(X, indices=(X.indptr[3], -4)), "Row 3 of X has column id -4: ids must not be neg"),
    "id too large": (
        lambda X: broken(X, indices=(X.indptr[4] - 1, 50)),
        "Row 3 of X has column id 50, but X has 50 columns",
    ),
}


@batch
class TestBadInput:
    @pytest.mark.parametrize("fault", BAD_ROWS)
    def test_rows(self, estimator, problem, fault):
        X, y = problem
        spoil, message = BAD_ROWS[fault]
        bad = spoil(X)
        model = estimator(7).fit(X, y)
        before = pickle.dumps(model)
        for use in (lambda rows: model.fit(rows, y), model.predict, model.transform):
            with pytest.raises(ValueError, match=message):
                use(bad)
        assert pickle.dumps(model) == before  # a failed fit leaves the model as it was

    def test_labels(self, estimator, problem):
        X, y = problem
        with pytest.raises(ValueError, match=r"There is 1 class \(1\), but two are needed"):
            estimator(7).fit(X, np.ones_like(y))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            estimator(7).fit(X, y[:-1])

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_features_to_select", 0),
            ("n_features_to_select", 1.0),
            ("n_features_to_select", "ten"),
            ("norm", "l1"),
            ("progress", "yes"),
        ],
    )
    def test_parameters(self, estimator, problem, name, value):
        with pytest.raises(ValueError, match=rf"{name} of {estimator.__name__} must be .* Got .* instead"):
            estimator(**{name: value}).fit(*problem)

    def test_width(self, estimator, problem):
        X, y = problem
        model = estimator(7).fit(X, y)
        for call in (model.predict, model.transform):
            with pytest.raises(ValueError, match=r"X has 40 features, but \w+ is expecting 50"):
                call(X[:, :40])

    def test_unfitted(self, estimator, problem):
        model = estimator(7)
        for call in (model.predict, model.decision_function, model.transform, model.inverse_transform):
            with pytest.raises(NotFittedError, match="not fitted"):
                call(problem[0])
        assert not hasattr(model, "coef_")

    def test_too_large_for_the_memory(self, estimator, problem, monkeypatch):
        monkeypatch.setattr(memory_check, "available_bytes", lambda: 1e5)
        monkeypatch.setattr(all_rows, "problem_of", lambda *_: pytest.fail("the work has begun"))
        message = (
            r"\w+ needs about \S+ GB in addition to the 3,000 values of X, but 0.0001 GB are available: use fewer rows"
        )
        with pytest.raises(ValueError, match=message):
            estimator(7).fit(*problem)

    def test_ctrl_c_leaves_the_model(self, estimator, problem, monkeypatch):
        X, y = problem
        model = estimator(7).fit(X, y)
        before = pickle.dumps(model)

        def broken_off(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(solver_of(estimator), "solve", broken_off)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :20], y)
        assert pickle.dumps(model) == before


@pytest.mark.slow
@batch
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
def test_the_estimate_of_memory_is_true(estimator):
    """The estimate is above the memory used, for few columns and for many, but not so far that it refuses what fits."""
    code = f"""
from pathlib import Path
from thresher import {estimator.__name__} as Estimator, datasets
def kilobytes(what):
    return int(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if what in line))
X, y = datasets.make_x1(5_000, n_features=700, n_noise=300)
Estimator(10).fit(X[:100], y[:100])
for budget in (10, 300):
    before = kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    Estimator(budget).fit(X, y)
    print(1024 * (kilobytes("VmHWM") - before) / X.nnz)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    taken = [float(line) for line in done.stdout.split()]
    limit = solver_of(estimator).BYTES_PER_VALUE
    print(f"{estimator.__name__}: {taken} bytes a value of {limit}")
    assert max(taken) <= limit <= 2.5 * max(taken)


def test_there_is_memory():
    assert 1e6 < memory_check.available_bytes() < 1e15


# Each of these fits takes much longer than the second after which it is interrupted.
LONG_FITS = {
    "MRMR": "MRMR(2_000, progress=True)",
    "L1SVM": "L1SVM(2_000, progress=True)",
    "FGM": "FGM(2_000, group_size=1, tol=1e-9, progress=True)",
}
LONG_FIT = """
from thresher import {name}, datasets
X, y = datasets.make_x1(20_000)
print("begins", flush=True)
{fit}.fit(X, y)
print("ends", flush=True)
"""


@pytest.mark.slow
@batch
def test_ctrl_c_is_heard_and_progress_shown(estimator):
    """The bar is on stderr, a terminal here; stdout holds none of it."""
    name = estimator.__name__
    code = LONG_FIT.format(name=name, fit=LONG_FITS[name])
    terminal, stderr = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment
    ) as process:
        os.close(stderr)
        assert process.stdout.readline() == "begins\n"
        shown = b""
        while b"selecting" not in shown:
            shown += os.read(terminal, 65536)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        asked = time.perf_counter()
        try:
            while chunk := os.read(terminal, 65536):
                shown += chunk
        except OSError:  # the other side has closed
            pass
        assert process.wait() == -signal.SIGINT
        seconds = time.perf_counter() - asked
        assert process.stdout.read() == ""
    os.close(terminal)
    print(f"{name}: {seconds:.2f} s")
    # A user should wait at most a second; a busy machine gets more time. The fit itself takes minutes.
    assert seconds < 5.0
    assert "KeyboardInterrupt" in shown.decode()


@batch
def test_no_progress_where_there_is_no_terminal(estimator, problem, capfd):
    estimator(7, progress=True).fit(*problem)
    assert capfd.readouterr() == ("", "")
