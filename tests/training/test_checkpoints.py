"""A run that was stopped or killed goes on at the same row, and ends in the same bytes as one that never stopped."""

from __future__ import annotations

import json
import lzma
import os
import pty
import signal
import subprocess
import time

import numpy as np
import pytest
from command_line import THRESHER, thresher
from every import BATCH, online
from forged_files import changed, check_damage_is_refused, content_of, forge
from states import model_of

from thresher import ShadowSOFS, ShadowSOFSRegressor, convert, datasets, open_stream, save, train
from thresher.cli.checkpoints import explain_how_to_resume
from thresher.io.checkpoints import read_checkpoint, write_checkpoint
from thresher.streams import DataError
from thresher.streams.formats import text
from thresher.training.checkpoint import interval
from thresher.training.stop_signals import StopRequests


class Stop(Exception):  # noqa: N818 it is no error
    """Stands for what kills a run; nothing of it is handled."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return files with the same rows: text, several files, compressed, a cache, sorted by label, mail."""
    folder = tmp_path_factory.mktemp("rows")
    data = datasets.make_x1(1_200, n_features=600, n_informative=20, n_noise=40, random_state=3)
    convert(data, str(folder / "a.svm"))
    lines = (folder / "a.svm").read_text().splitlines(keepends=True)
    (folder / "parts").mkdir()
    for part in range(3):
        (folder / "parts" / f"{part}.svm").write_text("".join(lines[400 * part : 400 * (part + 1)]))
    (folder / "a.svm.xz").write_bytes(lzma.compress("".join(lines).encode()))
    (folder / "sorted.svm").write_text("".join(sorted(lines)))
    convert(folder / "a.svm", str(folder / "a.thc"))
    words = [line.split() for line in lines]
    (folder / "a.jsonl").write_text(
        "".join(json.dumps({"label": w[0], "text": " ".join(w[1:40]).replace(":", " ")}) + "\n" for w in words)
    )
    return folder


SOURCES = {
    "plain": ("a.svm", {}),
    "several files": ("parts", {}),
    "compressed": ("a.svm.xz", {}),
    "cache": ("a.thc", {}),
    "names": ("a.jsonl", {"text": "text"}),
}


def bytes_of(model, folder) -> bytes:
    save(model, folder / "saved.thresher")
    return (folder / "saved.thresher").read_bytes()


def opened(rows, source: str):
    name, roles = SOURCES[source]
    return open_stream(rows / name, **roles)


def stopped_after(n_batches: int, model, stream, folder, **options) -> None:
    """Train until a number of batches was learned, over all passes; the next one is never learned."""
    from thresher.training.run import RunGroup

    left = [n_batches]
    one_pass = RunGroup.one_pass

    def until(reading, bar, start=None, after_batch=None):
        def counted(now):
            after_batch(now)
            left[0] -= 1
            if left[0] == 0:
                raise Stop

        return one_pass(reading, bar, start, counted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunGroup, "one_pass", until)
        try:
            train(model, stream, checkpoint=folder / "run.ckpt", every=1, **options)
        except Stop:
            return


