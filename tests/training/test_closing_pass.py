"""The closing pass of ShadowSOFS, in which the predicting layer starts again, and how many passes there are before."""

from __future__ import annotations

import itertools
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from oracles import INTERCEPT, INTERCEPT_VALUE, LogisticOracle, MarginScaleOracle
from states import OF_MARGINS, assert_same_scale, assert_same_state, same_state, state_of
from strategies import budgets, class_counts, norms, problems, random_problem
from test_checkpoints import Stop, bytes_of, stopped_after
from test_gamma_auto import stream_of

from thresher import SOFS, ShadowSOFS, convert, datasets, distributed, open_stream, train, train_many
from thresher.io.checkpoints import read_checkpoint
from thresher.model.session import Pass, Session
from thresher.parameters import random_generator
from thresher.streams import DataError, Stream
from thresher.streams.formats import text
from thresher.training.run import RunGroup

# Rows of values too small to square.
pytestmark = pytest.mark.filterwarnings("ignore:The precision of every feature")

LAYER = ("predicting_ids", "predicting_cells", "predicting_intercept")
WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=25, max_size=25)


def weights_for(X, drawn) -> np.ndarray:
    weights = np.array(drawn[: X.shape[0]])
    weights[0] = 1.0
    return weights


def assert_same_selection(one, other) -> None:
    """Compare all that two have learned, except for the predicting layer."""
    states = [{"learned": {**state_of(each)["learned"]}} for each in (one, other)]
    for name in LAYER:
        states[0]["learned"][name] = states[1]["learned"][name]
    if len(one.classes_) > 2:  # the layer has a scale of its own
        counters = states[0]["learned"]["counters"]
        states[0]["learned"]["counters"] = counters | {
            name: states[1]["learned"]["counters"][name] for name in OF_MARGINS
        }
    assert_same_state(*states)
    np.testing.assert_array_equal(one.selected_, other.selected_)


def assert_is_oracle(model, X, y, weights, order) -> None:
    """Compare with a logistic regression that learns the selected columns alone, in this order."""
    given = model.get_params()
    n_vectors = model.coef_.shape[0]
    layer = LogisticOracle(n_vectors, given["norm"], given["fit_intercept"], np.float32)
    margins, n_rows = MarginScaleOracle(1.0), 0
    codes = np.searchsorted(model.classes_, y)
    for r in order:
        row = slice(X.indptr[r], X.indptr[r + 1])
        ids, values = X.indices[row], X.data[row]
        is_selected = np.isin(ids, model.selected_) & (values != 0)
        if weights[r] > 0:
            code, weight, n_rows = int(codes[r]), float(weights[r]), n_rows + 1
            scores = layer.learn(ids[is_selected].tolist(), values[is_selected], code, weight)
            margins.learn(scores, code, weight * n_rows**2)
    expected = np.zeros(model.coef_.shape, np.float32)
    for v in range(n_vectors):
        expected[v, model.selected_] = [layer.weight[v][j] for j in model.selected_.tolist()]
    np.testing.assert_array_equal(model.coef_.toarray().astype(np.float32), expected)
    intercept = [np.float32(INTERCEPT_VALUE) * layer.weight[v][INTERCEPT] for v in range(n_vectors)]
    np.testing.assert_array_equal(model.intercept_, np.array(intercept, float))
    if n_vectors > 1:  # with two classes the scale stays as the first reading left it
        assert_same_scale(model, margins)


