"""Where features are stored: the same result in dense memory and in a hash table, and nearly in a sketch."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import thresher
from every import ONLINE, SECOND_ORDER, in_order, made, of_kernel, online
from hypothesis import given
from hypothesis import strategies as st
from real_data import load as load_set
from real_data import split
from sklearn.base import clone
from states import assert_same_state, model_of, state_of
from strategies import TIES, budgets, class_counts, problems, random_problem

from thresher import (
    AROW,
    OGD,
    PET,
    SOFS,
    ShadowSOFS,
    _core,
    cross_validate,
    datasets,
    load,
    open_stream,
    path,
    save,
    stability,
    train,
)
from thresher.io.model_files import save_model

pytestmark = pytest.mark.filterwarnings("ignore:The precision of every feature")
SKETCHED = [SOFS, ShadowSOFS]
sketched = pytest.mark.parametrize("estimator", SKETCHED, ids=lambda each: each.__name__)
SETS = ["basehock", "relathe", "pcmac", "ccat", "w8a", "news20", "news20.multiclass"]


def spread_out(X: sp.csr_matrix, step: int) -> sp.csr_matrix:
    """Return the same rows with ids multiplied."""
    ids = X.indices.astype(np.int64) * step
    return sp.csr_matrix((X.data, ids, X.indptr.astype(np.int64)), shape=(X.shape[0], X.shape[1] * step))


@online
class TestHash:
    @given(problems(n_classes=class_counts), budgets, st.booleans())
    def test_equals_dense(self, estimator, problem, budget, fit_intercept):
        X, y = problem
        states = [
            state_of(made(estimator, budget, memory=memory, fit_intercept=fit_intercept).fit(X, y))
            for memory in ("dense", "hash", "auto")
        ]
        assert_same_state(states[0], states[1])
        assert_same_state(states[0], states[2])

    @given(problems(TIES, max_rows=40, n_classes=class_counts), budgets)
    def test_wide_ids_give_the_model_of_narrow_ones(self, estimator, problem, budget):
        X, y = problem
        step = 2**41
        wide = made(estimator, budget, memory="hash").fit(spread_out(X, step), y)
        narrow = made(estimator, budget, memory="dense").fit(X, y)
        np.testing.assert_array_equal(wide.selected_, narrow.selected_ * step)
        np.testing.assert_array_equal(model_of(wide).members()[1], model_of(narrow).members()[1])
        np.testing.assert_array_equal(wide.decision_function(spread_out(X, step)), narrow.decision_function(X))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", SETS)
    def test_real_data(self, estimator, name):
        X, y = load_set(name)
        rows = np.random.default_rng(0).permutation(X.shape[0])[:2_000]
        one, other = (made(estimator, 500, memory=memory).fit(X[rows], y[rows]) for memory in ("dense", "hash"))
        assert_same_state(one, other)

    def test_saved_pickled_cloned(self, estimator, tmp_path):
        X, y = random_problem(300, 60, 0.2, seed=0)
        X = spread_out(X, 2**41)
        whole = in_order(estimator, 9, memory="hash").fit(X, y)
        part = in_order(estimator, 9, memory="hash").partial_fit(X[:100], y[:100], classes=[-1, 1])
        save(part, tmp_path / "m.thresher")
        for model in (load(tmp_path / "m.thresher"), pickle.loads(pickle.dumps(part))):
            assert_same_state(model.partial_fit(X[100:], y[100:]), whole)
        assert clone(whole).memory == "hash"

    def test_any_width(self, estimator):
        X, y = random_problem(300, 60, 0.2, seed=1)
        model = made(estimator, 9, memory="hash").partial_fit(X[:100, :40], y[:100], classes=[-1, 1])
        model.partial_fit(X[100:], y[100:])
        assert model.n_features_in_ == 60
        assert model.predict(X[:5, :10]).shape == (5,)
        wider = sp.csr_matrix((5, 1000), dtype=np.float32)
        assert model.transform(wider).shape == (5, len(model.selected_))
        dense = made(estimator, 9, memory="dense").fit(X, y)
        with pytest.raises(ValueError, match="60"):
            dense.predict(X[:, :10])


def test_two_processes_give_the_same_bytes():
    """Tables find ids by a secret of the process, of which no model may show anything."""
    code = """
