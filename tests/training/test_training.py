"""Training from a stream: classes, ids, passes, order, interruption, history."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from states import assert_same_state, model_of, same_state, state_of
from strategies import problems

from thresher import (
    MRMR,
    SOFS,
    ShadowSOFS,
    convert,
    cross_validate,
    datasets,
    distributed,
    evaluate,
    load,
    open_stream,
    save,
    stability,
    train,
)
from thresher.io.model_files import load_model, save_model
from thresher.model.model import Model
from thresher.streams import DataError, Stream
from thresher.training import train_many


def write(path, labels, rows, base=1):
    lines = [
        f"{label} " + " ".join(f"{i + base}:{v!r}" for i, v in row) for label, row in zip(labels, rows, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def trained(path, budget=5, **options):
    model = Model("sofs", n_features_to_select=budget)
    train(model, path, **options)
    return model


class TestClasses:
    @pytest.mark.parametrize(
        ("first", "second", "classes"),
        [
            ("1", "-1", [-1, 1]), ("-1", "1", [-1, 1]), ("0", "1", [0, 1]), ("2", "1", [1, 2]), ("1", "2", [1, 2]),
            ("spam", "mail", ["mail", "spam"]), ("mail", "spam", ["mail", "spam"]), ("1.0", "+3", [1, 3]),
        ],
    )  # fmt: skip
    @given(problem=problems(max_rows=20))
    def test_whatever_comes_first(self, tmp_path_factory, first, second, classes, problem):
        """The first label's sign is provisional; the result is as if the classes had been known."""
        X, y = problem
        rows = [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X]
        labels = [first if label == y[0] else second for label in y]
        path = write(tmp_path_factory.getbasetemp() / "c.svm", labels, rows)
        model = trained(path)
        assert model.target.labels.tolist() == classes
        known = trained(path, classes=classes)
        codes = np.array([float(label) if isinstance(classes[0], int) else label for label in labels])
        direct = model_of(SOFS(5, shuffle=False).fit(X, codes))
        state = state_of(model)
        assert_same_state(state, known)
        learned = {**state["learned"], "ids": state["learned"]["ids"] - model.id_base}
        assert_same_state({"learned": learned}, direct)
        np.testing.assert_array_equal(model.members()[1], direct.members()[1])
        assert model.counters == known.counters == direct.counters

    def test_a_third_class_names_the_line(self, tmp_path):
        path = write(tmp_path / "c.svm", ["a", "b", "a", "c"], [[(0, 1.0)]] * 4)
        with pytest.raises(
            DataError,
            match=r"c.svm, line 4: the label c is a third class, after a and b: list all classes, classes=\['a', 'b', ",
        ):
            trained(path)
        with pytest.raises(DataError, match="line 2: the label b is not among the classes a, c"):
            trained(path, classes=["a", "c"])

    @pytest.mark.parametrize(
        ("labels", "n_different", "is_hint"),
        [
            ([0.5, 1.0, 2.0, 2.0], 3, True),  # no class is called 0.5
            ([*range(21), 0], 21, True),
            ([*range(20), 0], 20, False),
            ([*range(11, 21)], 10, True),  # each row its own: ids
            ([f"u{k}" for k in range(10)], 10, True),
            ([*range(11, 20)], 9, False),
            ([1, 2, 3, 3], 3, False),
        ],
    )
    @pytest.mark.parametrize("model", [SOFS(1), MRMR(1)], ids=["online", "batch"])
    def test_labels_that_look_like_no_classes_hint_at_the_column(self, tmp_path, model, labels, n_different, is_hint):
        (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"1,{label}\n" for label in labels))
        with pytest.raises(DataError, match=r"t.csv, row 3: the label \S+ is a third class, after \S+ and ") as error:
            train(model, open_stream(tmp_path / "t.csv", label="y"))
        hint = f"these {len(labels)} rows have {n_different} different labels. Labels must be classes"
        assert (hint in str(error.value)) == ("name their column with label=" in str(error.value)) == is_hint
        assert "multiclass=True" in str(error.value)

    def test_one_class_or_none(self, tmp_path):
        path = write(tmp_path / "c.svm", ["1", "1"], [[(0, 1.0)]] * 2)
        model = SOFS(5)
        with pytest.raises(DataError, match=r"c.svm: all rows have the label 1: two classes are needed"):
            train(model, path)
        assert not hasattr(model, "classes_")