class TestFit:
    @given(
        problem=problems(n_classes=class_counts),
        budget=budgets,
        norm=norms,
        fit_intercept=st.booleans(),
        shuffle=st.booleans(),
        n_passes=st.sampled_from([1, 2, "auto"]),
        memory=st.sampled_from(["dense", "hash", "sketch"]),
        drawn=WEIGHTS,
    )
    def test_is_a_logistic_regression_on_the_selected_columns(
        self, problem, budget, norm, fit_intercept, shuffle, n_passes, memory, drawn
    ):
        """It changes weights and intercept, and nothing else; it is learned with the rows' weights, in a new order."""
        X, y = problem
        weights = weights_for(X, drawn)
        given = {"norm": norm, "fit_intercept": fit_intercept, "shuffle": shuffle, "memory": memory}
        without = ShadowSOFS(budget, refit=False, n_passes=n_passes, **given).fit(X, y, sample_weight=weights)
        for refit in (True, "auto"):
            model = ShadowSOFS(budget, refit=refit, n_passes=n_passes, **given).fit(X, y, sample_weight=weights)
            assert_same_selection(model, without)
        random, order = random_generator(0), np.arange(X.shape[0])
        if shuffle:  # the order after those of the passes before
            for _ in range({1: 2, 2: 3, "auto": 4}[n_passes]):
                order = random.permutation(X.shape[0])
        assert_is_oracle(model, X, y, weights, order)

    def test_depends_on_rows_and_selection_alone(self):
        """Models that have learned the same rows in other ways, and select the same, end in the same weights."""
        X, y = random_problem(300, 8, 0.5, seed=1)
        slow, fast = (ShadowSOFS(8, gamma=gamma, shuffle=False).fit(X, y) for gamma in (0.01, 10.0))
        assert not same_state(slow, fast)
        np.testing.assert_array_equal(slow.coef_.toarray(), fast.coef_.toarray())
        np.testing.assert_array_equal(slow.intercept_, fast.intercept_)

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_class_weights_count(self, n_classes):
        X, y = random_problem(200, 40, 0.2, seed=4, n_classes=n_classes)
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        for class_weight, each in (
            (dict(zip(classes.tolist(), (0.5, 3.0, 1.0, 2.0), strict=False)), np.array([0.5, 3.0, 1.0, 2.0])),
            ("balanced", len(y) / (n_classes * counts)),
        ):
            model = ShadowSOFS(10, class_weight=class_weight, shuffle=False).fit(X, y)
            assert_is_oracle(model, X, y, each[codes], range(len(y)))

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_forbidden_is_partial_fit(self, n_classes):
        X, y = random_problem(200, 40, 0.2, seed=4, n_classes=n_classes)
        model = ShadowSOFS(10, refit=False, n_passes=1, shuffle=False).fit(X, y)
        assert_same_state(model, ShadowSOFS(10).partial_fit(X, y, classes=np.unique(y)))
        assert not same_state(model, ShadowSOFS(10, n_passes=1, shuffle=False).fit(X, y))

    def test_goes_on_after_it(self):
        """`partial_fit` continues with the layer as the closing pass left it, as `train` does."""
        X, y = random_problem(300, 40, 0.2, seed=4)
        model, other = (ShadowSOFS(10).fit(X[:200], y[:200]) for _ in range(2))
        before = model.coef_.toarray()
        model.partial_fit(X[200:], y[200:])
        history = train(other, stream_of(X[200:], y[200:]))
        assert (history.n_passes, history.refitted) == (1, False)
        assert_same_state(model, other)
        assert not np.array_equal(model.coef_.toarray(), before)


