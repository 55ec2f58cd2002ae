"""A line that never ends is an error after a limit, not all of the memory; and nothing below the limit is refused."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys

import pytest
from command_line import THRESHER, thresher

from thresher import open_stream
from thresher.streams import DataError

LIMIT = 4 << 20


def svmlight(n):
    """Return a line of n bytes."""
    return b"1 1:1 # " + b"x" * (n - 8)


def vw(n):
    return b"1 'tag" + b"x" * (n - 11) + b"| 3:1"


def json(n):
    return b'{"label": 1, "text": "a ", "other": "' + b"x" * (n - 39) + b'"}'


def csv(n):
    return b'1,2,"' + b"x" * (n - 6) + b'"'


FORMATS = {
    "rows.svm": (svmlight, b"", {}),
    "rows.vw": (vw, b"", {}),
    "rows.jsonl": (json, b"", {"text": "text"}),
    "rows.csv": (csv, b"label,x,other\n", {"ignore": "other"}),
}


def opened(folder, name, content, packed, **options):
    path = folder / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    return path, open_stream(path, longest_line=LIMIT, **FORMATS[name][2], **options)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FORMATS)
# It begins at the start of the file, within a block, or with one of 1 MiB.
@pytest.mark.parametrize("before", [0, 2, 16_384])
@pytest.mark.parametrize("last", [False, True])
def test_the_limit_is_exact(tmp_path, name, packed, before, last):
    line, header, _ = FORMATS[name]
    for n, is_read in ((LIMIT, True), (LIMIT + 1, False), (3 * LIMIT, False)):
        content = header + (line(63) + b"\n") * before + line(n) + (b"" if last else b"\n" + line(64) + b"\n")
        path, stream = opened(tmp_path, name, content, packed)
        if is_read:
            assert sum(batch.n_rows for batch in stream.batches()) == before + 2 - last
            continue
        with pytest.raises(DataError) as error:
            list(stream.batches())
        unit = "row" if name == "rows.csv" else "line"
        assert str(error.value).startswith(f"{path}, {unit} {before + 1}: the {unit} is longer than 4 MB: ")
        assert str(error.value).endswith("longest_line=.")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["rows.svm", "rows.vw", "rows.jsonl"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_line_can_be_skipped_like_any_bad_one(tmp_path, name, packed, threads):
    line, _, _ = FORMATS[name]
    good = line(64) + b"\n"
    content = good * 3 + line(3 * LIMIT) + b"\n" + good * 2 + b"bad line\n"
    content += line(2 * LIMIT) + b"\n" + good + line(2 * LIMIT)
    path, stream = opened(tmp_path, name, content, packed, on_bad_line="skip", threads=threads)
    batches = list(stream.batches())
    assert sum(batch.n_rows for batch in batches) == 6
    skipped = [reason.split(": ")[0] for batch in batches for reason in batch.skipped]
    assert skipped == [f"{path}, line {number}" for number in (4, 7, 8, 10)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_row_of_a_table_can_not_be_skipped(tmp_path, packed):
    """Its end is not known: a quote may be open."""
    content = b"label,x,other\n" + csv(64) + b"\n" + csv(3 * LIMIT) + b"\n" + csv(64)
    _, stream = opened(tmp_path, "rows.csv", content, packed, on_bad_line="skip")
    with pytest.raises(DataError, match="row 2: the row is longer than 4 MB: "):
        list(stream.batches())


def test_a_header_that_never_ends(tmp_path):
    with pytest.raises(DataError, match=r"rows.csv: the header is longer than 4 MB: .*longest_line="):
        opened(tmp_path, "rows.csv", b"label,x" * (1 << 20), packed=False)
    # One that is long, but no longer than allowed, has all of its columns.
    names = ["label", *(f"column {k} {'x' * 20_000}" for k in range(150))]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    assert (tmp_path / "wide.csv").stat().st_size > 2 << 20
    stream = open_stream(tmp_path / "wide.csv")
    assert stream.feature_names == names[1:]
    assert stream.to_csr()[0].nnz == 150


PEAK = """
import sys
from thresher import open_stream
try:
    for batch in open_stream(sys.argv[1], longest_line=16 << 20).batches():
        pass
except ValueError as error:
    print(error)