class TestIds:
    def test_count_from_one_unless_zero_occurs(self, tmp_path):
        rows = [[(0, 1.0), (2, 1.0)], [(1, 1.0)]] * 3
        from_one = trained(write(tmp_path / "a.svm", [1, -1] * 3, rows))
        from_zero = trained(write(tmp_path / "b.svm", [1, -1] * 3, rows, base=0))
        assert (from_one.id_base, from_zero.id_base) == (1, 0)
        assert from_one.n_features == from_zero.n_features == 3
        assert from_one.members()[0].tolist() == from_zero.members()[0].tolist()
        assert from_one.name_of(0) == "1"
        assert from_zero.name_of(0) == "0"

    def test_can_be_fixed_up_front(self, tmp_path):
        path = write(tmp_path / "a.svm", [1, -1], [[(0, 1.0)], [(1, 1.0)]])
        assert trained(open_stream(path, zero_based=True)).n_features == 3
        path = write(tmp_path / "b.svm", [1, -1], [[(0, 1.0)], [(1, 1.0)]], base=0)
        with pytest.raises(DataError, match="id 0 occurs, but zero_based=False"):
            trained(open_stream(path, zero_based=False))

    def test_unseen_ids_are_ignored_at_prediction(self, tmp_path):
        model = trained(write(tmp_path / "a.svm", [1, -1] * 3, [[(0, 1.0)], [(1, 1.0)]] * 3))
        seen = write(tmp_path / "b.svm", [1], [[(0, 3.0)]])
        more = write(tmp_path / "c.svm", [1], [[(0, 3.0), (10**9, 0.0)]])
        margins = [next(map(model.score_batch, open_stream(path).batches())) for path in (seen, more)]
        np.testing.assert_array_equal(*margins)

    def test_ids_that_memory_can_not_hold(self, tmp_path):
        path = tmp_path / "a.svm"
        path.write_text("1 1:1\n-1 9223372036854775806:1\n")
        with pytest.raises(ValueError, match=r"not enough memory for 9223372036854775807 feature ids"):
            train(SOFS(5, memory="dense"), path)
        assert trained(path).n_features == 2**63 - 2

    @pytest.mark.parametrize(
        "source", ["pair", "sparse", "shuffled", "iterator", "matrix", "frame", "csv", "parquet", "cache"]
    )
    def test_empty_columns_of_a_table_count(self, tmp_path, source):
        """A model of a matrix can predict that matrix, whichever of its columns the rows happened to have."""
        X, y = np.eye(10, dtype=np.float32)[np.arange(60) % 7], np.arange(60) % 2
        frame = pandas.DataFrame(X, columns=list("abcdefghij")).assign(label=y)
        frame.to_csv(tmp_path / "a.csv", index=False)
        frame.to_parquet(tmp_path / "a.parquet")
        convert(tmp_path / "a.csv", str(tmp_path / "a.thc"))
        convert((X, y), str(tmp_path / "matrix.thc"))
        data = {
            "pair": lambda: (X, y), "sparse": lambda: (sp.csr_matrix(X), y), "shuffled": lambda: (X, y),
            "iterator": lambda: iter([(X[:30], y[:30]), (X[30:], y[30:])]), "frame": lambda: frame,
            "matrix": lambda: open_stream(tmp_path / "matrix.thc", zero_based=True).shard(0, 2),
            "csv": lambda: tmp_path / "a.csv", "parquet": lambda: tmp_path / "a.parquet",
            "cache": lambda: open_stream(tmp_path / "a.thc").shard(0, 2),
        }[source]  # fmt: skip
        model = ShadowSOFS(3)
        train(model, data(), shuffle=source == "shuffled")
        assert model.n_features_in_ == 10
        named = {"frame", "csv", "parquet", "cache"}
        assert len(model.predict(frame[list("abcdefghij")] if source in named else X)) == 60

    def test_empty_columns_count_in_all_that_trains(self):
        X, y = np.eye(10, dtype=np.float32)[np.arange(600) % 7], np.arange(600) % 2
        assert stability(ShadowSOFS(3), (X, y), n=2).n_features == 10
        assert cross_validate(ShadowSOFS(3), (X, y), folds=2).model.n_features_in_ == 10
        many = [ShadowSOFS(3), SOFS(2)]
        train_many(many, (X, y), passes=1)
        assert [model.n_features_in_ for model in many] == [10, 10]
        shards = ShadowSOFS(3)
        distributed.train(shards, (X, y), n_shards=2, syncs=2, engine="local", workers=1)
        assert shards.n_features_in_ == 10

    def test_ids_of_a_matrix_that_count_from_1(self):
        """Column 0 is that of id 1; the matrices of a stream are still as wide as their ids need."""
        X, y = np.eye(10, dtype=np.float32)[1 + np.arange(60) % 7], np.arange(60) % 2
        stream = open_stream((X, y), zero_based=False)
        model = ShadowSOFS(3)
        train(model, stream)
        assert model.n_features_in_ == stream.n_features == stream.to_csr()[0].shape[1] == 9
        np.testing.assert_array_equal(next(iter(stream))[0].toarray(), X)

    def test_a_wider_matrix_widens_the_model(self, tmp_path):
        """As a file with larger ids does; a narrower one changes nothing, and a model's ids can count from 1."""
        y = np.arange(20) % 2
        model = ShadowSOFS(3)
        train(model, write(tmp_path / "a.svm", y, [[(at % 5, 1.0)] for at in range(20)]))
        for width, expected in ((3, 5), (10, 10), (8, 10)):
            train(model, (np.eye(width, dtype=np.float32)[np.arange(20) % 3], y))
            assert model.n_features_in_ == model.coef_.shape[1] == expected

    def test_the_model_grows_with_the_stream(self, tmp_path):
        model = SOFS(3)
        train(model, write(tmp_path / "a.svm", [1, -1], [[(0, 1.0)], [(4, 1.0)]]))
        assert model.n_features_in_ == 5
        train(model, write(tmp_path / "b.svm", [1, -1], [[(0, 1.0)], [(99, 1.0)]]))
        assert model.n_features_in_ == 100
        assert model.n_samples_seen_ == 4
        assert model.predict(np.ones((1, 100))).shape == (1,)


