"""svmlight text: read as scikit-learn reads it, also in the variants found in practice; bad lines are named."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from thresher import _core
from thresher.streams import DataError, open_stream
from thresher.streams.formats import text

OPEN_FILES = Path("/proc/self/fd")


def read(raw: bytes, tmp_path, **options):
    path = tmp_path / "data.svm"
    path.write_bytes(raw)
    batches = list(open_stream(path, "svmlight", **options).batches())
    labels = [label for batch in batches for label in batch.labels.tolist()]
    rows = [
        list(zip(batch.indices[a:b].tolist(), batch.data[a:b].tolist(), strict=True))
        for batch in batches
        for a, b in zip(batch.indptr[:-1], batch.indptr[1:], strict=True)
    ]
    return labels, rows


numbers = st.one_of(
    st.floats(-1e30, 1e30, allow_nan=False).map(repr),
    st.floats(-(2.0**100), 2.0**100, allow_nan=False, width=32).map(lambda x: f"{x:.9g}"),
    st.decimals(-1000, 1000, places=5).map(str),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(["+1", "0", "-0.0", ".5", "5.", "1e-45", "1E+2", "00012", "1e-400", "12345.678901", "2.5e0"]),
)


@st.composite
def svmlight_lines(draw):
    """Draw lines that scikit-learn accepts: sorted unique ids from 1, numeric labels, comments, blank lines, qid."""
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        ids = sorted(draw(st.sets(st.integers(1, 10**6), max_size=6)))
        space = draw(st.sampled_from([" ", "  ", "\t", " \t"]))
        tokens = [draw(numbers), *(f"{i}:{draw(numbers)}" for i in ids)]
        end = draw(st.sampled_from(["", " ", " # comment 1:2", "#x"]))
        lines.append(space.join(tokens) + end)
        if draw(st.booleans()):
            lines.append(draw(st.sampled_from(["", "# whole line", "   "])))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return (newline.join(lines) + draw(st.sampled_from(["", newline]))).encode()


@given(svmlight_lines())
def test_equals_scikit_learn(tmp_path_factory, raw):
    X, y = load_svmlight_file(io.BytesIO(raw), dtype=np.float64, zero_based=True)
    labels, rows = read(raw, tmp_path_factory.getbasetemp())
    assert [float(label) for label in labels] == y.tolist()  # which has rounded large whole numbers
    with np.errstate(over="ignore"):
        expected = [
            list(zip(X[r].indices.tolist(), X[r].data.astype(np.float32).tolist(), strict=True))
            for r in range(X.shape[0])
        ]
    assert rows == expected


@given(numbers)
def test_values_round_as_python_floats(number):
    values = _core.read_text("svmlight", f"1 1:{number}".encode(), False).data
    assert values[0] == np.float32(float(number))


@given(
    st.lists(st.one_of(numbers, st.from_regex(r"-?[0-9]{1,10}(\.[0-9]{0,10})?", fullmatch=True)), min_size=1),
    st.integers(0, 10**10),
)
def test_far_from_the_end_they_round_so_too(values, first):
    """Pairs of the common form are read by faster code, but only if more text follows them."""
    pairs = [f"{first + j}:{value}" for j, value in enumerate(values)]
    text = f"1 {' '.join(pairs)} {10**12}:1 # {'x' * 40}\n"
    rows = _core.read_text("svmlight", text.encode(), False)
    assert rows.bad == []
    assert rows.indices.tolist() == [*range(first, first + len(values)), 10**12]
    np.testing.assert_array_equal(rows.data[:-1], np.array([float(value) for value in values]).astype(np.float32))


@pytest.mark.parametrize(
    "pair", ["7:", "7:-", "7:--1", "7:1.2.3", "7:1-2", "7:1:2", ":5", "x7:1", "7:1x", "7:1.x", "7: 1"]
)
def test_what_only_looks_plain_is_refused(pair):
    rows = _core.read_text("svmlight", f"1 3:1 {pair} 9:1 {'11:1 ' * 9}\n".encode(), False)
    assert len(rows.bad) == 1


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_read_or_refused(raw, skip):
    """Nothing crashes, and rows and bad lines never outnumber lines."""
    for kind in ("svmlight", "vw"):
        rows = _core.read_text(kind, raw, skip)
        n_rows = len(rows.labels)
        assert all(row < n_rows for row, _ in rows.words)
        assert len(rows.indices) == len(rows.data) == rows.indptr[-1]
        assert n_rows == len(rows.indptr) - 1 == len(rows.numbers)
        assert n_rows + len(rows.bad) <= rows.n_lines + 1
        assert np.isfinite(rows.data).all()
        assert rows.indices.max(initial=-1) <= rows.largest_id


class TestInTheWild:
    """Each of these breaks the authors' own code, or another reader."""

    @pytest.mark.parametrize(
        ("line", "label", "row"),
        [
            ("+1 0:1 2:3", 1.0, [(0, 1.0), (2, 3.0)]),
            ("1.0 1:12345.678901", 1.0, [(1, float(np.float32(12345.678901)))]),
            ("0 3:1", 0.0, [(3, 1.0)]),
            ("7 5:1 # 9:9", 7.0, [(5, 1.0)]),
            ("-1", -1.0, []),
            ("-1 ", -1.0, []),
            ("1 qid:3 2:4", 1.0, [(2, 4.0)]),
            ("1 9:1 2:5 4:1", 1.0, [(2, 5.0), (4, 1.0), (9, 1.0)]),
            ("1 2:1 2:2.5 1:1", 1.0, [(1, 1.0), (2, 3.5)]),
            ("1 9223372036854775806:1", 1.0, [(2**63 - 2, 1.0)]),
            ("spam 1:1", "spam", [(1, 1.0)]),
            ("1\t1:2\t\t3:4\r", 1.0, [(1, 2.0), (3, 4.0)]),
            ("1 1:1e-300", 1.0, [(1, 0.0)]),
        ],
    )
    def test_line(self, tmp_path, line, label, row):
        assert read(f"\n# first\n{line}\n\n".encode(), tmp_path) == ([label], [row])
        assert read(line.encode(), tmp_path) == ([label], [row])  # no newline at the end

    def test_words_and_numbers_as_labels(self, tmp_path):
        assert read(b"1 1:1\nspam 1:1\n2.5 1:1\n", tmp_path)[0] == ["1", "spam", "2.5"]

    @pytest.mark.parametrize("label", ["nancy", "info", "Inf1", "i", "n", "1e", "in"])
    def test_words_that_start_like_a_number(self, tmp_path, label):
        assert read(f"{label} 1:1\n".encode(), tmp_path)[0] == [label]

    @pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 1000])
    def test_byte_order_mark(self, tmp_path, monkeypatch, size):
        """It is skipped at the start of a file, whatever the size of the blocks, and nowhere else."""
        monkeypatch.setattr(text, "BLOCK", size)
        assert read(b"\xef\xbb\xbf1 1:1\n-1 2:1\n", tmp_path) == ([1.0, -1.0], [[(1, 1.0)], [(2, 1.0)]])
        assert read(b"\xef\xbb\xbf", tmp_path) == ([], [])
        assert read(b"1 1:1\n\xef\xbb\xbf2 2:1\n", tmp_path)[0][1] == "\ufeff2"

    def test_byte_order_mark_of_the_first_block(self):
        raw = b"\xef\xbb\xbf1 1:1\n"
        rows = _core.read_text("svmlight", raw, False, first=True)
        assert (rows.labels.tolist(), rows.words) == ([1.0], [])
        assert _core.read_text("svmlight", raw, False).words == [(0, "\ufeff1")]

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_blocks_of_any_size(self, tmp_path, monkeypatch, size, threads):
        random = np.random.default_rng(size)
        lines = [f"{r} " + " ".join(f"{i}:{r + i}" for i in range(1, random.integers(1, 40))) for r in range(60)]
        raw = "\n".join(lines).encode()
        whole = read(raw, tmp_path)
        monkeypatch.setattr(text, "BLOCK", size)
        assert read(raw, tmp_path, threads=threads) == whole
        assert len(whole[0]) == 60


