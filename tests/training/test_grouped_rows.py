"""Training on rows that are grouped by label: `fit` shuffles, and `train` does so once it knows."""

from __future__ import annotations

import io
import json
import pickle
import time
from pathlib import Path

import numpy as np
import pytest
from every import made, online
from real_data import load as load_data
from states import assert_same_state, model_of, state_of
from strategies import random_problem
from test_training import write

from thresher import MRMR, SOFS, ShadowSOFS, load, open_stream, save, train
from thresher.model.model import Model
from thresher.streams import DataError, Stream
from thresher.training import train_many
from thresher.training.run import Run, RunGroup

AGAIN = r"grouped by label \(one class: .*\)\. Training starts again on a seeded shuffle"
POOR = r"grouped by label \(one class: .*\)\. Online learning gives poor results on such rows"


def sorted_problem(n_rows=400, n_classes=2):
    X, y = random_problem(n_rows, 50, 0.3, seed=3, n_classes=n_classes)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def as_file(path, X, y):
    rows = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X]
    return write(path, y.tolist(), rows)


@pytest.fixture
def grouped(tmp_path):
    """A file of 400 rows sorted by label."""
    return as_file(tmp_path / "sorted.svm", *sorted_problem())


@pytest.fixture
def mixed(tmp_path):
    """The same rows in random order."""
    X, y = sorted_problem()
    order = np.random.default_rng(0).permutation(400)
    return as_file(tmp_path / "mixed.svm", X[order], y[order])


def same(one, other) -> None:
    assert_same_state(one, other)
    assert one.classes_.tolist() == other.classes_.tolist()
    assert (one.n_features_in_, model_of(one).id_base) == (other.n_features_in_, model_of(other).id_base)
    assert model_of(one).grouped_by_label == model_of(other).grouped_by_label


class Flow(Stream):
    """Rows that can be read only once."""

    def __init__(self, path):
        super().__init__("the flow", lambda: open_stream(path).batches(), only_once="the flow")