class TestRuns:
    def test_history_and_validation(self, tmp_path):
        stream = datasets.make_x2(5_000, n_features=2_000, n_informative=50, n_noise=50)
        held_out = datasets.make_x2(500, n_features=2_000, n_informative=50, n_noise=50, start=5_000)
        seen = []
        model = SOFS(50)
        history = train(model, stream, passes=2, validate=held_out, callback=lambda h: seen.append(h.rows[-1]))
        assert history.rows[-1] == model.n_samples_seen_ == 10_000
        assert history.rows == sorted(history.rows) == seen
        assert history.seconds == sorted(history.seconds)
        assert history.error[-1] == model.n_mistakes_ / 10_000
        assert 0 < history.loss[-1] < history.loss[0]
        validated = [value for value in history.validation if value is not None]
        X, y = next(iter(held_out))
        assert len(validated) == 2
        assert validated[-1] == model.score(X, y) > 0.9
        again = train(model, stream)
        assert again.rows[-1] == 5_000  # the history of one run
        assert model.n_samples_seen_ == 15_000

    def test_passes_equal_reading_twice(self):
        stream = datasets.make_x2(500, n_features=500, n_informative=20, n_noise=20)
        twice, by_hand = SOFS(20, n_passes=2), SOFS(20)
        train(twice, stream)
        train(by_hand, stream)
        train(by_hand, stream)
        np.testing.assert_array_equal(twice.coef_.toarray(), by_hand.coef_.toarray())

    @pytest.mark.parametrize("limit", [None, 0])
    def test_shuffle(self, tmp_path, monkeypatch, limit):
        """In memory or on disk, the seeded order is the same, and equals training on rows in that order."""
        if limit is not None:
            monkeypatch.setattr("thresher.streams.shuffling.MEMORY_LIMIT", limit)
        X, y = datasets.make_x1(1_000, n_features=500, n_informative=20, n_noise=20)
        order = np.argsort(y, kind="stable")
        rows = [list(zip(X[r].indices.tolist(), X[r].data.tolist(), strict=True)) for r in order]
        path = write(tmp_path / "sorted.svm", y[order], rows)
        model = SOFS(20, random_state=3)
        train(model, path, shuffle=True)
        again = np.random.default_rng(3).permutation(1_000)
        direct = SOFS(20, shuffle=False).fit(X[order[again]], y[order[again]])
        np.testing.assert_array_equal(model.selected_, direct.selected_)
        np.testing.assert_array_equal(model.decision_function(X), direct.decision_function(X))

    @pytest.mark.parametrize("run", [train, partial(distributed.train, n_shards=1, syncs=2, engine="local", workers=1)])
    def test_skipped_lines_are_counted_once(self, tmp_path, run):
        (tmp_path / "a.svm").write_text("1 1:1\n1 x\n-1 2:1\n" * 2)
        history = run(SOFS(2), open_stream(tmp_path / "a.svm", on_bad_line="skip"), passes=3)
        assert (history.rows[-1], history.n_skipped, len(history.skipped)) == (12, 2, 2)

    def test_the_end_of_float32_is_told_once(self):
        with pytest.warns(RuntimeWarning, match="limit of float32") as caught:
            train(SOFS(5, gamma=1e300), datasets.make_x2(50, n_features=200, n_informative=9, n_noise=9), passes=3)
        assert len(caught) == 1

    def test_a_share_of_unknown_columns_is_refused(self):
        with pytest.raises(ValueError, match=r"n_features_to_select=0.1 is a share of the features"):
            train(SOFS(0.1), datasets.make_x2(10))

    def test_a_broken_stream_leaves_a_new_model_untrained(self, tmp_path):
        path = tmp_path / "a.svm"
        path.write_text("1 1:1\n-1 2:1\n1 oops\n")
        model = Model("sofs")
        with pytest.raises(DataError, match="line 3"):
            train(model, path)
        assert not model.is_trained

    def test_class_weight(self):
        stream = datasets.make_x2(300, n_features=200, n_informative=20, n_noise=20)
        X, y = next(iter(stream))
        model = SOFS(20, class_weight={1: 3.0})
        train(model, stream, classes=[-1, 1])
        direct = SOFS(20, class_weight={1: 3.0}, shuffle=False).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), direct.decision_function(X))

    @given(st.integers(1, 400))
    def test_ctrl_c_leaves_the_rows_learned_so_far(self, stop_after):
        model = SOFS(20)
        original = datasets.make_x2(400, n_features=300, n_informative=20, n_noise=20, batch_size=20)
        batches = iter(original.batches())

        def broken_off():
            for n, batch in enumerate(batches):
                if n * 20 >= stop_after and n:
                    raise KeyboardInterrupt
                yield batch

        history = train(model, Stream("rows", broken_off, id_base=0, n_features=300))
        n = model.n_samples_seen_
        X, y = next(iter(datasets.make_x2(400, n_features=300, n_informative=20, n_noise=20)))
        assert history.interrupted == (n < 400)
        direct = SOFS(20, shuffle=False).fit(X[:n], y[:n])
        np.testing.assert_array_equal(model.coef_.toarray(), direct.coef_.toarray())