@pytest.mark.filterwarnings("ignore:.*grouped by label")
class TestResume:
    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr(text, "BLOCK", 40_000)
        monkeypatch.setattr("thresher.streams.shuffling._BATCH_ROWS", 300)
        # A checkpoint after every batch, however long it takes.
        monkeypatch.setattr("thresher.training.checkpoint._MOST_TIME", 1e9)

    @pytest.mark.parametrize("source", SOURCES)
    @pytest.mark.parametrize(
        ("given", "options"),
        [
            ({}, {"shuffle": False}),
            ({}, {"shuffle": True, "passes": 2}),
            ({"gamma": "auto"}, {"shuffle": False}),
            ({"gamma": "auto"}, {"shuffle": True, "passes": 2}),
            ({"memory": "sketch", "memory_bytes": 1 << 14}, {"shuffle": False, "passes": 2}),
            ({"class_weight": "balanced"}, {"shuffle": False}),
        ],
        ids=["plain", "shuffled", "auto", "auto, shuffled", "sketch", "balanced"],
    )
    def test_ends_in_the_same_bytes(self, rows, tmp_path, source, given, options):
        whole = ShadowSOFS(15, **given)
        history = train(whole, opened(rows, source), **options)
        expected = bytes_of(whole, tmp_path)
        for n_batches in (1, 3):
            (tmp_path / "run.ckpt").unlink(missing_ok=True)
            stopped_after(n_batches, ShadowSOFS(15, **given), opened(rows, source), tmp_path, **options)
            model = ShadowSOFS(15, **given)
            resumed = train(
                model, opened(rows, source), checkpoint=tmp_path / "run.ckpt", every=1, resume=True, **options
            )
            assert bytes_of(model, tmp_path) == expected
            # Compressed text is cut into other batches after a position; the points of the history are the same.
            without_time = [{**each.state(), "seconds": None, "n_bytes": None} for each in (resumed, history)]
            assert without_time[0] == without_time[1]
            assert len(history.entered) == len(history.rows) > 1
            assert model.selected_names_ == whole.selected_names_

    @pytest.mark.parametrize("n_batches", [2, 6, 9])
    def test_rows_grouped_by_label(self, rows, tmp_path, n_batches):
        """Stopped in the first pass in order, or after it started again on shuffled rows."""
        whole = ShadowSOFS(15)
        train(whole, rows / "sorted.svm")
        stopped_after(n_batches, ShadowSOFS(15), rows / "sorted.svm", tmp_path)
        model = ShadowSOFS(15)
        history = train(model, rows / "sorted.svm", checkpoint=tmp_path / "run.ckpt", resume=True)
        assert history.shuffled
        assert bytes_of(model, tmp_path) == bytes_of(whole, tmp_path)

    @online
    def test_every_method(self, rows, tmp_path, estimator):
        whole, first, second = estimator(), estimator(), estimator()
        history = train(whole, rows / "a.svm", shuffle=False)
        stopped_after(3, first, rows / "a.svm", tmp_path, shuffle=False)
        resumed = train(second, rows / "a.svm", shuffle=False, checkpoint=tmp_path / "run.ckpt", resume=True)
        assert bytes_of(second, tmp_path) == bytes_of(whole, tmp_path)
        assert {**resumed.state(), "seconds": None} == {**history.state(), "seconds": None}

    def test_many_classes_are_looked_for_once(self, rows, tmp_path):
        path = tmp_path / "many.svm"
        path.write_text("".join(f"{k % 3} {k % 5 + 1}:1 {k % 3 + 10}:1\n" for k in range(6_000)))
        whole, model = ShadowSOFS(5), ShadowSOFS(5)
        train(whole, path, multiclass=True)
        stopped_after(1, ShadowSOFS(5), path, tmp_path, multiclass=True)
        train(model, path, multiclass=True, checkpoint=tmp_path / "run.ckpt", resume=True)
        assert bytes_of(model, tmp_path) == bytes_of(whole, tmp_path)

    def test_a_model_that_was_trained_before(self, rows, tmp_path):
        def trained():
            model = ShadowSOFS(15, n_passes=1)
            train(model, rows / "parts" / "0.svm", shuffle=False)
            return model

        whole, model = trained(), trained()
        train(whole, rows / "a.svm", shuffle=False)
        stopped_after(2, trained(), rows / "a.svm", tmp_path, shuffle=False)
        train(model, rows / "a.svm", shuffle=False, checkpoint=tmp_path / "run.ckpt", resume=True)
        assert bytes_of(model, tmp_path) == bytes_of(whole, tmp_path)
        with pytest.raises(ValueError, match="a run with rows_learned_before=400, not 0"):
            train(
                ShadowSOFS(15, n_passes=1), rows / "a.svm", shuffle=False, checkpoint=tmp_path / "run.ckpt", resume=True
            )

    @pytest.mark.parametrize("shuffle", [False, True, "auto"])
    def test_a_run_that_had_finished(self, rows, tmp_path, shuffle):
        model, again = ShadowSOFS(15), ShadowSOFS(15)
        history = train(model, rows / "a.svm", checkpoint=tmp_path / "run.ckpt", shuffle=shuffle)
        resumed = train(again, rows / "a.svm", checkpoint=tmp_path / "run.ckpt", resume=True, shuffle=shuffle)
        assert resumed.rows == history.rows
        assert bytes_of(again, tmp_path) == bytes_of(model, tmp_path)

    def test_the_history_says_where_it_was_resumed(self, rows, tmp_path):
        stopped_after(3, ShadowSOFS(15, n_passes=1), rows / "a.svm", tmp_path, shuffle=False)
        saved = read_checkpoint(tmp_path / "run.ckpt").about["reading"]
        points, options = [], {"shuffle": False, "checkpoint": tmp_path / "run.ckpt", "resume": True}
        history = train(
            ShadowSOFS(15, n_passes=1),
            rows / "a.svm",
            **options,
            callback=lambda history: points.append(history.rows[-1]),
        )
        assert history.resumed_at == saved["n_rows"] < history.rows[-1]
        assert points[0] == saved["runs"][0]["history"]["rows"][-1]
        assert points == history.rows[-len(points) :]
        history = train(ShadowSOFS(15, n_passes=1), rows / "a.svm", **options, callback=points.append)
        assert history.resumed_at == history.rows[-1] == 1_200
        assert history not in points
        assert train(ShadowSOFS(15), rows / "a.svm").resumed_at is None

    def test_classes_of_numpy(self, rows, tmp_path):
        classes = list(np.unique([-1.0, 1.0]))
        for resume in (False, True):
            model = ShadowSOFS(15)
            train(model, rows / "a.svm", classes=classes, checkpoint=tmp_path / "run.ckpt", resume=resume)
            assert model.classes_.tolist() == [-1.0, 1.0]
        with pytest.raises(ValueError, match=r"classes=.* can't be saved in a checkpoint: use plain numbers or text"):
            train(ShadowSOFS(15), rows / "a.svm", classes=[1j, 2j], checkpoint=tmp_path / "run.ckpt")

    def test_without_a_checkpoint_it_starts_from_the_beginning(self, rows, tmp_path):
        model, whole = ShadowSOFS(15), ShadowSOFS(15)
        train(model, rows / "a.svm", checkpoint=tmp_path / "new.ckpt", resume=True)
        train(whole, rows / "a.svm")
        assert bytes_of(model, tmp_path) == bytes_of(whole, tmp_path)


