"""Tables of other libraries as streams, through the Arrow C stream interface."""

from __future__ import annotations

import pickle
import subprocess
import sys
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from every import of_kernel
from states import model_of

from thresher import MRMR, ShadowSOFS, _core, cross_validate, evaluate, open_stream, train
from thresher.features import ColumnHasher
from thresher.streams import DataError

WORDS = pd.DataFrame({"label": ["spam", "ham"] * 40, "text": ["free money", "see you"] * 40, "n": np.arange(80) / 80})
NUMBERS = pd.DataFrame({"a": [1.0, 0.0, 2.0], "label": [1, 0, 1], "b": [0.0, 3.0, 0.5]}, index=[5, 6, 9])

# Reads pickled columns as an Arrow stream, and prints what came of it.
READ_FORGED = """
import pickle, sys
import pyarrow as pa
from thresher import open_stream
from thresher.streams import DataError
class Raw:
    def __init__(self, columns):
        self.batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    def __arrow_c_stream__(self, requested_schema=None):
        return pa.RecordBatchReader.from_batches(self.batch.schema, [self.batch]).__arrow_c_stream__(requested_schema)
columns, options = pickle.load(open(sys.argv[1], "rb"))
try:
    print(sum(batch.n_rows for batch in open_stream(Raw(columns), **options).batches()), "rows", end="")
except DataError as error:
    print(error, end="")
"""

of_every_library = pytest.mark.parametrize(
    "of",
    [
        lambda frame: frame,
        pl.from_pandas,
        lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        lambda frame: duckdb.connect().sql("select * from frame"),
    ],
    ids=["pandas", "polars", "pyarrow", "duckdb"],
)


@of_every_library
def test_named_features(of):
    model = ShadowSOFS(3)
    stream = open_stream(of(WORDS), text="text", numeric="n")
    train(model, stream)
    assert {"free", "money", "see", "you"} & {*model.selected_names_}
    assert evaluate(model, of(WORDS)).accuracy == 1.0  # read as the model's own data were
    assert cross_validate(ShadowSOFS(3), stream, folds=2).accuracy == 1.0  # which reads it again


@of_every_library
@pytest.mark.parametrize("method", [ShadowSOFS, MRMR])
def test_the_next_table_is_predicted_as_it_is(of, method):
    model = method(3)
    train(model, open_stream(of(WORDS), text="text", numeric="n", scale=False))
    new = WORDS.drop(columns="label")[["n", "text"]]
    of_stream = model.decision_function(open_stream(of(WORDS), naming=model_of(model).naming))
    np.testing.assert_array_equal(model.decision_function(of(new)), of_stream)
    assert model.predict(of(new)).tolist() == WORDS["label"].tolist()
    assert model.score(of(new), WORDS["label"]) == model.score(of(WORDS)) == 1.0
    words = dict(zip(model.get_feature_names_out(), model.transform(of(new)).toarray().T, strict=True))
    for word in {"free", "money", "see", "you"} & {*words}:
        np.testing.assert_array_equal(words[word], WORDS["text"].str.contains(word))
    with pytest.raises(DataError, match="there is no column 'n'"):
        model.predict(of(new[["text"]]))


@of_every_library
def test_columns_of_numbers(of):
    stream = open_stream(of(NUMBERS))
    assert stream.feature_names == ["a", "b"]
    X, y, _ = stream.to_csr()
    assert X.toarray().tolist() == [[1, 0], [0, 3], [2, 0.5]]
    assert y.tolist() == [1, 0, 1]
    model = ShadowSOFS(2)
    train(model, of(NUMBERS))
    assert set(model.selected_names_) == {"a", "b"}