class TestGoingOn:
    """A trained model and other data."""

    @pytest.mark.filterwarnings("ignore:The threshold of 0.25")
    @pytest.mark.parametrize("memory", ["auto", "sketch"])
    @pytest.mark.parametrize("failure", ["line", "label", "value", "pass", "validation", "callback"])
    def test_an_error_leaves_a_model_as_it_was(self, tmp_path, monkeypatch, failure, memory):
        """To the bit, in all that a file has, in what it learns next, and if it is new, untrained."""
        monkeypatch.setattr("thresher.streams.formats.text.BLOCK", 64)
        rows, labels = [[(0, 1.0), (3, 2.0)], [(1, 1.0), (3, 1.0)]] * 60, [1, -1] * 60
        good = write(tmp_path / "good.svm", labels, rows)
        wide = write(tmp_path / "wide.svm", labels, [[(at + 50, value) for at, value in row] for row in rows])
        bad = {"line": "oops oops\n", "label": "7 1:1\n", "value": "1 1:1e30\n"}.get(failure, "")
        (tmp_path / "bad.svm").write_text(wide.read_text() + bad)
        (tmp_path / "held_out.svm").write_text("oops oops\n" if failure == "validation" else "1 54:1\n-1 52:1\n")

        def fail(model):
            def callback(history):
                if failure == "callback" or (failure == "pass" and history.n_passes == 2):
                    raise ValueError("my own")

            with pytest.raises(ValueError, match=r"line 1|too large|my own"):
                train(model, tmp_path / "bad.svm", passes=2, validate=tmp_path / "held_out.svm", callback=callback)

        model = SOFS(3, norm=None, class_weight="balanced", memory=memory)
        fail(model)
        assert not hasattr(model, "classes_")
        train(model, good)
        model.threshold_ = 0.25
        model_of(model).selection_frequency = dict.fromkeys(model.selected_.tolist(), 0.5)
        save(model, tmp_path / "before.thresher")
        before = load(tmp_path / "before.thresher")
        model.gamma = 3.0
        fail(model)
        save(model_of(model), tmp_path / "after.thresher")
        assert (tmp_path / "after.thresher").read_bytes() == (tmp_path / "before.thresher").read_bytes()
        assert (model.n_features_in_, model.classes_.tolist(), model.gamma_) == (4, [-1, 1], 1.0)
        model.gamma = 1.0
        for each in (model, before):
            train(each, good)
        assert_same_state(model, before)

    def test_an_error_leaves_the_names(self, tmp_path):
        """Those of features that left are found again."""
        rows = [("a b", 1), ("c d", 0)] * 50, [("e f", 1), ("g h", 0)] * 2_000
        first, second = (pandas.DataFrame(each, columns=["t", "label"]) for each in rows)
        model = SOFS(4)
        train(model, open_stream(first, text="t"))
        before = model.selected_names_
        bad = pandas.concat([second] * 200 + [second.assign(label=7)])
        with pytest.raises(DataError, match="7"):
            train(model, open_stream(bad, text="t"))
        assert model.selected_names_ == before

    @pytest.mark.parametrize("failure", ["validation", "callback"])
    def test_an_error_leaves_a_batch_method_as_it_was(self, tmp_path, failure):
        good = write(tmp_path / "good.svm", [1, -1] * 10, [[(0, 1.0)], [(1, 1.0)]] * 10)
        model = MRMR(1)
        held_out = tmp_path / "held_out.svm"
        held_out.write_text("oops oops\n" if failure == "validation" else "1 1:1\n-1 2:1\n")

        def callback(_history):
            raise ValueError("my own")

        for _ in range(2):
            before = {name: id(value) for name, value in vars(model).items() if name != "_lock_"}
            with pytest.raises(ValueError, match=r"oops|my own"):
                train(model, good, validate=held_out, callback=callback)
            assert {name: id(value) for name, value in vars(model).items() if name != "_lock_"} == before
            train(model, good)

    def test_rows_of_weight_0_leave_a_model_as_it_was(self, tmp_path, recwarn):
        X, y = np.eye(4, dtype=np.float32).repeat(10, axis=0), [0, 1] * 20
        model = SOFS(2).fit(X, y)
        model.threshold_ = 0.25
        model_of(model).selection_frequency = dict.fromkeys(model.selected_.tolist(), 0.5)
        save(model, tmp_path / "before.thresher")
        recwarn.clear()
        margins = model.decision_function(2 * X)
        model.set_params(norm=None)
        model.partial_fit(X, y, sample_weight=np.zeros(40))
        np.testing.assert_array_equal(model.decision_function(2 * X), margins)
        with pytest.raises(DataError, match="every row has weight 0"):
            train(model, (X, y, np.zeros(40)))
        np.testing.assert_array_equal(model.decision_function(2 * X), margins)
        save(model_of(model), tmp_path / "after.thresher")
        assert (tmp_path / "after.thresher").read_bytes() == (tmp_path / "before.thresher").read_bytes()
        assert not recwarn.list

    def test_labels_of_another_type(self, tmp_path):
        rows = [[(0, 1.0)], [(1, 1.0)]] * 20
        model = SOFS(2)
        train(model, write(tmp_path / "a.svm", [2, 10] * 20, rows))
        table = pa.table({"label": ["2", "10"] * 20, "ids": [[1], [2]] * 20, "values": [[1.0], [1.0]] * 20})
        pyarrow.parquet.write_table(table, tmp_path / "b.parquet")
        train(model, tmp_path / "b.parquet")
        assert model.classes_.tolist() == [2, 10]
        assert model.score([[1, 0], [0, 1]], [2, 10]) == 1.0
        assert evaluate(model_of(model), open_stream(tmp_path / "b.parquet")).accuracy == 1.0

    def test_columns_in_another_order_are_refused(self, tmp_path):
        (tmp_path / "abc.csv").write_text("a,b,label\n" + "1,0,x\n0,1,y\n" * 20)
        (tmp_path / "bca.csv").write_text("b,a,label\n" + "0,1,x\n1,0,y\n" * 20)
        model = SOFS(2)
        train(model, tmp_path / "abc.csv")
        message = r"bca.csv: column 1 must be 'a', as in the training data; it is 'b'"
        with pytest.raises(DataError, match=message):
            train(model, tmp_path / "bca.csv")
        save_model(model_of(model), tmp_path / "m.thresher", compact=True)
        compact = load_model(tmp_path / "m.thresher")
        with pytest.raises(DataError, match=message):
            evaluate(compact, open_stream(tmp_path / "bca.csv"))
        assert evaluate(compact, open_stream(tmp_path / "abc.csv")).accuracy == 1.0

    def test_a_model_from_a_matrix_reads_a_file_that_counts_from_one(self, tmp_path):
        X, y = datasets.make_x1(500, n_features=200, n_informative=20, n_noise=20)
        rows = [list(zip(X[r].indices.tolist(), X[r].data.tolist(), strict=True)) for r in range(500)]
        path = write(tmp_path / "a.svm", y, rows)
        model = SOFS(20).fit(X, y)
        on_the_matrix = model.score(X, y)
        assert evaluate(model, open_stream(path, zero_based=False)).accuracy == on_the_matrix
        with pytest.warns(
            UserWarning, match=r"a.svm: the model counts ids from 0, but id 0 does not occur.*zero_based=False"
        ):
            evaluate(model, open_stream(path))

    def test_id_zero_is_refused_by_a_model_that_counts_from_one(self, tmp_path):
        model = SOFS(3)
        train(model, write(tmp_path / "a.svm", [1, -1], [[(0, 1.0)], [(1, 1.0)]]))
        with pytest.raises(DataError, match="id 0 occurs, but the model was trained on ids that count from 1"):
            train(model, write(tmp_path / "b.svm", [1, -1], [[(0, 1.0)], [(1, 1.0)]], base=0))

    def test_names_of_a_frame_survive_a_file(self, tmp_path):
        frame = pandas.DataFrame({"a": [1.0, 0, 1, 0], "b": [0.0, 1, 0, 1], "c": [0.0, 0, 0, 0]})
        model = SOFS(2).fit(frame, [0, 1, 0, 1])
        save(model, tmp_path / "m.thresher")
        assert load(tmp_path / "m.thresher").get_feature_names_out().tolist() == ["a", "b"]
        save_model(model_of(model), tmp_path / "m.thresher", compact=True)
        again = load(tmp_path / "m.thresher")
        assert again.get_feature_names_out().tolist() == ["a", "b"]
        save(again, tmp_path / "again.thresher")
        assert load(tmp_path / "again.thresher").predict(frame.to_numpy()).tolist() == [0, 1, 0, 1]


