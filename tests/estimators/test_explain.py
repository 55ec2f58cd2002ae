"""`explain`: what the features of a row add to its score."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from command_line import thresher
from every import every, made
from hypothesis import given
from hypothesis import strategies as st
from states import model_of
from strategies import random_problem

from thresher import FOFS, MRMR, OGD, PET, SOFS, ShadowSOFS, convert, load, open_stream, save, train, write_predictions
from thresher.model.names import MemberNames
from thresher.streams import DataError


def total(lanes):
    """The tree in which the sums of 16 lanes are added (docs/explaining.md)."""
    of_8 = [lanes[k] + lanes[k + 8] for k in range(8)]
    of_4 = [of_8[k] + of_8[k + 4] for k in range(4)]
    return (of_4[0] + of_4[2]) + (of_4[1] + of_4[3])


def added_up(estimator, row, columns, selected):
    """The sum of a row's parts, in the order of docs/explaining.md; `columns` are those of its values, ascending."""
    parts = {int(name): part for name, part in row[:-1]}
    intercept = row[-1][1]
    if estimator is ShadowSOFS:
        columns = [column for column in columns if column in selected]
    lanes = [0.0] * 16
    for place, column in enumerate(columns):
        lanes[place % 16] += parts.get(column, 0.0)
    if estimator in (PET, FOFS, OGD):
        return total(lanes) + intercept
    lanes[len(columns) % 16] += intercept
    return total(lanes)


@every
@given(
    seed=st.integers(0, 2**31), n_classes=st.sampled_from([2, 3]), norm=st.sampled_from(["l2", None]),
    fit_intercept=st.booleans(), budget=st.integers(1, 40),
)  # fmt: skip
def test_parts_add_up_to_the_score(estimator, seed, n_classes, norm, fit_intercept, budget):
    X, y = random_problem(60, 40, 0.6, seed=seed, n_classes=n_classes)
    model = made(estimator, budget, norm=norm, fit_intercept=fit_intercept).fit(X[:40], y[:40])
    scores = model.decision_function(X).reshape(60, -1)
    selected, rows = set(model.selected_.tolist()), model.explain(X, n=None)
    assert len(rows) == 60
    for r, row in enumerate(rows):
        columns = X.indices[X.indptr[r] : X.indptr[r + 1]].tolist()
        assert {name for name, _ in row[:-1]} == {str(column) for column in columns if column in selected}
        sizes = [abs(part) for _, part in row[:-1]]
        assert sizes == sorted(sizes, reverse=True)
        assert row[-1][0] == "intercept"
        found = added_up(estimator, row, columns, selected)
        if estimator is FOFS:  # the factor of its weights is multiplied in after adding
            np.testing.assert_allclose(
                found, scores[r].max() if n_classes > 2 else scores[r, 0], rtol=1e-13, atol=1e-14
            )
        else:
            assert found == (scores[r].max() if n_classes > 2 else scores[r, 0])


@every
def test_a_part_is_a_weight_times_a_value(estimator):
    X, y = random_problem(80, 20, 0.5, seed=3, n_classes=3)
    model = made(estimator, 5, norm=None).fit(X, y)
    coef, names = model.coef_.toarray(), dict(zip(map(str, model.selected_.tolist()), model.selected_, strict=True))
    for x, label, row in zip(X.toarray(), model.predict(X), model.explain(X, n=None), strict=True):
        for name, part in row[:-1]:
            np.testing.assert_allclose(part, coef[label, names[name]] * x[names[name]], rtol=1e-5)
        assert row[-1][1] == model.intercept_[label]


def test_the_largest_parts_come_first():
    X, y = random_problem(80, 20, 0.9, seed=0)
    model = SOFS(10).fit(X, y)
    for few, some, every_part in zip(model.explain(X, n=2), model.explain(X), model.explain(X, n=None), strict=True):
        assert few == every_part[:2] + every_part[-1:]
        assert some == [*every_part[:-1][:5], every_part[-1]]


def test_a_row_without_selected_features_has_the_intercept_alone():
    X, y = random_problem(80, 20, 0.5, seed=0)
    model = ShadowSOFS(3).fit(X, y)
    assert model.explain(sp.csr_matrix((2, 20))) == [[("intercept", model.intercept_[0])]] * 2


def test_names_and_frames():
    X, y = random_problem(80, 4, 0.9, seed=0)
    frame = pd.DataFrame(X.toarray(), columns=["a", "b", "c", "d"])
    model = SOFS(2).fit(frame, y)
    names = {name for row in model.explain(frame) for name, _ in row}
    assert names == {*model.selected_names_, "intercept"}


