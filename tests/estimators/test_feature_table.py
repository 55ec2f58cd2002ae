"""`feature_table`: what is known of the selected features."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from command_line import thresher
from every import BATCH, every, made
from states import model_of
from strategies import random_problem

from thresher import FOFS, MRMR, PET, SOFS, ShadowSOFS, load, save, stability, train, write_features
from thresher.io.model_files import load_model, save_model


@pytest.fixture(scope="module")
def rows():
    X, y = random_problem(400, 40, 0.3, seed=0)
    X.data[::7] = 0.0  # stored, and no value
    return X, y


def n_rows_of(X, columns):
    return np.bincount(X.indices[X.data != 0], minlength=X.shape[1])[columns]


@every
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns(estimator, n_classes):
    X, y = random_problem(400, 40, 0.3, seed=0, n_classes=n_classes)
    model = made(estimator, 12, norm=None).fit(X, y)
    table = model.feature_table()
    weights = ["weight"] if n_classes == 2 else ["weight_0", "weight_1", "weight_2"]
    counted = ["n_rows"] if estimator in (ShadowSOFS, *BATCH) else []
    assert list(table) == ["name", "column", *weights, "rank", *counted]
    assert table["name"] == model.selected_names_
    np.testing.assert_array_equal(table["column"], model.selected_)
    coef = model.coef_.toarray()
    for c, heading in enumerate(weights):
        np.testing.assert_array_equal(table[heading], coef[c, model.selected_])
    assert (np.diff(table["rank"]) <= 0).all()
    if counted:
        np.testing.assert_array_equal(table["n_rows"], n_rows_of(X, model.selected_))


@pytest.mark.parametrize("estimator", [PET, FOFS])
def test_the_rank_is_what_the_method_compares(estimator, rows):
    model = estimator(8).fit(*rows)
    table = model.feature_table()
    np.testing.assert_allclose(table["rank"], np.abs(table["weight"]), rtol=1e-6)
    table = MRMR(8).fit(*rows).feature_table()
    assert table["rank"].tolist() == [8, 7, 6, 5, 4, 3, 2, 1]


def test_a_frame_where_one_is_set(rows):
    model = ShadowSOFS(8).fit(*rows)
    columns = model.feature_table()
    frame = model.set_output(transform="pandas").feature_table()
    assert isinstance(frame, pd.DataFrame)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(columns))
    assert isinstance(model.set_output(transform="polars").feature_table(), pl.DataFrame)
    assert isinstance(model.set_output(transform="default").feature_table(), dict)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(ShadowSOFS(8).fit(*rows).feature_table(), pd.DataFrame)


class TestRowsOfAFeature:
    def test_are_those_of_training(self, rows):
        X, y = rows
        table = ShadowSOFS(8).fit(X, y).feature_table()
        assert table["n_rows"].tolist() == n_rows_of(X, table["column"]).tolist()

    def test_rows_of_weight_0_do_not_count(self, rows):
        X, y = rows
        weights = np.where(np.arange(400) % 3 == 0, 0.0, 2.0)
        table = ShadowSOFS(8).fit(X, y, sample_weight=weights).feature_table()
        assert table["n_rows"].tolist() == n_rows_of(X[weights > 0], table["column"]).tolist()

    def test_need_a_closing_pass(self, rows):
        assert "n_rows" not in ShadowSOFS(8, refit=False).fit(*rows).feature_table()
        assert "n_rows" not in SOFS(8).fit(*rows).feature_table()
        model = ShadowSOFS(8)
        train(model, rows, passes=1)
        assert "n_rows" not in model.feature_table()
        train(model := ShadowSOFS(8), rows, passes=2)
        assert model.feature_table()["n_rows"].tolist() == n_rows_of(rows[0], model.selected_).tolist()

    def test_are_forgotten_when_more_rows_are_learned(self, rows):
        X, y = rows
        model = ShadowSOFS(8).fit(X, y)
        assert "n_rows" not in model.partial_fit(X[:5], y[:5]).feature_table()

    @pytest.mark.parametrize("estimator", [ShadowSOFS, MRMR])
    def test_are_in_files_and_pickles(self, estimator, rows, tmp_path):
        model = estimator(8).fit(*rows)
        expected = model.feature_table()
        save(model, tmp_path / "full.thresher")
        save_model(model_of(model), tmp_path / "compact.thresher", compact=True)
        for other in (
            load(tmp_path / "full.thresher"), load(tmp_path / "compact.thresher"), pickle.loads(pickle.dumps(model)),
        ):  # fmt: skip
            pd.testing.assert_frame_equal(pd.DataFrame(other.feature_table()), pd.DataFrame(expected))

    def test_that_do_not_fit_the_members_are_refused(self, rows, tmp_path):
        model = ShadowSOFS(8).fit(*rows)
        model_of(model).occurrences = [1, 2]
        save(model, tmp_path / "m.thresher")
        with pytest.raises(ValueError, match="occurrences must have one number per selected feature"):
            load_model(tmp_path / "m.thresher")


class TestFile:
    def test_every_format(self, rows, tmp_path):
        found = stability(ShadowSOFS(8), rows, n=4)
        model = found.model
        expected = pd.DataFrame(model.feature_table())
        assert "frequency" in expected
        assert expected["frequency"].tolist() == [found.frequency[column] for column in model.selected_.tolist()]
        for name, read in (
            ("f.csv", pd.read_csv), ("f.parquet", pd.read_parquet), ("f.csv.gz", pd.read_csv),
            ("f.jsonl", lambda path: pd.read_json(path, lines=True)),
        ):  # fmt: skip
            write_features(model, tmp_path / name)
            found_table = read(tmp_path / name)
            found_table["name"] = found_table["name"].astype(str)
            pd.testing.assert_frame_equal(found_table, expected, check_dtype=False)
        save(model, tmp_path / "m.thresher")
        done = thresher("show", tmp_path / "m.thresher", "-o", tmp_path / "shown.csv")
        assert (done.returncode, done.stdout) == (0, "")
        assert re.search(r"wrote .*shown.csv, [\d,]+ bytes", done.stderr)
        assert (tmp_path / "shown.csv").read_text() == (tmp_path / "f.csv").read_text()

    def test_a_model_without_features_has_a_heading(self, rows, tmp_path):
        X, y = rows
        model = SOFS(8).fit(X * 0, y)
        write_features(model, tmp_path / "f.csv")
        assert (tmp_path / "f.csv").read_text() == "name,column,weight,rank\n"

    @pytest.mark.parametrize(
        ("output", "message"),
        [
            ("m.thresher", "this file is also an input"),
            ("f.txt", "the name must end in .csv or .jsonl"),
            ("", "output: the path is empty"),
            ("none/f.csv", "does not exist"),
        ],
    )
    def test_bad_outputs(self, rows, tmp_path, output, message):
        save(SOFS(8).fit(*rows), tmp_path / "m.thresher")
        before = (tmp_path / "m.thresher").read_bytes()
        done = thresher("show", tmp_path / "m.thresher", "-o", tmp_path / output if output else "")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert message.lower() in done.stderr.lower(), done.stderr
        assert (tmp_path / "m.thresher").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["m.thresher"]
