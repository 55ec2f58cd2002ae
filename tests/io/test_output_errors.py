"""Output that can't be written: full disks, limits, closed and broken pipes. One line that names what could not be."""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest
from command_line import THRESHER, thresher

from thresher import open_stream
from thresher.streams.writing import write_stream


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with rows, a model, and links to a disk that is full."""
    here = tmp_path_factory.mktemp("here")
    (here / "rows.svm").write_text("".join(f"{r % 2} {r % 90 + 1}:0.{r} {r % 7 + 91}:1\n" for r in range(30_000)))
    assert thresher("train", here / "rows.svm", "-k", 50, "--full", "-o", here / "model").returncode == 0
    for name in ("full.svm", "full.svm.gz", "full.csv", "full.thc", "full.parquet", "full.txt"):
        (here / name).symlink_to("/dev/full")
    (here / "out").mkdir()
    return here


def shell(place, command):
    """Run a command in bash, as a user types it."""
    command = command.replace("thresher ", f"{shlex.quote(THRESHER)} ", 1)
    return subprocess.run(
        ["bash", "-c", command], cwd=place, capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip


def fails(place, command, line):
    done = shell(place, command)
    assert (done.returncode, done.stderr) == (2, f"thresher: {line}\n")
    assert list((place / "out").iterdir()) == []
    return done


TO_STDOUT = [
    "predict model rows.svm", "predict model rows.svm --probabilities", "evaluate model rows.svm", "show model",
    "show model --json", "transform model rows.svm -o -", "synth x1 -o - --rows 10", "synth x1 -o - --rows 500",
    "train rows.svm --json -k 5 -o trained", "data list", "demo --rows 600", "--help", "--version", "train --help",
]  # fmt: skip


@pytest.mark.parametrize("command", TO_STDOUT)
def test_standard_output_that_is_full(place, command):
    fails(place, f"thresher {command} > /dev/full", "standard output: no space left on device.")


@pytest.mark.parametrize("command", TO_STDOUT[::4])
def test_standard_output_that_is_closed(place, command):
    fails(place, f"thresher {command} >&-", "standard output: it is closed.")


def test_what_writes_nothing_needs_no_standard_output(place):
    for stdout in (">&-", "> /dev/full"):
        done = shell(place, f"thresher convert rows.svm converted.thc {stdout}")
        assert (done.returncode, done.stderr.count("\n")) == (0, 1)
        assert "wrote 30,000 rows to converted.thc" in done.stderr


def test_standard_error_that_is_closed_or_full(place):
    for stderr in ("2>&-", "2> /dev/full"):
        assert shell(place, f"thresher predict model rows.svm {stderr}").stdout.count("\n") == 30_000
        done = shell(place, f"thresher predict model nowhere.svm {stderr}")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("predict model rows.svm -o {}", "/dev/full"), ("train rows.svm -k 5 -o {}", "/dev/full"),
        ("predict model rows.svm -o {}", "full.csv"), ("predict model rows.svm -o {}", "full.parquet"),
        ("predict model rows.svm -o {}", "full.txt"), ("transform model rows.svm -o {}", "full.svm"),
        ("transform model rows.svm -o {}", "full.svm.gz"), ("convert rows.svm {}", "full.svm"),
    ],
)  # fmt: skip
def test_a_full_device(place, command, name, monkeypatch):
    monkeypatch.chdir(place)
    done = thresher(*command.format(name).split())
    assert (done.returncode, done.stderr) == (2, f"thresher: {name}: no space left on device.\n")
    assert list((place / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("predict model rows.svm -o {}", "out/labels"), ("predict model rows.svm -o {}", "out/labels.csv"),
        ("predict model rows.svm --margins -o {}", "out/labels.parquet"), ("convert rows.svm {}", "out/rows.svm"),
        ("convert rows.svm {}", "out/rows.svm.gz"), ("convert rows.svm {}", "out/rows.svm.bz2"),
        ("convert rows.svm {}", "out/rows.svm.xz"), ("convert rows.svm {}", "out/rows.svm.zst"),
        ("convert rows.svm {}", "out/rows.thc"), ("train rows.svm --full -o {}", "out/model"),
    ],
)  # fmt: skip
def test_a_file_that_is_larger_than_allowed(place, command, name):
    fails(place, f"ulimit -f 1; thresher {command.format(name)}", f"{name}: file too large.")


def test_a_temporary_file_that_is_larger_than_allowed(place):
    code = (
        "from thresher.streams import shuffling; shuffling.MEMORY_LIMIT = 1_000\n"
        "import sys; from thresher.cli import main\n"
        "sys.argv = ['thresher', 'train', *['rows.svm'] * 3, '--shuffle']; main()"
    )
    fails(
        place,
        f"ulimit -f 1; TMPDIR=/tmp {shlex.quote(sys.executable)} -c {shlex.quote(code)}",
        "a temporary file in /tmp: file too large.",
    )


@pytest.mark.parametrize(
    "command",
    ["synth x1 -o - --rows 2000", "predict model rows.svm --probabilities", "transform model rows.svm -o -", "--help"],
)
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_leaves_is_nobodys_mistake(place, command, reader):
    done = shell(place, f"thresher {command} | {reader} > /dev/null; echo ${{PIPESTATUS[0]}}")
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_the_reader_of_another_pipe_leaves(place):
    os.mkfifo(place / "pipe")
    done = shell(place, "head -1 < pipe > /dev/null & thresher predict model rows.svm --probabilities -o pipe; echo $?")
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize(
    "header", [b"label,caf\xe9\n", b"caf\xe9,label\n", b"label,\xff\xfe\n", b'label,"\xff\n', b"label,\xc3\n"]
)
@pytest.mark.parametrize("options", ["", "--delimiter ,", "--categorical x", "--text x", "--label caf"])
def test_a_header_that_is_not_utf8(tmp_path, monkeypatch, header, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_bytes(header + b"1,2\n0,3\n" * 5)
    done = thresher("train", "rows.csv", *options.split())
    assert done.returncode == 2
    assert done.stderr.startswith("thresher: rows.csv: the header can't be read as UTF-8 text (")
    assert done.stderr.count("\n") == 1


def test_a_header_of_standard_input_that_is_not_utf8(tmp_path):
    (tmp_path / "rows.csv").write_bytes(b"label,caf\xe9\n" + b"1,2\n0,3\n" * 5)
    done = shell(tmp_path, "thresher train - --format csv < rows.csv")
    assert done.returncode == 2
    assert done.stderr.startswith("thresher: standard input: the header can't be read as UTF-8 text (")


def test_a_row_that_is_not_utf8_and_has_too_many_values(tmp_path):
    (tmp_path / "rows.csv").write_bytes(b"label,x\n1,2\n0,3\n\xff,caf\xe9,3\n")
    done = shell(tmp_path, "thresher train rows.csv")
    assert done.returncode == 2
    assert done.stderr == "thresher: rows.csv, row 3: the row has 3 values, but the header names 2 columns.\n"


def test_the_library_has_an_error_for_a_closed_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match=r"standard output: it is closed\.") as error:
        write_stream(open_stream([(np.eye(2), [0, 1])]).batches(), "-")
    assert error.value.errno == errno.EBADF
