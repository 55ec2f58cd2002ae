"""Streams: the same rows give the same model from every source, and every broken source is one clear error."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from command_line import thresher
from states import model_of, same_state
from zstd_module import zstd

from thresher import SOFS, convert, datasets, open_stream, train
from thresher.file_formats import FILE_FORMATS
from thresher.model.model import Model
from thresher.streams import Batch, DataError
from thresher.streams.formats import FORMATS, cache, text
from thresher.streams.pipeline import in_order
from thresher.streams.writing import write_stream, write_table


@pytest.fixture(scope="module")
def rows():
    """Rows of X1, as a matrix and as text with ids from 1."""
    X, y = datasets.make_x1(600, n_features=2_000, n_informative=50, n_noise=60)
    return X, y


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    """The rows in every form there is."""
    X, y = rows
    here = tmp_path_factory.mktemp("data")
    stream = datasets.make_x2(600, n_features=2_000, n_informative=50, n_noise=60)
    write_stream(stream.batches(), str(here / "x.svm"), shift=1)
    raw = (here / "x.svm").read_bytes()
    for ending, compress in (
        ("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", zstd.compress)
    ):  # fmt: skip
        (here / f"x.svm.{ending}").write_bytes(compress(raw))
    (here / "no_ending").write_bytes(gzip.compress(raw))
    (here / "two_frames.svm.zst").write_bytes(zstd.compress(raw[:5000]) + zstd.compress(raw[5000:]))
    (here / "two_members.svm.gz").write_bytes(gzip.compress(raw[:5000]) + gzip.compress(raw[5000:]))
    cut = raw.index(b"\n", len(raw) // 2) + 1
    (here / "halves").mkdir()
    (here / "halves" / "a.svm").write_bytes(raw[:cut])
    (here / "halves" / "b.svm").write_bytes(raw[cut:])
    write_stream(open_stream(here / "x.svm").batches(), str(here / "x.thc"))
    vw = b"".join(line.replace(b" ", b" |f ", 1) + b"\n" for line in raw.splitlines())
    (here / "x.vw").write_bytes(vw)
    lists = {
        "label": y,
        "ids": [(X.indices[a:b] + 1).tolist() for a, b in itertools.pairwise(X.indptr)],
        "values": [X.data[a:b].tolist() for a, b in itertools.pairwise(X.indptr)],
    }
    table = pa.table(lists, schema=pa.schema([("label", pa.int64()), ("ids", pa.list_(pa.int64())),
                                              ("values", pa.list_(pa.float32()))]))  # fmt: skip
    pa.parquet.write_table(table, here / "x.parquet", row_group_size=100)
    pa.feather.write_feather(table, here / "x.arrow", compression="uncompressed")
    with pa.ipc.new_stream(here / "x.arrows", table.schema) as sink:
        sink.write_table(table, max_chunksize=97)
    return here


SOURCES = [
    "x.svm", "x.svm.gz", "x.svm.bz2", "x.svm.xz", "x.svm.zst", "no_ending", "two_frames.svm.zst", "two_members.svm.gz",
    "halves", "halves/*.svm", "x.thc", "x.vw", "x.parquet", "x.arrow", "x.arrows",
]  # fmt: skip


@pytest.fixture(scope="module")
def reference(folder):
    model = Model("sofs", n_features_to_select=40)
    train(model, folder / "x.svm")
    return model


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("threads", [1, 2])
def test_every_source_gives_the_same_model(folder, reference, source, threads):
    model = Model("sofs", n_features_to_select=40)
    history = train(model, open_stream(str(folder / source), threads=threads))
    assert same_state(model, reference)
    assert (model.n_features, model.id_base, model.target.labels.tolist()) == (2_000, 1, [-1, 1])
    assert history.rows[-1] == 600


def test_memory_gives_the_same_model(rows, reference):
    X, y = rows
    model = SOFS(40, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(model.selected_, reference.members()[0])
    np.testing.assert_array_equal(model_of(model).members()[1], reference.members()[1])
    np.testing.assert_array_equal(model.decision_function(X), reference.decision_function(X))
    assert model.n_mistakes_ == reference.counters["n_mistakes"]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_standard_input(folder, reference, compress):
    code = (
        "import sys, pickle; from thresher.model.model import Model; from thresher import train, open_stream\n"
        "model = Model('sofs', n_features_to_select=40); train(model, open_stream('-'))\n"
        "sys.stdout.buffer.write(pickle.dumps(model))"
    )
    raw = compress((folder / "x.svm").read_bytes())
    done = subprocess.run([sys.executable, "-c", code], input=raw, capture_output=True, check=True, timeout=60)
    assert same_state(pickle.loads(done.stdout), reference)


def test_standard_input_is_read_once(monkeypatch, folder):
    with (folder / "x.svm").open("rb") as file:
        monkeypatch.setattr(sys, "stdin", file)
        stream = open_stream("-")
        assert stream.n_bytes is None
        assert sum(X.shape[0] for X, _ in stream) == 600
        with pytest.raises(DataError, match="standard input can be read only once"):
            next(iter(stream))
        with pytest.raises(DataError, match=r"only once, but passes=2"):
            train(Model("sofs"), stream, passes=2)
        with pytest.raises(DataError, match="can't be shuffled"):
            train(Model("sofs"), stream, shuffle=True)


def test_a_stream_yields_matrices_and_knows_its_size(folder, rows):
    stream = open_stream(folder / "x.svm")
    assert stream.n_bytes == (folder / "x.svm").stat().st_size
    assert open_stream(folder / "x.thc").n_rows == 600
    for _ in range(2):
        parts = list(stream)
        assert sum(X.shape[0] for X, _ in parts) == 600
        np.testing.assert_array_equal(np.concatenate([y for _, y in parts]), rows[1])
    assert sum(batch.n_bytes for batch in stream.batches()) == stream.n_bytes


class TestTables:
    def test_columns_become_features(self, tmp_path):
        table = pa.table(
            {"x": [1.0, 0.0, 2.5], "kind": ["spam", "mail", "spam"], "n": [0, 3, 4], "b": [True, False, True]}
        )
        pa.parquet.write_table(table, tmp_path / "t.parquet")
        pa.csv.write_csv(table, tmp_path / "t.csv")
        pa.feather.write_feather(table, tmp_path / "t.feather", compression="uncompressed")
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
        for name in ("t.parquet", "t.csv", "t.feather", "t.csv.gz"):
            stream = open_stream(tmp_path / name, label="kind")
            assert stream.feature_names == ["x", "n", "b"]
            ((X, y),) = stream
            assert X.toarray().tolist() == [[1, 0, 1], [0, 3, 0], [2.5, 4, 1]]
            assert y.tolist() == ["spam", "mail", "spam"]
        model = SOFS(2)
        train(model, open_stream(tmp_path / "t.csv", label="kind"), passes=3)
        assert set(model.get_feature_names_out()) <= {"x", "n", "b"}
        assert model.classes_.tolist() == ["mail", "spam"]
        frame = pandas.DataFrame([[2.5, 0, True]], columns=["x", "n", "b"])
        assert model.predict(frame).tolist() == ["spam"]

    @pytest.mark.parametrize(
        ("table", "label", "message"),
        [
            ({"x": [1.0]}, None, "there is no column 'label'; there are x. Name the label's column"),
            ({"x": [1.0], "label": [1]}, "y", "there is no column 'y'; there are x, label."),
            ({"Label": [1.0], "x": [1]}, None, "there are Label, x. Did you mean 'Label'? Name the label's column"),
            ({"x": ["a"], "label": [1]}, None, "column 'x' has type string; features must be numbers"),
            ({"label": [1]}, None, "no column is left for the features"),
        ],
    )
    def test_bad_tables(self, tmp_path, table, label, message):
        pa.parquet.write_table(pa.table(table), tmp_path / "t.parquet")
        with pytest.raises(DataError) as error:
            list(open_stream(tmp_path / "t.parquet", label=label))
        assert message in str(error.value)
        assert str(error.value).startswith(str(tmp_path / "t.parquet"))

    @pytest.mark.parametrize(
        ("roles", "meant"),
        [
            ({"label": "KIND"}, "kind"),
            ({"label": "kind", "weight": "imprtance"}, "importance"),
            ({"label": "kind", "ignore": "row_number"}, "row number"),
            ({"label": "kind", "numeric": "prize"}, "price"),
            ({"label": "category"}, None),
        ],
    )
    def test_a_misspelt_column(self, tmp_path, roles, meant):
        names = ["row number", *(f"x{k}" for k in range(20)), "importance", "price", "kind"]
        (tmp_path / "t.csv").write_text(",".join(names) + "\n")
        with pytest.raises(DataError, match=r"t.csv: there is no column .*, … \(24 in all\)\.") as error:
            list(open_stream(tmp_path / "t.csv", **roles))
        assert str(error.value).endswith("(24 in all)." + (f" Did you mean {meant!r}?" if meant else ""))

    def test_unsorted_lists(self, tmp_path):
        table = pa.table({"ids": [[9, 2, 2], [1]], "values": [[1.0, 2.0, 3.0], [4.0]], "label": [0, 1]})
        pa.parquet.write_table(table, tmp_path / "t.parquet")
        ((X, _),) = open_stream(tmp_path / "t.parquet")
        assert X.indices.tolist() == [2, 9, 1]
        assert X.data.tolist() == [5, 1, 4]

    def test_a_column_missing_from_the_second_file(self, tmp_path):
        pa.parquet.write_table(pa.table({"x": [1.0], "z": [1.0], "label": [1]}), tmp_path / "a.parquet")
        pa.parquet.write_table(pa.table({"x": [1.0], "label": [1]}), tmp_path / "b.parquet")
        with pytest.raises(DataError, match=r"b.parquet: there is no column 'z'"):
            list(open_stream(tmp_path))


def test_every_format_of_the_table_is_known_and_named():
    assert [each.name for each in FORMATS.values()] == [row.name for row in FILE_FORMATS]
    assert "{formats}" not in open_stream.__doc__
    assert all(f'"{name}"' in open_stream.__doc__ for name in FORMATS)
    shown = re.sub("[│╭╮╰╯─ \n]+", " ", thresher("train", "--help").stdout)
    for row in FILE_FORMATS:
        assert re.search(rf" {re.escape(row.words)}(,| or| data)", shown), row
        assert re.search(rf" {row.name}(,| or|;)", shown), row


class TestBroken:
    @pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
    def test_an_archive_cut_short(self, folder, tmp_path, ending):
        raw = (folder / f"x.svm.{ending}").read_bytes()
        path = tmp_path / f"x.svm.{ending}"
        path.write_bytes(raw[: len(raw) // 2])
        with pytest.raises(DataError, match=rf"x.svm.{ending}: the {ending} archive is damaged or truncated"):
            train(Model("sofs"), path)

    def test_places(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere\.svm: no such file"):
            open_stream(tmp_path / "nowhere.svm")
        with pytest.raises(DataError, match="the folder has no files in it"):
            open_stream(tmp_path)
        with pytest.raises(DataError, match="no file matches"):
            open_stream(str(tmp_path / "*.svm"))
        with pytest.raises(ValueError, match="empty list"):
            open_stream([])
        for nothing in ("", [""]):
            with pytest.raises(ValueError, match=r"^source: the path is empty; name a file\.$"):
                open_stream(nothing)
        with pytest.raises(ValueError, match="format must be one of"):
            open_stream(tmp_path, "xml")

    @pytest.mark.parametrize("file", ["b/c/x.parquet", "b/x.svm.gz", "b/x"])
    def test_a_folder_of_folders(self, tmp_path, file):
        """Its files are those in the folders, but hidden ones, if it has none of its own."""
        folder = tmp_path / "_[a]"
        (folder / file).parent.mkdir(parents=True)
        (folder / ".temporary").mkdir()
        (folder / ".temporary" / "x.csv").write_text("")
        with pytest.raises(DataError, match=r"the folder has no files in it\.$"):
            open_stream(folder)
        content = b"1 1:0.5\n0 2:1\n"
        (folder / file).write_bytes(gzip.compress(content) if file.endswith("gz") else content)
        if file.endswith("parquet"):
            pa.parquet.write_table(pa.table({"label": [1, 0], "x": [0.5, 1.0]}), folder / file)
        assert open_stream(folder).to_csr()[1].tolist() == [1, 0]
        (folder / "own.svm").write_text("1 1:1\n")
        assert open_stream(folder).to_csr()[1].tolist() == [1]

    def test_an_empty_file(self, tmp_path):
        (tmp_path / "empty.svm").write_bytes(b"")
        with pytest.raises(DataError, match=r"empty.svm: there are no rows"):
            train(Model("sofs"), tmp_path / "empty.svm")

    def test_a_binary_file(self, tmp_path):
        (tmp_path / "noise.svm").write_bytes(np.random.default_rng(0).bytes(10_000))
        with pytest.raises(DataError, match=r"noise.svm, line \d+: "):
            train(Model("sofs"), tmp_path / "noise.svm")

    def test_different_formats(self, folder):
        with pytest.raises(DataError, match="different formats"):
            open_stream([folder / "x.svm", folder / "x.parquet"])


class TestCache:
    def test_every_flipped_bit_and_every_cut_is_found(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:0.5 7:2\n-1 3:1\n")
        write_stream(open_stream(tmp_path / "a.svm").batches(), str(tmp_path / "a.thc"))
        raw = (tmp_path / "a.thc").read_bytes()
        for at in range(len(raw)):
            broken = bytearray(raw)
            broken[at] ^= 1 << (at % 8)
            (tmp_path / "b.thc").write_bytes(broken)
            with pytest.raises(DataError):
                list(open_stream(tmp_path / "b.thc", "cache"))
        for length in range(0, len(raw), 7):
            (tmp_path / "b.thc").write_bytes(raw[:length])
            with pytest.raises(DataError, match=r"truncated|damaged"):
                list(open_stream(tmp_path / "b.thc", "cache"))

    def test_keeps_words_and_weights_and_wide_ids(self, tmp_path):
        (tmp_path / "a.svm").write_text(f"spam {2**40}:0.5\nmail 3:1\n")
        write_stream(open_stream(tmp_path / "a.svm").batches(), str(tmp_path / "a.thc"))
        (batch,) = open_stream(tmp_path / "a.thc").batches()
        assert batch.labels.tolist() == ["spam", "mail"]
        assert batch.indices.tolist() == [2**40, 3]
        (tmp_path / "a.vw").write_text("1 2.5 |f 4\n-1 |f 2\n")
        write_stream(open_stream(tmp_path / "a.vw").batches(), str(tmp_path / "a.thc"))
        (batch,) = open_stream(tmp_path / "a.thc").batches()
        assert batch.row_weights.tolist() == [2.5, 1.0]

    def test_nothing_is_left_of_a_failed_write(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:0.5\n1 x\n")
        for out in ("b.thc", "b.svm.gz"):
            with pytest.raises(DataError):
                write_stream(open_stream(tmp_path / "a.svm").batches(), str(tmp_path / out))
        assert [path.name for path in tmp_path.iterdir()] == ["a.svm"]
        with pytest.raises(ValueError, match="must end in"):
            write_stream(iter(()), str(tmp_path / "b.parquet"))

    @pytest.mark.parametrize("out", ["b.svm", "b.thc"])
    @pytest.mark.parametrize("labels", [[1.0, np.nan], ["a", ""]])
    def test_rows_without_labels_are_refused(self, tmp_path, out, labels):
        (tmp_path / "a.svm").write_text("3:0.5\n")
        with pytest.raises(DataError, match=r"a\.svm, line 1: the row has no label, so it can't be written"):
            convert(open_stream(tmp_path / "a.svm", labelled=False), str(tmp_path / out))
        batch = Batch(np.array([0, 0, 0]), np.zeros(0, int), np.zeros(0, np.float32), np.array(labels), -1, False)
        with pytest.raises(DataError, match=r"line 2: the row has no label"):
            write_stream(iter([batch]), str(tmp_path / out))
        assert [path.name for path in tmp_path.iterdir()] == ["a.svm"]

    def test_a_later_version_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(cache, "VERSION", 5)
        write_stream(iter(()), str(tmp_path / "a.thc"))
        monkeypatch.undo()
        with pytest.raises(DataError, match="cache version 5 can't be read; this version of thresher reads version 4"):
            open_stream(tmp_path / "a.thc")


class TestWritingTables:
    PARTS = (
        {"label": np.array(["a", 'b "c", d']), "margin": np.array([0.1, -2.5])},
        {"label": np.array(["e\nf"]), "margin": np.array([1e-9])},
    )

    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"])
    def test_what_is_written_is_read(self, tmp_path, name):
        write_table(iter(self.PARTS), str(tmp_path / name))
        X, y, _ = open_stream(tmp_path / name).to_csr()
        assert y.tolist() == ["a", 'b "c", d', "e\nf"]
        np.testing.assert_array_equal(X.data, np.array([0.1, -2.5, 1e-9], dtype=np.float32))
        if name == "t.csv":
            assert pandas.read_csv(tmp_path / name)["margin"].tolist() == [0.1, -2.5, 1e-9]

    @pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
    def test_a_failure_leaves_what_was_there(self, tmp_path, name):
        (tmp_path / name).write_text("old")

        def parts():
            yield self.PARTS[0]
            raise DataError("broken")

        with pytest.raises(DataError, match="broken"):
            write_table(parts(), str(tmp_path / name))
        assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]

    def test_other_names(self, tmp_path):
        with pytest.raises(ValueError, match=r"t.xls: the name must end in .csv .* or .parquet"):
            write_table(iter(self.PARTS), str(tmp_path / "t.xls"))


class TestPipeline:
    def test_order_and_bounds(self):
        running, most = [0], [0]
        lock = threading.Lock()

        def task(k):
            with lock:
                running[0] += 1
            return k

        results = in_order((lambda k=k: task(k) for k in range(200)), 3)
        for k, result in enumerate(results):
            assert result == k
            with lock:
                most[0] = max(most[0], running[0] - k)
        assert most[0] <= 2 * 3 + 3

    @pytest.mark.parametrize("where", ["task", "source"])
    def test_an_error_arrives_in_its_turn_and_nothing_hangs(self, where):
        def tasks():
            for k in range(50):
                if k == 20 and where == "source":
                    raise DataError("broken source")
                yield (lambda: 1 // 0) if k == 20 and where == "task" else (lambda k=k: k)

        got: list[int] = []
        with pytest.raises(DataError if where == "source" else ZeroDivisionError):
            got.extend(in_order(tasks(), 2))
        assert got == list(range(20))
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("thresher")]

    def test_stopping_early_stops_the_threads(self, folder):
        batches = open_stream(folder / "x.svm").batches()
        next(batches)
        batches.close()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("thresher")]


class TestManySmallFiles:
    N = 300

    @pytest.fixture(params=["svm", "csv", "jsonl"])
    def small(self, request, tmp_path):
        """A folder of files of two rows each, all rows in one file, and how they are opened."""
        ending, heads = request.param, {"csv": "label,a\n"}
        write = {"svm": "{} 1:{}\n", "csv": "{},{}\n", "jsonl": '{{"label": {}, "a": {}}}\n'}[ending]
        rows = [write.format(k % 2, k + 0.5) for k in range(2 * self.N)]
        (tmp_path / "files").mkdir()
        for k in range(self.N):
            path = tmp_path / "files" / f"{k:03}.{ending}"
            path.write_text(heads.get(ending, "") + "".join(rows[2 * k : 2 * k + 2]))
        (tmp_path / f"all.{ending}").write_text(heads.get(ending, "") + "".join(rows))
        return tmp_path / "files", tmp_path / f"all.{ending}", {"numeric": "a"} if ending == "jsonl" else {}

    def test_they_are_as_one_file(self, small):
        files, joined, options = small
        (X, y, _), (Z, z, _) = (open_stream(source, **options).to_csr() for source in (files, joined))
        np.testing.assert_array_equal(X.data, Z.data)
        np.testing.assert_array_equal(y, z)
        model, other = SOFS(1), SOFS(1)
        train(model, open_stream(files, **options), shuffle=False)
        train(other, open_stream(joined, **options), shuffle=False)
        assert same_state(model, other)

    def test_they_are_handed_to_threads_together(self, small, monkeypatch):
        """Each handing over, and each start of pyarrow's reader, takes longer than reading such a file."""
        n_tasks, n_readers = [0], [0]

        def counting(counter, function):
            def counted(*args, **kwargs):
                counter[0] += 1
                return function(*args, **kwargs)

            return counted

        monkeypatch.setattr(ThreadPoolExecutor, "submit", counting(n_tasks, ThreadPoolExecutor.submit))
        for name in ("read_csv", "open_csv"):
            monkeypatch.setattr(pyarrow.csv, name, counting(n_readers, getattr(pyarrow.csv, name)))
        files, _, options = small
        assert sum(batch.n_rows for batch in open_stream(files, **options).batches()) == 2 * self.N
        assert n_tasks[0] < self.N / 10
        assert n_readers[0] < 3

    @pytest.mark.parametrize("bad", [0, 100, 128])
    def test_an_error_comes_after_the_files_before_it(self, small, bad):
        files, _, options = small
        path = sorted(files.iterdir())[bad]
        path.write_text(path.read_text() + "bad 1:x\n")
        batches = open_stream(files, **options).batches()
        assert sum(1 for _ in itertools.islice(batches, bad)) == bad
        with pytest.raises(DataError, match=rf"{path.name}, (row|line) \d: "):
            next(batches)

    def test_reading_continues_after_any_of_them(self, small):
        files, _, options = small
        stream = open_stream(files, **options)
        batches = list(stream.batches())
        assert [Path(batch.file).stem for batch in batches] == [f"{k:03}" for k in range(self.N)]
        for k in (0, 63, 64, 200):
            rest = list(stream.batches(batches[k].end))
            values = [batch.data.tolist() for batch in rest if batch.n_rows]
            assert values == [batch.data.tolist() for batch in batches[k + 1 :]]