import hashlib, pickle, numpy as np, pandas as pd, scipy.sparse as sp
from thresher import AROW, FOFS, OGD, PET, SOFS, ShadowSOFS, open_stream, train
random = np.random.default_rng(0)
ids = np.sort(random.integers(0, 2**62, 1_000)[random.integers(0, 1_000, (300, 40))], axis=1)
X = sp.csr_matrix((random.random(12_000), ids.ravel(), np.arange(0, 12_001, 40)), shape=(300, 2**62))
X.sum_duplicates()
y = random.integers(0, 2, 300)
texts = pd.DataFrame({"y": y, "t": [" ".join(f"w{id}" for id in row) for row in ids]})
for estimator in (AROW, FOFS, OGD, PET, SOFS, ShadowSOFS):
    budget = {} if estimator in (AROW, OGD) else {"n_features_to_select": 50}
    by_id, by_name = (estimator(**budget, memory="hash") for _ in range(2))
    train(by_name, open_stream(texts, label="y", text="t"))
    for model in (by_id.fit(X, y), by_name):
        print(hashlib.sha256(pickle.dumps(model)).hexdigest())
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    one, other = (subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout for _ in range(2))
    assert len(set(one.split())) == 12
    assert one == other


@pytest.mark.memory
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory in use is read from /proc")
@pytest.mark.parametrize(
    ("options", "bytes_per_model"),
    [({"memory": "auto"}, 8 * 20_000), ({"memory": "hash"}, (16 + 26) * 20_000),
     ({"memory": "sketch", "memory_bytes": 160_000}, 160_000 + 2 * (16 + 64) * 100)],
    ids=lambda options: options.get("memory") if isinstance(options, dict) else "",
)  # fmt: skip
def test_many_small_models_take_what_the_docs_say(options, bytes_per_model):
    """The table of docs/memory.md and 60 KB, within a fifth: no huge page for a few cells."""
    code = f"""
from thresher import ShadowSOFS, datasets
X, y = datasets.make_x1(n_samples=300, random_state=0)

def in_use():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

first = [ShadowSOFS(100, **{options}).fit(X, y) for _ in range(3)]
before = in_use()
models = [ShadowSOFS(100, **{options}).fit(X, y) for _ in range(100)]
print(in_use() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) * 1024 / 100 == pytest.approx(bytes_per_model + 60_000, rel=0.2)


class TestAuto:
    @pytest.mark.slow
    def test_spread_ids_take_little_memory(self):
        """In dense memory each feature would take a page of 4 KiB."""
        code = """
import resource, numpy as np, scipy.sparse as sp
from thresher import SOFS
random = np.random.default_rng(0)
ids = np.sort(random.integers(0, 2**32, (500, 200)), axis=1)
X = sp.csr_matrix((np.ones(100_000, np.float32), ids.ravel(), np.arange(0, 100_001, 200)), shape=(500, 2**32))
y = random.integers(0, 2, 500)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
SOFS(100).fit(X, y)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        assert float(done.stdout) < 60

    @pytest.mark.parametrize("estimator", SECOND_ORDER, ids=lambda each: each.__name__)
    def test_moves_keep_the_bits(self, estimator):
        random = np.random.default_rng(1)
        ids = np.sort(random.integers(0, 2**27, (400, 60)), axis=1)
        X = sp.csr_matrix((random.random(24_000).astype(np.float32), ids.ravel(), np.arange(0, 24_001, 60)))
        X.sum_duplicates()
        y = random.integers(0, 2, 400)
        one, other = (made(estimator, 50, memory=memory).fit(X, y) for memory in ("auto", "dense"))
        assert_same_state(one, other)