class TestRefused:
    @pytest.fixture
    def checkpoint(self, rows, tmp_path):
        path = tmp_path / "run.svm"
        path.write_bytes((rows / "a.svm").read_bytes())
        train(ShadowSOFS(15), path, checkpoint=tmp_path / "run.ckpt", shuffle=False)
        return path

    @pytest.mark.parametrize(
        ("given", "options", "why"),
        [
            ({"gamma": 1.0}, {}, "a run with gamma=0.5, not 1.0"),
            ({"n_features_to_select": 16}, {}, "a run with n_features_to_select=15, not 16"),
            ({}, {"passes": 2}, "a run with passes='auto', not 2"),
            ({}, {"shuffle": True}, "a run with shuffle=False, not True"),
            ({"keep": [3]}, {}, "a run with keep=None, not"),
        ],
    )
    def test_other_settings(self, checkpoint, tmp_path, given, options, why):
        model = ShadowSOFS(**{"n_features_to_select": 15, **given})
        with pytest.raises(ValueError, match=f"run.ckpt: this is a checkpoint of {why}"):
            train(
                model, open_stream(checkpoint, zero_based=False), checkpoint=tmp_path / "run.ckpt", resume=True,
                **{"shuffle": False, **options},
            )  # fmt: skip

    def test_data_that_changed(self, checkpoint, tmp_path):
        with checkpoint.open("a") as file:
            file.write("1 1:1\n")
        with pytest.raises(ValueError, match=r"run.svm: the file has changed since .*run.ckpt was written"):
            train(ShadowSOFS(15), checkpoint, checkpoint=tmp_path / "run.ckpt", resume=True, shuffle=False)

    def test_more_files(self, checkpoint, tmp_path, rows):
        with pytest.raises(ValueError, match="a checkpoint of a run on 1 file, not 2"):
            train(
                ShadowSOFS(15), [checkpoint, rows / "a.svm"], checkpoint=tmp_path / "run.ckpt", resume=True,
                shuffle=False,
            )  # fmt: skip

    def test_what_can_not_have_one(self, rows, tmp_path):
        with pytest.raises(DataError, match="can't be used: write it to a file first"):
            train(ShadowSOFS(5), iter([(np.eye(2), [0, 1])]), checkpoint=tmp_path / "c")
        with pytest.raises(ValueError, match="this file is also an input"):
            train(ShadowSOFS(5), rows / "a.svm", checkpoint=rows / "a.svm")
        with pytest.raises(ValueError, match="resume needs checkpoint="):
            train(ShadowSOFS(5), rows / "a.svm", resume=True)
        with pytest.raises(ValueError, match="can't be used with MRMR"):
            train(BATCH[0](5), rows / "a.svm", checkpoint=tmp_path / "c")
        model = ShadowSOFS(5, random_state=np.random.RandomState(0))
        with pytest.raises(ValueError, match=r"random_state=.* can't be saved in a checkpoint"):
            train(model, rows / "a.svm", checkpoint=tmp_path / "c")

    @pytest.mark.parametrize("every", ["", "0", "60x", "-1", "1.5s", True, 0])
    def test_intervals_that_make_no_sense(self, every):
        with pytest.raises(ValueError, match="every must be a time, as 60s, 5m or 1h, or a number of rows"):
            interval(every)

    def test_intervals(self):
        assert [interval(each) for each in ("90s", "5m", "2h", 1_000, "1000")] == [
            (90.0, None), (300.0, None), (7200.0, None), (0.0, 1_000), (0.0, 1_000)
        ]  # fmt: skip


