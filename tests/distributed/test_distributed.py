"""Training on shards: the model does not depend on who learns them, and nothing is lost when one fails."""

from __future__ import annotations

import copy
import gzip
import itertools
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import in_a_process, thresher
from engine_calls import killed, killed_once, power, summed
from every import made, online
from states import assert_same_state, model_of, state_of

from thresher import MRMR, SOFS, ShadowSOFS, datasets, distributed, evaluate, load, open_stream, save, train
from thresher.distributed.engines import FAN_IN, InProcess, Processes, SharedObjects, local, merge_groups
from thresher.distributed.shards import Shards, add_surveys, survey
from thresher.streams import DataError
from thresher.streams.writing import write_stream


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write 4,000 rows as one file and as five, and 1,000 more to test on."""
    folder = tmp_path_factory.mktemp("shards")
    stream = datasets.make_x2(4_000, n_features=2_000, n_informative=50, random_state=1)
    write_stream(stream.batches(), str(folder / "all.svm"))
    lines = (folder / "all.svm").read_text().splitlines(keepends=True)
    for k, begin in enumerate((0, 700, 1_500, 2_600, 2_900)):
        end = (700, 1_500, 2_600, 2_900, 4_000)[k]
        (folder / f"part-{k}.svm").write_text("".join(lines[begin:end]))
    test = datasets.make_x2(1_000, n_features=2_000, n_informative=50, random_state=1, start=4_000)
    write_stream(test.batches(), str(folder / "test.svm"))
    return folder


def trained(model, source, **given):
    history = distributed.train(model, source, **{"n_shards": 3, "syncs": 4, "engine": "local", "workers": 1, **given})
    return model, history


def bytes_of(model, folder):
    save(model, folder / "compared.thresher")
    return (folder / "compared.thresher").read_bytes()


@online
def test_one_shard_is_plain_training(files, estimator):
    """However many syncs there are: from one shard, the line search may only take its whole move."""
    model, history = trained(made(estimator, 100), files / "all.svm", n_shards=1, syncs=3)
    plain = made(estimator, 100)
    alone = train(plain, files / "all.svm", shuffle=False)
    assert (history.n_passes, history.refitted) == (alone.n_passes, alone.refitted)
    n_readings = history.n_passes + history.refitted
    assert [each["size"] for each in history.merges] == [1.0] * 3 * n_readings
    assert model_of(model).counters == pytest.approx(model_of(plain).counters, rel=1e-5)
    np.testing.assert_allclose(model.coef_.toarray(), plain.coef_.toarray(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("memory", ["dense", "hash", "sketch"])
def test_workers_do_not_change_the_model(files, tmp_path, memory):
    given = {"memory": memory, **({"memory_bytes": 1 << 14} if memory == "sketch" else {})}
    alone, one = trained(ShadowSOFS(100, **given), files / "all.svm", n_shards=5)
    several, two = trained(ShadowSOFS(100, **given), files / "all.svm", n_shards=5, workers=2)
    assert bytes_of(alone, tmp_path) == bytes_of(several, tmp_path)
    assert one.rows == two.rows
    assert one.merges == two.merges
    assert one.rows[-1] == 3 * 4_000
    assert one.refitted


def test_every_kind_of_data_can_be_handed_over(tmp_path):
    """To other processes, and with the model that this one makes of it."""
    words = [{"label": k % 2, "t": f"w{k % 2} x{k % 7}", "n": k % 5} for k in range(400)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in words))
    pd.DataFrame(words).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(words).to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.vw").write_text("".join(f"{row['label']} |t {row['t']} n:{row['n']}\n" for row in words))
    named = {"text": "t", "numeric": "n"}
    streams = [open_stream(tmp_path / f"a.{ending}", **named) for ending in ("jsonl", "csv", "parquet")]
    write_stream(streams[0].batches(), str(tmp_path / "a.thc"), naming=streams[0].naming)
    streams += [open_stream(tmp_path / "a.vw"), open_stream(tmp_path / "a.thc")]
    streams.append(open_stream([(np.eye(40) + 1, np.arange(40) % 2)]))
    for stream in streams:
        alone, several = (trained(ShadowSOFS(5), stream, n_shards=2, syncs=2, workers=n)[0] for n in (1, 2))
        assert bytes_of(alone, tmp_path) == bytes_of(several, tmp_path), stream


def test_it_learns(files):
    for method in (ShadowSOFS, SOFS):
        model, _ = trained(method(100), files / "all.svm", n_shards=4, syncs=16)
        plain = method(100)
        train(plain, files / "all.svm")
        assert evaluate(model, files / "test.svm").accuracy > evaluate(plain, files / "test.svm").accuracy - 0.03


def test_all_rows_are_learned_once_per_pass(files):
    parts = [files / f"part-{k}.svm" for k in range(5)]
    for source, n_shards, syncs in ((parts, 1, 4), (parts, 7, 1), (parts, 3, 4), (files / "all.svm", 3, 4)):
        model, history = trained(SOFS(50), source, n_shards=n_shards, syncs=syncs, passes=2)
        assert model.n_samples_seen_ == history.rows[-1] == 8_000
        assert len(history.rows) == 2 * syncs == len(history.error) == len(history.merges) == len(history.entered)
        assert history.entered[0] == 50
        assert history.n_passes == 2
        assert history.n_bytes == 2 * (files / "all.svm").stat().st_size


def test_compressed_files_are_not_cut(files, tmp_path):
    """Each belongs to one shard, which reads it once between two syncs."""
    for k in range(5):
        (tmp_path / f"part-{k}.svm.gz").write_bytes(gzip.compress((files / f"part-{k}.svm").read_bytes()))
    model, history = trained(SOFS(50), sorted(tmp_path.glob("*.gz")), n_shards=3, syncs=4)
    assert history.rows[-1] == 4_000
    assert set(np.diff([0, *history.rows])) <= {0, *map(sum, _sums((700, 800, 1_100, 300, 1_100)))}
    again, _ = trained(SOFS(50), sorted(tmp_path.glob("*.gz")), n_shards=3, syncs=4, workers=2)
    assert_same_state(model, again)


def _sums(sizes):
    return (some for n in range(1, len(sizes) + 1) for some in itertools.combinations(sizes, n))


def test_names_and_classes_are_agreed(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        "".join(f'{{"label": "{"spam" if k % 3 else "mail"}", "t": "w{k % 3} x{k % 7}"}}\n' for k in range(600))
    )
    stream = open_stream(tmp_path / "a.jsonl", text="t")
    model, _ = trained(ShadowSOFS(5), stream)
    assert model.classes_.tolist() == ["mail", "spam"]
    assert {"w0"} <= set(model.get_feature_names_out())
    plain = ShadowSOFS(5)
    train(plain, stream)
    assert set(model.get_feature_names_out()) & set(plain.get_feature_names_out())
    assert evaluate(model, stream).accuracy == 1.0


@pytest.mark.parametrize("has_zero", [False, True])
def test_ids_count_from_where_they_do(tmp_path, has_zero):
    """As in `train`: from 0 if id 0 occurs anywhere, even in the last row, else from 1. Nothing warns meanwhile."""
    rows = [f"{k % 2} {k % 2 + 1}:1 {k % 97 + 5}:0.5\n" for k in range(60_000)]
    (tmp_path / "a.svm").write_text("".join(rows) + ("1 0:1 2:1\n" if has_zero else "1 2:1\n") * 2)
    model, history = trained(SOFS(5), tmp_path / "a.svm", validate=tmp_path / "a.svm")
    plain = SOFS(5)
    train(plain, tmp_path / "a.svm")
    assert model_of(model).id_base == model_of(plain).id_base == (0 if has_zero else 1)
    assert model.n_features_in_ == plain.n_features_in_
    assert set(model.selected_) >= ({1, 2} if has_zero else {0, 1})
    assert history.validation[-1] == 1.0
    trained(model, open_stream(tmp_path / "a.svm", zero_based=has_zero))
    if has_zero:
        (tmp_path / "b.svm").write_text("".join(rows))
        with pytest.warns(UserWarning, match="b.svm: the model counts ids from 0, but id 0 does not occur"):
            trained(model, tmp_path / "b.svm")


def test_features_to_keep_as_they_are_written(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 7:1\n-1 2:1 8:1\n" * 200)
    done = thresher("train", tmp_path / "a.svm", "-k", 2, "--keep", "8", "--shards", 2, "--local", "-o", tmp_path / "m")
    assert done.returncode == 0, done.stderr
    assert 7 in load(tmp_path / "m").selected_
    assert load(tmp_path / "m").keep == [7]


def test_more_than_two_classes(tmp_path):
    (tmp_path / "a.svm").write_text("".join(f"{k % 3} {k % 3 + 1}:1 9:1\n" for k in range(900)))
    with pytest.raises(DataError, match=r"a.svm: there are more than two classes \(0, 1, 2\)"):
        trained(SOFS(3), tmp_path / "a.svm")
    for given in ({"multiclass": True}, {"classes": [0, 1, 2]}):
        model, _ = trained(SOFS(3), tmp_path / "a.svm", **given)
        assert evaluate(model, tmp_path / "a.svm").accuracy == 1.0


def test_a_trained_model_goes_on(files):
    model = ShadowSOFS(100)
    train(model, files / "part-0.svm")
    trained(model, files / "part-1.svm")
    assert model.n_samples_seen_ == 3 * 700 + 800  # what goes on makes one pass


def test_validation_and_callback(files):
    calls = []
    _, history = trained(
        ShadowSOFS(100), files / "all.svm", validate=files / "test.svm", callback=lambda h: calls.append(len(h.rows))
    )
    assert calls == [*range(1, 13), *[12] * 4]  # four syncs in each of three passes, and in the closing one
    assert len(set(history.rows)) == len(history.rows) == len(history.validation) == 12  # no row is new in that one
    assert len(history.merges) == 16
    assert all(0.5 < each <= 1 for each in history.validation)
    assert history.n_validation_rows == 1_000


def test_class_weights_are_those_of_all_rows(files):
    model, _ = trained(ShadowSOFS(100, class_weight="balanced"), files / "all.svm")
    plain = ShadowSOFS(100, class_weight="balanced")
    train(plain, files / "all.svm", shuffle=False)
    assert model_of(model).class_weights.counts.tolist() == model_of(plain).class_weights.counts.tolist()


def test_a_sketch_moves_no_more_than_its_size(tmp_path):
    """Whatever the width is."""
    moved = {}
    for width in (10_000, 100_000_000):
        stream = datasets.make_x2(4_000, n_features=width, n_informative=50, random_state=1)
        write_stream(stream.batches(), str(tmp_path / "a.svm"))
        _, history = trained(ShadowSOFS(100, memory="sketch", memory_bytes=1 << 14), tmp_path / "a.svm", n_shards=4)
        moved[width] = max(each["bytes"] for each in history.merges)
        # Of a member, and the intercept: its id twice, two floats. Of each of up to 4,096 features that are or were
        # members, and the intercept: what the predicting layer knows, two floats, and the id.
        assert moved[width] <= 4 * ((1 << 14) + 101 * 24 + 4_097 * 16)
    assert moved[100_000_000] < 1.5 * moved[10_000]


class TestEngines:
    def test_the_tree_depends_on_the_number_alone(self):
        merged = InProcess().merge(
            lambda group: "(" + "".join(group) + ")", [str(k % 10) for k in range(2 * FAN_IN + 1)]
        )
        first, second = "".join(map(str, range(8))), "89012345"
        assert merged == f"((({first})({second})(6)))"
        assert merge_groups([1]) == [[1]]

    def test_only_what_is_new_is_handed_over(self):
        given, taken = [], []
        shared = SharedObjects(lambda each: given.append(each) or len(given), taken.append)
        a, b, c = [1], [2], [3]
        assert shared.references((a, b)) == [1, 2]
        assert shared.references((a, c)) == [1, 3]
        assert given == [a, b, c]
        assert taken == [2]

    @pytest.mark.parametrize("n", [1, 9])
    def test_processes_do_as_this_process_does(self, tmp_path, n):
        tasks = [(k,) for k in range(n)]
        engine = Processes(2, tmp_path)
        try:
            for common in (2, 3):
                found = engine.merge(summed, engine.map(power, (common,), tasks))
                assert found == InProcess().merge(summed, InProcess().map(power, (common,), tasks))
        finally:
            engine.stop()

    def test_a_killed_process_is_replaced(self, tmp_path):
        (tmp_path / "common").mkdir()
        engine = Processes(2, tmp_path / "common")
        try:
            handles = engine.map(killed_once, (str(tmp_path / "mark"),), [(k,) for k in range(6)])
            assert engine.merge(summed, handles) == sum(range(6))
            assert (tmp_path / "mark").exists()
            # And one that is killed while there is nothing to do.
            os.kill(next(iter(engine._pool._processes)), signal.SIGKILL)
            while not engine._pool._broken:
                time.sleep(0.001)
            done = []
            handles = engine.map(power, (2,), [(k,) for k in range(3)], lambda: done.append(None))
            assert engine.merge(summed, handles) == 7
            assert len(done) == 3
        finally:
            engine.stop()

    def test_one_that_is_killed_again_and_again(self, tmp_path):
        engine = Processes(1, tmp_path)
        try:
            with pytest.raises(ChildProcessError, match=r"ended 4 times\. In a script, .* use fewer workers"):
                engine.merge(summed, engine.map(killed, (), [(1,)]))
        finally:
            engine.stop()


def test_a_worker_that_is_killed_does_not_change_the_model(files, tmp_path):
    undisturbed, _ = trained(ShadowSOFS(100), files / "all.svm", n_shards=6)
    killed = []

    def kill_a_worker(history):
        """Once, while the shards of the next sync learn."""
        if len(history.rows) == 1:
            threading.Thread(target=_kill_a_child, args=(killed,)).start()

    model, _ = trained(ShadowSOFS(100), files / "all.svm", n_shards=6, workers=2, callback=kill_a_worker)
    assert killed
    assert bytes_of(model, tmp_path) == bytes_of(undisturbed, tmp_path)


def _kill_a_child(killed):
    time.sleep(0.005)
    tasks = Path(f"/proc/{os.getpid()}/task").iterdir()
    children = {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
    workers = [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(workers[0], signal.SIGKILL)
    killed.append(workers[0])


def test_numbers_and_words_among_the_labels():
    """One batch can have numbers and the next words: `1` is the same class in both."""
    X = np.eye(2)
    stream = open_stream([(X, [1.0, 2.0]), (X, ["x", "1"])])
    numbers = open_stream((X, [7.0, 1.0]))
    seen = add_surveys([survey(Shards(each, 1, 1), 0, True) for each in (stream, numbers)])
    assert seen.labels.tolist() == ["1", "2", "7", "x"]
    labels, counts, is_all = seen.by_shard[0]
    assert (labels.tolist(), counts.tolist(), is_all) == (["1", "7"], [1, 1], True)
    model, history = trained(
        ShadowSOFS(2), [(X, ["a", "1"]), (X, [1.0, 1.0]), (X, ["1", "a"])], n_shards=1, syncs=3, classes=["1", "a"]
    )
    assert model.classes_.tolist() == ["1", "a"]
    assert [each["sample_bytes"] for each in history.merges] == [56] * 12  # two rows; none was left out for its labels
    with pytest.raises(DataError, match="the list of batches, row 3: the label x is not among the classes 1, 2"):
        trained(ShadowSOFS(2), stream, n_shards=1, syncs=2, classes=[1, 2])


def test_a_merge_is_chosen_on_as_many_rows_of_text_as_of_other_data(tmp_path, monkeypatch):
    """Text has a line number per row, which may not be consecutive: a line can be bad."""
    monkeypatch.setattr("thresher.distributed.shards.SAMPLE_ROWS", 10)
    lines = [f"{k % 2} {k % 5 + 1}:1 {k % 2 + 10}:1\n" for k in range(400)]
    (tmp_path / "a.svm").write_text("".join([*lines[:5], "no row\n", *lines[5:]]))
    text = open_stream(tmp_path / "a.svm", on_bad_line="skip", zero_based=True)
    X, y, _ = text.to_csr()
    for stream in (text, open_stream([(X, y)])):
        _, history = trained(ShadowSOFS(5), stream, n_shards=2, syncs=1, passes=1)
        # Ids, values and the label of ten rows; the starts of the rows of two shards.
        assert [each["sample_bytes"] for each in history.merges] == [10 * (2 * (8 + 4) + 4) + 2 * 6 * 8]


class TestBadInput:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_malformed_row(self, files, tmp_path, workers):
        lines = (files / "all.svm").read_text().splitlines(keepends=True)
        lines[3_210] = "1 7:x\n"
        (tmp_path / "a.svm").write_text("".join(lines))
        model = ShadowSOFS(100)
        train(model, files / "part-0.svm")
        before = copy.deepcopy(state_of(model))
        with pytest.raises(DataError, match=r"a\.svm, line 3211: "):
            trained(model, tmp_path / "a.svm", workers=workers)
        assert_same_state(model, before)

    def test_a_new_model_stays_new(self, files, tmp_path):
        (tmp_path / "a.svm").write_text((files / "part-0.svm").read_text() + "x\n")
        model = ShadowSOFS(100)
        with pytest.raises(DataError):
            trained(model, tmp_path / "a.svm")
        assert not hasattr(model, "classes_")

    def test_an_unknown_label(self, files, tmp_path):
        lines = (files / "all.svm").read_text().splitlines(keepends=True)
        lines[3_999] = "7 1:1\n"
        (tmp_path / "a.svm").write_text("".join(lines))
        with pytest.raises(DataError, match=r"a\.svm, line 4000: .*7"):
            trained(ShadowSOFS(100), tmp_path / "a.svm")

    def test_an_empty_shard(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
        with pytest.raises(DataError, match=r"a.svm: shard \d of 3 has no rows: use fewer shards"):
            trained(SOFS(2), tmp_path / "a.svm")

    def test_no_rows(self, tmp_path):
        (tmp_path / "a.svm").write_text("# nothing\n")
        with pytest.raises(DataError, match=r"a.svm: there are no rows"):
            trained(SOFS(2), tmp_path / "a.svm")

    def test_sorted_rows(self, files, tmp_path):
        lines = sorted((files / "all.svm").read_text().splitlines(keepends=True))
        (tmp_path / "a.svm").write_text("".join(lines))
        with pytest.raises(DataError, match=r"a.svm: all [\d,]+ rows of shard 1 of 3 have the label -1, so the rows"):
            trained(SOFS(2), tmp_path / "a.svm")

    def test_a_rare_class_is_no_sign_of_sorted_rows(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n" * 500 + "-1 2:1\n" * 9 + "1 1:1\n" * 500)
        model, _ = trained(SOFS(2), tmp_path / "a.svm")
        assert model.classes_.tolist() == [-1, 1]

    def test_one_class(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n" * 100)
        with pytest.raises(DataError, match=r"a.svm: all rows have the label 1: two classes are needed"):
            trained(SOFS(2), tmp_path / "a.svm")

    @pytest.mark.parametrize(
        ("given", "what"),
        [
            ({"n_shards": 0}, "n_shards must be"),
            ({"syncs": 0}, "syncs must be"),
            ({"workers": 0}, "workers must be"),
            ({"engine": "spark"}, "engine must be"),
            ({"passes": 0}, "passes must be"),
            ({"address": "10.0.0.1:6379"}, "is for engine='ray' only"),
        ],
    )
    def test_parameters(self, files, given, what):
        with pytest.raises(ValueError, match=what):
            trained(SOFS(2), files / "all.svm", **given)

    def test_methods_that_see_all_rows_at_once(self, files):
        with pytest.raises(ValueError, match="MRMR sees all rows at once"):
            trained(MRMR(2), files / "all.svm")
        with pytest.raises(ValueError, match="gamma='auto' can't be used with shards"):
            trained(SOFS(2, gamma="auto"), files / "all.svm")

    def test_standard_input(self, files):
        rows = (files / "part-0.svm").read_text()
        done = in_a_process("train", "-", "-k", 5, "--shards", 2, "--local", stdin=rows)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("thresher: standard input has no shards, since it can be read only once")
        assert done.stderr.count("\n") == 1

    def test_one_compressed_file(self, files, tmp_path):
        (tmp_path / "a.svm.gz").write_bytes(gzip.compress((files / "part-0.svm").read_bytes()))
        with pytest.raises(DataError, match=r"shard 2 of 3 has no rows.* A compressed file is not cut\."):
            trained(SOFS(2), tmp_path / "a.svm.gz")

    def test_what_can_be_read_only_once(self, files):
        with pytest.raises(ValueError, match=r"no shards|can be read only once"):
            trained(SOFS(2), (part for part in [(np.eye(2), [0, 1])]))


class TestCommandLine:
    def test_local(self, files, tmp_path):
        output = tmp_path / "m.thresher"
        done = in_a_process(
            "train", files / "all.svm", "-k", 100, "--shards", 4, "--syncs", 4, "--local", "--full", "-o", output
        )
        assert done.returncode == 0, done.stderr
        model, _ = trained(ShadowSOFS(100), files / "all.svm", n_shards=4)
        assert_same_state(load(output), model)

    def test_workers(self, files, tmp_path, monkeypatch):
        started = []
        monkeypatch.setattr("thresher.distributed.loop.local", lambda n: started.append(n) or local(1))
        for options, n in (([], None), (["--workers", 3], 3)):
            assert thresher("train", files / "part-0.svm", "-k", 5, "--shards", 2, "--local", *options).returncode == 0
            assert started.pop() == n

    @pytest.mark.parametrize(
        ("options", "what"),
        [
            (["--shards", 4], "--shards needs either --ray or --local"),
            (
                ["--shards", 4, "--ray", "--local"],
                "--ray can't be used with --local: all shards learn in the same place",
            ),
            (["--local"], "--local needs --shards N"),
            (["--ray"], "--ray needs --shards N"),
            (["--shards", 0, "--local"], "shards must be"),
            (
                ["--shards", 4, "--local", "--workers", 0],
                "--workers must be a whole number of at least 1. Got 0 instead.",
            ),
            (["--shards", 4, "--local", "--workers", "x"], "--workers must be a whole number of at least 1. Got 'x'"),
            (["--shards", 4, "--ray", "--workers", 2], "--workers needs --local"),
            (["--workers", 2], "--workers needs --local"),
            (["--workers", 2, "--local"], "--local needs --shards N"),
            (["--shards", 4, "--local", "--checkpoint", "a.ckpt"], "--checkpoint can't be used with --shards"),
            (["--shards", 4, "--local", "--shuffle"], "--shuffle can't be used with --shards"),
            (["--shards", 4, "--local", "--method", "mrmr"], "sees all rows at once"),
            (["--shards", 4, "--local", "--gamma", "auto"], "--gamma auto can't be used with shards"),
        ],
    )
    def test_options_that_do_not_fit(self, files, options, what):
        done = thresher("train", files / "part-0.svm", *options)
        assert done.returncode == 2
        assert what in done.stderr
        assert done.stderr.count("\n") == 1