BAD = {
    "1 3:x": "'3:x': the value must be a finite number",
    "1 3:": "'3:': the value must be a finite number",
    "1 3:nan": "'3:nan': the value must be a finite number",
    "1 3:inf": "'3:inf': the value must be a finite number",
    "1 3:1e39": "'3:1e39': the value must be a finite number",
    "1 3:1e999": "'3:1e999': the value must be a finite number",
    "1 3:1x 4:1": "'3:1x': the value must be a finite number",
    "1 -1:2": "'-1:2': an id must be a whole number",
    "1 1.5:2": "'1.5:2': an id must be a whole number",
    "1 9223372036854775807:2": "an id must be a whole number from 0 to 2",
    "1 99999999999999999999:2": "an id must be a whole number from 0 to 2",
    "1 foo": "'foo' is not id:value",
    "1 3:1 :": "':': an id must be a whole number",
    "3:1 4:1": "the line starts with '3:1': a label must come first",
    "nan 3:1": "'nan': the label must be a finite number or a word",
    "-NaN 3:1": "'-NaN': the label must be a finite number or a word",
    "inf 3:1": "'inf': the label must be a finite number or a word",
    "-inf 3:1": "'-inf': the label must be a finite number or a word",
    "+Infinity": "'+Infinity': the label must be a finite number or a word",
    "1e999 3:1": "'1e999': the label must be a finite number or a word",
    "1 3:1\0 4:1": "a zero byte",
    "\0\1\2": "a zero byte",
}