class TestSignals:
    def test_one_after_the_last_batch_is_carried_out(self, rows, tmp_path):
        def stop(history):
            if history.validation[-1] is not None:  # the pass has ended
                signal.raise_signal(signal.SIGINT)

        held_out = rows / "a.svm"
        with pytest.raises(KeyboardInterrupt):
            train(
                ShadowSOFS(5, n_passes=1), held_out, validate=held_out, checkpoint=tmp_path / "run.ckpt", callback=stop
            )
        assert read_checkpoint(tmp_path / "run.ckpt").about["finished"]

    def test_one_that_is_ignored_is_not_heard(self, rows, tmp_path):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with StopRequests() as requests:
                signal.raise_signal(signal.SIGHUP)
            assert requests.received is None
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGHUP, before)


class TestFiles:
    def test_a_flipped_bit_of_each_byte_and_cuts_are_refused(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n" * 5)
        train(ShadowSOFS(2), tmp_path / "a.svm", checkpoint=tmp_path / "run.ckpt", shuffle=False)
        check_damage_is_refused(tmp_path / "run.ckpt", read_checkpoint)

    def test_a_model_is_no_checkpoint(self, rows, tmp_path):
        model = ShadowSOFS(5)
        train(model, rows / "a.svm", checkpoint=tmp_path / "run.ckpt")
        save(model, tmp_path / "m.thresher")
        with pytest.raises(ValueError, match="this is not a thresher checkpoint"):
            train(ShadowSOFS(5), rows / "a.svm", checkpoint=tmp_path / "m.thresher", resume=True)
        done = thresher("show", tmp_path / "run.ckpt")
        assert (done.returncode, done.stdout) == (2, "")
        assert "this is not a thresher model" in done.stderr

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("model", "row_counts"), [-1]),
            (("model", "race"), 3),
            (("model", "learners"), []),
            (("model", "learners"), 3),
            (("model", "compact"), True),
            (("model", "kept_ids"), [-1]),
            (("model", "n_vectors"), 3),
            (("about", "reading", "position", "size"), None),
            (("about", "reading", "position", "digest"), "0"),
            (("about", "reading", "runs", 0, "history", "loss"), 7),
            (("about", "reading", "runs", 0, "history", "rows"), []),
            (("about", "reading", "runs", 0, "history", "n_passes"), 0),
            (("about", "reading", "runs", 0, "history", "entered"), [1] * 99),
            (("about", "reading", "runs", 0, "history", "rmse"), [0.5]),
            (("about", "reading", "runs", 0, "history", "target"), "numbers"),
            (("about", "reading", "runs", 0, "members"), [-1]),
            (("about", "reading", "runs", 0, "history", "baseline"), "0"),
            (("about", "reading", "runs", 0, "before", "labels"), [1, 10**9]),
            (("about", "reading", "runs", 0, "before", "labels"), [0, 0, 0]),
            (("about", "reading", "runs", 0, "session", "target", "order", "length"), 0),
            (("about", "reading", "runs", 0, "session", "target", "order", "counts", 0), [1]),
            (("about", "reading", "runs", 0, "session", "target", "known"), [0, "x"]),
            (("about", "reading", "runs"), []),
        ],
    )
    def test_a_valid_digest_does_not_excuse_what_is_impossible(self, rows, tmp_path, place, value):
        path = tmp_path / "run.ckpt"
        train(ShadowSOFS(5), rows / "a.svm", checkpoint=path, shuffle=False)
        _, metadata = content_of(path)
        metadata["about"]["finished"] = False  # so that the position is used
        forge(path, metadata=changed(metadata, place, value))
        with pytest.raises(ValueError, match=r"run.ckpt: the checkpoint is not valid"):
            train(ShadowSOFS(5), rows / "a.svm", checkpoint=path, resume=True, shuffle=False)

    @pytest.mark.parametrize(("name", "value"), [("rmse", []), ("rmse", [-1.0]), ("target", "classes")])
    def test_nor_a_history_that_is_not_of_numbers(self, rows, tmp_path, name, value):
        path = tmp_path / "run.ckpt"
        train(ShadowSOFSRegressor(5), rows / "a.svm", checkpoint=path)
        place = ("about", "reading", "runs", 0, "history", name)
        forge(path, metadata=changed(content_of(path)[1], place, value))
        with pytest.raises(ValueError, match="the checkpoint is not valid"):
            train(ShadowSOFSRegressor(5), rows / "a.svm", checkpoint=path, resume=True)

    @pytest.mark.parametrize("change", [{"model": {}}, {"model": 3}, {"about": {}}])
    def test_a_valid_digest_does_not_excuse_bad_content(self, rows, tmp_path, change):
        path = tmp_path / "run.ckpt"
        train(ShadowSOFS(5), rows / "a.svm", checkpoint=path)
        forge(path, metadata=change)
        with pytest.raises(ValueError, match="the checkpoint is not valid"):
            train(ShadowSOFS(5), rows / "a.svm", checkpoint=path, resume=True)

    def test_size_is_what_was_touched(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n-1 1000000000:1\n" * 5)
        train(ShadowSOFS(2), tmp_path / "a.svm", checkpoint=tmp_path / "run.ckpt")
        assert (tmp_path / "run.ckpt").stat().st_size < 20_000

    def test_nothing_is_lost_when_writing_fails(self, rows, tmp_path, monkeypatch):
        model = ShadowSOFS(5)
        train(model, rows / "a.svm", checkpoint=tmp_path / "run.ckpt")
        before = (tmp_path / "run.ckpt").read_bytes()
        with pytest.raises(TypeError):
            write_checkpoint(tmp_path / "run.ckpt", model_of(model), {"settings": object()})
        assert (tmp_path / "run.ckpt").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]