class TestAgain:
    """A new model is trained again, with the bits of shuffle=True."""

    @online
    @pytest.mark.parametrize("passes", [1, 2])
    def test_the_result_is_that_of_a_shuffle(self, estimator, grouped, passes):
        model, asked = made(estimator, 7), made(estimator, 7)
        with pytest.warns(UserWarning, match=rf"sorted.svm: the rows are {AGAIN}.*shuffle=True") as caught:
            history = train(model, grouped, passes)
        expected = train(asked, grouped, passes, shuffle=True)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        same(model, asked)
        assert (history.rows, history.error, history.loss) == (expected.rows, expected.error, expected.loss)
        assert (history.shuffled, history.grouped_by_label) == (True, False)
        assert (history.n_passes, history.n_skipped) == (passes, 0)
        assert not model_of(model).grouped_by_label

    @pytest.mark.parametrize("n_rows", [60, 300, 3_000])
    def test_files_of_any_length(self, tmp_path, n_rows):
        path = as_file(tmp_path / "a.svm", *sorted_problem(n_rows))
        model, asked = ShadowSOFS(5), ShadowSOFS(5)
        with pytest.warns(UserWarning, match=AGAIN):
            train(model, path)
        train(asked, path, shuffle=True)
        same(model, asked)

    @pytest.mark.parametrize("size", [64, 300, 5_000])
    @pytest.mark.parametrize("limit", [0, 1 << 29])
    def test_whatever_the_batches_and_wherever_the_rows_are_kept(self, grouped, monkeypatch, size, limit):
        reference = SOFS(7, random_state=5)
        train(reference, grouped, shuffle=True)
        monkeypatch.setattr("thresher.streams.formats.text.BLOCK", size)
        monkeypatch.setattr("thresher.streams.shuffling.MEMORY_LIMIT", limit)
        model = SOFS(7, random_state=5)
        with pytest.warns(UserWarning, match=AGAIN):
            train(model, open_stream(grouped, threads=2))
        same(model, reference)

    def test_more_than_two_classes(self, tmp_path):
        path = as_file(tmp_path / "a.svm", *sorted_problem(n_classes=4))
        for asked in ({"classes": [0, 1, 2, 3]}, {"multiclass": True}):
            model, reference = ShadowSOFS(9), ShadowSOFS(9)
            with pytest.warns(UserWarning, match=AGAIN):
                train(model, path, **asked)
            train(reference, path, shuffle=True, **asked)
            same(model, reference)

    def test_a_race_for_gamma_is_run_again(self, grouped):
        model, reference = SOFS(7, gamma="auto"), SOFS(7, gamma="auto")
        with pytest.warns(UserWarning, match=AGAIN):
            history = train(model, grouped)
        expected = train(reference, grouped, shuffle=True)
        same(model, reference)
        assert model.gamma_ == reference.gamma_
        assert history.race == expected.race

    def test_validation_and_callbacks_are_those_of_the_shuffle(self, grouped, mixed):
        seen = []
        with pytest.warns(UserWarning, match=AGAIN):
            history = train(SOFS(7), grouped, 2, mixed, callback=lambda h: seen.append((h.shuffled, h.rows[-1])))
        expected = train(SOFS(7), grouped, 2, mixed, shuffle=True)
        assert [rows for is_shuffled, rows in seen if is_shuffled] == history.rows == expected.rows
        assert history.validation == expected.validation
        assert [n for n, share in zip(history.rows, history.validation, strict=True) if share is not None] == [400, 800]

    def test_all_that_was_read_is_counted(self, grouped):
        started = time.perf_counter()
        with pytest.warns(UserWarning, match=AGAIN):
            history = train(SOFS(7), grouped)
        assert history.n_bytes == 2 * Path(grouped).stat().st_size
        assert history.seconds[-1] <= time.perf_counter() - started

    def test_names_of_columns(self, tmp_path):
        lines = [f"{k % 3},{int(k >= 50)},{'ab'[k >= 50]}" for k in range(100)]
        (tmp_path / "t.csv").write_text("\n".join(["x,y,label", *lines]) + "\n")
        model = SOFS(2)
        with pytest.warns(UserWarning, match=AGAIN):
            train(model, tmp_path / "t.csv")
        assert model.get_feature_names_out().tolist() == ["x", "y"]

    def test_an_error_in_the_second_reading_leaves_a_new_model(self, grouped):
        readings = []

        def rows():
            readings.append(1)
            if len(readings) > 1:
                raise DataError("gone")
            yield from open_stream(grouped).batches()

        model = Model("sofs")
        with pytest.warns(UserWarning, match=AGAIN), pytest.raises(DataError, match="gone"):
            train(model, Stream("rows", rows))
        assert not model.is_trained
        assert model.target is None

    def test_ctrl_c_in_the_first_reading_ends_the_training(self, grouped, monkeypatch):
        monkeypatch.setattr("thresher.streams.formats.text.BLOCK", 500)

        def rows():
            n_rows = 0
            for batch in open_stream(grouped).batches():
                n_rows += batch.n_rows
                if n_rows > 390:
                    raise KeyboardInterrupt
                yield batch

        model = SOFS(7)
        with pytest.warns(UserWarning, match=POOR):
            history = train(model, Stream("rows", rows))
        assert (history.interrupted, history.shuffled, history.grouped_by_label) == (True, False, True)
        assert model.n_samples_seen_ == history.rows[-1] < 400