class TestBadLines:
    @pytest.mark.parametrize("line", BAD)
    def test_is_named_by_its_number(self, tmp_path, line):
        with pytest.raises(DataError) as error:
            read(f"1 1:1\n\n# a comment\n-1 2:1\n{line}\n1 1:1\n".encode(), tmp_path)
        assert str(error.value).startswith(f"{tmp_path / 'data.svm'}, line 5: ")
        assert BAD[line] in str(error.value)
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize("line", BAD)
    def test_can_be_skipped(self, tmp_path, line):
        path = tmp_path / "data.svm"
        path.write_bytes(f"1 1:1\n{line}\n-1 2:1\n".encode())
        batches = list(open_stream(path, "svmlight", on_bad_line="skip").batches())
        assert [label for batch in batches for label in batch.labels] == [1.0, -1.0]
        skipped = [why for batch in batches for why in batch.skipped]
        assert len(skipped) == 1
        assert "data.svm, line 2: " in skipped[0]
        assert BAD[line] in skipped[0]

    def test_line_numbers_go_on_across_blocks(self, tmp_path, monkeypatch):
        monkeypatch.setattr(text, "BLOCK", 50)
        raw = b"".join(b"1 1:1 2:2 3:3\n" for _ in range(999)) + b"1 oops\n"
        for threads in (1, 3):
            with pytest.raises(DataError, match="line 1000: 'oops'"):
                read(raw, tmp_path, threads=threads)


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="the system does not list open files")
def test_files_are_closed(tmp_path):
    before = len(list(OPEN_FILES.iterdir()))
    for _ in range(5):
        read(b"1 1:1\n-1 2:2\n", tmp_path)
    assert len(list(OPEN_FILES.iterdir())) <= before


# Numbers beyond the limits of float64 are left to the C library, which reads them as the locale writes them.
IN_A_LOCALE_WITH_COMMAS = """
import locale, sys
from thresher.streams import open_stream

locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
print([label for batch in open_stream(sys.argv[1], "svmlight").batches() for label in batch.labels.tolist()])
"""


def test_a_locale_with_decimal_commas_changes_nothing(tmp_path):
    if shutil.which("localedef") is None:
        pytest.skip("no localedef")
    made = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("no source of a locale with decimal commas")
    path = tmp_path / "data.svm"
    path.write_text("1.5e-400 1:1\n12345678901234567890.5 1:1\n2.5 1:1\n")
    command = [sys.executable, "-c", IN_A_LOCALE_WITH_COMMAS, path]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120, env={**os.environ, "LOCPATH": str(tmp_path)}
    )
    assert done.stdout == f"{[0.0, 12345678901234567890.5, 2.5]}\n"
