"""How features are named: one value has one name, whatever holds it, and two features never have the same."""

from __future__ import annotations

import datetime
import decimal
import itertools
import json

import naming_oracles as oracle
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thresher import ShadowSOFS, _core, evaluate, open_stream, train


def names_of(source, **roles) -> list[list[str]]:
    """Return the names of each row's features."""
    roles |= {"scale": False} if roles else {}
    stream = open_stream(source, labelled=False, **roles)
    rows, names = [], {}
    for batch in stream.batches():
        rows += [ids.tolist() for ids in np.split(batch.indices, batch.indptr[1:-1])]
        names |= open_stream(source, labelled=False, **roles).names(batch.indices)
    return [sorted(names[id_] for id_ in row) for row in rows]


def in_every_format(tmp_path, values) -> dict[str, object]:
    """Return sources with the values as a column `c`."""
    frame = pd.DataFrame({"c": values})
    parquet, text, lines = tmp_path / "a.parquet", tmp_path / "a.csv", tmp_path / "a.jsonl"
    frame.to_parquet(parquet)
    frame.to_csv(text, index=False)
    lines.write_text("".join(json.dumps({"c": value}, default=str) + "\n" for value in values))
    return {"pandas": frame, "parquet": parquet, "csv": text, "json": lines}


class TestCategoriesByValue:
    @pytest.mark.parametrize(
        "values",
        [[35, 0, -2], [35.0, 0.0, -2.0], ["35", "0", "-2"], ["35.0", "0.0", "-2.00"], [35.0, -0.0, -2.0]],
    )
    def test_whole_numbers(self, tmp_path, values):
        for name, source in in_every_format(tmp_path, values).items():
            assert names_of(source, categorical="c") == [["c=35"], ["c=0"], ["c=-2"]], name

    def test_one_missing_value_changes_no_other(self, tmp_path):
        for name, source in in_every_format(tmp_path, [35, None, 7]).items():
            assert names_of(source, categorical="c") == [["c=35"], [], ["c=7"]], name

    @pytest.mark.parametrize(
        "value", ["007", "007.0", "1.10", "1.", ".0", "-", "1.0.0", "3.0x", "1e3", "0x10", "1_000.0"]
    )
    def test_other_strings_are_what_they_are(self, tmp_path, value):
        for name, source in in_every_format(tmp_path, [value, "x"]).items():
            assert names_of(source, categorical="c") == [[f"c={value}"], ["c=x"]], name

    def test_numbers_of_every_type(self):
        for array in (
            pa.array([35], pa.int8()), pa.array([35], pa.uint64()), pa.array([35.0], pa.float32()), pa.array([35.0]),
            pa.array([decimal.Decimal("35.00")]), pa.array([decimal.Decimal(35)], pa.decimal256(50, 0)),
            pa.array(["35.0"]).dictionary_encode(), pa.array([[35.0]]),
        ):  # fmt: skip
            assert names_of(pa.table({"c": array}), categorical="c") == [["c=35"]], array.type
        for array in (
            pa.array([0.5]),
            pa.array([0.5], pa.float32()),
            pa.array(np.array([0.5], np.float16)),
            pa.array([decimal.Decimal("0.500")]),
        ):
            assert names_of(pa.table({"c": array}), categorical="c") == [["c=0.5"]], array.type
        large = pa.table({"c": pa.array([2**63 + 1, 2**60 + 1], pa.uint64())})
        assert names_of(large, categorical="c") == [[f"c={2**63 + 1}"], [f"c={2**60 + 1}"]]

    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("3.5e1", "35"),
            ("35.00", "35"),
            ("-0.0", "0"),
            ("0.50", "0.5"),
            ("1e-7", "1e-7"),
            ("true", "true"),
            ("9007199254740994.0", "9007199254740994"),
            ("9007199254740994", "9007199254740994"),
        ],
    )
    def test_numbers_of_json(self, tmp_path, written, value):
        path = tmp_path / "a.jsonl"
        path.write_text(f'{{"c": {written}}}\n')
        assert names_of(path, categorical="c") == [[f"c={value}"]]

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    @pytest.mark.parametrize("zone", ["UTC", "+00:00", "Europe/Paris", "America/New_York"])
    def test_an_instant_in_any_unit_and_zone(self, unit, zone):
        instant = datetime.datetime(2024, 2, 29, 3, 4, 5, tzinfo=datetime.UTC)
        table = pa.table({"c": pa.array([instant], pa.timestamp(unit, zone))})
        assert names_of(table, categorical="c") == [["c=2024-02-29 03:04:05Z"]]
        naive = pa.table({"c": pa.array([instant.replace(tzinfo=None)], pa.timestamp(unit))})
        assert names_of(naive, categorical="c") == [["c=2024-02-29 03:04:05"]]

    @pytest.mark.parametrize(
        ("same", "name"),
        [
            (["2024-02-29 03:04:05Z", "2024-02-29T03:04:05.000Z", "2024-02-29 03:04:05+00:00", "2024-02-29 03:04:05+00",
              "2024-02-28 22:04:05-0500", "2024-02-29 08:34:05 +05:30", "2024-02-29 03:04:05 UTC"],
             "2024-02-29 03:04:05Z"),
            (["2024-02-29 03:04:05", "2024-02-29T03:04:05.000000"], "2024-02-29 03:04:05"),
            (["2024-02-29 03:04:05.25", "2024-02-29 03:04:05.250000"], "2024-02-29 03:04:05.25"),
            (["2024-02-29", "2024-02-29 00:00:00", "2024-02-29T00:00"], "2024-02-29"),
            (["03:04:05", "03:04:05.000"], "03:04:05"),
        ],
    )  # fmt: skip
    def test_spellings_of_a_time(self, same, name):
        assert {_core.category_value(each) for each in same} == {name}

    @pytest.mark.parametrize(
        "text",
        ["2023-02-29 03:04:05", "2024-13-01 00:00:00", "2024-02-29 24:00:00", "2024-02-29 03:04:05+25:00",
         "2024-02-29 03:04:05 CET", "2024-02-29 03:04:05.", "2024-02-29x03:04:05", "9999-12-31 23:00:00-05:00",
         "12:34:56:78.0", "2024-02-29 03:04:05ZZ"],
    )  # fmt: skip
    def test_no_time(self, text):
        assert _core.category_value(text) == text

    @given(st.datetimes(), st.timedeltas(datetime.timedelta(hours=-20), datetime.timedelta(hours=20)))
    def test_any_instant(self, moment, ahead):
        zone = datetime.timezone(datetime.timedelta(minutes=ahead // datetime.timedelta(minutes=1)))
        try:
            elsewhere = moment.replace(tzinfo=datetime.UTC).astimezone(zone)
        except OverflowError:  # before the year 1 or after 9999
            return
        there, here = (
            _core.category_value(each.isoformat()) for each in (elsewhere, moment.replace(tzinfo=datetime.UTC))
        )
        assert there == here
        expected = moment.isoformat(" ")
        assert here == (expected.rstrip("0") if "." in expected else expected) + "Z"

    def test_a_model_survives_the_change_of_a_type(self, tmp_path):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 50, 2_000)
        frame = pd.DataFrame({"label": (codes < 20) * 1, "app": codes})
        frame.to_csv(tmp_path / "train.csv", index=False)
        frame["app"] = frame["app"].where(frame.index != 3)
        frame.to_csv(tmp_path / "test.csv", index=False)
        model = ShadowSOFS(50)
        train(model, open_stream(tmp_path / "train.csv", categorical="app"))
        assert (tmp_path / "test.csv").read_text().splitlines()[1].endswith(".0")
        assert evaluate(model, tmp_path / "test.csv").roc_auc > 0.99


LETTERS = st.text("ab=^\\", min_size=1, max_size=4)


class TestNoTwoFeaturesHaveOneName:
    @given(st.lists(LETTERS, min_size=2, max_size=2, unique=True), st.tuples(LETTERS, LETTERS))
    @example(["a", "a=b"], ("b=c", "c"))
    @example(["a=b", "a"], ("c", "b"))
    def test_of_tables(self, columns, values):
        """Of any two columns, whatever their roles and values are."""
        for roles in itertools.product(["text", "categorical", "numeric"], repeat=2):
            by_role = {role: [name for name, its in zip(columns, roles, strict=True) if its == role] for role in roles}
            cells = [1.5 if role == "numeric" else value for role, value in zip(roles, values, strict=True)]
            (names,) = names_of(pa.table({name: [cell] for name, cell in zip(columns, cells, strict=True)}), **by_role)
            n_features = [
                len(set(oracle.words(c))) if role == "text" else 1 for c, role in zip(cells, roles, strict=True)
            ]
            assert len(set(names)) == sum(n_features)

    @pytest.mark.parametrize(
        ("row", "roles", "names"),
        [
            ({"a": "b=c", "a=b": "c"}, {"categorical": ["a", "a=b"]}, ["a=b=c", r"a\=b=c"]),
            ({"a=b": 1.5, "a": "b"}, {"numeric": "a=b", "categorical": "a"}, ["a=b", r"a\=b"]),
            ({"t^free": 1.5, "t": "free", "free": 2.5}, {"numeric": ["t^free", "free"], "text": "t"},
             ["free", r"t\^free", "t^free"]),
            ({"a\\": "b", "a": "\\=b"}, {"categorical": ["a\\", "a"]}, [r"a=\=b", r"a\\=b"]),
        ],
    )  # fmt: skip
    def test_examples(self, tmp_path, row, roles, names):
        path = tmp_path / "a.jsonl"
        path.write_text(json.dumps(row) + "\n")
        assert names_of(path, **roles) == [sorted(names)]
        assert names_of(pa.table({name: [value] for name, value in row.items()}), **roles) == [sorted(names)]

    @given(st.lists(st.tuples(st.text("ab=^\\", max_size=3), LETTERS), min_size=2, max_size=2, unique=True))
    @example([("a", "b^c"), ("a^b", "c")])
    @example([("", "a^b"), ("a", "b")])
    def test_of_vw_text(self, features):
        one, other = (oracle.vw_name(*each) for each in features)
        assert one != other
        line = "1 " + " ".join(f"|{space} {name}" for space, name in features)
        rows = _core.read_text("vw", f"{line}\n".encode(), True, False, "required", "strings")
        assert sorted(rows.indices.tolist()) == sorted(map(oracle.name_id, (one, other)))

    def test_vw_text_has_the_names_of_tables(self, tmp_path):
        (tmp_path / "a.vw").write_text("1 |t free | site=a=b a^b:1.5 a^c=d^e\n")
        table = pa.table({"t": ["free"], "u": [""], "site": ["a=b"], "a^b": [1.5], "a^c": ["d^e"]})
        roles = {"text": ["t", "u"], "categorical": ["site", "a^c"], "numeric": "a^b"}
        assert names_of(tmp_path / "a.vw") == names_of(table, **roles)