class TestTrain:
    @given(
        problem=problems(n_classes=class_counts),
        budget=budgets,
        cuts=st.lists(st.integers(1, 24), max_size=4),
        drawn=WEIGHTS,
        n_passes=st.sampled_from([1, 2]),
        class_weight=st.sampled_from([None, "balanced"]),
    )
    def test_any_batching(self, problem, budget, cuts, drawn, n_passes, class_weight):
        X, y = problem
        weights = weights_for(X, drawn)
        found = []
        for each in ([], sorted({cut for cut in cuts if cut < X.shape[0]})):
            model = ShadowSOFS(budget, refit=True, n_passes=n_passes, class_weight=class_weight)
            history = train(model, stream_of(X, y, weights, each), shuffle=False, classes=np.unique(y))
            assert (history.n_passes, history.refitted) == (n_passes, True)
            found.append(model)
        assert_same_state(*found)
        if class_weight is None:
            in_memory = ShadowSOFS(budget, refit=True, n_passes=n_passes, shuffle=False)
            assert_same_state(found[0], in_memory.fit(X, y, sample_weight=weights))

    def test_balanced_classes_count_by_all_rows(self):
        """In the passes before, a stream's weights are those of the rows so far."""
        X, y = random_problem(300, 40, 0.2, seed=4, n_classes=3)
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        model = ShadowSOFS(10, class_weight="balanced")
        train(model, stream_of(X, y), classes=classes, shuffle=False)
        assert_is_oracle(model, X, y, (len(y) / (3 * counts))[codes], range(len(y)))

    @pytest.mark.parametrize("labels", [("spam", "mail"), ("mail", "spam")])
    def test_the_first_label_of_a_stream_is_either_class(self, labels):
        X, y = random_problem(300, 40, 0.2, seed=4)
        named = np.where(y == y[0], *labels)
        model = ShadowSOFS(10, refit=True)
        train(model, stream_of(X, named), shuffle=False, passes=2)
        assert_is_oracle(model, X, named, np.ones(300), range(300))

    @pytest.mark.parametrize(
        ("n_classes", "passes", "refit", "expected"),
        [
            (2, 1, "auto", False), (2, 2, "auto", True), (3, 1, "auto", True), (3, 2, "auto", True),
            (2, 1, True, True), (3, 2, False, False), (2, "auto", "auto", True), (2, "auto", False, False),
        ],
    )  # fmt: skip
    def test_when_there_is_one(self, n_classes, passes, refit, expected):
        X, y = random_problem(300, 40, 0.2, seed=4, n_classes=n_classes)
        model, without = ShadowSOFS(10, refit=refit), ShadowSOFS(10, refit=False)
        history = train(model, stream_of(X, y), passes, classes=np.unique(y), shuffle=False)
        train(without, stream_of(X, y), passes, classes=np.unique(y), shuffle=False)
        assert history.refitted is expected
        assert history.n_passes == (3 if passes == "auto" else passes)
        assert model.n_samples_seen_ == history.rows[-1] == 300 * history.n_passes
        assert same_state(model, without) is not expected
        assert_same_selection(model, without)
        assert ("and a closing one" in history._repr_html_()) is expected

    def test_is_measured_on_the_validation_data(self):
        """The last figure is that of the model that `train` leaves behind."""
        X, y = random_problem(1_000, 40, 0.2, seed=4)
        model = ShadowSOFS(10)
        history = train(model, stream_of(X[:300], y[:300]), validate=stream_of(X[300:], y[300:]))
        assert history.refitted
        assert history.validation[-1] == model.score(X[300:], y[300:])

    @pytest.mark.parametrize("n_threads", [1, 3])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_train_many_equals_train(self, n_threads, n_classes):
        """Also where some models have no closing pass, or can have none."""
        X, y = random_problem(400, 60, 0.2, seed=4, n_classes=n_classes)
        stream, test = stream_of(X[:300], y[:300], cuts=[50, 170]), stream_of(X[300:], y[300:])

        def models():
            of_shadow = ({}, {"gamma": 4.0}, {"refit": False}, {"refit": True, "norm": None}, {"gamma": "auto"})
            return [SOFS(10), *(ShadowSOFS(10, **given) for given in of_shadow)]

        together, apart = models(), models()
        options = {"passes": 2, "validate": test, "classes": np.unique(y)}
        histories = train_many(together, stream, n_threads=n_threads, **options)
        for model, other, history in zip(together, apart, histories, strict=True):
            alone = train(other, stream, **options)
            assert_same_state(model, other)
            assert {**history.state(), "seconds": None} == {**alone.state(), "seconds": None}
        assert [history.refitted for history in histories] == [False, True, True, False, True, True]

    @pytest.mark.parametrize("given", [{"refit": True}, {"n_passes": 2}])
    def test_is_refused_where_data_can_be_read_once(self, given):
        """At the first batch: nobody waits for an hour to hear of it."""
        X, y = random_problem(300, 40, 0.2, seed=4)
        batches = iter([(X, y)] * 3)
        model = ShadowSOFS(10, **given)
        with pytest.raises(DataError, match=r"can be read only once, but \w+=\w+: write it to a file first") as error:
            train(model, batches)
        assert "\n" not in str(error.value)
        assert len(list(batches)) == 2
        assert not hasattr(model, "selected_")

    def test_an_error_in_it_leaves_the_model_as_it_was(self):
        X, y = random_problem(300, 40, 0.2, seed=4)
        model = ShadowSOFS(10).fit(X, y)
        before = state_of(model)
        left = [3]

        def readings():
            left[0] -= 1
            yield from stream_of(X[:200], y[:200]).batches()
            if left[0] == 0:
                raise Stop
            yield from stream_of(X[200:], y[200:]).batches()

        stream = Stream("rows", readings, id_base=0)
        with pytest.raises(Stop):
            train(model.set_params(refit=True), stream, passes=2)
        assert_same_state(model, before)


