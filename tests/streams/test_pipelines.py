"""Tables as pipelines write them: partitions, dictionaries, lazy frames, files that drift apart."""

from __future__ import annotations

import json
import pickle
import warnings
from decimal import Decimal
from itertools import chain
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher import ShadowSOFS, open_stream, train
from thresher.streams import DataError

ROLES = {"numeric": ["x", "z"], "categorical": ["kind", "shop"], "text": "note"}


def table(n=400) -> pa.Table:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n)).round(3)
    kind = rng.choice(["Zürich", "São Paulo", "Oslo"], n)
    label = np.where(x + (kind == "Oslo") > 0.3, "yes", "no")
    return pa.table({
        "label": label, "x": pa.array(x, mask=rng.random(n) < 0.1), "z": z, "kind": kind, "shop": rng.integers(1, 4, n),
        "note": rng.choice(["good; really", "late, again", "so-so"], n),
    }).sort_by("shop")  # fmt: skip


def learned(source, **options):
    model = ShadowSOFS(6)
    train(model, open_stream(source, **{"label": "label", **ROLES, **options}), shuffle=False)
    return model.selected_names_, model.coef_.data.tobytes(), model.intercept_.tobytes()


def written_csv(rows: pa.Table, delimiter: str, decimal: str, header: bool = True) -> str:
    lines = [delimiter.join(rows.column_names)] if header else []
    for row in rows.to_pylist():
        cells = ["" if value is None else str(value).replace(".", decimal) if isinstance(value, float) else
                 f'"{value}"' for value in row.values()]  # fmt: skip
        lines.append(delimiter.join(cells))
    return "\n".join(lines) + "\n"


def test_the_same_table_in_every_form_gives_the_same_model_to_the_bit(tmp_path):
    rows = table()
    names = rows.column_names
    (tmp_path / "plain.csv").write_text(written_csv(rows, ",", "."))
    (tmp_path / "german.csv").write_bytes(written_csv(rows, ";", ",").encode("cp1252"))
    (tmp_path / "utf16.csv").write_text(written_csv(rows, "\t", "."), encoding="utf-16")
    (tmp_path / "bare.csv").write_text(written_csv(rows, ",", ".", header=False))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows.to_pylist()))
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    pa.feather.write_feather(rows, str(tmp_path / "rows.arrow"))
    pl.from_arrow(rows).write_parquet(tmp_path / "polars", partition_by="shop", mkdir=True)  # with the column, too
    duckdb.sql("copy rows to '{}' (format parquet, partition_by (shop))".format(tmp_path / "hive"))
    hive = f"read_parquet('{tmp_path}/hive/**/*', file_row_number=true) order by shop, file_row_number"
    forms = {
        "decimal commas": learned(tmp_path / "german.csv", decimal=",", encoding="cp1252"),
        "UTF-16": learned(tmp_path / "utf16.csv"),
        "no header": learned(tmp_path / "bare.csv", columns=names),
        "JSON lines": learned(tmp_path / "rows.jsonl"),
        "Parquet": learned(tmp_path / "rows.parquet"),
        "Arrow": learned(tmp_path / "rows.arrow"),
        "hive": learned(tmp_path / "hive"),
        "hive of polars": learned(tmp_path / "polars"),
        "DuckDB": learned(duckdb.sql(f"select * from '{tmp_path}/rows.parquet'")),
        "DuckDB, hive": learned(duckdb.sql(f"select * from {hive}")),
        "polars": learned(pl.from_arrow(rows)),
        "polars, lazy": learned(pl.scan_parquet(tmp_path / "rows.parquet")),
        "pandas": learned(rows.to_pandas()),
    }
    plain = learned(tmp_path / "plain.csv")
    assert plain[0]
    assert {name for name, form in forms.items() if form != plain} == set()


