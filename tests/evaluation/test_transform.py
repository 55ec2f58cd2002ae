"""Data with only the selected features left, in every format, beside `transform` and the data themselves."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import thresher
from every import every, made
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_problem

from thresher import SOFS, ShadowSOFS, _core, open_stream, save, train
from thresher.evaluation.transform import write_selected
from thresher.model.names import distinct_names
from thresher.streams import DataError


@pytest.fixture
def rows(tmp_path):
    X, y = random_problem(300, 40, 0.2, seed=5)
    lines = (
        f"{label} " + " ".join(f"{i + 1}:{v}" for i, v in zip(row.indices, row.data, strict=True))
        for row, label in zip(X, y, strict=True)
    )
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


def trained(path, n=5, **parameters):
    model = SOFS(n, **parameters)
    train(model, path)
    return model


@every
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_table_has_what_transform_gives(estimator, ending, rows, tmp_path):
    X, y, _ = open_stream(rows).to_csr()
    model = made(estimator, 5)
    train(model, rows)
    path = tmp_path / f"small.{ending}"
    assert write_selected(model, rows, str(path)).n_rows == 300
    table = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
    assert table.columns[0] == "label"
    assert table.columns[1:].tolist() == [str(column + 1) for column in np.sort(model.selected_)]
    np.testing.assert_array_equal(table["label"], y)
    assert table["label"].dtype == np.int64
    np.testing.assert_array_equal(table.iloc[:, 1:].to_numpy(np.float32), model.transform(X).toarray())


@given(
    st.lists(st.dictionaries(st.integers(0, 6), st.floats(width=32, allow_nan=False, allow_infinity=False)), max_size=5)
)
def test_lines_are_those_of_python(rows):
    """Beside a naive writer; the numbers read back as the same float32."""
    rows = [dict(sorted(row.items())) for row in rows]
    starts = np.cumsum([0, *map(len, rows)])
    ids = np.array([i for row in rows for i in row], np.int64)
    values = np.array([v for row in rows for v in row.values()], np.float32)
    text = _core.write_csv(_core.CsrBatch(starts, ids, values, 7), 7, [f"row {k}" for k in range(len(rows))])
    lines = list(csv.reader(text.decode().splitlines()))
    assert [line[0] for line in lines] == [f"row {k}" for k in range(len(rows))]
    for line, row in zip(lines, rows, strict=True):
        np.testing.assert_array_equal(np.array(line[1:], np.float32), [np.float32(row.get(k, 0)) for k in range(7)])


def test_a_table_is_cut_into_parts_that_fit(rows, tmp_path, monkeypatch):
    model = trained(rows)
    for path in ("whole.csv", "whole.parquet"):
        write_selected(model, rows, str(tmp_path / path))
    monkeypatch.setattr("thresher.evaluation.transform._CELLS", 37)
    for path in ("parts.csv", "parts.parquet"):
        write_selected(model, rows, str(tmp_path / path))
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    pd.testing.assert_frame_equal(*(pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("parts", "whole")))


class TestColumnMap:
    def test_says_which_feature_a_column_is(self, rows, tmp_path):
        model = trained(rows)
        write_selected(model, rows, str(tmp_path / "small.svm"), column_map=str(tmp_path / "map.csv"))
        found = pd.read_csv(tmp_path / "map.csv")
        columns = np.sort(model.selected_)
        assert found["column"].tolist() == [1, 2, 3, 4, 5]
        assert found["feature"].tolist() == found["id"].tolist() == (columns + 1).tolist()
        np.testing.assert_array_equal(found["weight"].astype(np.float32), model.coef_.toarray()[0, columns])
        for line in (tmp_path / "small.svm").read_text().splitlines():
            assert all(1 <= int(pair.split(":")[0]) <= 5 for pair in line.split()[1:])

    def test_has_a_weight_for_each_class(self, tmp_path):
        path = tmp_path / "rows.svm"
        path.write_text("a 1:1\nb 2:1\nc 3:1\n" * 30)
        model = SOFS(2)
        train(model, path, multiclass=True)
        write_selected(model, path, str(tmp_path / "small.csv"), column_map=str(tmp_path / "map.csv"))
        found = pd.read_csv(tmp_path / "map.csv")
        assert found.columns.tolist() == ["column", "feature", "id", "weight_a", "weight_b", "weight_c"]
        assert pd.read_csv(tmp_path / "small.csv")["label"].tolist() == ["a", "b", "c"] * 30

    def test_names_are_names(self, tmp_path):
        path = tmp_path / "mail.jsonl"
        path.write_text(
            '{"label": "spam", "text": "buy \\"pills\\", now"}\n{"label": "ham", "text": "lunch now"}\n' * 20
        )
        model = ShadowSOFS(3)
        train(model, open_stream(path, label="label", text="text"))
        write_selected(model, path, str(tmp_path / "small.parquet"), column_map=str(tmp_path / "map.csv"))
        found = pd.read_csv(tmp_path / "map.csv")
        assert set(found["feature"]) == set(model.selected_names_)
        assert pd.read_parquet(tmp_path / "small.parquet").columns.tolist() == ["label", *found["column"]]
        assert found["column"].tolist() == found["feature"].tolist()


@given(st.lists(st.sampled_from(["label", "weight", "label_2", "a", "a_2", "b"])))
def test_columns_of_a_table_are_distinct(names):
    """Asked below `write_selected`, which would need a trained model for each list of names."""
    found = distinct_names(names, ["label", "weight"])
    assert len({*found, "label", "weight"}) == len(names) + 2
    assert all(new == old or new.startswith(f"{old}_") for new, old in zip(found, names, strict=True))


class TestLabels:
    def test_rows_without_labels_have_empty_cells(self, rows, tmp_path):
        model = trained(rows)
        bare = tmp_path / "bare.svm"
        bare.write_text("1:1 2:1\n3:2\n")
        for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
            write_selected(model, bare, str(tmp_path / f"small.{ending}"))
            assert read(tmp_path / f"small.{ending}")["label"].isna().all()

    def test_words_are_quoted_where_they_must_be(self, tmp_path):
        table = pd.DataFrame({"y": ['say "no"', "a, b"] * 30, "p": [1.0, 0] * 30, "q": [0, 2.5] * 30})
        table.to_csv(tmp_path / "rows.csv", index=False)
        model = SOFS(2)
        train(model, open_stream(tmp_path / "rows.csv", label="y"))
        write_selected(model, open_stream(tmp_path / "rows.csv", label="y"), str(tmp_path / "small.csv"))
        again = pd.read_csv(tmp_path / "small.csv")
        assert again["label"].tolist() == table["y"].tolist()
        assert again.columns.tolist() == ["label", "p", "q"]

    @pytest.mark.parametrize("label", ["0.5", "maybe"])
    def test_a_label_of_another_kind_is_refused(self, label, rows, tmp_path):
        model = trained(rows)
        other = tmp_path / "other.svm"
        other.write_text(f"{label} 1:1\n")
        with pytest.raises(DataError, match=f"other.svm, line 1: the label '{label}' can't be written to a column"):
            write_selected(model, other, str(tmp_path / "small.parquet"))


class TestWeights:
    def test_have_a_column(self, tmp_path):
        path = tmp_path / "rows.vw"
        path.write_text("1 2.5 | 1:1\n-1 0.5 | 2:1\n" * 30)
        model = trained(path, 2)
        write_selected(model, path, str(tmp_path / "small.csv"))
        table = pd.read_csv(tmp_path / "small.csv")
        assert table.columns.tolist() == ["label", "weight", "1", "2"]
        assert table["weight"].tolist() == [2.5, 0.5] * 30

    def test_that_begin_late_are_refused(self, rows, tmp_path):
        model = trained(rows)
        plain, weighted = tmp_path / "a.vw", tmp_path / "b.vw"
        plain.write_text("1 | 1:1\n")
        weighted.write_text("1 3 | 1:1\n")
        with pytest.raises(DataError, match=r"b\.vw, line 1: rows have weights here"):
            write_selected(model, [plain, weighted], str(tmp_path / "small.csv"))
        assert not (tmp_path / "small.csv").exists()
        write_selected(model, [weighted, plain], str(tmp_path / "small.csv"))
        assert pd.read_csv(tmp_path / "small.csv")["weight"].tolist() == [3, 1]


class TestBadInput:
    def test_a_failure_leaves_neither_file(self, rows, tmp_path):
        model = trained(rows)
        bad = tmp_path / "bad.svm"
        bad.write_text(rows.read_text() + "1 x\n")
        before = set(tmp_path.iterdir())
        with pytest.raises(DataError, match=r"bad\.svm, line 301"):
            write_selected(model, bad, str(tmp_path / "small.csv"), column_map=str(tmp_path / "map.csv"))
        assert set(tmp_path.iterdir()) == before

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_no_rows_are_a_table_without_rows(self, ending, rows, tmp_path):
        model = trained(rows)
        none = tmp_path / "none.svm"
        none.write_text("# nothing\n")
        write_selected(model, none, str(tmp_path / f"small.{ending}"))
        read = pd.read_csv if ending == "csv" else pd.read_parquet
        assert read(tmp_path / f"small.{ending}").shape == (0, 6)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["-o", "small.csv", "--keep-ids"], "small.csv: a table's columns have names, so --keep-ids"),
            (["-o", "small.svm", "--map", "small.txt"], "small.txt: --map must be another file"),
            (["-o", "small.csv", "--map", "small.csv"], "small.csv: --map must be another file"),
            (["-o", "small.csv", "--map", "rows.svm"], "rows.svm: --map must be another file"),
            (["-o", "small.xlsx"], "small.xlsx: the name must end in"),
        ],
    )
    def test_is_one_line(self, options, message, rows, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        save(trained(rows), tmp_path / "m.thresher")
        before = rows.read_bytes()
        done = thresher("transform", "m.thresher", "rows.svm", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
        assert rows.read_bytes() == before
        assert not list(Path(tmp_path).glob("small*"))


@pytest.mark.parametrize("label", ["inf", "1e999"])
def test_labels_that_are_no_numbers_in_a_column_of_numbers(tmp_path, label):
    (tmp_path / "a.csv").write_text("label,a,b\n" + "0,1,0\n1,0,1\n" * 20)
    (tmp_path / "b.csv").write_text(f"label,a,b\n{label},1,0\nfoo,0,1\n")
    model = ShadowSOFS(2)
    train(model, tmp_path / "a.csv")
    with pytest.raises(
        DataError, match=rf"b.csv, row 1: the label '{label}' can't be written to a column of whole numbers"
    ):
        write_selected(model, tmp_path / "b.csv", str(tmp_path / "out.csv"))
    assert not (tmp_path / "out.csv").exists()


class TestSafeNames:
    """Names that LightGBM takes: it refuses quotes, commas, colons and brackets."""

    @pytest.fixture
    def named(self, tmp_path):
        site = ['a.com, "b"', "[x]:{y}", "a com b", "ünï", ""] * 40
        table = pd.DataFrame({"label": [1, 0, 0, 1, 1] * 40, "site": site, "label 2": [0.5, 2, 3, 1, 2] * 40})
        table.to_csv(tmp_path / "rows.csv", index=False)
        model = ShadowSOFS(5)
        train(model, open_stream(table, categorical="site", numeric="label 2"))
        return model, tmp_path

    def test_of_a_table_and_its_map(self, named):
        model, folder = named
        for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
            path, map_ = str(folder / f"small.{ending}"), str(folder / "map.csv")
            write_selected(model, folder / "rows.csv", path, safe_names=True, column_map=map_)
            names = list(read(path).columns)
            assert all(re.fullmatch(r"\w+", name, re.ASCII) for name in names)
            assert len(set(names)) == len(names) == 6
            columns = pd.read_csv(map_, keep_default_na=False)
            assert columns["column"].tolist() == names[1:]
            assert {*columns["feature"]} == {*model.selected_names_}
            table = model.feature_table()
            assert dict(zip(table["name"], table["safe_name"], strict=True)) == dict(
                zip(columns["feature"], columns["column"], strict=True)
            )

    def test_without_names(self, named):
        model, folder = named
        with pytest.raises(ValueError, match=r"safe_names needs a table, a file that ends in .csv or .parquet"):
            write_selected(model, folder / "rows.csv", str(folder / "small.svm"), safe_names=True)
        assert "safe_name" not in ShadowSOFS(2).fit(np.eye(6), [0, 1] * 3).feature_table()