class TestPasses:
    """How many passes n_passes="auto" is; `n_samples_seen_` counts the rows of all but the closing one."""

    @staticmethod
    def rows(n: int):
        random = np.random.default_rng(0)
        return np.eye(4, dtype=np.float32)[random.integers(0, 4, n)], random.integers(0, 2, n)

    @pytest.mark.parametrize(
        ("n", "n_without_weight", "n_passes"), [(5_000, 0, 3), (5_001, 0, 1), (5_100, 100, 3), (5_101, 100, 1)]
    )
    def test_few_rows_are_learned_three_times(self, n, n_without_weight, n_passes):
        X, y = self.rows(n)
        weights = np.ones(n)
        weights[:n_without_weight] = 0.0
        n_seen = n_passes * (n - n_without_weight)
        assert ShadowSOFS(2).fit(X, y, sample_weight=weights).n_samples_seen_ == n_seen
        history = train(ShadowSOFS(2), stream_of(sp.csr_matrix(X), y, weights, [1_000, 4_000]))
        assert (history.n_passes, history.rows[-1]) == (n_passes, n_seen)
        assert history.refitted == (n_passes > 1)

    def test_auto_is_as_if_it_had_been_asked_for(self):
        X, y = self.rows(600)
        for auto, asked in ((ShadowSOFS(2), ShadowSOFS(2, n_passes=3)), (ShadowSOFS(2, gamma="auto"),) * 2):
            assert_same_state(auto.fit(X, y), asked.fit(X, y))

    def test_data_that_can_be_read_once_are_read_once(self):
        X, y = self.rows(600)
        model = ShadowSOFS(2)
        history = train(model, iter([(X, y)]), shuffle=False)
        assert (history.n_passes, history.refitted, model.n_samples_seen_) == (1, False, 600)
        assert_same_state(model, ShadowSOFS(2).partial_fit(X, y, classes=[0, 1]))

    def test_a_model_that_was_trained_before_reads_once(self):
        """It keeps what it learned from other rows; a closing pass that was asked for learns from these alone."""
        X, y = random_problem(600, 20, 0.5, seed=3)
        learned, other = (X[:300], y[:300]), (X[300:], y[300:])
        model, refitted = ShadowSOFS(5).fit(*learned), ShadowSOFS(5, refit=True).fit(*learned)
        history = train(model, stream_of(*other))
        assert (history.n_passes, history.refitted) == (1, False)
        assert train(refitted, stream_of(*other)).refitted
        assert_same_selection(model, refitted)
        assert_is_oracle(refitted, *other, np.ones(300), range(300))

    def test_asked_for_counts_in_any_case(self):
        X, y = self.rows(600)
        model = ShadowSOFS(2, n_passes=2).fit(X, y)
        assert model.n_samples_seen_ == 1_200
        assert train(model, stream_of(sp.csr_matrix(X), y)).n_passes == 2
        assert train(ShadowSOFS(2), stream_of(sp.csr_matrix(X), y), passes=1).n_passes == 1

    def test_mistakes_are_those_of_first_readings(self):
        """More passes and a closing one do not make a model look better while it learns."""
        X, y = random_problem(600, 20, 0.5, seed=3)
        once, thrice = ShadowSOFS(5, n_passes=1, refit=False).fit(X, y), ShadowSOFS(5).fit(X, y)
        assert thrice.n_samples_seen_ == 3 * once.n_samples_seen_
        assert thrice.n_mistakes_ == once.n_mistakes_ > 0
        history = train(ShadowSOFS(5), stream_of(X, y), shuffle=False)
        assert history.n_predicted == 600
        assert history.error[-1] == history.error[history.rows.index(600)]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    X, y = datasets.make_x1(1_200, n_features=600, n_informative=20, n_noise=40, random_state=3)
    convert((X, y), str(folder / "two.svm"))
    convert((X, y + 2 * (np.arange(len(y)) % 3 == 0)), str(folder / "many.svm"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", 40_000)
        convert(folder / "two.svm", str(folder / "two.thc"))
    lines = (folder / "two.svm").read_text().splitlines(keepends=True)
    (folder / "sorted.svm").write_text("".join(sorted(lines)))
    return folder


CASES = {
    "in order": ("two.svm", {"refit": True}, {"shuffle": False}),
    "several passes": ("two.svm", {}, {"shuffle": False, "passes": 2}),
    "auto": ("two.svm", {}, {}),
    "shuffled": ("two.svm", {"refit": True}, {"shuffle": True}),
    "shuffled, several passes": ("two.svm", {}, {"shuffle": True}),
    "grouped": ("sorted.svm", {}, {}),
    "cache": ("two.thc", {"refit": True}, {"shuffle": False}),
    "race": ("two.svm", {"gamma": "auto"}, {"passes": 2}),
    "sketch": ("two.svm", {"memory": "sketch", "memory_bytes": 1 << 14}, {"passes": 2}),
    "balanced": ("two.svm", {"class_weight": "balanced"}, {"passes": 2}),
    "many classes": ("many.svm", {"class_weight": "balanced"}, {"multiclass": True, "passes": 1}),
}


def n_batches(model, stream, **options) -> tuple[int, int]:
    """Return how many batches a run learns, and how many of them in its closing pass."""
    seen = []
    one_pass = RunGroup.one_pass

    def counting(reading, bar, start=None, after_batch=None):
        return one_pass(reading, bar, start, lambda now: seen.append(now.in_pass == Pass.REFIT))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunGroup, "one_pass", counting)
        train(model, stream, **options)
    return len(seen), sum(seen)


@pytest.mark.parametrize("shards", [False, True])
def test_ctrl_c_in_it_undoes_it(rows, monkeypatch, shards):
    """A model of its first rows alone would be worse than that of the passes before, which is what is left."""
    monkeypatch.setattr(text, "BLOCK", 40_000)
    learn, given = Session.learn, {"n_shards": 2, "syncs": 4, "engine": "local", "workers": 1}
    n_closing = itertools.count()

    def interrupted(session, *rows, **options):
        # What a signal does between two blocks; in its class the session has no public name for this.
        if session.in_pass == Pass.REFIT and next(n_closing) == 3:
            raise KeyboardInterrupt
        return learn(session, *rows, **options)

    def trained(model):
        if shards:
            return distributed.train(model, rows / "two.svm", **given)
        return train(model, rows / "two.svm", shuffle=False)

    without, stopped = ShadowSOFS(15, n_passes=1, refit=False), ShadowSOFS(15, n_passes=1, refit=True)
    trained(without)
    monkeypatch.setattr(Session, "learn", interrupted)
    history = trained(stopped)
    assert next(n_closing) == 4
    assert history.interrupted
    assert not history.refitted
    assert_same_state(stopped, without)


class TestResume:
    """A run that was stopped in its closing pass ends in the bytes of one that never stopped."""

    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr(text, "BLOCK", 40_000)
        monkeypatch.setattr("thresher.streams.shuffling._BATCH_ROWS", 300)
        # A checkpoint after every batch, however long it takes.
        monkeypatch.setattr("thresher.training.checkpoint._MOST_TIME", 1e9)

    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.filterwarnings("ignore:.*grouped by label")
    def test_ends_in_the_same_bytes(self, rows, tmp_path, case):
        name, given, options = CASES[case]

        def data():
            return open_stream(rows / name)

        whole = ShadowSOFS(15, **given)
        history = train(whole, data(), **options)
        assert history.refitted
        n, n_closing = n_batches(ShadowSOFS(15, **given), data(), **options)
        assert n_closing >= 2
        # Before the closing pass, after its first batch, in its middle, and after its last one.
        for left in {n_closing, n_closing - 1, n_closing // 2, 0}:
            (tmp_path / "run.ckpt").unlink(missing_ok=True)
            stopped_after(n - left, ShadowSOFS(15, **given), data(), tmp_path, **options)
            about = read_checkpoint(tmp_path / "run.ckpt").about
            assert not about["finished"]
            assert (about["reading"]["runs"][0]["session"]["in_pass"] == "refit") == (left < n_closing)
            model = ShadowSOFS(15, **given)
            resumed = train(model, data(), checkpoint=tmp_path / "run.ckpt", every=1, resume=True, **options)
            assert bytes_of(model, tmp_path) == bytes_of(whole, tmp_path)
            assert {**resumed.state(), "seconds": None} == {**history.state(), "seconds": None}

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_saves_it_there(self, rows, tmp_path, monkeypatch, number):
        """Though no checkpoint was due: the run is asked to stop, saves itself, and stops."""
        one_pass, n_seen = RunGroup.one_pass, itertools.count()

        def with_signal(reading, bar, start=None, after_batch=None):
            def after(now):
                if now.in_pass == Pass.REFIT and next(n_seen) == 1:
                    signal.raise_signal(number)
                after_batch(now)

            return one_pass(reading, bar, start, after)

        monkeypatch.setattr(RunGroup, "one_pass", with_signal)
        options = {"shuffle": False, "checkpoint": tmp_path / "run.ckpt", "every": "1h"}
        before = signal.signal(signal.SIGTERM, _stop)
        try:
            if number == signal.SIGINT:
                assert train(ShadowSOFS(15, refit=True), rows / "two.svm", **options).interrupted
            else:
                with pytest.raises(Stop):
                    train(ShadowSOFS(15, refit=True), rows / "two.svm", **options)
        finally:
            signal.signal(signal.SIGTERM, before)
        monkeypatch.setattr(RunGroup, "one_pass", one_pass)
        saved = read_checkpoint(tmp_path / "run.ckpt").about["reading"]
        assert saved["runs"][0]["session"]["in_pass"] == "refit"
        assert 0 < saved["n_rows"] < 1_200
        model, whole = ShadowSOFS(15, refit=True), ShadowSOFS(15, refit=True)
        train(model, rows / "two.svm", resume=True, **options)
        train(whole, rows / "two.svm", shuffle=False)
        assert bytes_of(model, tmp_path) == bytes_of(whole, tmp_path)

    def test_of_a_model_that_was_trained_before(self, rows, tmp_path):
        X, y = datasets.make_x1(600, n_features=600, n_informative=20, n_noise=40, random_state=4)

        def trained():
            model = ShadowSOFS(15, refit=True)
            train(model, stream_of(X, y), shuffle=False)
            return model

        whole, model = trained(), trained()
        stream = open_stream(rows / "two.svm", zero_based=True)
        options = {"shuffle": False}
        history = train(whole, stream, **options)
        assert (history.n_passes, history.refitted) == (1, True)
        n, n_closing = n_batches(trained(), stream, **options)
        stopped_after(n - n_closing // 2, trained(), stream, tmp_path, **options)
        assert read_checkpoint(tmp_path / "run.ckpt").about["reading"]["runs"][0]["session"]["in_pass"] == "refit"
        train(model, stream, checkpoint=tmp_path / "run.ckpt", resume=True, **options)
        assert bytes_of(model, tmp_path) == bytes_of(whole, tmp_path)

    def test_other_settings_are_refused(self, rows, tmp_path):
        stopped_after(2, ShadowSOFS(15, refit=True), rows / "two.svm", tmp_path, shuffle=False)
        with pytest.raises(ValueError, match=r"run.ckpt: this is a checkpoint of a run with refit=True, not 'auto'"):
            train(
                ShadowSOFS(15), rows / "two.svm", checkpoint=tmp_path / "run.ckpt", resume=True, shuffle=False
            )  # fmt: skip


def _stop(*_given):
    raise Stop