print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.memory
@pytest.mark.parametrize("name", ["zeros.svm", "zeros.vw", "zeros.csv", "zeros.svm.gz", "zeros.csv.gz"])
def test_memory_is_bounded(tmp_path, name):
    """Zeros without end, as in a file that was allocated and never written; here they end after a gigabyte."""
    path = tmp_path / name
    if name.endswith(".gz"):
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(b"label,x\n" if "csv" in name else b"1 1:1\n")
            for _ in range(1 << 6):
                file.write(bytes(1 << 24))
    else:
        path.write_bytes(b"label,x\n" if "csv" in name else b"1 |f 1:1\n" if "vw" in name else b"1 1:1\n")
        with path.open("r+b") as file:
            file.truncate(1 << 30)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True, timeout=300
    )  # fmt: skip
    message, peak = done.stdout.splitlines()
    assert message.startswith(f"{path}, ")
    assert "is longer than 16 MB: " in message
    assert int(peak) < 300_000, f"{peak} kB"


class TestCommandLine:
    def test_the_option_sets_it(self, tmp_path):
        path = tmp_path / "rows.svm"
        path.write_bytes(b"1 1:1\n-1 2:1\n" + svmlight(LIMIT + 1) + b"\n")
        assert thresher("train", path).returncode == 0
        done = thresher("train", path, "--longest-line", "4M")
        assert done.returncode == 2
        assert done.stderr == (
            f"thresher: {path}, line 3: the line is longer than 4 MB: if it is a row, raise the limit with "
            "--longest-line.\n"
        )
        assert thresher("train", path, "--longest-line", "5M").returncode == 0
        assert thresher("convert", path, tmp_path / "rows.thc", "--longest-line", "4194305").returncode == 0

    def test_standard_input(self):
        done = subprocess.run(
            [THRESHER, "train", "-", "--longest-line", "4m"], input=b"1 1:1\n" + svmlight(3 * LIMIT),
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stderr.startswith(b"thresher: standard input, line 2: the line is longer than 4 MB: ")

    @pytest.mark.parametrize(
        ("value", "got"),
        [
            ("many", "'many'"),
            ("", "''"),
            ("1M", 1 << 20),
            ("2000G", 2000 << 30),
        ],
    )
    def test_values_that_are_not_allowed(self, tmp_path, value, got):
        (tmp_path / "rows.svm").write_bytes(b"1 1:1\n-1 2:1\n")
        done = thresher("train", tmp_path / "rows.svm", "--longest-line", value)
        message = f"--longest-line must be a number of bytes from 4 MB to 1,024 GB. Got {got} instead."
        assert (done.returncode, done.stderr) == (2, f"thresher: {message}\n")

    def test_it_has_a_meaning_for_text_only(self, tmp_path):
        (tmp_path / "rows.svm").write_bytes(b"1 1:1\n-1 2:1\n")
        assert thresher("convert", tmp_path / "rows.svm", tmp_path / "rows.thc").returncode == 0
        done = thresher("train", tmp_path / "rows.thc", "--longest-line", "5M")
        assert done.returncode == 2
        assert "rows.thc: --longest-line 5 MB has no meaning for cache data" in done.stderr


def test_the_parameter_is_checked():
    for value in (0, 1 << 21, 1.5, "256M", True, 1 << 62):
        with pytest.raises(ValueError, match=r"longest_line must be a number of bytes from 4 MB to 1,024 GB\. Got"):
            open_stream(io.StringIO(), longest_line=value)


@pytest.mark.parametrize("before", [1_000, 1 << 50])
def test_the_limit_of_cells_is_raised_for_csv_files_alone(tmp_path, monkeypatch, before):
    """Python's csv module has one for the process: it is not lowered, and nobody else's setting breaks ours."""
    import csv as module

    old = module.field_size_limit(before)
    try:
        (tmp_path / "rows.csv").write_text("label,x,other\n1,2," + "x" * 2_000 + "\n0,bad,y\n")
        (batch,) = open_stream(tmp_path / "rows.csv", ignore="other", on_bad_line="skip").batches()
        assert (batch.n_rows, len(batch.skipped)) == (1, 1)
        assert module.field_size_limit() == max(before, 1 << 28)
    finally:
        module.field_size_limit(old)