def bytes_read_by(pid):
    """Return how much a process has read: Python's own files are a small part of it."""
    return int(re.search(r"^rchar: (\d+)", Path(f"/proc/{pid}/io").read_text(), re.MULTILINE)[1])


@pytest.mark.parametrize(
    "rows", ["synth x1 -o - --rows 2000000", "synth x1 -o - --rows 3000; sleep 60"], ids=["busy", "idle"]
)
def test_ctrl_c_as_a_user_types_it(tmp_path, rows):
    """The command stops soon, with the rows learned so far in the file, even while it waits for bytes on a pipe."""
    thresher = str(Path(sys.executable).with_name("thresher"))
    feeder = subprocess.Popen(["bash", "-c", f"{thresher} {rows}"], stdout=subprocess.PIPE, start_new_session=True)
    command = subprocess.Popen(
        [thresher, "train", "-", "-k", "50", "-o", str(tmp_path / "m.thresher")],
        stdin=feeder.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    feeder.stdout.close()
    while command.poll() is None and bytes_read_by(command.pid) < 20_000_000:
        time.sleep(0.1)
    time.sleep(0.5)
    command.send_signal(signal.SIGINT)
    try:
        out, err = command.communicate(timeout=15)
    finally:
        command.kill()
        os.killpg(feeder.pid, signal.SIGKILL)
        feeder.wait()
    assert command.returncode == 130, err
    assert "stopped by Ctrl-C: the model has learned" in err
    assert "selected 50 features" in out
    assert load_model(tmp_path / "m.thresher.interrupted").counters["n_samples"] > 0


class TestTrainMany:
    """Several models on one read: each as if it had been trained alone."""

    MODELS = (
        ("sofs", {"gamma": 0.25}), ("sofs", {"gamma": 4.0, "norm": None}), ("shadow_sofs", {}),
        ("pet", {"loss": "hinge"}), ("fofs", {}), ("arow", {}), ("ogd", {"fit_intercept": True}),
    )  # fmt: skip

    def models(self, n_classes=2, **given):
        budget = {"n_features_to_select": 20}
        return [
            Model(method, **({} if method in ("arow", "ogd") else budget), **own, **given)
            for method, own in self.MODELS
        ]

    @pytest.mark.parametrize("n_threads", [1, 2, 5])
    @pytest.mark.parametrize("passes", [1, 2])
    def test_each_equals_a_run_of_its_own(self, n_threads, passes):
        stream = datasets.make_x2(1_500, n_features=400, n_informative=20, n_noise=30, batch_size=170)
        test = datasets.make_x2(300, n_features=400, n_informative=20, n_noise=30, start=1_500)
        together, apart = self.models(), self.models()
        histories = train_many(together, stream, passes, test, n_threads=n_threads)
        for model, other, history in zip(together, apart, histories, strict=True):
            alone = train(other, stream, passes, test)
            assert same_state(model, other)
            assert model.counters == other.counters
            assert (history.rows, history.error, history.loss) == (alone.rows, alone.error, alone.loss)
            assert history.validation == alone.validation

    def test_files_with_ids_from_one_and_classes_that_turn_up(self, tmp_path):
        path = write(tmp_path / "a.svm", ["b", "a"] * 50, [[(j % 7, 1.0), (7 + j % 3, 0.5)] for j in range(100)])
        together, apart = self.models(), self.models()
        train_many(together, path, passes=1)
        for model, other in zip(together, apart, strict=True):
            train(other, path, passes=1)
            assert model.id_base == other.id_base == 1
            assert model.target.labels.tolist() == ["a", "b"]
            assert same_state(model, other)

    def test_estimators_are_taken_back(self):
        stream = datasets.make_x2(500, n_features=400, n_informative=20, n_noise=30)
        models = [SOFS(20, gamma=gamma) for gamma in (0.5, 2.0)]
        train_many(models, stream)
        alone = SOFS(20, gamma=2.0)
        train(alone, stream)
        assert models[1].selected_.tolist() == alone.selected_.tolist()
        assert models[0].n_samples_seen_ == 500

    def test_an_error_leaves_all_as_they_were(self, tmp_path):
        path = write(tmp_path / "a.svm", ["1", "-1", "7"], [[(0, 1.0)], [(1, 1.0)], [(2, 1.0)]])
        models = self.models()
        with pytest.raises(DataError, match="line 3"):
            train_many(models, path, passes=1)
        assert not any(model.is_trained for model in models)

    @pytest.mark.parametrize(
        ("models", "message"),
        [
            ([SOFS(5), SOFS(5, n_passes=2)], r"models\[1\] has n_passes=2"),
            ([Model("sofs")] * 2, "same model twice"),
            ([SOFS(5), MRMR(5)], "MRMR can't learn batch by batch from a stream"),
        ],
    )
    def test_what_one_read_cannot_give_is_refused(self, models, message):
        with pytest.raises((ValueError, TypeError), match=message):
            train_many(models, datasets.make_x2(100, n_features=400, n_informative=20, n_noise=30))

    def test_none_is_none(self):
        assert train_many([], datasets.make_x2(100, n_features=400, n_informative=20, n_noise=30)) == []


class TestWhatATrainedModelExpects:
    """Streams that come to a model that has learned from others."""

    def test_id_0_where_ids_count_from_1(self, tmp_path):
        rows = [[(0, 1.0), (2, 1.0)], [(1, 1.0)]] * 20
        model = trained(write(tmp_path / "one.svm", [1, -1] * 20, rows))
        zero = write(tmp_path / "zero.svm", [1, -1] * 20, rows, base=0)
        for use in (
            lambda: evaluate(model, open_stream(zero)),
            lambda: train(model, zero),
            lambda: train(model, tmp_path / "one.svm", validate=zero),
        ):
            with pytest.raises(DataError, match=r"zero.svm: id 0 occurs, but the model .* zero_based=True"):
                use()
        assert evaluate(model, open_stream(zero, zero_based=True)).accuracy == 1.0

    @pytest.mark.parametrize("base", [0, 1])
    def test_a_base_that_is_given_is_believed(self, tmp_path, base):
        rows = [[(0, 1.0), (2, 0.5)], [(1, 1.0), (2, -0.5)]] * 20
        paths = [write(tmp_path / f"{b}.svm", [1, -1] * 20, rows, base=b) for b in (0, 1)]
        model, twin = trained(paths[base]), trained(paths[base])
        train(model, open_stream(paths[1 - base], zero_based=base == 1))
        train(twin, paths[base])
        assert_same_state(model, twin)

    def test_a_share_of_columns_that_may_grow_is_refused(self, tmp_path):
        X, y = datasets.make_x1(200, n_features=1_000)
        path = write(tmp_path / "wide.svm", [1, -1], [[(400, 1.0)], [(2, 1.0)]])
        for model in (SOFS(0.5), SOFS(0.5).fit(X, y)):
            with pytest.raises(ValueError, match=r"n_features_to_select=0.5 is a share of the features"):
                train(model, path, classes=[-1, 1])

    def test_names_that_no_longer_name_all_columns_are_forgotten(self, tmp_path):
        frame = pandas.DataFrame({"a": [1.0, 0.0] * 20, "b": [0.0, 1.0] * 20})
        model = SOFS(2).fit(frame, [1, 0] * 20)
        wide = write(tmp_path / "wide.svm", [1, 0] * 20, [[(12, 3.0)], [(9, 3.0)]] * 20)
        train(model, open_stream(wide, zero_based=False))
        assert model.n_features_in_ == 13
        assert all(name.startswith("x") for name in model.get_feature_names_out())

    def test_a_failed_call_leaves_the_names(self, tmp_path):
        frame = pandas.DataFrame({name: np.arange(40) % (k + 2) * 1.0 for k, name in enumerate("abcde")})
        fitted = SOFS(2).fit(frame, [1, 0] * 20)
        save_model(model_of(fitted), tmp_path / "compact.thresher", compact=True)
        model = load(tmp_path / "compact.thresher")
        names = model.get_feature_names_out().tolist()
        with pytest.raises(ValueError, match="saved compact"):
            model.partial_fit(frame.to_numpy(), [1, 0] * 20)
        assert model.get_feature_names_out().tolist() == names == fitted.get_feature_names_out().tolist()

    def test_each_of_many_models_has_its_columns_checked(self, tmp_path):
        for name, columns in (("ab", "a,b"), ("ba", "b,a")):
            (tmp_path / f"{name}.csv").write_text(f"{columns},label\n" + "1,0,x\n0,1,y\n" * 20)
        models = [Model("sofs", n_features_to_select=2) for _ in range(2)]
        for model, name in zip(models, ("ab", "ba"), strict=True):
            train(model, tmp_path / f"{name}.csv")
        with pytest.raises(DataError, match="column 1 must be 'b'"):
            train_many(models, tmp_path / "ab.csv")
        with pytest.raises(DataError, match="column 1 must be 'b'"):
            train_many([models[0], Model("sofs")][:1] + models[1:], tmp_path / "ab.csv", validate=tmp_path / "ab.csv")


@pytest.mark.parametrize("options", [{"shuffle": True}, {"multiclass": True}, {}])
def test_the_time_includes_all_reading(options):
    rows = datasets.make_x2(200, n_features=1_000, n_informative=20)

    def slowly():
        time.sleep(0.2)
        yield from rows.batches()

    stream = Stream("slow", slowly, id_base=0)
    n_reads = 2 if "multiclass" in options else 1
    assert train(SOFS(20), stream, **options).seconds[-1] >= 0.2 * n_reads


def test_ids_beyond_memory_name_the_file(tmp_path):
    path = tmp_path / "huge.svm"
    path.write_text(f"1 {2**62}:1\n-1 2:1\n")
    with pytest.raises(DataError, match=r"huge.svm: not enough memory for .* use memory='hash' or memory='sketch'"):
        train(SOFS(2, memory="dense"), path)


def test_a_file_that_goes_away(tmp_path, capfd):
    path = write(tmp_path / "a.svm", [1, -1], [[(0, 1.0)], [(1, 1.0)]])
    stream = open_stream(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        train(SOFS(2), stream)
    assert capfd.readouterr().err == ""
