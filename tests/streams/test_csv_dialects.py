"""CSV as spreadsheets, other programs and other countries write it: the same rows, whatever it looks like."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher import open_stream
from thresher.streams import DataError
from thresher.streams.formats import layout

NAMES = ["label", "x", "kind", "note"]
ROLES = {"numeric": "x", "categorical": "kind", "text": "note"}

rows_of_a_table = st.lists(
    st.tuples(
        st.sampled_from(["yes", "no"]),
        st.none() | st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
        st.none() | st.sampled_from(["Zürich", "São Paulo", "a;b", 'say "so"', "two\nlines"]),
        st.sampled_from(["so; und, so\tweiter", "größer", "1,5", ""]),
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def dialects(draw):
    """Draw how a table is written, and the options that say so."""
    delimiter, decimal = draw(st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", ","), ("|", ",")]))
    encoding = draw(st.sampled_from([None, "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig"]))
    null = draw(st.sampled_from(["", "NA", "NULL", "\\N", "?", "keine"]))
    options = {} if decimal == "." else {"decimal": decimal}
    options |= {"delimiter": delimiter} if delimiter == "|" else {}
    options |= {"null": [null]} if null in ("?", "keine") else {}
    options |= {"encoding": encoding} if encoding in ("latin-1", "cp1252", "utf-16-le") else {}
    has_header = draw(st.booleans())
    options |= {} if has_header else {"columns": NAMES, "delimiter": delimiter}
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    return {
        "delimiter": delimiter, "decimal": decimal, "encoding": encoding or "utf-8", "null": null, "header": has_header,
        "newline": draw(st.sampled_from(["\n", "\r\n"])), "quoting": quoting, "gz": draw(st.booleans()),
    }, options  # fmt: skip


def written(rows, path: Path, how: dict) -> Path:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=how["delimiter"], lineterminator=how["newline"], quoting=how["quoting"])
    writer.writerows([NAMES] if how["header"] else [])
    for label, x, kind, note in rows:
        number = how["null"] if x is None else repr(x).replace(".", how["decimal"])
        writer.writerow([label, number, how["null"] if kind is None else kind, note])
    content = text.getvalue().encode(how["encoding"])
    path.write_bytes(gzip.compress(content) if how["gz"] else content)
    return path


def plain(rows, path: Path) -> Path:
    how = {"delimiter": ",", "decimal": ".", "encoding": "utf-8", "null": "", "header": True, "newline": "\n",
           "quoting": csv.QUOTE_MINIMAL, "gz": False}  # fmt: skip
    return written(rows, path, how)


def same(found, expected) -> bool:
    return (
        found.labels.tolist() == expected.labels.tolist()
        and all(np.array_equal(getattr(found, part), getattr(expected, part)) for part in ("indptr", "indices", "data"))
    )  # fmt: skip


@settings(max_examples=100)
@given(rows_of_a_table, dialects())
def test_the_same_rows_however_they_are_written(tmp_path_factory, rows, dialect):
    how, options = dialect
    folder = tmp_path_factory.mktemp("dialects")
    expected = list(open_stream(plain(rows, folder / "plain.csv"), **ROLES).batches())
    found = list(open_stream(written(rows, folder / "other.csv", how), **ROLES, **options).batches())
    assert len(found) == len(expected) == 1
    assert same(found[0], expected[0])


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_large_blocks_are_read_as_small_ones(tmp_path, monkeypatch, encoding):
    """Pyarrow reads large blocks, and a loop small ones; and a character can lie on the border of two."""
    rows = [("yes", k / 8, "Zürich", "größer " * (k % 3)) for k in range(300)]
    expected = list(open_stream(plain(rows, tmp_path / "plain.csv"), **ROLES).batches())
    how = {"delimiter": ";", "decimal": ",", "encoding": encoding, "null": "?", "header": False, "newline": "\n",
           "quoting": csv.QUOTE_MINIMAL, "gz": False}  # fmt: skip
    other = written(rows, tmp_path / "other.csv", how)
    for size in (97, 1 << 20):
        monkeypatch.setattr(layout, "BLOCK", size)
        stream = open_stream(other, **ROLES, decimal=",", delimiter=";", columns=NAMES, encoding=encoding)
        batches = list(stream.batches())
        assert np.array_equal(np.concatenate([each.indices for each in batches]), expected[0].indices)
        assert np.array_equal(np.concatenate([each.data for each in batches]), expected[0].data)
        middle = batches[len(batches) // 2]
        rest = [each.data for each in stream.batches(start=middle.end)]
        after = [each.data for each in batches[len(batches) // 2 + 1 :]]
        assert np.array_equal(np.concatenate([*rest, []]), np.concatenate([*after, []]))
        parts = [each.data for k in range(3) for each in stream.shard(k, 3).batches()]
        assert np.array_equal(np.concatenate(parts), expected[0].data)


def refused(path: Path, content: str | bytes, **options) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((DataError, ValueError)) as error:
        list(open_stream(path, **options).batches())
    assert "\n" not in str(error.value)
    return str(error.value).removeprefix(str(path))


class TestBadFiles:
    def test_a_header_that_is_not_there(self, tmp_path):
        why = refused(tmp_path / "a.csv", "1,0.5,2\n0,0.25,3\n")
        assert "The first line looks like a row, not like 3 names: if the file has no header, name its columns" in why
        with pytest.warns(UserWarning, match="The first line looks like a row"):
            open_stream(tmp_path / "a.csv", no_labels=True)

    def test_too_few_names_for_the_columns(self, tmp_path):
        why = refused(tmp_path / "a.csv", "1,0.5,2\n", columns=["label", "x"])
        assert why == ": the first row has 3 values, but columns names 2: name each column."
        why = refused(tmp_path / "a.csv", "1,0.5\n1,2,3\n", columns=["label", "x"])
        assert why == ", row 2: the row has 3 values, but columns names 2 columns."

    def test_a_header_that_is_there_in_spite_of_names(self, tmp_path):
        (tmp_path / "a.csv").write_text("label,x\n1,0.5\n")
        with pytest.warns(UserWarning, match="the first line has these names too, so it is read as the header"):
            stream = open_stream(tmp_path / "a.csv", columns=["label", "x"])
        assert stream.to_csr()[0].toarray().tolist() == [[0.5]]

    def test_a_decimal_comma(self, tmp_path):
        why = refused(tmp_path / "a.csv", "label;x\n1;0,5\n")
        assert why == ", row 1: column 'x' is '0,5'; use decimal=',' if its comma is a decimal point."
        why = refused(tmp_path / "a.csv", "label,x\n1,2\n", decimal=",")
        assert why.startswith(": its values are separated by ',', so decimal=',' can't be the decimal point")
        why = refused(tmp_path / "a.csv", "label;x\n1;0.5\n", decimal=",")
        assert why.startswith(", row 1: column 'x' is '0.5'; features must be numbers")
        assert "decimal must be a single character" in refused(tmp_path / "a.csv", "label;x\n1;2\n", decimal="1")

    @pytest.mark.parametrize(("encoding", "byte"), [("ascii", 14), ("utf-16", 1), ("cp1252", 15), ("shift-jis", 15)])
    def test_an_encoding_that_does_not_fit(self, tmp_path, encoding, byte):
        why = refused(tmp_path / "a.csv", b"label,x,y\n1,2,\xc3\x81\xff\n", encoding=encoding)
        if encoding == "ascii":  # it is part of UTF-8, which is read as it is
            assert why == ", row 1: column 'y' is 'Á\\xff'; features must be numbers, unless text=, categorical= and " \
                "numeric= say what columns are; or leave it out with ignore='y'."  # fmt: skip
        else:
            assert why.startswith(f", byte {byte + (encoding != 'utf-16')}: the text is not {encoding} (")
        assert "encoding must be an encoding of text" in refused(tmp_path / "a.csv", "a", encoding="base64")

    def test_text_that_is_not_utf8(self, tmp_path):
        why = refused(tmp_path / "a.csv", "label,kind\n1,Zürich\n".encode("latin-1"), categorical="kind")
        assert why == ", row 1: column 'kind' is not UTF-8 text; name its encoding with encoding=, such as latin-1."
        assert "; name its encoding with encoding=" in refused(tmp_path / "a.csv", "läbel,x\n".encode("latin-1"))

    @pytest.mark.parametrize("name", ["a.xlsx", "a.xls", "a.zip"])
    def test_what_is_no_csv(self, tmp_path, name):
        head = b"\xd0\xcf\x11\xe0" if name == "a.xls" else b"PK\x03\x04"
        why = refused(tmp_path / name, head + bytes(100))
        assert why == (": this is a zip archive: unpack it." if name == "a.zip" else
                       ": this is a spreadsheet: save it as CSV.")  # fmt: skip


def test_columns_with_the_same_name(tmp_path):
    (tmp_path / "a.csv").write_text("label,x,x,x_2,x\n1,1,2,3,4\n")
    with pytest.warns(UserWarning, match="columns that have the same name are numbered: 'x' as 'x_3', 'x' as 'x_4'"):
        stream = open_stream(tmp_path / "a.csv")
    assert stream.feature_names == ["x", "x_3", "x_2", "x_4"]
    assert stream.to_csr()[0].toarray().tolist() == [[1, 2, 3, 4]]


def test_missing_values_that_are_named_replace_the_usual_ones(tmp_path):
    (tmp_path / "a.csv").write_text("label,kind\n1,NA\n0,?\n1,\n")
    batch = next(open_stream(tmp_path / "a.csv", categorical="kind", null=["?"]).batches())
    assert np.diff(batch.indptr).tolist() == [1, 0, 0]
    batch = next(open_stream(tmp_path / "a.csv", categorical="kind").batches())
    assert np.diff(batch.indptr).tolist() == [0, 1, 0]


def test_json_lines_and_svmlight_in_other_encodings(tmp_path):
    (tmp_path / "a.jsonl").write_bytes('{"label": 1, "note": "größer"}\n'.encode("utf-16"))
    (tmp_path / "b.jsonl").write_text('{"label": 1, "note": "größer"}\n')
    (tmp_path / "a.svm").write_bytes("1 3:0.5\n".encode("utf-16"))
    one, other = (next(open_stream(tmp_path / name, text="note").batches()) for name in ("a.jsonl", "b.jsonl"))
    assert same(one, other)
    assert open_stream(tmp_path / "a.svm").to_csr()[0].toarray().tolist() == [[0, 0, 0.5]]