def test_writing_takes_at_most_a_twentieth_of_the_time(tmp_path, monkeypatch):
    """Though a checkpoint is wanted after every row; the last two writes have no twenty times their time after them."""
    seconds: list[float] = []

    def write(*given):
        started = time.perf_counter()
        write_checkpoint(*given)
        seconds.append(time.perf_counter() - started)

    monkeypatch.setattr("thresher.training.checkpoint.write_checkpoint", write)
    X, y = datasets.make_x1(6_000, n_features=2_000, n_informative=50, n_noise=50)
    batches = [(X[start : start + 20], y[start : start + 20]) for start in range(0, 6_000, 20)]
    started = time.perf_counter()
    train(ShadowSOFS(50), batches, passes=40, shuffle=False, checkpoint=tmp_path / "run.ckpt", every=1)
    assert len(seconds) > 3
    assert sum(seconds[:-2]) <= 0.05 * (time.perf_counter() - started)


class TestCommandLine:
    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
    def test_signals_write_a_last_checkpoint(self, tmp_path, number, code):
        path, output = tmp_path / "a.svm", tmp_path / "m.thresher"
        convert(datasets.make_x1(10_000, n_features=2_000, n_informative=50, n_noise=50), str(path))
        command = ["train", str(path), "-k", "50", "--no-shuffle", "--passes", "30"]
        saving = [*command, "--checkpoint", str(tmp_path / "run.ckpt"), "--every", "1000", "-o", str(output)]
        running = subprocess.Popen([THRESHER, *saving], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while not (tmp_path / "run.ckpt").exists() and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
        assert running.returncode == code
        by = "" if number == signal.SIGINT else f"stopped by {number.name}: "
        where = f"the run is saved in {tmp_path / 'run.ckpt'}; the same command with --resume continues there."
        assert err.splitlines()[-1] == f"thresher: {by}{where}"
        assert ("stopped by Ctrl-C: the model has learned " in err) == (number == signal.SIGINT)
        assert thresher(*saving, "--resume").returncode == 0
        assert thresher(*command, "-o", tmp_path / "whole.thresher").returncode == 0
        assert output.read_bytes() == (tmp_path / "whole.thresher").read_bytes()

    def test_a_terminal_that_is_closed(self, tmp_path):
        """It sends SIGHUP, and the progress bar can't be drawn any more."""
        convert(datasets.make_x1(10_000, n_features=2_000, n_informative=50, n_noise=50), str(tmp_path / "a.svm"))
        saving = ["--checkpoint", str(tmp_path / "run.ckpt"), "--every", "1000"]
        command = ["train", str(tmp_path / "a.svm"), "-k", "50", "--no-shuffle", "--passes", "1000", *saving]
        reader, terminal = pty.openpty()
        running = subprocess.Popen([THRESHER, *command], stderr=terminal, stdout=terminal)
        os.close(terminal)
        while not (tmp_path / "run.ckpt").exists() and running.poll() is None:
            time.sleep(0.01)
        os.close(reader)
        time.sleep(0.3)  # the bar is drawn ten times a second
        running.send_signal(signal.SIGHUP)
        assert running.wait(timeout=60) == 129

    def test_a_signal_that_is_ignored_stays_so(self, tmp_path):
        """Under nohup a run goes on when the terminal is closed, and writes no more checkpoints than it should."""
        path = tmp_path / "a.svm"
        convert(datasets.make_x1(10_000, n_features=2_000, n_informative=50, n_noise=50), str(path))
        command = ["train", str(path), "-k", "50", "--no-shuffle", "--checkpoint", str(tmp_path / "run.ckpt")]
        command += ["--passes", "20"]
        running = subprocess.Popen(
            [THRESHER, *command, "--every", "1000"], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )  # fmt: skip
        while not (tmp_path / "run.ckpt").exists() and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGHUP)
        running.communicate(timeout=60)
        assert running.returncode == 0
        assert read_checkpoint(tmp_path / "run.ckpt").about["finished"]

    def test_how_to_resume_is_said_only_if_it_can_be(self, tmp_path, capsys):
        checkpoint = tmp_path / "run.ckpt"
        for content in (None, b""):
            if content is not None:
                checkpoint.write_bytes(content)
            with pytest.raises(KeyboardInterrupt), explain_how_to_resume(str(checkpoint), resume=False):
                raise KeyboardInterrupt
        checkpoint.write_bytes(b"of an older run")
        for resume in (False, True):
            assert capsys.readouterr().err == ""
            with pytest.raises(KeyboardInterrupt), explain_how_to_resume(str(checkpoint), resume):
                raise KeyboardInterrupt
        assert "the run is saved in" in capsys.readouterr().err

    def test_what_is_there_is_not_overwritten(self, rows, tmp_path, monkeypatch):
        checkpoint = tmp_path / "run.ckpt"
        command = ["train", rows / "a.svm", "-k", 15, "--no-shuffle", "--checkpoint", checkpoint]
        checkpoint.touch()  # as mktemp does
        assert thresher(*command).returncode == 0
        assert thresher(*command).returncode == 0  # of a run that has finished, nothing is lost
        monkeypatch.setattr(text, "BLOCK", 40_000)
        monkeypatch.setattr("thresher.training.checkpoint._MOST_TIME", 1e9)
        stopped_after(1, ShadowSOFS(15), open_stream(rows / "a.svm"), tmp_path, shuffle=False)
        for content, line in (
            (
                checkpoint.read_bytes(),
                "this is the checkpoint of a run that has not finished: use --resume to continue it. To start from the "
                "beginning, remove it, or name another file.",
            ),
            (b"a diary", "this is not a thresher checkpoint, or it is truncated: remove the file, or name another."),
        ):
            checkpoint.write_bytes(content)
            done = thresher(*command)
            assert (done.returncode, done.stdout, done.stderr) == (2, "", f"thresher: {checkpoint}: {line}\n")
            assert checkpoint.read_bytes() == content
        done = thresher("train", rows / "a.svm", "--checkpoint", rows / "a.svm")
        assert "this file is also an input" in done.stderr  # nobody should remove it
        done = thresher(*command, "--resume", "-o", checkpoint)
        assert done.stderr == f"thresher: -o and --checkpoint name the same file, {checkpoint}: name two.\n"

    def test_says_where_it_was_resumed(self, rows, tmp_path, monkeypatch):
        monkeypatch.setattr(text, "BLOCK", 40_000)
        monkeypatch.setattr("thresher.training.checkpoint._MOST_TIME", 1e9)
        checkpoint = tmp_path / "run.ckpt"
        command = ["train", rows / "a.svm", "-k", 15, "--no-shuffle", "--passes", 2]
        command += ["--checkpoint", checkpoint, "--resume", "-o", tmp_path / "m.thresher"]
        for n_batches, in_pass in ((3, ""), (30, ", in pass 2")):
            checkpoint.unlink(missing_ok=True)
            stopped_after(n_batches, ShadowSOFS(15, n_passes=2), rows / "a.svm", tmp_path, shuffle=False)
            saved = read_checkpoint(checkpoint).about["reading"]
            n_rows = saved["n_rows"] + 1_200 * bool(in_pass)
            assert thresher(*command).stderr == f"thresher: {checkpoint}: resumed at row {n_rows:,}{in_pass}.\n"
        done = thresher(*command, "--json")
        assert done.stderr == (
            f"thresher: {checkpoint}: this run had finished, after 2,400 rows; nothing is learned again.\n"
        )
        assert json.loads(done.stdout)["resumed_at"] == 2_400

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            (["--resume"], "--resume needs --checkpoint FILE"),
            (["--every", "5m"], "--every needs --checkpoint FILE"),
            (["--checkpoint", "c", "--every", "x"], "--every must be a time, as 60s"),
            (["--checkpoint", "c", "--cv", 3], "--checkpoint can't be used with --cv"),
            (["--checkpoint", "-"], "--checkpoint -: a checkpoint can't be written to standard output"),
            (["--checkpoint", "c", "--method", "mrmr"], "--checkpoint can't be used with --method mrmr"),
        ],
    )
    def test_mistakes(self, rows, options, why):
        done = thresher("train", rows / "a.svm", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