class TestNotAgain:
    def test_mixed_rows_keep_their_order(self, mixed):
        for given in ({}, {"shuffle": False}):  # whatever the model's own, which is for fit
            model, in_order = SOFS(7, **given), SOFS(7)
            history = train(model, mixed)  # warnings are errors here
            train(in_order, mixed, shuffle=False)
            same(model, in_order)
            assert (history.shuffled, history.grouped_by_label) == (False, False)

    def test_in_their_order_if_asked(self, grouped):
        X, y = sorted_problem()
        model, direct = SOFS(7), SOFS(7, shuffle=False)
        with pytest.warns(UserWarning, match=rf"sorted.svm: the rows are {POOR}: use shuffle=True"):
            history = train(model, grouped, shuffle=False)
        with pytest.warns(UserWarning, match=rf"y: the rows are {POOR}: use shuffle=True"):
            direct.fit(X, y)
        np.testing.assert_array_equal(model.coef_.toarray(), direct.coef_.toarray())
        assert (history.shuffled, history.grouped_by_label) == (False, True)
        assert model_of(model).grouped_by_label
        assert model_of(direct).grouped_by_label

    def test_a_stream_that_can_be_read_only_once(self, grouped):
        model, in_order = SOFS(7), SOFS(7)
        with pytest.warns(UserWarning, match=rf"the flow: the rows are {POOR}: write them to a file"):
            history = train(model, Flow(grouped))
        with pytest.warns(UserWarning, match=POOR):
            train(in_order, grouped, shuffle=False)
        same(model, in_order)
        assert history.grouped_by_label

    def test_a_model_that_was_trained_before(self, grouped, mixed):
        model, in_order = SOFS(7), SOFS(7)
        for each, given in ((model, {}), (in_order, {"shuffle": False})):
            train(each, mixed)
            with pytest.warns(UserWarning, match=rf"{POOR}: start from the earlier model again, with shuffle=True"):
                history = train(each, grouped, **given)
            assert history.grouped_by_label
        same(model, in_order)
        train(model, mixed)
        assert model_of(model).grouped_by_label  # it has learned them

    def test_batch_methods_do_not_depend_on_the_order(self, grouped):
        history = train(MRMR(3), grouped)  # warnings are errors here
        assert (history.shuffled, history.grouped_by_label) == (False, False)

    @pytest.mark.parametrize("shuffle", ["yes", None, 1])
    def test_other_values(self, mixed, shuffle):
        with pytest.raises(ValueError, match=r"shuffle must be one of 'auto', True, False\. Got"):
            train(SOFS(7), mixed, shuffle=shuffle)

    def test_a_shuffle_of_what_can_be_read_only_once_changes_nothing(self, grouped, mixed):
        new, trained = Model("sofs"), Model("sofs")
        train(trained, mixed)
        before = state_of(trained)
        for model in (new, trained):
            flow = Flow(grouped)
            with pytest.raises(DataError, match="the flow can't be shuffled, since it can be read only once: write it"):
                train(model, flow, shuffle=True)
            assert sum(batch.n_rows for batch in flow.batches()) == 400  # nor was it read
        assert not new.is_trained
        assert_same_state(trained, before)


class TestMany:
    """`train_many` takes the rows in the order in which `train` does."""

    MODELS = (("sofs", {"gamma": 4.0}), ("shadow_sofs", {}), ("pet", {}), ("arow", {"gamma": "auto"}), ("ogd", {}))

    def models(self, **given):
        return [Model(method, **own, **given) for method, own in self.MODELS]

    @pytest.mark.parametrize("n_threads", [1, 3])
    @pytest.mark.parametrize("shuffle", ["auto", True, False])
    @pytest.mark.filterwarnings("ignore:.*grouped by label")
    def test_each_equals_a_run_of_its_own(self, grouped, n_threads, shuffle):
        together, apart = self.models(random_state=8), self.models(random_state=8)
        histories = train_many(together, grouped, 2, shuffle=shuffle, n_threads=n_threads)
        for model, other, history in zip(together, apart, histories, strict=True):
            alone = train(other, grouped, 2, shuffle=shuffle)
            assert_same_state(model, other)
            assert (history.shuffled, history.grouped_by_label) == (alone.shuffled, alone.grouped_by_label)
            assert history.error == alone.error
            assert model.grouped_by_label == other.grouped_by_label == (shuffle is False)

    def test_is_said_once(self, grouped):
        with pytest.warns(UserWarning, match=AGAIN) as caught:
            train_many(self.models(), grouped, passes=1)
        assert len(caught) == 1

    def test_seeds_that_differ(self, mixed, grouped):
        for shuffle in ("auto", True):
            with pytest.raises(
                ValueError, match=r"models\[1\] has random_state=2 and models\[0\] has 0.*shuffle=False"
            ):
                train_many([SOFS(5), SOFS(5, random_state=2)], mixed, shuffle=shuffle)
        models = [SOFS(5), SOFS(5, random_state=2)]
        train_many(models, mixed, shuffle=False)
        train_many(models, mixed)  # trained before, so never shuffled unless asked


