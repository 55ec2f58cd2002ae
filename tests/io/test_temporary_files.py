"""What is left of a file whose writer was ended: nothing, or something that the next writer removes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from command_line import THRESHER, thresher

from thresher.io.atomic import _machine, _start, atomic_file, temporary_path

ROWS = b"1 1:0.5 7:2\n-1 3:1\n"


def at_work(folder, name="out.svm", ignored=None):
    """Start a process that writes a file and waits for more rows; return it once its temporary file is there."""
    before = set(folder.iterdir())
    process = subprocess.Popen(
        [THRESHER, "convert", "-", name], stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
        preexec_fn=None if ignored is None else lambda: signal.signal(ignored, signal.SIG_IGN),
    )  # fmt: skip
    process.stdin.write(ROWS * 1_000)
    process.stdin.flush()
    end = time.monotonic() + 60
    while not set(folder.iterdir()) - before:
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.01)
    return process


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_leaves_nothing_behind(tmp_path, number):
    process = at_work(tmp_path)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + number, b"")
    assert names(tmp_path) == []


def test_a_signal_that_is_ignored_stays_so(tmp_path):
    """As under nohup, whose purpose is that work goes on when the terminal is closed."""
    process = at_work(tmp_path, ignored=signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert names(tmp_path) == ["out.svm"]


class TestOrphans:
    @pytest.fixture
    def killed(self, tmp_path):
        """A folder with what a killed process has left of out.svm."""
        process = at_work(tmp_path)
        process.kill()
        process.communicate(timeout=60)
        (left,) = tmp_path.iterdir()
        assert left.name.startswith(".out.svm.")
        assert left.name.endswith(".part")
        return tmp_path

    def test_the_next_write_removes_them(self, killed):
        (killed / "rows.svm").write_bytes(ROWS)
        assert thresher("convert", killed / "rows.svm", killed / "out.svm").returncode == 0
        assert names(killed) == ["out.svm", "rows.svm"]

    def test_a_link_to_the_file_does_as_well(self, killed):
        (killed / "elsewhere").mkdir()
        (killed / "elsewhere" / "link.svm").symlink_to(killed / "out.svm")
        with atomic_file(killed / "elsewhere" / "link.svm") as file:
            file.write(ROWS)
        assert names(killed) == ["elsewhere", "out.svm"]

    def test_another_write_leaves_them(self, killed):
        (left,) = names(killed)
        for name in ("out", "out.svm.gz", "other.svm", ".out.svm"):
            with atomic_file(killed / name) as file:
                file.write(b"x")
        assert left in names(killed)

    def test_those_of_processes_at_work_stay(self, tmp_path):
        process = at_work(tmp_path)
        (left,) = names(tmp_path)
        with atomic_file(tmp_path / "out.svm") as file:
            file.write(b"")
            # This process writes the same file twice at the same time: neither removes the other's.
            with atomic_file(tmp_path / "out.svm") as again:
                again.write(b"")
        assert names(tmp_path) == [left, "out.svm"]
        process.stdin.write(ROWS)
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert names(tmp_path) == ["out.svm"]
        assert (tmp_path / "out.svm").read_bytes().count(b"\n") == 2_002

    def test_those_of_other_machines_and_other_names_stay(self, killed):
        (left,) = names(killed)
        pid, start, machine = left.split(".")[3].split("-")
        assert machine == _machine()
        foreign = f"{int(machine, 16) ^ 1:08x}"
        kept = [
            left.replace(machine, foreign),  # of another machine
            f".out.svm.{left.split('.')[4]}.part",  # of an earlier version of thresher
            f".out.svm.{pid}-{start}-{machine}.part",
            f".out.svm.{pid}-{start}-{machine}.txt",
            "out.svm.part",  # of a download
        ]
        reused = f"{os.getpid():x}-{_start(os.getpid()) - 1:x}-{machine}"
        gone = [left.replace(f"{pid}-{start}-{machine}", reused)]  # the number is now that of another process
        for name in (*kept, *gone):
            (killed / name).write_bytes(b"x")
        with atomic_file(killed / "out.svm") as file:
            file.write(b"x")
        assert names(killed) == sorted([*kept, "out.svm"])

    def test_a_process_that_ended_and_was_not_waited_for(self, tmp_path):
        process = at_work(tmp_path)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with atomic_file(tmp_path / "out.svm") as file:
            file.write(b"x")
        assert names(tmp_path) == ["out.svm"]
        process.communicate(timeout=60)


@pytest.mark.parametrize("name", ["x", "é" * 120, "x" * 255])
def test_names_are_never_too_long(tmp_path, name):
    with atomic_file(tmp_path / name) as file:
        file.write(b"x")
        (temporary,) = names(tmp_path)
        assert len(os.fsencode(temporary)) <= 255
        assert temporary.startswith(".")
    assert names(tmp_path) == [name]


def test_a_name_that_is_too_long_is_an_error_with_that_name(tmp_path):
    done = thresher("synth", "x1", "-o", tmp_path / f"{'x' * 300}.svm", "--rows", 3)
    assert done.returncode == 2
    assert done.stderr == f"thresher: {tmp_path / ('x' * 300)}.svm: file name too long.\n"


def test_a_child_has_a_name_of_its_own(tmp_path):
    code = (
        "import os; from pathlib import Path; from thresher.io.atomic import temporary_path\n"
        "mine = temporary_path(Path('x')).name.split('.')[2]\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(temporary_path(Path('x')).name.split('.')[2] == mine)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert temporary_path(tmp_path / "x").parent == tmp_path