class TestPartitions:
    @pytest.fixture
    def hive(self, tmp_path):
        for day in ("2024-01-01", "2024-01-02"):
            for shop in ("1", "2"):
                folder = tmp_path / "sales" / f"dt={day}" / f"shop={shop}"
                folder.mkdir(parents=True)
                pa.parquet.write_table(pa.table({"label": [0, 1], "x": [1.0, 2.0]}), folder / "part-0.parquet")
                (folder / "_SUCCESS").write_text("")
        return tmp_path / "sales"

    def names(self, source, **options):
        stream = open_stream(source, **options)
        X = stream.to_csr()[0]
        return [sorted(stream.names(row.indices).values()) for row in X]

    def test_folders_are_columns(self, hive):
        names = self.names(hive, categorical=["dt"], numeric=["x", "shop"])
        assert names == [[f"dt={d}", "shop", "x"] for d in ("2024-01-01", "2024-01-02") for _ in range(4)]
        X = open_stream(hive, numeric="shop", scale=False).to_csr()[0]
        assert X.data.tolist() == [1, 1, 2, 2, 1, 1, 2, 2]
        assert open_stream(hive, ignore="dt").feature_names == ["x", "shop"]
        parts = [X.data.tolist() for k in range(4) for X, _ in pickle.loads(pickle.dumps(
            open_stream(hive, numeric="shop", scale=False).shard(k, 4)))]  # fmt: skip
        assert [*chain.from_iterable(parts)] == [1, 1, 2, 2, 1, 1, 2, 2]

    def test_one_day_or_one_file_of_them_has_the_columns_that_were_asked_for(self, hive):
        day = hive / "dt=2024-01-02"
        assert self.names(day, categorical=["dt", "shop"])[0] == ["dt=2024-01-02", "shop=1"]
        assert self.names(day / "shop=2" / "part-0.parquet", categorical=["dt", "shop"])[0] == [
            "dt=2024-01-02",
            "shop=2",
        ]
        assert self.names(f"{hive}/*/shop=2/*.parquet", categorical=["dt", "shop"])[0] == [
            "dt=2024-01-01",
            "shop=2",
        ]
        assert open_stream(day / "shop=2" / "part-0.parquet").feature_names == ["x"]
        assert open_stream(f"{day}/*/*.parquet").feature_names == ["x", "shop"]

    def test_a_partition_can_be_the_label_and_the_key(self, hive):
        stream = open_stream(hive, label="shop", key="dt", numeric="x")
        assert stream.to_csr()[1].tolist() == [1, 1, 2, 2, 1, 1, 2, 2]
        assert next(stream.batches()).keys.tolist() == ["2024-01-01"] * 2

    def test_missing_and_escaped_values_and_zeros_in_front(self, tmp_path):
        for month in ("month=01", "month=12", "month=__HIVE_DEFAULT_PARTITION__", "month=a%2Fb%20c"):
            (tmp_path / month).mkdir()
            (tmp_path / month / "a.csv").write_text("label,x\n1,2\n")
        assert self.names(tmp_path, categorical="month") == [["month=01"], ["month=12"], [], ["month=a/b c"]]

    def test_csv_in_small_and_large_blocks(self, tmp_path):
        for n in (3, 3000):
            (tmp_path / f"n={n}").mkdir()
            (tmp_path / f"n={n}" / "a.csv").write_text("label,x\n" + "1,2\n" * n)
        X = open_stream(tmp_path).to_csr()[0].toarray()
        assert np.array_equal(X, [[2, 3]] * 3 + [[2, 3000]] * 3000)

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_a_partition_that_is_a_column_too(self, tmp_path, ending):
        (tmp_path / "x=1").mkdir()
        path = tmp_path / "x=1" / f"a.{ending}"
        write = pa.parquet.write_table if ending == "parquet" else pa.csv.write_csv
        write(pa.table({"label": [0, 1], "x": [1, 1]}), path)
        assert open_stream(tmp_path).to_csr()[0].toarray().ravel().tolist() == [1, 1]
        write(pa.table({"label": [0, 1], "x": [1, 2]}), path)
        why = rf"a.{ending}: column 'x' is '2' in the file, and '1' in the name of its folder: rename one of them"
        with pytest.raises(DataError, match=why):
            list(open_stream(tmp_path, categorical="x").batches())
        assert open_stream(path).to_csr()[0].toarray().ravel().tolist() == [1, 2]

    def test_a_file_without_the_partition_of_the_others(self, hive):
        (hive / "dt=2024-01-03").mkdir()
        pa.parquet.write_table(pa.table({"label": [0], "x": [1.0]}), hive / "dt=2024-01-03" / "a.parquet")
        with pytest.raises(DataError, match=r"dt=2024-01-03/a.parquet: there is no column 'shop'"):
            list(open_stream(hive, categorical=["dt", "shop"]).batches())


numbers = st.sampled_from([0, 1, -2, 3.5]) | st.none()