@pytest.mark.parametrize(("zero_based", "columns"), [(None, [0, 1, 2]), (False, [0, 1, 2]), (True, [1, 2, 3])])
def test_where_ids_count_from(zero_based, columns):
    table = pa.table({"label": [1, 0, 1], "ids": [[1], [2], [3]], "values": [[1.0], [1.0], [1.0]]})
    X, _, _ = open_stream(table, zero_based=zero_based).to_csr()
    assert X.indices.tolist() == columns
    with pytest.raises(ValueError, match=r"the DataFrame: zero_based=False can't be used where"):
        open_stream(NUMBERS, zero_based=False)


def test_a_large_table_comes_in_parts():
    table = pl.DataFrame({"label": np.arange(200_000) % 2, "x": np.arange(200_000) % 7 * 1.0})
    batches = list(open_stream(table).batches())
    assert len(batches) > 1
    assert sum(batch.n_rows for batch in batches) == 200_000
    assert batches[1].location(0) == f"the DataFrame, row {batches[0].n_rows + 1}"


def test_two_relations_of_one_connection():
    connection = duckdb.connect()
    first = open_stream(connection.sql("select * from WORDS"), text="text")
    second = open_stream(connection.sql("select * from WORDS"), text="text")
    assert connection.sql("select count(*) from WORDS").fetchall() == [(80,)]
    model = ShadowSOFS(3)
    train(model, first, validate=second)
    assert evaluate(model, second).accuracy == 1.0


def test_a_query_that_fails_in_the_middle():
    relation = duckdb.connect().sql(
        "select i % 2 as label, case when i < 900000 then i else error('boom') end as a from range(1000000) t(i)"
    )
    with pytest.raises(DataError, match=r"the DuckDBPyRelation: .*boom"):
        list(open_stream(relation).batches())


def test_options_that_mean_nothing_for_a_table():
    with pytest.raises(ValueError, match=r"the DataFrame: delimiter=';' has no meaning"):
        open_stream(WORDS, text="text", delimiter=";")


@pytest.mark.parametrize("type_", ["decimal(38, 0)", "decimal(9, 2)", "hugeint", "double"])
def test_numbers_of_duckdb_as_labels(type_):
    """The sum of whole numbers is a decimal."""
    relation = duckdb.sql(f"select sum(i % 2)::{type_} as label, i * 1.5::double as x from range(6) t(i) group by i")
    X, y, _ = open_stream(relation).to_csr()
    assert dict(zip(X.toarray().ravel().tolist(), y.tolist(), strict=True)) == {k * 1.5: k % 2 for k in range(6)}
    model = ShadowSOFS(1)
    train(model, relation)
    assert model.classes_.tolist() == [0, 1]


def test_decimal_labels_with_fractions_and_without():
    def labels(values, **options):
        table = pa.table({"label": pa.array(values, pa.decimal128(38, 2)), "x": np.ones(len(values))})
        return open_stream(table, **options).to_csr()[1].tolist()

    assert labels([Decimal("1.00"), Decimal("-3.00")]) == [1, -3]
    assert labels([Decimal("0.50"), Decimal("-3.25")]) == [0.5, -3.25]
    assert np.isnan(labels([Decimal("0.50"), None], labelled=False)).tolist() == [False, True]
    assert labels([Decimal("0.50"), None, Decimal(2)], on_bad_line="skip") == [0.5, 2]
    # Exactly, in the type that holds them all.
    assert labels([Decimal(2**64 - 1), Decimal(2)]) == [2**64 - 1, 2]
    assert labels([Decimal(2**53), Decimal("0.5"), Decimal(2**53 + 1)]) == [str(2**53), "0.5", str(2**53 + 1)]
    assert labels([Decimal(10**30), Decimal(2)]) == [str(10**30), "2"]


def test_polars_categories_as_labels():
    table = pl.DataFrame({"label": pl.Series(["x", "y"] * 5, dtype=pl.Categorical), "a": [1.0, 2.0] * 5})
    assert sorted(set(open_stream(table).to_csr()[1].tolist())) == ["x", "y"]