def write_mails(path):
    random = np.random.default_rng(0)
    words = [f"word{k}" for k in range(30)]
    rows = [
        {"label": ("ham", "spam")[k % 2], "text": " ".join([*random.choice(words, 4), *(["free"] if k % 2 else [])])}
        for k in range(200)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class TestFiles:
    def test_streams_and_paths_are_explained_as_matrices(self, tmp_path):
        X, y = random_problem(80, 20, 0.5, seed=1)
        convert((X, y), str(tmp_path / "a.svm"))
        model = ShadowSOFS(5).fit(X, y)
        expected = model.explain(X)
        assert model.explain(open_stream((X, y))) == expected
        save(model, tmp_path / "m.thresher")
        assert load(tmp_path / "m.thresher").explain(open_stream((X, y))) == expected
        trained = ShadowSOFS(5)
        train(trained, tmp_path / "a.svm", shuffle=False)
        found = trained.explain(tmp_path / "a.svm")
        assert len(found) == 80
        assert {name for row in found for name, _ in row[:-1]} == set(trained.selected_names_)

    @pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet", "out.jsonl.gz"])
    def test_what_is_written_is_what_explain_returns(self, tmp_path, name):
        mails = write_mails(tmp_path / "mails.jsonl")
        model, output = tmp_path / "m.thresher", tmp_path / name
        assert thresher("train", mails, "--text", "text", "-k", 6, "-o", model).returncode == 0
        done = thresher("predict", model, mails, "--explain", 2, "--margins", "-o", output)
        assert done.returncode == 0, done.stderr
        loaded = load(model)
        expected = loaded.explain(mails, n=2)
        if ".jsonl" in name:
            open_text = gzip.open if name.endswith(".gz") else open
            with open_text(output, "rt") as file:
                table = pd.DataFrame([json.loads(line) for line in file])
            assert [[tuple(pair) for pair in row] for row in table["explanation"]] == expected
        else:
            table = pd.read_csv(output) if name == "out.csv" else pd.read_parquet(output)
            assert list(table) == ["label", "margin", "name_1", "part_1", "name_2", "part_2", "intercept"]
            for row, found in zip(expected, table.to_dict("records"), strict=True):
                for k in range(2):
                    name_, part = row[k] if k < len(row) - 1 else ("", None)
                    assert (found[f"name_{k + 1}"] if isinstance(found[f"name_{k + 1}"], str) else "") == name_
                    assert pd.isna(found[f"part_{k + 1}"]) if part is None else found[f"part_{k + 1}"] == part
                assert found["intercept"] == row[-1][1]
        np.testing.assert_array_equal(table["label"], loaded.predict(mails))

    def test_a_word_with_the_hash_of_a_selected_one_has_no_part(self, tmp_path):
        """As in predictions: only the word itself is the feature."""
        mails = write_mails(tmp_path / "mails.jsonl")
        model = SOFS(3)
        train(model, open_stream(mails, text="text", label="label"))
        other = model_of(model)
        other.names = MemberNames({id_: f"{name}!" for id_, name in other.names.by_id.items()})
        with pytest.warns(UserWarning, match="none of 200 rows has a feature that the model selected"):
            assert all(len(row) == 1 for row in model.explain(mails))


class TestBadInput:
    def test_n(self):
        X, y = random_problem(80, 20, 0.5, seed=0)
        model = SOFS(5).fit(X, y)
        for n in (0, -1, 2.5, "3", True):
            with pytest.raises(ValueError, match=r"^n must be a whole number of at least 1 or None\. Got"):
                model.explain(X, n=n)
            with pytest.raises(ValueError, match=r"^explain must be a whole number of at least 1\. Got"):
                write_predictions(model, (X, y), "out.csv", explain=n)

    def test_other_columns(self, tmp_path):
        X, y = random_problem(80, 20, 0.5, seed=0)
        model = MRMR(5).fit(X, y)
        (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
        message = r"t.csv: it has 2 columns, but the model was trained on 20 without names: give it the columns of"
        with pytest.raises(DataError, match=message):
            model.explain(tmp_path / "t.csv")
        with pytest.raises(DataError, match=message):
            write_predictions(model, tmp_path / "t.csv", tmp_path / "out.csv", explain=3)
        assert not (tmp_path / "out.csv").exists()
        with pytest.raises(ValueError, match="X has 2 features, but MRMR is expecting 20 features as input"):
            model.explain(X[:, :2])

    @pytest.mark.parametrize("options", [[], ["-o", "labels.txt"]])
    def test_text_can_not_hold_it(self, tmp_path, options):
        X, y = random_problem(80, 20, 0.5, seed=0)
        convert((X, y), str(tmp_path / "a.svm"))
        save(SOFS(5).fit(X, y), tmp_path / "m.thresher")
        done = thresher("predict", tmp_path / "m.thresher", tmp_path / "a.svm", "--explain", 3, *options)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "text can't hold --explain 3: write to a file whose name ends in .csv, .jsonl" in done.stderr
