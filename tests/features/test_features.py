"""Transformers: text and tables to CSR with int64 ids, whose names can be found again."""

from __future__ import annotations

import datetime
import pickle

import naming_oracles as oracle
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from thresher import SOFS, ShadowSOFS, _core, open_stream, train
from thresher.features import ColumnHasher, TextHasher

TEXTS = ["Free money now", "see you at lunch", "more free money", "lunch is at noon"] * 50
LABELS = ["spam", "ham", "spam", "ham"] * 50


class TestTextHasher:
    @given(st.lists(st.text(max_size=30), max_size=8), st.integers(1, 3), st.sampled_from(["word", "char"]))
    def test_rows_are_the_naive_ones(self, texts, most, analyzer):
        X = TextHasher(ngrams=(1, most), analyzer=analyzer).transform(texts)
        assert X.shape == (len(texts), 2**62)
        assert (X.indices.dtype, X.dtype, X.has_canonical_format) == (np.int64, np.float32, True)
        expected = [oracle.text_features(text, 1, most, analyzer, False, analyzer == "word") for text in texts]
        assert oracle.rows_of(X.indptr, X.indices, X.data) == [oracle.as_row(row) for row in expected]

    def test_many_parts_give_the_same_rows(self, monkeypatch):
        whole = TextHasher(ngrams=2).transform(TEXTS)
        monkeypatch.setattr("thresher.features.text._PART", 10)
        parts = TextHasher(ngrams=2).transform(iter(TEXTS))
        np.testing.assert_array_equal(parts.indices, whole.indices)
        np.testing.assert_array_equal(parts.indptr, whole.indptr)

    def test_in_a_pipeline(self):
        model = make_pipeline(TextHasher(ngrams=(1, 2)), ShadowSOFS(4)).fit(TEXTS, LABELS)
        assert model.predict(["money for free", "lunch at noon"]).tolist() == ["spam", "ham"]
        names = model[0].names(model[-1].selected_, TEXTS)
        assert _core.name_ids(names).tolist() == model[-1].selected_.tolist()
        again = pickle.loads(pickle.dumps(model))
        assert again.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()

    def test_a_pipeline_and_a_stream_select_the_same(self, tmp_path):
        path = tmp_path / "a.csv"
        pd.DataFrame({"label": LABELS, "text": TEXTS}).to_csv(path, index=False)
        model = SOFS(3)
        train(model, open_stream(path, text="text", ngrams=2), shuffle=False)
        hashed = TextHasher(ngrams=2)
        fitted = SOFS(3, shuffle=False).fit(hashed.transform(TEXTS), LABELS)
        assert hashed.names(fitted.selected_, TEXTS) == model.selected_names_
        np.testing.assert_array_equal(fitted.coef_.data, model.coef_.data)

    def test_names_that_are_not_there(self):
        assert TextHasher().names(_core.name_ids(["lunch", "nowhere"]), TEXTS) == ["lunch", None]

    def test_missing_texts_have_no_features(self):
        for column in (pd.Series(["a b", None, np.nan]), pd.Series(["a b", None, pd.NA], dtype="string")):
            assert np.diff(TextHasher().transform(column).indptr).tolist() == [2, 0, 0]

    @pytest.mark.parametrize(
        ("X", "why"),
        [
            ("a text", "X must be an iterable of strings, .* Got str instead"),
            (pd.DataFrame({"t": ["a"]}), "X must be an iterable of strings, .* Got DataFrame instead"),
            ({"t": "a"}, "X must be an iterable of strings, .* Got dict instead"),
            (["a", 3], "row 1 of X must be a string. Got 3 instead"),
            (["a", "\ud800"], "row 1 of X is not valid text"),
            (["a", "b", "x" * 70_000], "row 2 of X: column 'text': a name of 70000 bytes"),
        ],
    )
    def test_bad_texts(self, X, why):
        with pytest.raises(ValueError, match=why):
            TextHasher().transform(X)

    @pytest.mark.parametrize("given_", [{"ngrams": 0}, {"analyzer": "bytes"}])
    def test_bad_parameters(self, given_):
        with pytest.raises(ValueError, match=next(iter(given_))):
            TextHasher(**given_).fit(TEXTS)

    def test_can_be_cloned(self):
        assert clone(TextHasher(ngrams="1-2", counts=True)).get_params() == {
            "analyzer": "word", "counts": True, "lowercase": None, "ngrams": "1-2"
        }  # fmt: skip


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "site": ["a.com", "b.org", None],
            "price": [1.5, np.nan, 0.0],
            "title": ["Free money", None, "lunch"],
            "seen": [True, False, True],
            "day": pd.to_datetime(["2024-02-29", None, "2024-03-01"]).date,
        },
        index=[7, 8, 9],  # which is not a feature
    )