class TestErrorWhileLearning:
    """It is not shown where it says nothing about new rows."""

    def shown(self, path, **given):
        errors = []

        class Recorder:
            def advance(self, n_bytes, n_rows, error):
                errors.append(error)

        stream = open_stream(path)
        run = Run(Model("sofs", n_features_to_select=7), stream, None, time.perf_counter())
        reading = RunGroup([run], 1)
        reading.begin_pass(None)
        reading.one_pass(Recorder())
        return errors, run

    def test_the_bar(self, tmp_path, monkeypatch):
        monkeypatch.setattr("thresher.streams.formats.text.BLOCK", 30_000)
        X, y = sorted_problem(4_000)
        errors, run = self.shown(as_file(tmp_path / "a.svm", X, y))
        assert len(errors) > 10
        assert set(errors) == {None}
        order = np.random.default_rng(0).permutation(4_000)
        errors, run = self.shown(as_file(tmp_path / "b.svm", X[order], y[order]))
        assert None not in errors
        assert errors[-1] == run.model.counters["n_mistakes"] / 4_000

    def test_the_model_file_knows(self, grouped, mixed, tmp_path):
        model = SOFS(7)
        with pytest.warns(UserWarning, match=POOR):
            train(model, grouped, shuffle=False)
        save(model, tmp_path / "m.thresher")
        again = load(tmp_path / "m.thresher")
        assert model_of(again).grouped_by_label
        assert model_of(pickle.loads(pickle.dumps(model))).grouped_by_label
        assert not model_of(again.fit(*sorted_problem())).grouped_by_label


class TestRealData:
    """`fit` on rows sorted by label is within a point of the same rows in random order, on the same test rows."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "n_train", "budget"), [("basehock", 1_500, 100), ("enron1", 4_000, 200), ("news20", 10_000, 1_000)]
    )
    def test_fit(self, name, n_train, budget):
        X, y = load_data(name)
        accuracy = {"sorted": [], "random": []}
        # The accuracy of one order varies: on the 493 test rows of basehock by a point and more.
        for repetition in range({"basehock": 10, "enron1": 5, "news20": 1}[name]):
            order = np.random.default_rng(1000 + repetition).permutation(X.shape[0])
            train_rows, test_rows = order[:n_train], order[n_train:]
            by_label = train_rows[np.argsort(y[train_rows], kind="stable")]
            for what, rows, given in (("sorted", by_label, {}), ("random", train_rows, {"shuffle": False})):
                model = ShadowSOFS(budget, **given).fit(X[rows], y[rows])
                accuracy[what].append(100 * model.score(X[test_rows], y[test_rows]))
        means = {what: float(np.mean(values)) for what, values in accuracy.items()}
        print(name, means)
        assert abs(means["sorted"] - means["random"]) <= 1.0


def test_a_generator_of_batches_is_read_once(grouped):
    X, y = sorted_problem()
    batches = ((X[k : k + 50], y[k : k + 50]) for k in range(0, 400, 50))
    with pytest.warns(UserWarning, match=rf"the iterator of batches: the rows are {POOR}: write them to a file"):
        train(SOFS(7), batches)
    batches = [(X[k : k + 50], y[k : k + 50]) for k in range(0, 400, 50)]
    with pytest.warns(UserWarning, match=AGAIN):
        train(SOFS(7), batches)


def test_a_history_is_json(grouped):
    with pytest.warns(UserWarning, match=AGAIN):
        history = train(SOFS(7), grouped)
    kept = json.load(io.StringIO(json.dumps(history.state())))
    assert type(history).from_state(kept) == history