class TestOddSources:
    def test_a_named_pipe_and_process_substitution(self, folder, reference, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes((folder / "x.svm").read_bytes()))
        writer.start()
        model = Model("sofs", n_features_to_select=40)
        train(model, tmp_path / "pipe")
        writer.join()
        assert same_state(model, reference)
        done = subprocess.run(
            ["bash", "-c", f"{Path(sys.executable).with_name('thresher')} train <(cat {folder / 'x.svm'}) --json"],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert '"rows": 600' in done.stdout

    def test_compressed_vw_on_a_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        raw = gzip.compress(b"1 |f 1\n-1 |f 2\n")
        writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(raw))
        writer.start()
        assert [X.nnz for X, _ in open_stream(tmp_path / "pipe")] == [2]
        writer.join()

    def test_two_namespaces_in_two_files(self, tmp_path):
        (tmp_path / "a.vw").write_text("1 |a 1\n")
        (tmp_path / "b.vw").write_text("-1 |b 1\n")
        model = Model("sofs")
        train(model, tmp_path)
        assert sorted(model.name_of(column) for column in model.members()[0].tolist()) == ["a^1", "b^1"]

    @pytest.mark.filterwarnings("ignore:.*grouped by label")
    def test_words_that_come_late(self, tmp_path, monkeypatch):
        """A number is written alike wherever the blocks are cut, shuffled or not, cached or not."""
        path = tmp_path / "a.svm"
        path.write_text("100000 1:1\n" * 40 + "spam 2:1\n" * 40)
        monkeypatch.setattr(text, "BLOCK", 64)
        write_stream(open_stream(path).batches(), str(tmp_path / "a.thc"))
        for source, shuffle in ((path, False), (path, True), (tmp_path / "a.thc", False)):
            model = Model("sofs", random_state=0)
            train(model, source, shuffle=shuffle)
            assert model.target.labels.tolist() == ["100000", "spam"]

    def test_repeated_ids_must_not_add_up_to_infinity(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n1 1:3e38 1:3e38\n")
        with pytest.raises(DataError, match=r"line 2: a repeated id adds up to more than a float32"):
            list(open_stream(tmp_path / "a.svm"))

    def test_a_skipped_line_leaves_no_trace(self, tmp_path):
        (tmp_path / "a.svm").write_bytes(b"1 1:1\n1 0:1 99999:1 \0\n-1 2:1\n")
        model = Model("sofs")
        train(model, open_stream(tmp_path / "a.svm", on_bad_line="skip"))
        assert (model.n_features, model.id_base) == (2, 1)

    def test_what_text_can_not_hold_is_refused(self, tmp_path):
        (tmp_path / "a.vw").write_text("1 2.5 |f 4\n-1 |f 2\n")
        with pytest.raises(DataError, match=r"rows have weights, which svmlight text can't hold"):
            write_stream(open_stream(tmp_path / "a.vw").batches(), str(tmp_path / "b.svm"))
        (tmp_path / "a.csv").write_text("x,label\n1,New York\n2,Rome\n")
        with pytest.raises(DataError, match=r"a.csv, row 1: the label 'New York' can't be written"):
            write_stream(open_stream(tmp_path / "a.csv").batches(), str(tmp_path / "b.svm"))
        stream = open_stream(tmp_path / "a.csv")
        write_stream(stream.batches(), str(tmp_path / "b.thc"), feature_names=stream.feature_names)
        again = open_stream(tmp_path / "b.thc")
        assert again.feature_names == ["x"]
        assert next(iter(again))[1].tolist() == ["New York", "Rome"]
