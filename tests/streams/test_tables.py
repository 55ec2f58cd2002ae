"""CSV, Parquet and Arrow: what is wrong with a row is named or skipped, and no file, however forged, crashes."""

from __future__ import annotations

import cProfile
import gzip
import itertools
import json
import pstats
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thresher import datasets, open_stream
from thresher.model.model import Model
from thresher.streams import DataError
from thresher.streams.columns import Columns, Roles
from thresher.streams.formats import delimited, layout
from thresher.streams.formats.layout import record_ends
from thresher.streams.record_batches import in_ascending_order
from thresher.training import train

MUST_BE_NUMBERS = (
    "features must be numbers, unless text=, categorical= and numeric= say what columns are; or leave it out with "
    "ignore='{}'"
)
MUST_BE_PAIRS = "ids must be from 0 to 2^63 - 2, and values must be finite"
READ = "import sys; from thresher import open_stream; print(sum(X.nnz for X, _ in open_stream(sys.argv[1])))"


def read_in_a_process(path) -> subprocess.CompletedProcess:
    """A crash would take the tests with it."""
    return subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, timeout=120)


def saved(table: pa.Table, path: Path, **options: object) -> Path:
    """Write a table in the format of the ending."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, **options)
    else:
        with pa.ipc.new_file(path, table.schema) as sink:
            sink.write_table(table)
    return path


def pairs(ids: list | None, values: list | None, kind: pa.DataType | None = None) -> dict:
    """Return three rows of ids and values, of which the second is this one."""
    lists = pa.array([[1], ids, [2]], pa.list_(kind or pa.int64()))
    return {"ids": lists, "values": [[1.0], values, [3.0]], "label": ["a", "a", "b"]}


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_the_name_of_a_column_that_is_not_utf8(tmp_path, format_):
    path = saved(pa.table({"label": [0, 1], "naïve": [1.0, 2.0]}), tmp_path / f"a.{format_}", store_schema=False)
    path.write_bytes(path.read_bytes().replace("naïve".encode(), b"na\xff\xffve"))
    with pytest.raises(DataError) as error:
        list(open_stream(path))
    assert str(error.value) == f"{path}: the name of a column is not UTF-8 text (invalid start byte)."


class TestForgedArrow:
    """An Arrow file has the offsets of its lists and texts; pyarrow does not check them."""

    N = 50

    @pytest.fixture(params=["file", "stream"])
    def kind(self, request):
        return request.param

    def written(self, path, columns: dict, kind: str, dictionary: bool = False) -> bytearray:
        table = pa.table(columns)
        if dictionary:
            table = table.set_column(0, "label", table.column("label").dictionary_encode())
        new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with new(path, table.schema) as sink:
            sink.write_table(table)
        return bytearray(path.read_bytes())

    def check_refused(self, path, raw: bytearray, was: np.ndarray, place: int, wrong: int):
        """Put another number into an array that occurs once, and read the file."""
        assert raw.count(was.tobytes()) == 1
        forged = was.copy()
        forged[place] = wrong
        path.write_bytes(raw.replace(was.tobytes(), forged.tobytes()))
        done = read_in_a_process(path)
        assert done.returncode == 1
        assert f"thresher.batch.DataError: {path}, rows 1 to {self.N}: the data are damaged" in done.stderr

    @pytest.mark.parametrize(("wrong", "place"), [(10**9, 25), (-7, 1), (2**31 - 1, 50)])
    def test_list_offsets(self, tmp_path, kind, wrong, place):
        lengths = np.arange(self.N) % 3 + 1  # so that no other array looks like these offsets
        ids = [list(range(n)) for n in lengths]
        raw = self.written(tmp_path / "a.arrow", {"label": np.arange(self.N) % 2, "ids": ids,
                                                  "values": [[0.5] * n + [1.5] for n in lengths]}, kind)  # fmt: skip
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self.check_refused(tmp_path / "a.arrow", raw, offsets, place, wrong)

    @pytest.mark.parametrize("wrong", [10**9, -7])
    def test_text_offsets(self, tmp_path, kind, wrong):
        words = ["spam" * (k % 3 + 1) for k in range(self.N)]
        raw = self.written(tmp_path / "a.arrow", {"label": words, "x": np.ones(self.N)}, kind)
        offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int32)
        self.check_refused(tmp_path / "a.arrow", raw, offsets, 20, wrong)

    def test_dictionary_codes(self, tmp_path, kind):
        words = [["spam", "mail", "news"][k % 3] for k in range(self.N)]
        columns = {"label": words, "x": np.ones(self.N)}
        raw = self.written(tmp_path / "a.arrow", columns, kind, dictionary=True)
        self.check_refused(tmp_path / "a.arrow", raw, (np.arange(self.N) % 3).astype(np.int32), 20, 10**6)

    def test_a_later_batch_is_named_by_its_rows(self, tmp_path, kind):
        table = pa.table({"label": ["ab", "c"] * self.N, "x": np.ones(2 * self.N)})
        new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with new(tmp_path / "a.arrow", table.schema) as sink:
            sink.write_table(table, max_chunksize=60)
        raw = bytearray((tmp_path / "a.arrow").read_bytes())
        offsets = np.concatenate([[0], np.cumsum([2, 1] * 20)]).astype(np.int32)  # those of the second batch
        at = raw.rindex(offsets.tobytes())
        raw[at + 80 : at + 84] = (10**8).to_bytes(4, "little")
        (tmp_path / "a.arrow").write_bytes(raw)
        assert "a.arrow, rows 61 to 100: the data are damaged" in read_in_a_process(tmp_path / "a.arrow").stderr

    def test_a_good_file_is_read(self, tmp_path, kind):
        columns = {"label": ["a", "b"] * self.N, "x": np.ones(2 * self.N)}
        self.written(tmp_path / "a.arrow", columns, kind, dictionary=True)
        assert read_in_a_process(tmp_path / "a.arrow").stdout == "100\n"


class TestRowsThatCanNotBeRead:
    """Named by file and row, or skipped and counted, in CSV as in Parquet."""

    CSV = "x,n,label\n1,2,a\n{}\n3,4,b\n"
    BAD = {  # noqa: RUF012
        "5,6,": "the label is missing",
        '5,6,""': "the label is missing",
        "5,6,  ": "the label is missing",
        ",6,a": "column 'x' has no value in this row; fill it in",
        "5,NA,a": "column 'n' has no value in this row; fill it in",
        "5,six,a": "column 'n' is 'six'; " + MUST_BE_NUMBERS.format("n"),
        "5,1e39,a": "column 'n' is inf; values must be finite",
        "5,inf,a": "column 'n' is inf; values must be finite",
        "5,6": "the row has 2 values, but the header names 3 columns",
        "5,6,a,b": "the row has 4 values, but the header names 3 columns",
        "5_0,6,a": "column 'x' is '5_0'; " + MUST_BE_NUMBERS.format("x"),
    }

    @pytest.mark.parametrize("row", BAD)
    def test_csv(self, tmp_path, row):
        path = tmp_path / "a.csv"
        path.write_text(self.CSV.format(row))
        with pytest.raises(DataError) as error:
            list(open_stream(path))
        assert str(error.value) == f"{path}, row 2: {self.BAD[row]}."
        (batch,) = open_stream(path, on_bad_line="skip").batches()
        assert batch.skipped == [f"{path}, row 2: {self.BAD[row]}."]
        assert batch.labels.tolist() == ["a", "b"]
        assert batch.data.tolist() == [1, 2, 3, 4]
        assert [batch.location(r) for r in range(2)] == [f"{path}, row 1", f"{path}, row 3"]

    @pytest.mark.parametrize(
        ("label", "why"),
        [("", "the label is missing"), ("inf", "the label is inf; it must be a finite number, or text"),
         ("spam", "the label is 'spam'; in the first rows it is a number")],
    )  # fmt: skip
    def test_csv_with_numbers_as_labels(self, tmp_path, monkeypatch, label, why):
        monkeypatch.setattr("thresher.streams.formats.layout._HEAD", 30)
        path = tmp_path / "a.csv"
        path.write_text("label,x\n" + "1,1\n-1,2\n" * 10 + f"{label},3\n")
        with pytest.raises(DataError) as error:
            list(open_stream(path))
        assert str(error.value) == f"{path}, row 21: {why}."
        batches = list(open_stream(path, on_bad_line="skip").batches())
        assert [label for batch in batches for label in batch.labels.tolist()] == [1.0, -1.0] * 10

    def test_csv_that_is_not_utf8(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_bytes(b"x,label\n1,a\n2,\xff\n3,b\n")
        with pytest.raises(DataError, match=r"a.csv, row 2: the label is not UTF-8 text"):
            list(open_stream(path))
        (batch,) = open_stream(path, on_bad_line="skip").batches()
        assert batch.labels.tolist() == ["a", "b"]

    @pytest.mark.parametrize(
        ("table", "why"),
        [
            ({"x": [1.0, None, 3.0], "label": ["a", "a", "b"]}, "column 'x' has no value in this row; fill it in"),
            ({"x": [1.0, np.nan, 3.0], "label": ["a", "a", "b"]}, "column 'x' is nan; values must be finite"),
            ({"x": [1.0, 2.0, 3.0], "label": ["a", None, "b"]}, "the label is missing"),
            ({"x": [1.0, 2.0, 3.0], "label": ["a", "", "b"]}, "the label is missing"),
            ({"x": [1, 2, 3], "label": [0.0, np.inf, 1.0]}, "the label is inf; it must be a finite number, or text"),
            (pairs(None, [1.0]), "ids is missing"),
            (pairs([1], None), "values is missing"),
            (pairs([1, None], [1.0, 2.0]), "ids has a missing entry"),
            (pairs([1, 2], [2.0]), "ids and values differ in length: 2 and 1"),
            (pairs([1, -5], [1.0, 2.0]), f"-5:2; {MUST_BE_PAIRS}"),
            (pairs([1, 2], [1.0, np.inf]), f"2:inf; {MUST_BE_PAIRS}"),
            (pairs([1, 2**64 - 1], [1.0, 2.0], pa.uint64()), f"18446744073709551615:2; {MUST_BE_PAIRS}"),
            (pairs([7, 7], [3e38, 3e38]), "a repeated id adds up to more than a float32 can hold"),
        ],
    )
    @pytest.mark.parametrize("format_", ["parquet", "arrow"])
    def test_parquet_and_arrow(self, tmp_path, table, why, format_):
        path = saved(pa.table(table), tmp_path / f"a.{format_}")
        with pytest.raises(DataError) as error:
            list(open_stream(path))
        assert str(error.value) == f"{path}, row 2: {why}."
        (batch,) = open_stream(path, on_bad_line="skip").batches()
        assert batch.skipped == [f"{path}, row 2: {why}."]
        assert batch.data.tolist() == [1.0, 3.0]
        assert len(batch.labels) == 2
        assert [batch.location(r) for r in range(2)] == [f"{path}, row 1", f"{path}, row 3"]

    def test_a_null_within_a_dictionary_is_a_missing_label(self, tmp_path):
        labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array(["a", None]))
        with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("label", labels.type), ("x", pa.float64())])) as sink:
            sink.write_batch(pa.record_batch([labels, pa.array([1.0, 2.0, 3.0])], ["label", "x"]))
        with pytest.raises(DataError, match=r"a.arrow, row 2: the label is missing"):
            list(open_stream(tmp_path / "a.arrow"))

    def test_the_history_counts_them(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,label\n" + "1,a\n,b\n2,b\n" * 20)
        history = train(Model("sofs"), open_stream(tmp_path / "a.csv", on_bad_line="skip"))
        assert (history.rows[-1], history.n_skipped) == (40, 20)
        assert history.skipped[1] == f"{tmp_path / 'a.csv'}, row 5: column 'x' has no value in this row; fill it in."

    @pytest.mark.parametrize(
        ("name", "content", "why"),
        [
            ("a.vw", "1 |f price:x\n1 |f x:\n", "line 1: 'price:x': the value must be a finite number"),
            ("a.svm", "1 x\n1 y\n", "line 1: 'x' is not id:value"),
            ("a.csv", "x,label\n,a\n,b\n", "row 1: column 'x' has no value in this row; fill it in"),
        ],
    )
    def test_when_all_are_skipped_the_first_reason_is_shown(self, tmp_path, name, content, why):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(DataError) as error:
            train(Model("sofs"), open_stream(path, on_bad_line="skip"))
        assert str(error.value) == (f"{path}: there are no rows, since all 2 were skipped; the first is {path}, {why}.")


class TestDelimited:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
    @pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
    def test_delimiters_marks_and_newlines(self, tmp_path, delimiter, bom, newline):
        rows = [b"x d label d y", b'1 d "a d b" d 0', b"", b"0 d c d 2.5", b'3 d "two\nlines" d 4']
        content = newline.join(row.replace(b" d ", delimiter.encode()).replace(b"d", b"%") for row in rows)
        (tmp_path / "a.csv").write_bytes(bom + content)
        given = {"delimiter": delimiter} if delimiter == "|" else {}
        stream = open_stream(tmp_path / "a.csv", **given)
        assert stream.feature_names == ["x", "y"]
        ((X, y),) = stream
        assert X.toarray().tolist() == [[1, 0], [0, 2.5], [3, 4]]
        assert y.tolist()[1:] == ["c", "two\nlines"]

    def test_the_delimiter_is_not_looked_for_within_quotes(self, tmp_path):
        (tmp_path / "a.csv").write_text('"a;b;c",label\n1,2\n3,4\n')
        assert open_stream(tmp_path / "a.csv").feature_names == ["a;b;c"]

    @pytest.mark.parametrize("delimiter", ["", ",,", "ä", '"', "\n"])
    def test_what_can_not_delimit(self, tmp_path, delimiter):
        with pytest.raises(ValueError, match="delimiter must be a single character"):
            open_stream(tmp_path, delimiter=delimiter)

    @pytest.mark.parametrize(("compress", "delimiter"), [(bytes, ","), (gzip.compress, ";"), (bytes, "\t")])
    def test_from_a_pipe(self, compress, delimiter):
        """It has a header, and rows enough for many blocks, and is opened once."""
        content = "x,label,y\n" + "".join(f"{r},{'ab'[r % 2]},{r / 2}\n" for r in range(150_000))
        code = (
            "import sys; from thresher import open_stream\n"
            "stream = open_stream('-')\n"
            "X, y, _ = stream.to_csr()\n"
            "print(stream.feature_names, X.shape, X.data.sum(dtype='f8'), ''.join(y[:3]))"
        )
        raw = compress(content.replace(",", delimiter).encode())
        done = subprocess.run([sys.executable, "-c", code], input=raw, capture_output=True, timeout=120)
        assert done.stderr == b""
        total = 1.5 * sum(range(150_000))
        assert done.stdout.decode() == f"['x', 'y'] (150000, 2) {total} aba\n"

    @pytest.mark.parametrize("on_bad_line", ["error", "skip"])
    def test_a_quote_that_is_never_closed(self, tmp_path, on_bad_line):
        (tmp_path / "a.csv").write_text('x,label\n1,a\n2,"b\n3,c\n')
        with pytest.raises(DataError, match=r"a.csv: a quote is never closed"):
            list(open_stream(tmp_path / "a.csv", on_bad_line=on_bad_line))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "the file is empty"),
            ("\n\n", "the file is empty"),
            ("label\n1\n", "no column is left for the features"),
        ],
    )
    def test_bad_headers(self, tmp_path, content, message):
        (tmp_path / "a.csv").write_text(content)
        with pytest.raises(DataError, match=message):
            open_stream(tmp_path / "a.csv")

    def test_each_file_has_its_own_order_of_columns(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,y,label\n1,2,a\n")
        (tmp_path / "b.csv").write_text("label;y;z;x\nb;3;word;4\n")
        with pytest.warns(UserWarning, match=r"b.csv: columns that .*a.csv does not have are not read: z"):
            X, y, _ = open_stream(tmp_path).to_csr()
        assert X.toarray().tolist() == [[1, 2], [4, 3]]
        assert y.tolist() == ["a", "b"]

    @given(st.text(alphabet='a",;\n\r', max_size=40))
    @example('x"y\nz"\n"a\n"\n')
    @example('"a""b\n",c\n')
    def test_records_end_where_a_reader_ends_them(self, content):
        """Quotes open a value only at its start; elsewhere they are part of it."""
        expected, state = [], "start"
        for at, letter in enumerate(content):
            if state == "quoted":
                state = "quote" if letter == '"' else "quoted"
            elif state == "quote" and letter == '"':
                state = "quoted"
            elif letter in ",\n\r":
                state = "start"
                if letter == "\n":
                    expected.append(at + 1)
            else:
                state = "quoted" if (state, letter) == ("start", '"') else "inside"
        assert record_ends(content.encode(), ",").tolist() == expected

    CELLS = ("1", "0", "-2.5", "", "NaN", "inf", "true", "FALSE", "+1", " 1", "1 ", "x", '"1"', '""', "1_0", "é", "01",
             "1.", "1e400", '"a,b"', "2020-01-01")  # fmt: skip

    @given(st.data())
    def test_few_rows_are_read_as_many_are(self, tmp_path_factory, data):
        """Python reads them, not pyarrow, and in the types of a file before that has the same header."""
        folder = tmp_path_factory.mktemp("few")
        for name in ("a.csv", "b.csv"):
            pool = st.sampled_from(data.draw(st.lists(st.sampled_from(self.CELLS), min_size=1, max_size=4)))
            rows = data.draw(st.lists(st.tuples(pool, pool, pool), max_size=4))
            (folder / name).write_text("label,a,b\n" + "".join(f"{','.join(row)}\n" for row in rows))
        roles = data.draw(st.sampled_from([{}, {"categorical": "a", "numeric": "b"}, {"weight": "b"}]))
        skipping = data.draw(st.sampled_from(["error", "skip"]))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(delimited, "_FEW", 0)
            own = delimited.DelimitedReader._read_own_layout
            patched.setattr(delimited.DelimitedReader, "_read_own_layout", lambda self, _like: own(self, None))
            expected = self.outcome(folder, roles, skipping)
        assert self.outcome(folder, roles, skipping) == expected

    def outcome(self, folder, roles, skipping):
        try:
            batches = list(open_stream(folder, **roles, on_bad_line=skipping).batches())
        except DataError as error:
            return str(error)
        return [
            (batch.indptr.tolist(), batch.indices.tolist(), batch.data.tolist(), batch.labels.astype(str).tolist(),
             batch.skipped, [batch.location(row) for row in range(batch.n_rows)])
            for batch in batches
        ]  # fmt: skip

    @pytest.mark.parametrize("name", ["a.tsv", "a.TSV", "a.tsv.gz"])
    def test_a_tsv_is_split_at_tabs(self, tmp_path, name):
        content = b"label\tsize; in cm, or m; or km\n1\t2.5\n0\t1\n"
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        assert open_stream(tmp_path / name).feature_names == ["size; in cm, or m; or km"]
        (tmp_path / name).write_bytes(b"label,a\n1,2\n0,3\n")
        assert open_stream(tmp_path / name, delimiter=",").feature_names == ["a"]


class TestManyColumns:
    def test_a_name_is_not_compared_with_all_others(self):
        class Name(str):
            n_compared = 0

            def __eq__(self, other):
                Name.n_compared += 1
                return str.__eq__(self, other)

            __hash__ = str.__hash__

        n = 2_000
        names = [Name(f"c{k}") for k in range(n)]
        ignored = tuple(str(name) for name in names[: n // 4])
        columns = Columns.choose("x.csv", [*names, "label"], Roles(ignore=ignored))
        columns.check_names("x.csv", [Name(name) for name in [*names, "label"]])
        assert len(columns.features) == n - n // 4
        assert Name.n_compared < 20 * n

    @pytest.mark.parametrize("kind", ["csv", "csv with a bad row", "parquet", "arrow", "table", "roles", "jsonl"])
    def test_twice_the_columns_are_twice_the_work(self, tmp_path, kind):
        n_calls = {}
        for n in (1_000, 2_000):
            source, options = self.table(tmp_path, n, kind)
            list(open_stream(source, **options).with_threads(0).batches())  # what is imported is not counted
            with cProfile.Profile() as profile:
                stream = open_stream(source, **options)
                (batch,) = stream.with_threads(0).batches()
            assert len(batch.data) == 2 * n
            n_calls[n] = pstats.Stats(profile).total_calls
        assert n_calls[2_000] <= 2.2 * n_calls[1_000]

    def table(self, folder, n, kind):
        names = [f"c{k}" for k in range(n)]
        columns = {"label": [0, 1], **{name: [1.0, 2.0] for name in names}}
        roles = {"categorical": names[::2], "numeric": names[1::2]}
        if kind in ("table", "roles"):
            return pa.table(columns), roles if kind == "roles" else {}
        path = folder / f"{n}.{kind[:3] if kind.startswith('csv') else kind}"
        if kind.startswith("csv"):
            rows = [["label", *names], [0, *[1.0] * n], [1, *[2.0] * n], *([["1"]] if kind != "csv" else [])]
            path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
            return path, {} if kind == "csv" else {"on_bad_line": "skip"}
        if kind == "jsonl":
            rows = [{name: column[row] for name, column in columns.items()} for row in range(2)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            return path, roles
        return saved(pa.table(columns), path), {}


class TestWithoutLabels:
    def test_svmlight(self, tmp_path):
        (tmp_path / "a.svm").write_bytes(b"# for prediction\n\n1:0.5 7:2\r\n3:1 # a comment 9:9\n  4:4\n")
        (tmp_path / "b.svm").write_text("1 1:0.5\n")
        (first, second) = open_stream([tmp_path / "a.svm", tmp_path / "b.svm"], labelled=False).batches()
        assert first.indices.tolist() == [1, 7, 3, 4]
        assert first.indptr.tolist() == [0, 2, 3, 4]
        assert np.isnan(first.labels).all()
        assert [first.location(r).rpartition(", ")[2] for r in range(3)] == ["line 3", "line 4", "line 5"]
        assert second.labels.tolist() == [1.0]
        with pytest.raises(DataError, match=r"a.svm, line 3: the line starts with '1:0.5': a label must come first"):
            list(open_stream(tmp_path / "a.svm"))
        with pytest.raises(DataError, match=r"b.svm, line 1: '1' is not id:value"):
            list(open_stream(tmp_path / "b.svm", no_labels=True))

    def test_vw(self, tmp_path):
        (tmp_path / "a.vw").write_text("|f 1 2:3\n'tag|f 4\n")
        (batch,) = open_stream(tmp_path / "a.vw", labelled=False).batches()
        assert batch.indices.tolist() == [1, 2, 4]
        assert np.isnan(batch.labels).all()
        (tmp_path / "a.vw").write_text("|f 1 2:3\n1 |f 4\n")
        with pytest.raises(DataError, match=r"line 2: '1': the rows of this file start without a label"):
            list(open_stream(tmp_path / "a.vw", no_labels=True))

    @given(st.lists(st.dictionaries(st.integers(0, 99), st.sampled_from([0.5, 2.0, -1e-3]), min_size=1), max_size=9))
    def test_the_rows_are_those_with_labels(self, tmp_path_factory, rows):
        folder = tmp_path_factory.getbasetemp()
        lines = [" ".join(f"{j}:{value}" for j, value in row.items()) for row in rows]
        (folder / "with.svm").write_text("".join(f"1 {line}\n" for line in lines))
        (folder / "without.svm").write_text("\n".join(lines))
        with_labels, without = (
            open_stream(folder / f"{name}.svm", labelled=False, zero_based=True).to_csr()[0]
            for name in ("with", "without")
        )
        assert (with_labels != without).nnz == 0
        assert without.shape[0] == len(rows)

    def test_from_a_pipe(self):
        code = "from thresher import open_stream; print(*[X.nnz for X, _ in open_stream('-', labelled=False)])"
        done = subprocess.run([sys.executable, "-c", code], input=b"1:1 2:1\n3:1\n", capture_output=True, timeout=60)
        assert done.stdout == b"3\n"

    def test_tables(self, tmp_path):
        (tmp_path / "a.csv").write_text("x,label\n1,2\n")
        (batch,) = open_stream(tmp_path / "a.csv", no_labels=True).batches()
        assert batch.data.tolist() == [1, 2]
        (tmp_path / "b.csv").write_text("x,y\n1,2\n")
        (batch,) = open_stream(tmp_path / "b.csv", labelled=False).batches()
        assert np.isnan(batch.labels).all()

    def test_matrices(self):
        (batch,) = open_stream([np.eye(2)], labelled=False).batches()
        assert np.isnan(batch.labels).all()


class TestRepeatedIds:
    @given(
        st.lists(
            st.lists(st.tuples(st.integers(0, 6) | st.integers(2**62, 2**62 + 3), st.sampled_from([1.0, 0.5, -3.0]))),
            max_size=12,
        )
    )
    def test_equals_summing_one_by_one(self, rows):
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        ids = np.array([j for row in rows for j, _ in row], dtype=np.int64)
        values = np.array([value for row in rows for _, value in row], dtype=np.float32)
        starts, ids, values = in_ascending_order(starts, ids, values)
        for row, (a, b) in zip(rows, itertools.pairwise(starts.tolist()), strict=True):
            sums: dict[int, float] = {}
            for j, value in row:
                sums[j] = sums.get(j, 0.0) + value
            assert list(zip(ids[a:b].tolist(), values[a:b].tolist(), strict=True)) == sorted(sums.items())

    @pytest.mark.timed
    def test_one_such_row_costs_next_to_nothing(self, tmp_path):
        """At first one such row made the reader sort all rows, which took seven times as long."""
        X, y = datasets.make_x1(10_000)
        for name in ("sorted", "repeated"):
            lists = [pa.ListArray.from_arrays(X.indptr, flat) for flat in (X.indices, X.data)]
            pa.parquet.write_table(pa.table([y, *lists], ["label", "ids", "values"]), tmp_path / name)
            X.indices[::30_000] = X.indices[1::30_000]

        def seconds(name):
            started = time.process_time()
            assert sum(batch.n_rows for batch in open_stream(tmp_path / name).batches()) == 10_000
            return time.process_time() - started

        # In turn, so that a busy moment of the machine is one for both.
        repeated, in_order = np.min([(seconds("repeated"), seconds("sorted")) for _ in range(5)], axis=0)
        assert repeated < 2 * in_order


def test_blocks_of_any_size_give_the_same_rows(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("x,label\n" + "".join(f'{r},"{"line" * (r % 3)}\n{r}"\n' for r in range(100)))
    whole = [label for batch in open_stream(path).batches() for label in batch.labels.tolist()]
    assert len(whole) == 100
    for size in (1, 10, 1_000):
        monkeypatch.setattr(layout, "BLOCK", size)
        parts = list(open_stream(path).batches())
        assert [label for batch in parts for label in batch.labels.tolist()] == whole
        assert len(parts) > 1