def test_a_reader_can_be_read_only_once():
    reader = pa.Table.from_pandas(WORDS).to_reader()
    stream = open_stream(reader, text="text")
    assert not stream.can_be_read_again
    train(ShadowSOFS(2), stream)
    with pytest.raises(DataError, match="can be read only once"):
        stream.batches()


def test_a_table_that_has_changed():
    class Once:
        def __init__(self):
            self.n = 3  # one look at its columns, and two readings

        def __arrow_c_stream__(self, requested_schema=None):
            self.n -= 1
            return pa.table({"label": [1, 0] * self.n, "a": [1.0, 2.0] * self.n}).__arrow_c_stream__(requested_schema)

    stream = open_stream(Once())
    assert sum(batch.n_rows for batch in stream.batches()) == 2
    with pytest.raises(DataError, match="the Once gave 2 rows the first time and 0 now"):
        list(stream.batches())


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"label": [1], "b": [1.0]}, "there is no column 'a'; there are label, b. The table had other columns when it"),
        ({"label": [1], "a": ["x"]}, "column 'a' has type string; features must be numbers"),
        ({"label": [[1]], "a": [1.0]}, "the label has type list<item: int64>; it must be a number or text."),
    ],
)
def test_a_table_with_other_columns_the_second_time(columns, why):
    class Changing:
        tables = (pa.table({"label": [1, 0], "a": [1.0, 2.0]}), pa.table(columns))

        def __arrow_c_stream__(self, requested_schema=None):
            first, *others = self.tables
            self.tables = others or [first]
            return first.__arrow_c_stream__(requested_schema)

    stream = open_stream(Changing())
    with pytest.raises(DataError) as error:
        list(stream.batches())
    assert str(error.value).startswith(f"the Changing: {why}")
    assert "\n" not in str(error.value)