@sketched
class TestSketch:
    @given(problems(n_classes=class_counts), budgets, st.booleans())
    def test_without_collisions_equals_dense(self, estimator, problem, budget, fit_intercept):
        X, y = problem
        one = estimator(budget, memory="sketch", fit_intercept=fit_intercept).fit(X, y)
        other = estimator(budget, memory="dense", fit_intercept=fit_intercept).fit(X, y)
        np.testing.assert_array_equal(one.selected_, other.selected_)
        np.testing.assert_array_equal(model_of(one).members()[1], model_of(other).members()[1])
        np.testing.assert_array_equal(one.intercept_, other.intercept_)

    @given(st.data(), problems(max_rows=40, n_classes=class_counts), budgets)
    def test_with_collisions_resumed_equals_never_stopped(self, estimator, data, problem, budget):
        X, y = problem
        given = {"memory": "sketch", "memory_bytes": 4096 * max(2, len(np.unique(y)))}
        X = spread_out(X, 2**40)
        whole = in_order(estimator, budget, **given).fit(X, y)
        cut = data.draw(st.integers(1, X.shape[0] - 1))
        first = estimator(budget, **given).partial_fit(X[:cut], y[:cut], classes=np.unique(y))
        again = pickle.loads(pickle.dumps(first)).partial_fit(X[cut:], y[cut:])
        assert_same_state(again, whole)
        assert len(whole.selected_) <= budget

    def test_files(self, estimator, tmp_path):
        X, y = random_problem(500, 400, 0.1, seed=0)
        model = estimator(20, memory="sketch", memory_bytes=4096).fit(X, y)
        save(model, tmp_path / "full")
        save_model(model_of(model), tmp_path / "compact", compact=True)
        assert (tmp_path / "compact").stat().st_size < (tmp_path / "full").stat().st_size - 3_000
        for name in ("full", "compact"):
            np.testing.assert_array_equal(load(tmp_path / name).predict(X), model.predict(X))
        load(tmp_path / "full").partial_fit(X, y)
        with pytest.raises(ValueError, match="saved compact"):
            load(tmp_path / "compact").partial_fit(X, y)

    def test_every_analysis(self, estimator):
        X, y = random_problem(400, 200, 0.1, seed=0)
        template = estimator(20, memory="sketch", memory_bytes=1 << 16, keep=[3], gamma="auto")
        assert len(path(template, (X, y), [5, 20]).accuracy) == 2
        assert 0.4 < cross_validate(template, (X, y), folds=3).accuracy <= 1
        assert 3 in stability(template, (X, y), n=3).frequency

    @pytest.mark.parametrize(
        ("name", "n_train", "budget", "share"), [("ccat", 13_149, 500, 4), ("news20", 10_000, 5_000, 20)]
    )
    def test_accuracy_in_little_memory(self, estimator, name, n_train, budget, share):
        """Near that of dense memory with a share of its bytes."""
        X, y, X_test, y_test = split(name, n_train, 0)
        n_bytes = X.shape[1] * 8 // share
        dense = estimator(budget, memory="dense").fit(X, y).score(X_test, y_test)
        sketch = estimator(budget, memory="sketch", memory_bytes=n_bytes).fit(X, y).score(X_test, y_test)
        print(f"{estimator.__name__} on {name}, 1/{share}: dense {dense:.4f}, sketch {sketch:.4f}")
        assert sketch > dense - 0.005


@pytest.mark.parametrize("memory", ["hash", "sketch"])
class TestWidth:
    X, y = random_problem(300, 60, 0.2, seed=1)

    def model(self, memory, X=X):
        return SOFS(9, memory=memory).fit(X[:, :40] if not hasattr(X, "iloc") else X, self.y)

    def test_transform_of_arrays(self, memory):
        model = self.model(memory)
        for width in (10, 40, 60):
            X = self.X[:, :width]
            expected = model.transform(X).toarray()
            np.testing.assert_array_equal(model.transform(X.toarray()), expected)
            np.testing.assert_array_equal(model.transform(pd.DataFrame(X.toarray())), expected)

    def test_frames_with_names_keep_their_columns(self, memory):
        frame = pd.DataFrame(self.X.toarray(), columns=[f"c{k}" for k in range(60)])
        model = self.model(memory, frame)
        for other in (frame[frame.columns[::-1]], frame.iloc[:, :50], frame.assign(more=1.0)):
            for call in (model.predict, model.transform, lambda X: model.partial_fit(X, self.y)):
                with pytest.raises(ValueError, match=r"feature names|features"):
                    call(other)

    def test_more_columns_one_by_one(self, memory):
        model = SOFS(50, memory=memory, shuffle=False).partial_fit(self.X[:100, :40], self.y[:100], classes=[-1, 1])
        model.partial_fit(self.X[100:], self.y[100:])
        assert max(model.get_support(indices=True)) >= 40
        assert len(model.get_feature_names_out()) == len(model.selected_)
        assert model.coef_.shape == (1, 60)


class TestBadInput:
    X, y = random_problem(100, 20, 0.3, seed=0)

    def test_a_sketch_too_small_for_the_classes(self):
        y = np.arange(100) % 50
        with pytest.raises(ValueError, match="memory_bytes=4096 is too small for 50 classes: use at least 204800"):
            ShadowSOFS(5, memory="sketch", memory_bytes=4096).fit(self.X, y)

    def test_a_table_that_can_not_be(self):
        state = state_of(SOFS(5, memory="sketch", memory_bytes=4096).fit(self.X, self.y))["learned"]
        fresh = _core.SketchSofs(2, 5, "l2", False, of_kernel("sofs"), memory="sketch", memory_bytes=4096)
        with pytest.raises(ValueError, match="the table has a value that is out of range"):
            fresh.restore(**{**state, "table": -np.ones_like(state["table"])})
        with pytest.raises(ValueError, match="there is no memory 'sparse'"):
            _core.Sofs(2, 5, "l2", False, of_kernel("sofs"), memory="sparse")

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (SOFS(memory="sparse"), "memory of SOFS must be one of 'auto', 'dense', 'hash', 'sketch'. Got 'sparse'"),
            (
                SOFS(memory="sketch", memory_bytes=100),
                "memory_bytes of SOFS must be None or .* from 4 KB to 32 GB. Got 100",
            ),
            (
                SOFS(memory_bytes=1 << 20),
                r"memory_bytes=1048576 is the size of a sketch: use memory='sketch'",
            ),
            (PET(memory="sketch"), "memory='sketch' can't be used with PET: it stores its selected features only"),
            (AROW(memory="sketch"), "memory='sketch' can't be used with AROW: it keeps every feature exactly"),
            (OGD(memory="sketch"), "memory='sketch' can't be used with OGD: it keeps every feature exactly"),
        ],
    )
    def test_parameters(self, model, message):
        with pytest.raises(ValueError, match=message):
            model.fit(self.X, self.y)

    def test_another_memory_while_learning(self):
        model = ShadowSOFS(5).fit(self.X, self.y)
        with pytest.raises(ValueError, match="memory can't be changed from auto to hash while learning: use fit"):
            model.set_params(memory="hash").partial_fit(self.X, self.y)