class TestColumnHasher:
    @pytest.mark.parametrize(
        "of", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
    )
    def test_tables_of_any_library(self, of):
        table = of(frame())
        hasher = ColumnHasher("title", ["site", "seen", "day"], "price", scale=False).fit(table)
        X = hasher.transform(table)
        rows = [set(hasher.names(row.indices, table)) for row in X]
        assert rows == [
            {"free", "money", "site=a.com", "seen=true", "day=2024-02-29", "price"},
            {"site=b.org", "seen=false"},
            {"lunch", "seen=true", "day=2024-03-01"},
        ]
        assert X.sum() == 11 + 0.5

    def test_columns_without_a_role_are_left_alone(self):
        table = frame().assign(odd=[1, "a", object()])
        assert ColumnHasher(categorical="site").fit(table).transform(table).nnz == 2
        with pytest.warns(UserWarning, match=r"X: left out 'odd' \(struct<> can't be a feature\)"):
            assert "odd" not in ColumnHasher().fit(table).feature_names_in_

    def test_polars_categories(self):
        table = pl.DataFrame(
            {
                "a": pl.Series(["x", "y", None], dtype=pl.Categorical),
                "e": pl.Series(["u", "v", "u"], dtype=pl.Enum(["u", "v"])),
            }
        )
        hasher = ColumnHasher().fit(table)
        assert {*hasher.names(hasher.transform(table).indices, table)} == {"a=x", "a=y", "e=u", "e=v"}

    def test_roles_by_type(self):
        hasher = ColumnHasher(scale=False).fit(frame())
        assert {*hasher.names(hasher.transform(frame()).indices, frame())} == {
            "day=2024-02-29", "day=2024-03-01", "price", "seen=false", "seen=true", "site=a.com", "site=b.org",
            "title=Free money", "title=lunch",
        }  # fmt: skip
        assert hasher.feature_names_in_.tolist() == ["site", "title", "seen", "day", "price"]

    @pytest.mark.parametrize(
        "of", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
    )
    def test_text_is_recognised(self, of):
        bodies = pd.DataFrame({"body": [f"mail {k} of the day" for k in range(9)] + ["the last one"]})
        assert ColumnHasher().fit(of(bodies)).roles_.to_dict() == {"body": "text"}
        with pytest.warns(
            UserWarning, match=r"X: left out 'same' \(always the same\): give such columns a role"
        ) as caught:
            ColumnHasher().fit(of(bodies.assign(same=1)))
        assert caught[0].filename == __file__

    @pytest.mark.parametrize(
        "values",
        [
            [f"www.{k}.com/a-page" for k in range(99)] * 2,
            [f"Mary {k}" for k in range(99)] * 2,
            [f"value {k % 50}" for k in range(100)],
            pd.Categorical([f"one of many values {k}" for k in range(99)] * 2),
            [None, "", "a few words here", "or others"] * 20,
        ],
        ids=["one word", "two words", "repeated", "called categories", "mostly missing"],
    )
    def test_categories(self, values):
        roles = ColumnHasher().fit(pd.DataFrame({"c": values})).roles_.to_dict()
        assert roles == {
            "c": "text" if "of fifty" in str(values[1]) and not hasattr(values, "codes") else "categorical"
        }

    def test_a_reader_is_not_read_by_fit(self):
        reader = pa.table({"body": [f"the mail of day {k}" for k in range(100)]}).to_reader()
        assert ColumnHasher().fit_transform(reader).nnz == 100

    def test_in_a_pipeline(self):
        table = pl.DataFrame({"site": ["a", "b"] * 50, "n": np.arange(100) / 100})
        model = make_pipeline(ColumnHasher(), ShadowSOFS(1)).fit(table, [1, 0] * 50)
        assert model.score(table, [1, 0] * 50) == 1.0
        assert model[0].names(model[-1].selected_, table)[0] in ("site=a", "site=b")

    @pytest.mark.parametrize(
        ("given_", "why"),
        [
            ({"text": "nothing"}, "X: there is no column 'nothing'; there are site, price"),
            ({"numeric": [0]}, "X: there is no column 0; there are site, price"),
            ({"numeric": "prize"}, r"X: there is no column 'prize'; there are site, price.* Did you mean 'price'\?"),
            ({"text": "price"}, "X: column 'price' has type double; a text column must hold strings"),
            ({"numeric": "day"}, "X: column 'day' has type date32.*dates and times are categorical="),
            ({"text": "title", "categorical": "title"}, "column 'title' can't be both text and categorical"),
        ],
    )
    def test_bad_columns(self, given_, why):
        with pytest.raises(ValueError, match=why):
            ColumnHasher(**given_).fit(frame())

    def test_what_is_not_a_table(self):
        with pytest.raises(ValueError, match=r"X must be a table with named columns\. Got ndarray instead"):
            ColumnHasher().fit(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="X: no column is left for the features"):
            ColumnHasher().fit(pa.table({"d": [b"x"]}))
        with pytest.raises(ValueError, match="X: there are no columns 'site', 'title', 'seen', 'price'; there are day"):
            ColumnHasher().fit(frame()).transform(pa.table({"day": [datetime.date(2024, 1, 1)]}))