class TestForged:
    """What an object hands over as an Arrow stream is checked as fully as a file: pyarrow itself would crash."""

    WORDS = pa.array(["a", "b", "c"])
    LABEL, NUMBERS = pa.array([0, 1, 0]), pa.array([1.0, 2.0, 3.0])

    @staticmethod
    def strings(offsets=(0, 4, 8, 12), content=b"spammailspam", is_large=False):
        kind, width = (pa.large_string(), np.int64) if is_large else (pa.string(), np.int32)
        buffers = [None, pa.py_buffer(np.array(offsets, width).tobytes()), pa.py_buffer(content)]
        return pa.Array.from_buffers(kind, 3, buffers)

    @staticmethod
    def lists(offsets, values):
        buffers = [None, pa.py_buffer(np.array(offsets, np.int32).tobytes())]
        return pa.Array.from_buffers(pa.list_(values.type), 3, buffers, children=[values])

    @staticmethod
    def codes(*codes, words=WORDS):
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words, safe=False)

    DAMAGED = ("text offsets", "large text offsets", "falling offsets", "codes", "codes below 0", "dictionary")
    DAMAGED_LISTS = ("lists", "texts of lists", "codes of lists")

    @pytest.fixture
    def words(self, request):
        far, not_utf8 = (0, 10**9, 8, 12), self.strings(content=b"spam\xff\xfe\xfdxspam")
        return {
            "text offsets": lambda: self.strings(far),
            "large text offsets": lambda: self.strings((0, 2**40, 8, 12), is_large=True),
            "falling offsets": lambda: self.strings((0, -5, 8, 12)),
            "not UTF-8": lambda: not_utf8,
            "codes": lambda: self.codes(0, 7, 1),
            "codes below 0": lambda: self.codes(0, -7, 1),
            "dictionary": lambda: self.codes(0, 1, 2, words=not_utf8),
            "lists": lambda: self.lists((0, 10**8, 2, 3), self.WORDS),
            "texts of lists": lambda: self.lists((0, 1, 2, 3), self.strings(far)),
            "codes of lists": lambda: self.lists((0, 1, 2, 3), self.codes(0, 7, 1)),
        }[request.param]()

    def refused(self, tmp_path, columns, **options):
        """Read in another process, which may crash, and return what it says."""
        (tmp_path / "columns").write_bytes(pickle.dumps((columns, options)))
        done = subprocess.run(
            [sys.executable, "-c", READ_FORGED, tmp_path / "columns"], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    @pytest.mark.parametrize("words", [*DAMAGED, "not UTF-8"], indirect=True)
    def test_labels(self, tmp_path, words):
        said = self.refused(tmp_path, {"label": words, "x": self.NUMBERS})
        assert said.startswith("the Raw, rows 1 to 3: the data are damaged (column 'label': ")

    @pytest.mark.parametrize("words", [*DAMAGED, *DAMAGED_LISTS], indirect=True)
    @pytest.mark.parametrize("options", [{"categorical": "x"}, {"roles": "auto"}], ids=["given", "decided"])
    def test_features(self, tmp_path, words, options):
        said = self.refused(tmp_path, {"label": self.LABEL, "x": words}, **options)
        assert said.startswith("the Raw, rows 1 to 3: the data are damaged (column 'x': ")

    @pytest.mark.parametrize("wrong", ["ids", "values"])
    def test_pairs(self, tmp_path, wrong):
        columns = {
            "label": self.LABEL,
            "ids": self.lists((0, 1, 2, 3), pa.array([1, 2, 3])),
            "values": self.lists((0, 1, 2, 3), self.NUMBERS),
        }
        columns[wrong] = self.lists((0, 10**8, 2, 3), columns[wrong].values)
        said = self.refused(tmp_path, columns)
        assert said.startswith(f"the Raw, rows 1 to 3: the data are damaged (column {wrong!r}: Offset")

    def test_a_column_that_is_not_read_is_not_checked(self, tmp_path):
        columns = {"label": self.LABEL, "x": self.NUMBERS, "z": self.strings((0, 10**9, 8, 12))}
        assert self.refused(tmp_path, columns, ignore="z") == "3 rows"

    def test_text_that_is_not_utf8_is_a_bad_row(self):
        table = pa.table({"label": self.LABEL, "x": self.strings(content=b"spam\xff\xfe\xfdxspam")})
        with pytest.raises(DataError, match="the Table, row 2: column 'x' is not UTF-8 text"):
            list(open_stream(table, text="x").batches())
        (batch,) = open_stream(table, text="x", on_bad_line="skip").batches()
        assert batch.n_rows == 2
        (batch,) = open_stream(table, roles="auto", on_bad_line="skip").batches()
        assert batch.n_rows == 2

    @pytest.mark.parametrize("words", [*DAMAGED, *DAMAGED_LISTS], indirect=True)
    @pytest.mark.parametrize("roles", [{}, {"text": "x"}, {"categorical": "x"}])
    def test_the_hasher(self, words, roles):
        table = pa.table({"x": words})
        with pytest.raises(DataError, match=r"X, rows 1 to 3: the data are damaged \(column 'x': "):
            ColumnHasher(**roles).fit(table).transform(table)


def test_bad_rows():
    table = pa.table({"label": [1, None, 0], "a": [1.0, 2.0, float("inf")]})
    with pytest.raises(DataError, match="the Table, row 2: the label is missing"):
        list(open_stream(table).batches())
    (batch,) = open_stream(table, on_bad_line="skip").batches()
    assert (batch.n_rows, len(batch.skipped)) == (1, 2)
    with pytest.raises(DataError, match="the Table: there is no column 'y'; there are label, a"):
        open_stream(table, label="y")
    with pytest.raises(DataError, match="column 'a' has type double; a text column must hold strings"):
        open_stream(table, text="a")


def test_errors_are_our_own_beside_duckdb():
    """Both extensions are made with nanobind, and one of them translated the exceptions of the other."""
    learner = _core.Sofs(2, 1, "l2", False, of_kernel("sofs"), None, "dense", 0)
    with pytest.raises(MemoryError):
        learner.reserve(2**62)