class TestDictionaries:
    def features(self, source, **options):
        stream = open_stream(source, **options)
        X = stream.to_csr()[0]
        names = stream.names(X.indices)
        return [{names[i]: v for i, v in zip(row.indices.tolist(), row.data.tolist(), strict=True)} for row in X]

    @settings(max_examples=50)
    @given(rows=st.lists(st.none() | st.dictionaries(st.sampled_from(["a", "b=c", "é^", "1"]), numbers), min_size=1))
    def test_an_object_a_map_and_a_struct_are_the_same(self, tmp_path_factory, rows):
        folder = tmp_path_factory.mktemp("dicts")
        expected = [{f"f={key}": v for key, v in (row or {}).items() if v} for row in rows]
        path = folder / "a.jsonl"
        path.write_text("".join(json.dumps({"label": 1, "f": row}) + "\n" for row in rows))
        assert self.features(path, numeric="f") == expected
        kind = pa.map_(pa.string(), pa.float64())
        maps = pa.array([None if row is None else list(row.items()) for row in rows], kind)
        label = [1] * len(rows)
        assert self.features(pa.table({"label": label, "f": maps}), numeric="f") == expected
        padding = pa.array([[("zero", 5.0)], *maps.to_pylist()], kind).slice(1)
        assert self.features(pa.table({"label": label, "f": padding}), numeric="f") == expected
        kind = pa.struct([(name, pa.float64()) for name in ("a", "b=c", "é^", "1")])
        structs = pa.array(rows, kind)
        pa.parquet.write_table(pa.table({"label": label, "f": structs}), folder / "a.parquet")
        assert self.features(folder / "a.parquet", numeric="f") == expected
        assert self.features(pl.from_arrow(pa.table({"label": label, "f": structs})), numeric="f") == expected

    @given(rows=st.lists(st.none() | st.lists(numbers, min_size=3, max_size=3), min_size=1))
    def test_lists_of_numbers_are_named_by_their_places(self, tmp_path_factory, rows):
        path = tmp_path_factory.mktemp("lists") / "a.jsonl"
        expected = [{f"f={k}": v for k, v in enumerate(row or []) if v} for row in rows]
        path.write_text("".join(json.dumps({"label": 1, "f": row}) + "\n" for row in rows))
        assert self.features(path, numeric="f") == expected
        for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 3)):
            lists = pa.array(rows, kind)
            assert self.features(pa.table({"label": [1] * len(rows), "f": lists}), numeric="f") == expected

    def test_duckdb(self):
        rows = duckdb.sql("select 1 as label, map {'a': 1, 'b': 2} as m, {'x': 1.5, 'y': 2} as s, "
                          "3.5::decimal(4, 1) as d, ['u', 'v', 'u'] as l, [1.0, 0.0, 2.0]::float[3] as e")  # fmt: skip
        assert self.features(rows, numeric=["m", "s", "d", "e"], categorical="l", scale=False) == [
            {"m=a": 1, "m=b": 2, "s=x": 1.5, "s=y": 2, "d": 3.5, "l=u": 1, "l=v": 1, "e=0": 1, "e=2": 2}
        ]

    def test_a_dictionary_column_and_a_number_of_the_same_name_are_not_confused(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"label": 1, "f": 2}\n{"label": 1, "f": {"a": 3}}\n')
        assert self.features(tmp_path / "a.jsonl", numeric="f") == [{"f": 2}, {"f=a": 3}]

    @pytest.mark.parametrize(
        "value", ['{"a": "x"}', '{"a": {"b": 1}}', "[1, [2]]", '{"a": 1e99}', '{"a": 1', "{a: 1}", "[1 2]"]
    )
    def test_what_is_no_dictionary_of_numbers(self, tmp_path, value):
        (tmp_path / "a.jsonl").write_text(f'{{"label": 1, "f": {value}}}\n{{"label": 1, "f": {{"a": 2}}}}\n')
        with pytest.raises(DataError, match=r"a\.jsonl, line 1: "):
            self.features(tmp_path / "a.jsonl", numeric="f")
        stream = open_stream(tmp_path / "a.jsonl", numeric="f", on_bad_line="skip")
        assert stream.to_csr()[0].data.tolist() == [2]

    def test_a_struct_of_text_is_refused_by_name(self):
        rows = pa.table({"label": [1], "f": pa.array([{"a": "x"}])})
        with pytest.raises(DataError, match="column 'f' has type struct<a: string>; a numeric column must"):
            open_stream(rows, numeric="f")

    def test_decimals_are_numbers_where_each_column_is_a_feature(self):
        rows = pa.table({"label": [0, 1], "d": pa.array([Decimal("1.5"), Decimal("-2")])})
        assert open_stream(rows).to_csr()[0].toarray().tolist() == [[1.5], [-2]]

    def test_pairs_of_fixed_size(self):
        kinds = {"ids": pa.list_(pa.int64(), 2), "values": pa.list_(pa.float32(), 2)}
        rows = pa.table({"label": [0, 1], **{name: pa.array([[3, 1], [0, 2]], kind) for name, kind in kinds.items()}})
        assert open_stream(rows).to_csr()[0].toarray().tolist() == [[0, 1, 0, 3], [0, 0, 2, 0]]


