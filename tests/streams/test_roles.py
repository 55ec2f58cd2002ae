"""What columns are for, by their first rows; the scales of numbers; crosses. A model keeps all of it."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command_line import thresher
from real_data import path_of
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from thresher import MRMR, ShadowSOFS, distributed, evaluate, load, open_stream, save, train
from thresher.features import ColumnHasher
from thresher.streams import DataError

N = 400


def some_table(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "row": np.arange(N),
            "label": rng.integers(0, 2, N),
            "amount": rng.normal(1000, 300, N).round(2),
            "age": rng.integers(18, 90, N),
            "rooms": rng.integers(1, 5, N),
            "flag": rng.integers(0, 2, N),
            "zip": rng.integers(10_000, 99_999, N),
            "site": rng.choice(["a.com", "b.org"], N),
            "title": [" ".join(rng.choice(["free", "lunch", "money", "see", "you"], 6)) for _ in range(N)],
            "ticket": [f"T{k}" for k in range(N)],
            "same": 7,
            "income": np.where(rng.random(N) < 0.2, np.nan, rng.normal(0, 2, N).round(3)),
        }
    )


ROLES = {
    "row": "left out", "amount": "numeric", "age": "numeric", "rooms": "categorical", "flag": "numeric",
    "zip": "categorical", "site": "categorical", "title": "text", "ticket": "left out", "same": "left out",
    "income": "numeric",
}  # fmt: skip


def written(table, tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        table.to_csv(path, index=False)
    elif kind == "parquet":
        table.to_parquet(path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, (content := pa.Table.from_pandas(table)).schema) as file:
            file.write_table(content)
    else:
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
        path.write_text("".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows))
    return path


def columns_of(stream, *names):
    """Return the values of features, row by row, by name."""
    (batch,) = stream.batches()
    row_of = np.repeat(np.arange(batch.n_rows), np.diff(batch.indptr))
    found = {}
    for name, id_ in zip(names, stream.naming.ids_of(list(names)).tolist(), strict=True):
        found[name] = np.zeros(batch.n_rows, np.float32)
        found[name][row_of[batch.indices == id_]] = batch.data[batch.indices == id_]
    return found


def trained(stream):
    model = ShadowSOFS(30)
    train(model, stream)
    return sorted(model.selected_names_), sorted(model.coef_.data.tolist())


class TestDecisions:
    def test_the_same_table_in_any_form(self, tmp_path):
        """Their types differ: a CSV has none, and pandas writes whole numbers beside missing ones as floats."""
        table = some_table()
        forms = [written(table, tmp_path, kind) for kind in ("csv", "parquet", "arrow", "jsonl")]
        forms += [table, pl.from_pandas(table), pa.Table.from_pandas(table)]
        found = []
        for form in forms:
            stream = open_stream(form, roles="auto")
            assert stream.roles.to_dict() == ROLES
            assert stream.naming.missing == ("income",)
            found.append((stream.naming.scales, trained(stream)))
        assert all(each == found[0] for each in found)
        stream = open_stream(pa.Table.from_pandas(table).to_reader(), roles="auto")
        assert (stream.roles.to_dict(), stream.naming.scales) == (ROLES, found[0][0])
        assert sum(batch.n_rows for batch in stream.batches()) == N

    def test_a_hasher_decides_the_same(self):
        table = some_table().drop(columns="label")
        with pytest.warns(UserWarning, match="left out 'row'"):
            hasher = ColumnHasher().fit(table)
        assert hasher.roles_.to_dict() == ROLES
        stream = open_stream(table.assign(label=1), roles="auto")
        assert (hasher.transform(table) != stream.to_csr()[0]).nnz == 0

    @pytest.mark.parametrize(
        ("name", "values", "role"),
        [
            ("n", [1.5, 2.5] * 50, "numeric"),
            ("n", [0, 1] * 50, "numeric"),
            ("n", [1, 2] * 50, "categorical"),
            ("n", [-1, 2, 3] * 50, "categorical"),
            ("n", list(range(25)) * 4, "numeric"),  # too few rows for so many values
            ("n", list(range(50)) * 20, "categorical"),
            ("n", list(range(51)) * 20, "numeric"),
            ("user_id", [3, 4, 7, 3] * 5, "categorical"),
            ("userId", [3, 4, 7, 3] * 5, "categorical"),
            ("id_2", [3, 4, 7, 3] * 5, "categorical"),
            ("user_id", [-3, 4, 7, 3] * 4, "numeric"),
            ("paid", [3, 4, 7, 3] * 4, "numeric"),
            ("n", [k * 7919 % 100_003 for k in range(1, 101)] * 3, "categorical"),  # far apart, as codes are
            ("n", [k * 7919 % 10_003 * 1000 for k in range(100)] * 3, "numeric"),  # round
            ("n", [0] * 300 + [k * 7919 % 100_003 for k in range(100)] * 2, "numeric"),  # mostly 0
            ("n", list(range(100, 120)), "left out"),
            ("n", [1, 2, 3], "numeric"),  # so few rows say little
            ("n", [*np.random.default_rng(0).permutation(50).tolist()], "left out"),
            ("n", [k * 319_993 % 1_000_003 for k in range(50)], "numeric"),  # as measured values differ, too
            ("code", [k * 7919 % 1_000_003 for k in range(1, 50)], "left out"),
            ("n", [None] * 30, "left out"),
            ("n", [5] * 30, "left out"),
            ("n", [5, None] * 30, "categorical"),
            ("s", ["x", "y"] * 30, "categorical"),
            ("s", [f"s{k}" for k in range(30)], "left out"),
            ("s", [f"s{k}" for k in range(10)], "categorical"),
            ("s", [f"a title of {k} words" for k in range(30)], "text"),
            ("s", [f"the title number {k}" for k in range(30)], "text"),
            ("s", ["United States of America"] * 20 + ["Trinidad and Tobago"] * 20, "categorical"),
            ("b", [True, False] * 9, "categorical"),
            ("d", [datetime.date(2024, 1, 1 + k % 9) for k in range(40)], "categorical"),
            ("l", [["a", "b"], ["c"]] * 9, "categorical"),
            ("l", [[0.1, 0.2], [0.4]] * 9, "numeric"),
            ("l", [[1, 2], [4]] * 9, "categorical"),
            ("m", [{"a": 0.5}, {"a": 2.5}] * 9, "numeric"),
            ("m", [{"a": "x"}, {"a": "y"}] * 9, "left out"),
        ],
    )  # fmt: skip
    def test_columns(self, name, values, role):
        table = pa.table({name: values, "label": [0] * len(values), "other": ["x", "y", *"z" * (len(values) - 2)]})
        assert open_stream(table, roles="auto").roles.to_dict() == {name: role, "other": "categorical"}

    def test_a_dictionary_is_a_category(self):
        codes = pa.array(list(range(100, 130))).dictionary_encode()
        stream = open_stream(pa.table({"n": codes, "label": [0] * 30}), roles="auto", categorical="n")
        assert stream.roles.to_dict() == {"n": "categorical"}
        table = pa.table({"n": pa.array([1.5, 2.5] * 20).dictionary_encode(), "label": [0] * 40})
        assert open_stream(table, roles="auto").roles.to_dict() == {"n": "categorical"}

    def test_many_columns_of_few_values_are_counts(self):
        rng = np.random.default_rng(0)
        for n_columns, role in ((100, "categorical"), (101, "numeric")):
            table = pd.DataFrame(rng.integers(0, 5, (200, n_columns)), columns=[f"w{k}" for k in range(n_columns)])
            assert {*open_stream(table.assign(label=0), roles="auto").roles.to_dict().values()} == {role}

    def test_later_rows_change_nothing(self, tmp_path):
        """The first 10,000 rows decide, also if they are those of two files."""
        first = pd.DataFrame({"label": [0, 1] * 3000, "n": np.tile([1.0, 3.0], 3000), "s": ["x", "y"] * 3000})
        second = first.assign(n=5.0).iloc[:4000]
        later = pd.DataFrame({"label": [0] * 50, "n": [1e6] * 50, "s": [f"word {k} of a long text" for k in range(50)]})
        for name, part in (("a", first), ("b", second), ("c", later)):
            part.to_csv(tmp_path / f"{name}.csv", index=False)
        naming = open_stream(tmp_path, roles="auto").naming
        numbers = pd.concat([first, second])["n"].to_numpy()
        assert naming.categorical == ("n", "s")  # three whole numbers
        scaled = open_stream(tmp_path, roles="auto", numeric="n").naming.scale_of["n"]
        assert scaled == pytest.approx((numbers.mean(), numbers.std()))

    def test_pairs_of_ids_and_values_stay_what_they_are(self):
        table = pa.table({"label": [1, 0], "ids": [[1, 5], [2]], "values": [[1.0, 2.0], [0.5]]})
        assert open_stream(table, roles="auto").naming is None

    def test_it_is_of_no_use_elsewhere(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 3:1\n-1 4:1\n")
        stream = open_stream(tmp_path / "a.svm", roles="auto")
        assert stream.roles is None
        assert stream.to_csr()[0].nnz == 2


class TestChanges:
    def test_named_columns_are_not_decided(self):
        stream = open_stream(
            some_table(), roles="auto", ignore="t*", categorical=["a*", "same"], numeric="age", text="site"
        )
        assert stream.naming.categorical == ("amount", "rooms", "zip", "same")  # age is named itself
        assert (stream.naming.text, stream.naming.numeric) == (("site",), ("age", "flag", "income"))
        assert not {"title", "ticket"} & stream.roles.to_dict().keys()

    def test_without_auto_only_what_is_named_is_read(self):
        stream = open_stream(some_table(), categorical=["si*", "zip"], numeric="a*")
        assert stream.naming.columns == [
            ("site", "category"),
            ("zip", "category"),
            ("amount", "number"),
            ("age", "number"),
        ]
        assert stream.roles is None

    def test_patterns_where_columns_have_no_roles(self):
        table = some_table().drop(columns=["site", "title", "ticket", "income"])
        stream = open_stream(table, ignore=["a*", "same"])
        assert (stream.feature_names, stream.naming) == (["row", "rooms", "flag", "zip"], None)

    def test_how_text_is_read(self):
        naming = open_stream(some_table(), roles="auto", ngrams=2, counts=True).naming
        assert (naming.text, naming.ngrams, naming.counts) == (("title",), (2, 2), True)
        with pytest.raises(ValueError, match="ngrams=2 needs text=, since it says how text is read"):
            open_stream(some_table(), roles="auto", ngrams=2, ignore="title")

    def test_a_label_of_a_hasher_is_a_column_like_others(self):
        frame = pd.DataFrame({"label": [*"xy"] * 20, "n": [1.5, 2.5] * 20})
        assert ColumnHasher().fit(frame).feature_names_in_.tolist() == ["label", "n"]

    def test_more_columns_than_names_can_have(self):
        wide = pa.table({"label": [0, 1], **dict.fromkeys((f"c{k}" for k in range(65_534)), pa.array([0.5, 1.5]))})
        stream = open_stream(wide, roles="auto")
        assert (stream.naming, len(stream.feature_names)) == (None, 65_534)

    def test_a_column_that_is_called_like_a_pattern(self):
        table = some_table().rename(columns={"site": "a*"})
        assert open_stream(table, categorical="a*").naming.categorical == ("a*",)

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"categorical": "q*"}, r"no column fits the pattern 'q\*'; there are row, label"),
            ({"ignore": ["q*"]}, r"no column fits the pattern 'q\*' to ignore"),
            ({"categorical": "a*", "text": "*m*t"}, "column 'amount' can't be both text and categorical: give it one"),
            ({"crosses": ["sites,zip"]}, "crosses='sites,zip': column 'sites' is not among the features.*'site'"),
            ({"crosses": ["site,row"]}, "column 'row' is not among the features"),
            ({"label": "lable", "ignore": "none", "text": ["title", "tile"]},
             r"3 problems: \(1\) there is no column 'lable'.*\(2\) .*'none' to ignore.*\(3\) .*no column 'tile'"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_all_problems_are_listed(self, tmp_path, kind, options, why):
        path = written(some_table(), tmp_path, kind)
        with pytest.raises(DataError, match=why):
            open_stream(path, roles="auto", **options)

    def test_problems_with_types_too(self):
        with pytest.raises(DataError, match=r"2 problems: \(1\) there is no column 'b'.* \(2\) column 'site' has type"):
            open_stream(pa.Table.from_pandas(some_table()), numeric=["site", "b"])

    @pytest.mark.parametrize("crosses", ["a", ["a,b,c"], [("a", "a")]])
    def test_what_is_no_cross(self, crosses):
        with pytest.raises(ValueError, match="crosses must be pairs of two columns, such as 'app,channel'"):
            open_stream(some_table(), roles="auto", crosses=crosses)

    def test_nothing_is_left(self):
        with pytest.raises(DataError, match="no column is left for the features"):
            open_stream(some_table()[["label", "row", "same"]], roles="auto")


class TestScales:
    def test_numbers_are_standardised(self):
        table = some_table()
        stream = open_stream(table, numeric=["amount", "age", "flag", "income"])
        found = columns_of(stream, "amount", "age", "flag", "income", "income=missing")
        for name in ("amount", "age"):
            expected = (table[name] - table[name].mean()) / table[name].std(ddof=0)
            np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-6)
        assert found["flag"].tolist() == table["flag"].tolist()  # 0 and 1 stay
        missing = table["income"].isna().to_numpy()
        assert found["income=missing"].tolist() == missing.tolist()
        assert not found["income"][missing].any()

    def test_few_missing_numbers_have_no_feature(self):
        numbers = np.arange(1000.0)
        for n_missing, names in ((10, ()), (11, ("n",))):
            numbers[:n_missing] = np.nan
            assert open_stream(pd.DataFrame({"label": 0, "n": numbers}), numeric="n").naming.missing == names

    def test_without_scaling_numbers_are_as_they_are(self):
        table = some_table()
        stream = open_stream(table, roles="auto", numeric="amount", scale=False)
        assert columns_of(stream, "amount")["amount"].tolist() == table["amount"].astype(np.float32).tolist()
        assert (stream.naming.scales, stream.naming.missing) == ((), ())

    @pytest.mark.parametrize("values", [[0.1] * 50, [1e-200, 2e-200] * 25, [float("nan")] * 50, [1e38, -1e38] * 25])
    def test_numbers_without_a_deviation(self, values):
        stream = open_stream(pd.DataFrame({"label": [0, 1] * 25, "n": values, "m": [1, 2.5] * 25}), numeric=["n", "m"])
        X = stream.to_csr()[0]
        assert np.isfinite(X.data).all()
        assert np.abs(X.data).max() <= 1.0

    def test_a_model_keeps_them(self, tmp_path):
        """Whatever is read with a model is scaled by its numbers, not by its own."""
        table, model = some_table(), ShadowSOFS(20)
        stream = open_stream(table, roles="auto", crosses=["site,zip"])
        train(model, stream)
        save(model, tmp_path / "m.thresher")
        other = some_table(seed=1).iloc[:5].assign(amount=lambda rows: rows["amount"] * 100)
        path = tmp_path / "b.csv"
        other.to_csv(path, index=False)
        expected = model.decision_function(open_stream(other, naming=stream.naming))
        for each in (model, load(tmp_path / "m.thresher")):
            assert each.decision_function(path).tolist() == expected.tolist()
            assert each.decision_function(other).tolist() == expected.tolist()
        one_by_one = [float(model.decision_function(other.iloc[k : k + 1])[0]) for k in range(5)]
        assert one_by_one == expected.tolist()
        with pytest.raises(DataError, match="its numbers are scaled by other means and deviations"):
            evaluate(model, open_stream(other, roles="auto", ignore=["row", "same", "ticket"], crosses=["site,zip"],
                                        text="title", numeric=["amount", "age", "flag", "income"],
                                        categorical=["rooms", "zip", "site"]))  # fmt: skip

    def test_shards_have_the_scales_of_the_whole(self, tmp_path):
        path = written(some_table(), tmp_path, "csv")
        stream = open_stream(path, roles="auto")
        parts = [stream.shard(k, 3).to_csr()[0] for k in range(3)]
        whole = stream.to_csr()[0]
        assert sum(part.shape[0] for part in parts) == N
        assert np.concatenate([part.data for part in parts]).tolist() == whole.data.tolist()
        model = ShadowSOFS(20)
        distributed.train(model, stream, n_shards=2, syncs=2, engine="local", workers=1)
        assert model._fitted_model().naming == stream.naming


class TestCrosses:
    def test_are_the_products_of_their_columns(self):
        table = pd.DataFrame(
            {"label": [0, 1, 0], "app": [3, 3, None], "channel": ["5", "6", "6"], "n": [2.0, 0.0, 4.0],
             "text": ["free money free", "", "lunch"]}
        )  # fmt: skip
        stream = open_stream(
            table, categorical=["app", "channel"], numeric="n", text="text", scale=False,
            crosses=["app,channel", ("n", "app"), ("text", "n")],
        )  # fmt: skip
        (batch,) = stream.batches()
        names = stream.names(batch.indices)
        rows = [
            {names[id_]: value for id_, value in zip(ids, values, strict=True)}
            for ids, values in (
                (batch.indices[a:b].tolist(), batch.data[a:b].tolist())
                for a, b in zip(batch.indptr[:-1], batch.indptr[1:], strict=True)
            )
        ]
        assert rows == [
            {"app=3": 1, "channel=5": 1, "app=3 & channel=5": 1, "n": 2, "n & app=3": 2, "free": 1, "money": 1,
             "free & n": 2, "money & n": 2},
            {"app=3": 1, "channel=6": 1, "app=3 & channel=6": 1},
            {"channel=6": 1, "n": 4, "lunch": 1, "lunch & n": 4},
        ]  # fmt: skip
        assert stream.naming.ids_of(["app=3 & channel=5"])[0] in batch.indices

    def test_find_what_no_column_knows_alone(self):
        rng = np.random.default_rng(0)
        one, other = rng.choice([*"abcd"], 2000), rng.choice([*"abcd"], 2000)
        table = pd.DataFrame({"label": (one == other).astype(int), "one": one, "other": other})
        alone, crossed = ShadowSOFS(20), ShadowSOFS(20)
        train(alone, open_stream(table, roles="auto"))
        train(crossed, open_stream(table, roles="auto", crosses=["one,other"]))
        assert alone.score(table) < 0.8
        assert crossed.score(table) == 1.0
        assert "one=a & other=a" in crossed.selected_names_

    def test_missing_numbers_and_scaled_ones(self):
        table = pd.DataFrame({"label": [0, 1] * 50, "n": [1.0, np.nan, 3.0, 2.0] * 25, "s": [*"xxyy"] * 25})
        stream = open_stream(table, numeric="n", categorical="s", crosses=["n,s"])
        names = ("n", "n=missing", "n & s=x", "n & s=y", "n=missing & s=x")
        found = {name: values[:4].tolist() for name, values in columns_of(stream, *names).items()}
        low, high = found["n"][0], found["n"][2]
        assert low == -high < 0
        assert found == {"n": [low, 0, high, 0], "n=missing": [0, 1, 0, 0], "n & s=x": [low, 0, 0, 0],
                         "n & s=y": [0, 0, high, 0], "n=missing & s=x": [0, 1, 0, 0]}  # fmt: skip


class TestCommandLine:
    def test_prints_and_keeps_what_was_decided(self, tmp_path):
        path, model = written(some_table(), tmp_path, "csv"), tmp_path / "m.thresher"
        done = thresher("train", path, "-k", 20, "-o", model, "--cross", "site,zip", "--ignore", "flag")
        assert done.returncode == 0, done.stderr
        lines = [line.split("  ") for line in done.stdout.splitlines()]
        shown = {line[0]: [word.strip() for word in line[1:] if word.strip()] for line in lines if len(line) > 2}
        assert shown["amount"] == ["numbers", "numeric", str(some_table()["amount"][0])]
        assert shown["row"] == ["whole numbers", "left out: different in every row", "0"]
        assert "flag" not in shown
        as_json = json.loads(thresher("train", path, "-k", 20, "--json").stdout)
        assert as_json["roles"] == ROLES
        about = json.loads(thresher("show", model, "--json").stdout)
        assert about["crosses"] == ["site,zip"]
        assert about["missing"] == ["income"]
        assert about["scale"]["amount"]["mean"] == pytest.approx(some_table()["amount"].mean())

    def test_test_data_and_more_training_are_read_alike(self, tmp_path):
        path, other, model = written(some_table(), tmp_path, "csv"), tmp_path / "b.csv", tmp_path / "m.thresher"
        some_table(1).assign(amount=5.0).to_csv(other, index=False)
        train_ = ("train", path, "-k", 20, "-o", model, "--full", "--categorical", "ag*", "--test", other, "--json")
        tested = json.loads(thresher(*train_).stdout)["test"]["accuracy"]
        assert json.loads(thresher("evaluate", model, other, "--json").stdout)["accuracy"] == tested
        done = thresher("train", other, "--from", model, "-o", tmp_path / "n.thresher")
        assert done.returncode == 0, done.stderr
        one, two = (load(each)._fitted_model().naming for each in (model, tmp_path / "n.thresher"))
        assert one == two

    def test_a_run_that_is_resumed_decides_nothing(self, tmp_path):
        path, run = written(some_table(), tmp_path, "csv"), tmp_path / "run.ckpt"
        command = ("train", path, "-k", 20, "--checkpoint", run, "--resume", "--every", 100)
        assert thresher(*command, "-o", tmp_path / "one").returncode == 0
        done = thresher(*command, "-o", tmp_path / "two")
        assert done.returncode == 0, done.stderr
        assert "left out" not in done.stdout
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

    def test_given_roles_alone(self, tmp_path):
        path = written(some_table(), tmp_path, "csv")
        done = thresher("train", path, "--roles", "given", "--categorical", "site", "-k", 5, "-o", tmp_path / "m")
        assert done.returncode == 0, done.stderr
        assert {*load(tmp_path / "m").selected_names_} == {"site=a.com", "site=b.org"}
        done = thresher("train", path, "--roles", "given", "-o", tmp_path / "n")
        assert done.returncode == 2
        assert "features must be numbers" in done.stderr

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            (["--cross", "site"], "--cross must be pairs of two columns"),
            (["--cross", "site,x"], "--cross site,x: column 'x' is not among the features"),
            (["--numeric", "a*,b*", "--ignore", "y"], "2 problems: (1) there is no column 'y' to ignore"),
            (["--numeric", "site", "--categorical", "site"], "column 'site' can't be both categorical and numeric"),
        ],
    )
    def test_mistakes_are_one_line(self, tmp_path, options, why):
        path = written(some_table(), tmp_path, "csv")
        done = thresher("train", path, "-o", tmp_path / "m", *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "m").exists()


class TestRealTables:
    def test_adult(self):
        """One-hot categories and scaled numbers in a logistic regression of scikit-learn have 0.849."""
        adult = pd.read_csv(path_of("adult.csv.xz"))
        X, y = adult.drop(columns="income"), adult["income"]
        scores = cross_val_score(make_pipeline(ColumnHasher(), ShadowSOFS(60)), X, y, cv=5)
        assert scores.mean() >= 0.845

    def test_codes_are_found(self):
        for name, label in (("talkingdata.csv.xz", "is_attributed"), ("amazon_access.csv.xz", "ACTION")):
            stream = open_stream(
                path_of(name), label=label, roles="auto", ignore=["attributed_*"] if label[0] == "i" else []
            )
            assert {*stream.roles.to_dict().values()} == {"categorical"}

    def test_mercari(self):
        roles = open_stream(path_of("mercari.parquet"), label="price", roles="auto").roles.to_dict()
        assert roles == {
            "train_id": "left out", "name": "text", "item_condition_id": "categorical", "category_name": "categorical",
            "brand_name": "categorical", "shipping": "numeric", "item_description": "text",
            "__index_level_0__": "left out",
        }  # fmt: skip


class TestMatrices:
    """They are taken as they are, with a word on scales that differ widely."""

    @pytest.mark.parametrize("as_frame", [False, True])
    @pytest.mark.parametrize("method", [ShadowSOFS, MRMR])
    def test_a_column_that_leaves_nothing_of_the_others(self, method, as_frame):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(200, 4)), [0, 1] * 100
        X[:, 2] *= 1e4
        frame = pd.DataFrame(X, columns=[*"abcd"]) if as_frame else X
        with pytest.warns(
            UserWarning, match=f"X: column {chr(39) + 'c' + chr(39) if as_frame else 2} has more than 99%"
        ):
            method(2).fit(frame, y)
        method(2).fit(frame / X.std(axis=0), y)  # warnings are errors here

    def test_rows_that_are_not_scaled(self):
        ShadowSOFS(2, norm=None).fit(np.array([[1e4, 1.0], [2e4, 3.0]] * 20), [0, 1] * 20)