def test_command_line(tmp_path):
    (tmp_path / "wide.svm").write_text("1 4611686018427387900:1 7:0.5\n-1 9:1\n" * 20)
    model = tmp_path / "m.thresher"
    done = thresher("train", tmp_path / "wide.svm", "-k", 2, "--memory", "sketch", "--memory-bytes", "1M", "-o", model)
    assert done.returncode == 0
    assert "accuracy 1.0000" in thresher("evaluate", model, tmp_path / "wide.svm").stdout
    done = thresher("train", tmp_path / "wide.svm", "--memory", "sketch", "--memory-bytes", "1X")
    assert done.returncode == 2
    assert "--memory-bytes of --method shadow must be a number of bytes from 4 KB to 32 GB. Got '1X'" in done.stderr
    for n_bytes in ("100", "33G", "9" * 5_000):
        done = thresher("train", tmp_path / "wide.svm", "--memory", "sketch", "--memory-bytes", n_bytes)
        assert done.returncode == 2
        assert "--memory-bytes of --method shadow must be " in done.stderr
    train(SOFS(2), open_stream(tmp_path / "wide.svm"))  # auto takes a hash table


def test_all_online_estimators_have_the_parameter():
    assert all(estimator().memory == "auto" for estimator in ONLINE)
    assert {estimator for estimator in ONLINE if "memory_bytes" in estimator().get_params()} == set(SKETCHED)


class TestErrorBound:
    """docs/memory.md: features that share a slot. All members are kept, so nobody enters or leaves."""

    N_BYTES = 1 << 14
    SLOTS = N_BYTES / 8
    IDS = np.arange(40, 20_000)
    X, y = datasets.make_x1(1_000, n_features=20_000, n_informative=50, n_noise=100)

    def model(self, estimator, memory, n_bytes=None):
        return in_order(estimator, 40, keep=np.arange(40), memory=memory, memory_bytes=n_bytes)

    def outsiders(self, model) -> np.ndarray:
        """Return (μ, E), the weight and the precision above its start, of all features that are not members."""
        return model_of(model).learner.cells(self.IDS).reshape(-1, 2).astype(float)

    @pytest.mark.parametrize("estimator", SKETCHED, ids=lambda each: each.__name__)
    def test_precision(self, estimator):
        model, exact, n_updates = self.model(estimator, "sketch", self.N_BYTES), np.zeros(20_000), 0
        for r in range(1_000):
            row = self.X[r]
            model.partial_fit(row, self.y[r : r + 1], classes=[-1, 1])
            if model.n_updates_ > n_updates:
                exact[row.indices] += row.data**2 / (row.data @ row.data) / model.gamma
            n_updates = model.n_updates_
        exact = exact[self.IDS]
        above = self.outsiders(model)[:, 1] - exact
        assert above.min() > -1e-5 * exact.max()  # never below, but for rounding
        assert 0 < above.mean() <= exact.sum() / self.SLOTS
        for k in (2, 4, 8):  # Markov's inequality, in each row of the table: SOFS has two
            share = (above > k * exact.sum() / self.SLOTS).mean()
            assert share <= k ** (-2 if estimator is SOFS else -1)

    def test_weight(self):
        models = (self.model(ShadowSOFS, "dense"), self.model(ShadowSOFS, "sketch", self.N_BYTES))
        exact, found = (self.outsiders(model.fit(self.X, self.y))[:, 0] for model in models)
        spread = np.sqrt((exact**2).sum() / self.SLOTS)
        assert abs((found - exact).mean()) < 0.1 * spread  # others cancel
        for k in (2, 3):  # Chebyshev's inequality
            assert 0 < (np.abs(found - exact) > k * spread).mean() <= k**-2