class TestLazyFrames:
    def test_rows_come_as_they_are_computed(self, tmp_path):
        pl.DataFrame({"label": [0, 1] * 50, "x": range(100)}).write_parquet(tmp_path / "a.parquet")
        lazy = pl.scan_parquet(tmp_path / "a.parquet").filter(pl.col("x") > 9).with_columns(x=pl.col("x") * 2)
        stream = open_stream(lazy)
        assert stream.to_csr()[0].toarray().ravel().tolist() == list(range(20, 200, 2))
        assert stream.to_csr()[0].shape == (90, 1)  # a second time, too

    def test_a_plan_that_fails(self):
        lazy = pl.LazyFrame({"label": [0], "x": ["a"]}).with_columns(pl.col("x").cast(pl.Int64))
        with pytest.raises(DataError, match="the LazyFrame: "):
            list(open_stream(lazy).batches())


class TestDrift:
    """Thirty daily files, in which columns change."""

    def days(self, folder: Path, **changes) -> list[pa.Table]:
        """Write them; a change is a function of the columns of a day."""
        found = []
        for day in range(30):
            rng = np.random.default_rng(day)
            code, x = rng.integers(0, 4, 50), rng.normal(size=50).round(2)
            columns = {"label": (code > 1).astype(int), "code": pa.array(code), "x": pa.array(x)}
            for change in changes.values():
                columns = change(day, dict(columns))
            found.append(pa.table(columns))
            pa.parquet.write_table(found[-1], folder / f"day-{day:02}.parquet")
        return found

    @staticmethod
    def code_changes(day, columns):
        kind = pa.float64() if 5 <= day < 10 else pa.string() if 10 <= day < 20 else pa.int64()
        return {**columns, "code": columns["code"].cast(kind)}

    @staticmethod
    def x_changes(day, columns):
        return {**columns, "x": columns["x"].cast(pa.string())} if 12 <= day < 15 else columns

    @staticmethod
    def one_appears(day, columns):
        return {**columns, "new": pa.array([1.0] * 50)} if day >= 7 else columns

    def read(self, folder):
        stream = open_stream(folder, categorical="code", numeric="x")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            X, y, _ = stream.to_csr()
            stream.to_csr()
        return X, y, [str(each.message).replace(f"{folder}/", "") for each in told]

    def test_each_change_is_told_once_and_changes_no_row(self, tmp_path):
        (tmp_path / "steady").mkdir()
        (tmp_path / "drifting").mkdir()
        self.days(tmp_path / "steady")
        self.days(tmp_path / "drifting", a=self.code_changes, b=self.x_changes, c=self.one_appears)
        expected, labels, told = self.read(tmp_path / "steady")
        assert told == []
        X, y, told = self.read(tmp_path / "drifting")
        assert (expected != X).nnz == 0
        assert np.array_equal(y, labels)
        alike = "Values that are written alike, such as 3, 3.0 and '3', are the same."
        assert told == [
            f"day-05.parquet: column 'code' holds numbers here, and whole numbers in day-00.parquet. {alike}",
            "day-07.parquet: columns that day-00.parquet does not have are not read: new.",
            f"day-10.parquet: column 'code' holds text here, and whole numbers in day-00.parquet. {alike}",
            f"day-12.parquet: column 'x' holds text here, and numbers in day-00.parquet. {alike}",
        ]

    def test_a_column_that_goes_is_an_error_with_the_file(self, tmp_path):
        def goes(day, columns):
            return {name: each for name, each in columns.items() if name != "x" or day < 25}

        self.days(tmp_path, goes=goes)
        with pytest.raises(DataError, match=r"day-25.parquet: there is no column 'x'; there are label, code"):
            self.read(tmp_path)

    def test_text_that_is_no_number_is_an_error_with_the_file(self, tmp_path):
        def spoils(day, columns):
            return {**columns, "x": pa.array(["?"] * 50)} if day == 3 else columns

        self.days(tmp_path, spoils=spoils)
        why = r"day-03.parquet: column 'x' has type string; a numeric column must hold numbers"
        with pytest.warns(UserWarning, match="column 'x' holds text here"), pytest.raises(DataError, match=why):
            list(open_stream(tmp_path, categorical="code", numeric="x").batches())

    def test_csv_too(self, tmp_path):
        for k, text in enumerate(["label,code\n1,3\n", "code,label,new\n3.0,1,5\n", "label,code,new\n1,x,7\n"]):
            (tmp_path / f"{k}.csv").write_text(text)
        with pytest.warns(UserWarning, match=r"1.csv: columns that .*0.csv does not have are not read: new") as told:
            X, _, _ = open_stream(tmp_path, categorical="code").to_csr()
        assert len(told) == 1
        assert (X[0] != X[1]).nnz == 0
        (tmp_path / "3.csv").write_text("label\n1\n")
        with pytest.warns(match="not read: new"), pytest.raises(DataError, match=r"3.csv: there is no column 'code'"):
            open_stream(tmp_path, categorical="code").to_csr()
