"""Positions and shards: reading on from the end of any batch gives the rest, and the shards give the whole, to the bit.

Every format is drawn in files as untidy as they come: blank lines, comments, CR LF, quoted newlines, no newline at the
end, several files, compressed or not, cut into blocks of any size.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import json
import lzma
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from zstd_module import zstd

from thresher import SOFS, datasets, open_stream, train
from thresher.model.labels import label_text
from thresher.streams import DataError, Position, Stream, iterables, record_batches
from thresher.streams.formats import layout, text
from thresher.streams.shuffling import shuffle_stream
from thresher.streams.writing import write_stream

COMPRESSORS = {"": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}
LABELS = ["+1", "-1", "2.5", "spam"]
WIDTH = 4


@dataclass(frozen=True)
class Row:
    """A row as it was drawn, and what stands before it in a file of text."""

    label: str
    values: dict[int, float]
    weight: float
    noise: tuple[str, ...]


rows_of_a_file = st.lists(
    st.builds(
        Row,
        st.sampled_from(LABELS),
        st.dictionaries(st.integers(0, WIDTH - 1), st.sampled_from([0.5, -2.0, 1e-3, 123456.75])),
        st.sampled_from([1.0, 1.0, 2.5]),
        st.lists(st.sampled_from(["", "# a comment", "   "]), max_size=2).map(tuple),
    ),
    max_size=12,
)


@st.composite
def cases(draw):
    """Draw the rows of some files, how they are written, and how they are read."""
    return {
        "files": draw(st.lists(rows_of_a_file, min_size=1, max_size=3)),
        "newline": draw(st.sampled_from(["\n", "\r\n"])),
        "ends": draw(st.booleans()),
        "compression": draw(st.sampled_from(["", "", *COMPRESSORS])),
        "size": draw(st.sampled_from([1, 2, 7, 30, 100, 1 << 20])),
        "threads": draw(st.integers(1, 3)),
    }


def as_svmlight(rows: list[Row]) -> list[str]:
    return [line for row in rows for line in (*row.noise, " ".join([row.label, *pairs(row)]))]


def as_vw(rows: list[Row]) -> list[str]:
    noise = [tuple("" if line.startswith("#") else line for line in row.noise) for row in rows]
    numbers = [row.label if row.label != "spam" else "7" for row in rows]
    return [
        line
        for row, before, label in zip(rows, noise, numbers, strict=True)
        for line in (*before, f"{label} {row.weight} |f {' '.join(pairs(row))}")
    ]


def as_csv(rows: list[Row]) -> list[str]:
    """Labels are words with all that a CSV must quote."""
    lines = ["a,b,label,c,d"]
    for row in rows:
        a, b, c, d = (row.values.get(j, 0.0) for j in range(WIDTH))
        lines += ["" for _ in row.noise]
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="").writerow([a, b, quoted_label(row), c, d])
        lines.append(buffer.getvalue())
    return lines


def quoted_label(row: Row) -> str:
    return {"+1": "plain", "-1": 'two\nlines, "quoted"', "2.5": '"', "spam": "5"}[row.label]


def pairs(row: Row) -> list[str]:
    return [f"{j}:{value!r}" for j, value in row.values.items()]


def as_table(rows: list[Row]) -> pa.Table:
    return pa.table(
        {
            "label": pa.array([quoted_label(row) for row in rows], pa.string()),
            "ids": pa.array([list(row.values) for row in rows], pa.list_(pa.int64())),
            "values": pa.array([list(row.values.values()) for row in rows], pa.list_(pa.float32())),
        }
    )


def written(folder: Path, format_: str, case: dict) -> list[Path]:
    """Write the files of a case."""
    paths = []
    for k, rows in enumerate(case["files"]):
        path = folder / f"{k}.{format_}"
        if format_ in ("svm", "vw", "csv"):
            lines = {"svm": as_svmlight, "vw": as_vw, "csv": as_csv}[format_](rows)
            content = case["newline"].join(lines) + (case["newline"] if case["ends"] else "")
            path = path.with_name(path.name + (f".{case['compression']}" if case["compression"] else ""))
            path.write_bytes(COMPRESSORS[case["compression"]](content.encode()))
        elif format_ == "parquet":
            pa.parquet.write_table(as_table(rows), path, row_group_size=3)
        elif format_ == "arrow":
            with pa.ipc.new_file(path, as_table(rows).schema) as sink:
                sink.write_table(as_table(rows), max_chunksize=4)
        elif format_ == "arrows":
            with pa.ipc.new_stream(path, as_table(rows).schema) as sink:
                sink.write_table(as_table(rows), max_chunksize=4)
        else:
            lines = path.with_suffix(".txt")
            lines.write_text("\n".join(as_vw(rows)))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(text, "BLOCK", 40)
                write_stream(open_stream(lines, "vw").batches(), str(path))
            lines.unlink()
        paths.append(path)
    return paths


@contextmanager
def opened(format_: str, case: dict) -> Iterator[Stream]:
    """Open a case as a stream, with blocks of its size."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(text, "BLOCK", case["size"])
        patch.setattr(layout, "BLOCK", case["size"])
        patch.setattr(record_batches, "_BATCH_ROWS", max(1, case["size"] // 10))
        patch.setattr(iterables, "_BATCH_ROWS", max(1, case["size"] // 10))
        if format_ == "list":
            yield open_stream([as_matrix(rows) for rows in case["files"]])
        elif format_ == "x2":
            n_rows = max(1, sum(map(len, case["files"])))
            shape = {"n_features": 30, "n_informative": 3, "n_noise": 3}
            yield datasets.make_x2(n_rows, start=5, batch_size=case["size"], **shape)
        else:
            yield open_stream(written(Path(folder), format_, case), threads=case["threads"])


def as_matrix(rows: list[Row]) -> tuple:
    dense = np.array([[row.values.get(j, 0.0) for j in range(WIDTH)] for row in rows], dtype=np.float32)
    y, weights = [quoted_label(row) for row in rows], [row.weight for row in rows]
    return sp.csr_matrix(dense.reshape(-1, WIDTH)), np.array(y, dtype=np.str_), weights


def flat(batches) -> list[tuple]:
    """Return each row with all that is known of it: where it stood, label, weight, ids and the bits of its values."""
    found = []
    for batch in batches:
        assert batch.indptr[0] == 0
        assert batch.largest_id >= batch.indices.max(initial=-1)
        assert batch.zero_seen or not (batch.indices == 0).any()
        for row, (a, b) in enumerate(itertools.pairwise(batch.indptr.tolist())):
            weight = 1.0 if batch.row_weights is None else float(batch.row_weights[row])
            label = label_text(batch.labels[row].item())
            found.append(
                (batch.location(row), label, weight, batch.indices[a:b].tolist(), batch.data[a:b].tobytes())
            )  # fmt: skip
    return found


def expected(format_: str, case: dict, name_of) -> list[tuple]:
    """The expected rows: as they were drawn, each at its line."""
    found = []
    for k, rows in enumerate(case["files"]):
        line = 0
        for number, row in enumerate(rows, start=1):
            line += len(row.noise) + 1
            values = {j: v for j, v in sorted(row.values.items()) if v or format_ in ("svm", "vw")}
            label = quoted_label(row)
            if format_ in ("svm", "vw"):
                label = "7" if (format_, row.label) == ("vw", "spam") else row.label.removeprefix("+")
            weight = row.weight if format_ in ("vw", "list") else 1.0
            place = f"line {line}" if format_ in ("svm", "vw") else f"row {number}"
            bits = np.array(list(values.values()), dtype=np.float32).tobytes()
            found.append((f"{name_of(k)}, {place}", label, weight, list(values), bits))
    return found


FORMATS = ["svm", "vw", "csv", "parquet", "arrow", "arrows", "thc", "list", "x2"]
HARD = {
    "files": [[Row("+1", {3: 0.5}, 1.0, ("", "# a comment")), Row("-1", {}, 1.0, ())], [], [Row("2.5", {}, 2.5, ())]],
    "newline": "\r\n", "ends": False, "compression": "", "size": 7, "threads": 2,
}  # fmt: skip


@pytest.mark.parametrize("format_", FORMATS)
@settings(max_examples=20)
@given(case=cases(), n=st.integers(1, 9))
@example(case=HARD, n=3)
def test_shards_one_after_the_other_are_the_whole(format_, case, n):
    with opened(format_, case) as stream:
        check_shards(stream, format_, case, n)


def check_shards(stream, format_, case, n):
    whole = flat(stream.batches())
    if format_ in ("svm", "vw", "csv", "parquet", "arrow", "arrows"):
        names = {place.rpartition(", ")[0] for place, *_ in whole}
        by_name = {int(Path(name).name.split(".")[0]): name for name in names}
        assert whole == expected(format_, case, by_name.get)
    shards = [stream.shard(k, n) for k in range(n)]
    assert [row for shard in shards for row in flat(shard.batches())] == whole
    if stream.n_bytes is not None and not case["compression"]:
        assert sum(shard.n_bytes for shard in shards) == stream.n_bytes
        assert max(shard.n_bytes for shard in shards) - min(shard.n_bytes for shard in shards) <= 1
    # A shard is divided as the whole is.
    part = shards[n // 2]
    assert [row for k in range(3) for row in flat(part.shard(k, 3).batches())] == flat(part.batches())


@pytest.mark.parametrize("format_", FORMATS)
@settings(max_examples=20)
@given(case=cases(), n=st.integers(1, 4))
@example(case=HARD, n=1)
@example(case=HARD, n=3)
def test_going_on_from_the_end_of_a_batch_gives_the_rest(format_, case, n):
    with opened(format_, case) as whole:
        for stream in [whole] if n == 1 else [whole.shard(k, n) for k in range(n)]:
            check_ends(stream)


def check_ends(stream):
    batches = list(stream.batches())
    rows = flat(batches)
    done = 0
    for number, batch in enumerate(batches):
        done += batch.n_rows
        if number < 3 or number == len(batches) - 1:
            end = Position.from_dict(json.loads(json.dumps(batch.end.to_dict())))
            assert end == batch.end
            assert flat(stream.batches(start=end)) == rows[done:]


@pytest.mark.parametrize("format_", FORMATS)
@settings(max_examples=15)
@given(case=cases())
@example(case=HARD)
def test_to_csr_is_every_row_in_one_matrix(format_, case):
    with opened(format_, case) as stream:
        check_matrix(stream, format_)


def check_matrix(stream, format_):
    batches = list(stream.batches())
    base = stream.id_base if stream.id_base is not None else 0 if any(batch.zero_seen for batch in batches) else 1
    X, y, weights = stream.to_csr()
    rows = flat(batches)
    assert X.dtype == np.float32
    assert X.has_canonical_format
    fresh = sp.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    assert fresh.has_canonical_format
    assert X.shape[0] == len(y) == len(rows)
    weights_read = [row[2] for row in rows]
    if weights is None:
        assert set(weights_read) <= {1.0}
    else:
        assert weights.tolist() == weights_read
    for r, (_, label, _, ids, bits) in enumerate(rows):
        assert label_text(y[r].item()) == label
        assert (X[r].indices + base).tolist() == ids
        assert X[r].data.tobytes() == bits


@settings(max_examples=40)
@given(case=cases(), n=st.integers(2, 6), at=st.integers(0, 20))
def test_an_error_in_a_shard_names_the_line(case, n, at):
    """Also in a shard, whose number of lines before it is not known at first."""
    rows = case["files"][0]
    bad = Row("1 oops", {}, 1.0, ())
    at = min(at, len(rows))
    case = {**case, "files": [[*rows[:at], bad, *rows[at:]]], "compression": ""}
    line = sum(len(row.noise) + 1 for row in rows[:at]) + 1
    messages = []
    with opened("svm", case) as stream:
        for k in range(n):
            try:
                list(stream.shard(k, n).batches())
            except DataError as error:
                messages.append(str(error))
    assert len(messages) == 1
    assert f"0.svm, line {line}: 'oops' is not id:value" in messages[0]


@pytest.mark.parametrize("format_", [each for each in FORMATS if each != "list"])
def test_a_shard_can_be_sent_to_another_process(format_):
    with opened(format_, HARD) as stream:
        part = stream.shard(1, 2)
        assert flat(pickle.loads(pickle.dumps(part)).batches()) == flat(part.batches())


class TestRefused:
    @pytest.fixture
    def path(self, tmp_path, monkeypatch):
        monkeypatch.setattr(text, "BLOCK", 64)
        path = tmp_path / "a.svm"
        path.write_text("".join(f"{r % 2} {r + 1}:1\n" for r in range(50)))
        return path

    @pytest.fixture
    def middle(self, path):
        return list(open_stream(path).batches())[2].end

    @pytest.mark.parametrize(
        ("change", "is_touched", "why"),
        [
            (lambda raw: raw + b"1 1:1\n", True, r"its size was \d+ and is \d+"),
            (lambda raw: b"1" + raw[1:], False, "first bytes differ"),
            (bytes, True, "modified at 20.* and again at 1970"),
        ],
        ids=["grew", "begins differently", "written again"],
    )
    def test_a_file_that_changed(self, path, middle, change, is_touched, why):
        times = (1, 1) if is_touched else (path.stat().st_atime_ns, path.stat().st_mtime_ns)
        path.write_bytes(change(path.read_bytes()))
        os.utime(path, ns=times)
        with pytest.raises(ValueError, match=f"a.svm: the file has changed .*{why}"):
            open_stream(path).batches(start=middle)

    def test_another_file(self, path, middle, tmp_path):
        other = tmp_path / "b.svm"
        other.write_text("1 1:1\n")
        with pytest.raises(ValueError, match=r"b.svm: the position belongs to another file, .*a.svm"):
            open_stream(other).batches(start=middle)
        with pytest.raises(ValueError, match=r"file 4, .*a.svm, but the stream has 1 file"):
            open_stream(path).batches(start=replace(middle, file=3))

    def test_a_file_that_was_only_renamed_will_do(self, path, middle, tmp_path):
        rest = [batch.labels.tolist() for batch in open_stream(path).batches(start=middle)]
        moved = path.rename(tmp_path / "moved.svm")
        assert [batch.labels.tolist() for batch in open_stream(moved).batches(start=middle)] == rest != []

    def test_another_shard(self, path, middle):
        stream = open_stream(path)
        with pytest.raises(ValueError, match=r"a.svm: the position is in another shard"):
            stream.shard(3, 4).batches(start=middle)
        rows = datasets.make_x2(20, n_features=9, n_informative=2, n_noise=2, batch_size=5)
        *_, last = rows.batches()
        with pytest.raises(ValueError, match=r"generated rows: the position is in another shard"):
            rows.shard(0, 4).batches(start=last.end)

    def test_another_generator_or_list(self, middle):
        shape = {"n_features": 30, "n_informative": 3, "n_noise": 3}
        end = next(iter(datasets.make_x2(10, **shape).batches())).end
        with pytest.raises(ValueError, match=r"generated rows: the position belongs to other rows: .*seed differs"):
            datasets.make_x2(10, random_state=1, **shape).batches(start=end)
        with pytest.raises(ValueError, match=r"generated rows: the position belongs to another file, .*a.svm"):
            datasets.make_x2(10, **shape).batches(start=middle)
        X = sp.csr_matrix(np.eye(3, dtype=np.float32))
        with pytest.raises(ValueError, match="the list of batches: the position belongs to another file"):
            open_stream([(X, [0, 1, 0])]).batches(start=middle)

    @pytest.mark.parametrize(
        ("k", "n", "message"),
        [
            (-1, 2, "k of shard.* must be a whole number from 0 to 1. Got -1"),
            (2, 2, "k of shard.* must be a whole number from 0 to 1. Got 2"),
            (0, 0, "n of shard.* must be a whole number of at least 1"),
            (0, -1, "n of shard.* must be"),
            (0.5, 2, "k of shard.* must be"),
            (0, "2", "n of shard.* must be"),
        ],
    )
    def test_a_shard_out_of_range(self, path, k, n, message):
        with pytest.raises(ValueError, match=message):
            open_stream(path).shard(k, n)

    def test_what_is_no_position(self, path):
        with pytest.raises(ValueError, match=r"start must be a Position, such as a batch's end. Got 3"):
            open_stream(path).batches(start=3)

    @pytest.mark.parametrize(
        "change", [{"byte": -1}, {"byte": "x"}, {"row": 1.5}, {"file": True}, {"name": None}, {"more": 1}]
    )
    def test_a_forged_dictionary(self, middle, change):
        with pytest.raises(ValueError, match="position"):
            Position.from_dict({**middle.to_dict(), **change})

    def test_standard_input_has_neither(self, monkeypatch, path, middle):
        with path.open("rb") as file:
            monkeypatch.setattr(sys, "stdin", file)
            stream = open_stream("-")
            assert not stream.has_positions
            with pytest.raises(DataError, match=r"standard input has no positions, since it can be read only once"):
                stream.batches(start=middle)
            with pytest.raises(DataError, match=r"standard input has no shards"):
                stream.shard(0, 2)
            assert {batch.end for batch in stream.batches()} == {None}


def test_numbers_in_a_second_namespace_are_noticed_after_going_on(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 70_000)
    path = tmp_path / "a.vw"
    path.write_text("1 |f 1\n" * 10_000 + "1 |g 1\n")  # the first rows, which open_stream looks at, have none
    first = next(iter(open_stream(path).batches()))
    with pytest.raises(DataError, match=r"line 10001 or later: numbers in a second namespace, 'g' after 'f'"):
        list(open_stream(path).batches(start=first.end))


class TestIterables:
    X = sp.csr_matrix(np.array([[1, 0, 2], [0, 0, 3], [4, 5, 0]], dtype=np.float64))
    y = np.array([1, 0, 1])

    def test_a_list_is_a_stream(self):
        stream = open_stream([(self.X, self.y), (self.X[:1], self.y[:1], [2.5])])
        for _ in range(2):
            parts = list(stream)
            assert [len(part) for part in parts] == [2, 3]
            assert parts[0][0].toarray().tolist() == self.X.toarray().tolist()
            assert parts[1][2].tolist() == [2.5]
        assert (stream.n_rows, stream.n_features, stream.id_base) == (4, 3, 0)
        X, y, weights = stream.to_csr()
        assert X.toarray().tolist() == [[1, 0, 2], [0, 0, 3], [4, 5, 0], [1, 0, 2]]
        assert (y.tolist(), weights.tolist()) == ([1, 0, 1, 1], [1, 1, 1, 2.5])

    @pytest.mark.parametrize("source", [(X, y), [(X.toarray(), y)], [(X.tocsc(), list(y))], [(X.tocoo(), y, None)]])
    def test_any_matrix_will_do(self, source):
        X, y, weights = open_stream(source).to_csr()
        assert X.toarray().tolist() == self.X.toarray().tolist()
        assert y.tolist() == [1, 0, 1]
        assert weights is None

    def test_training_on_batches_is_fitting_the_matrix(self):
        X, y = datasets.make_x1(300, n_features=100, n_informative=5, n_noise=20)
        fitted = SOFS(10, shuffle=False, n_passes=2).fit(X, y)
        parts = [(X[:100], y[:100]), (X[100:110].toarray(), y[100:110].tolist()), (X[110:], y[110:])]
        trained = SOFS(10)
        history = train(trained, parts, passes=2, validate=(X, y))
        assert history.validation[-1] == fitted.score(X, y)
        np.testing.assert_array_equal(trained.coef_.toarray(), fitted.coef_.toarray())
        with pytest.raises(DataError, match="the iterator of batches can be read only once, but passes=2"):
            train(SOFS(10), iter(parts), passes=2)

    def test_unsorted_and_repeated_ids_are_put_in_order(self):
        X = sp.csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3]), shape=(1, 3))
        assert next(open_stream([(X, [1])]).batches()).data.tolist() == [2.0, 5.0]
        assert X.data.tolist() == [1.0, 2.0, 4.0]

    def test_an_iterator_is_read_once(self):
        stream = open_stream((self.X, self.y) for _ in range(3))
        assert not stream.can_be_read_again
        assert sum(X.shape[0] for X, _ in stream) == 9
        with pytest.raises(DataError, match="the iterator of batches can be read only once"):
            next(iter(stream))
        with pytest.raises(DataError, match="the iterator of batches has no shards"):
            stream.shard(0, 2)

    def test_an_iterable_is_read_from_the_start_each_time(self):
        class Loader:
            def __iter__(self):
                yield TestIterables.X, TestIterables.y

        stream = open_stream(Loader())
        assert [sum(X.shape[0] for X, _ in stream) for _ in range(2)] == [3, 3]
        with pytest.raises(DataError, match="the iterable of batches has no positions"):
            stream.batches(start=next(open_stream([(self.X, self.y)]).batches()).end)

    @pytest.mark.parametrize(
        ("item", "message"),
        [
            (X, r"batch 1 of the iterable: it must be \(X, y\) or \(X, y, weights\). Got a csr_matrix"),
            ((X, y, y, y), "Got a tuple of length 4"),
            ((X, y[:2]), r"batch 1 of the iterable: X has 3 rows, but y has shape \(2,\)"),
            ((X, ["a", None, "b"]), "labels must be numbers or text"),
            ((X, [1.0, np.nan, 0.0]), "labels must be finite"),
            ((X, y, [1.0]), r"weights has shape \(1,\), but X has 3 rows"),
            ((X, y, [1, -1, 1]), r"weights\[1\] is -1: weights must be finite and not negative"),
            ((X, y, ["a", "b", "c"]), "weights must contain numbers"),
            ((X * np.inf, y), r"X\[0, 0\] is infinity"),
            ((X * 1e300, y), r"X\[0, 0\] is 1e\+300"),
        ],
    )
    def test_what_is_wrong_is_named(self, item, message):
        with np.errstate(all="ignore"), pytest.raises(DataError, match=message):
            list(open_stream(iter([(self.X, self.y), item])))

    def test_other_sources(self, tmp_path):
        with pytest.raises(TypeError, match="source must be a path, or an iterable"):
            open_stream(3)
        (tmp_path / "a.svm").write_text("1 1:1\n")
        stream = open_stream(tmp_path.glob("*.svm"))
        assert [X.nnz for X, _ in stream] == [1]
        assert open_stream(stream) is stream


def test_rows_with_weights_come_as_three(tmp_path):
    (tmp_path / "a.vw").write_text("1 2.5 |f 4\n-1 |f 2\n")
    ((X, y, weights),) = open_stream(tmp_path / "a.vw")
    assert (X.shape, y.tolist(), weights.tolist()) == ((2, 5), [1, -1], [2.5, 1])


def test_to_csr_keeps_to_the_fixed_base(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 3:2\n")
    assert open_stream(tmp_path / "a.svm").to_csr()[0].toarray().tolist() == [[1, 0, 2]]
    assert open_stream(tmp_path / "a.svm", zero_based=True).to_csr()[0].toarray().tolist() == [[0, 1, 0, 2]]
    (tmp_path / "b.svm").write_text("1 0:1\n")
    assert open_stream([tmp_path / "a.svm", tmp_path / "b.svm"]).to_csr()[0].toarray().tolist() == [
        [0, 1, 0, 2], [1, 0, 0, 0]
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"b.svm: id 0 occurs, but zero_based=False"):
        open_stream(tmp_path / "b.svm", zero_based=False).to_csr()
    (tmp_path / "wide.svm").write_text(f"1 {2**40}:1\n")
    assert open_stream(tmp_path / "wide.svm").to_csr()[0].shape == (1, 2**40)


def test_to_csr_takes_the_matrix_and_one_copy():
    """Peak memory of the process, beside that of the matrix: some 60 MB."""
    code = (
        "import resource, thresher\n"
        "from thresher import datasets\n"
        "stream = datasets.make_x2(8_000, n_features=20_000, batch_size=500)\n"
        "stream.shard(0, 100).to_csr()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "X, y, _ = stream.to_csr()\n"
        "size = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1024\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / size)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert float(done.stdout) < 2.3


def test_a_cache_knows_its_rows_in_a_shard(tmp_path):
    (tmp_path / "a.svm").write_text("".join(f"1 {r + 1}:1\n" for r in range(10)))
    write_stream(open_stream(tmp_path / "a.svm").batches(), str(tmp_path / "a.thc"))
    stream = open_stream(tmp_path / "a.thc")
    shards = [stream.shard(k, 3) for k in range(3)]
    assert [shard.n_rows for shard in shards] == [sum(b.n_rows for b in shard.batches()) for shard in shards]
    assert sum(shard.n_rows for shard in shards) == 10


def test_lines_that_shuffled_rows_lack_are_listed_once(tmp_path):
    """Not again by a stream that continues after them, as a run that is resumed does."""
    (tmp_path / "a.svm").write_text("1 1:1\nno row\n0 2:1\n")
    streams = [
        shuffle_stream(open_stream(tmp_path / "a.svm", on_bad_line="skip"), np.random.default_rng(seed))
        for seed in (0, 1)
    ]
    first = next(streams[0].batches())
    streams[1].restore_generator(streams[0].generator_state())
    rest = list(streams[1].batches(first.end))
    assert (first.n_rows, len(first.skipped)) == (0, 1)
    assert (sum(batch.n_rows for batch in rest), [batch.skipped for batch in rest]) == (2, [[]])
