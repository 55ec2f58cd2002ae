"""What a stream and a model must agree on: id bases, widths, and options that mean something for the data."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from thresher import (
    MRMR,
    SOFS,
    ShadowSOFS,
    evaluate,
    load,
    open_stream,
    save,
    train,
)  # fmt: skip
from thresher.streams import DataError


@pytest.fixture
def zero_first(tmp_path):
    """Ids count from 0, which shows in the first rows only."""
    path = tmp_path / "zero.svm"
    rows = ["1 0:1 2:1\n-1 1:1 2:1\n"] * 2 + ["1 1:0.5 3:1\n-1 2:1 3:0.5\n"] * 30
    path.write_text("".join(rows))
    return path


class TestShards:
    def test_a_shard_does_not_guess_the_base(self, zero_first):
        part = open_stream(zero_first).shard(2, 3)
        for use in (part.to_csr, lambda: train(SOFS(2), part), lambda: train(MRMR(2), part)):
            with pytest.raises(DataError, match=r"shard 2 of 3 of .*zero\.svm: .* set zero_based="):
                use()

    def test_shards_of_a_known_base_stack_to_the_whole(self, zero_first):
        stream = open_stream(zero_first, zero_based=True)
        whole, y, _ = stream.to_csr()
        parts = [stream.shard(k, 3).to_csr() for k in range(3)]
        width = whole.shape[1]
        stacked = sp.vstack([sp.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width)) for X, _, _ in parts])
        assert (stacked != whole).nnz == 0
        np.testing.assert_array_equal(np.concatenate([labels for _, labels, _ in parts]), y)

    def test_a_trained_model_knows_the_base(self, zero_first):
        model = SOFS(2)
        train(model, zero_first)
        train(model, open_stream(zero_first).shard(2, 3))
        assert model.n_features_in_ == 4

    @pytest.mark.parametrize(("k", "n"), [(3, 3), (-1, 3), (0, 0)])
    def test_a_number_out_of_range_names_the_stream(self, zero_first, k, n):
        with pytest.raises(ValueError, match=rf"of shard\({k}, {n}\) of .*zero\.svm must be"):
            open_stream(zero_first).shard(k, n)


class TestLists:
    X, y = sp.random(4, 5, 0.5, "csr", random_state=0), [0, 1, 0, 1]

    @pytest.mark.parametrize(
        ("item", "message"),
        [
            ("oops", r"\(X, y\) or \(X, y, weights\). Got a str"),
            (([[1.0, 0.0]], [0]), r"X must have two dimensions. Got a list of length 1"),
            ((np.ones(3), [0]), r"X must have two dimensions. Got a ndarray of shape \(3,\)"),
        ],
    )
    @pytest.mark.parametrize("kind", [list, iter])
    def test_an_item_that_is_no_batch_is_an_error(self, item, message, kind):
        with pytest.raises(DataError, match=f"batch 1 of the iterable: .*{message}"):
            open_stream(kind([(self.X, self.y), item])).to_csr()


class TestOptions:
    def test_options_of_tables_are_refused_for_text(self, zero_first):
        with pytest.raises(ValueError, match=r"zero\.svm: label='y' has no meaning for svmlight data"):
            open_stream(zero_first, label="y")
        with pytest.raises(ValueError, match=r"zero\.svm: delimiter=';' has no meaning for svmlight"):
            open_stream(zero_first, delimiter=";")

    def test_options_of_an_open_stream_are_refused(self, zero_first):
        stream = open_stream(zero_first)
        assert open_stream(stream, "auto", zero_based=None) is stream
        assert open_stream(stream, ignore=[], text=[]) is stream
        for given in ({"zero_based": False}, {"format": "vw"}, {"text": "t"}):
            with pytest.raises(ValueError, match=f"^{next(iter(given))} can't be changed for a stream that is open"):
                open_stream(stream, **given)

    @pytest.mark.parametrize(
        ("source", "kinds"), [(list, "the list"), (iter, "the list_iterator"), (lambda items: items[0], "the tuple")]
    )
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("format", "csv"), ("label", "y"), ("weight", "w"), ("ignore", ["a"]), ("text", "t"), ("ngrams", 2),
            ("hash", "all"), ("delimiter", ";"), ("on_bad_line", "skip"), ("longest_line", 1 << 25),
        ],
    )  # fmt: skip
    def test_options_of_files_are_refused_for_batches(self, source, kinds, name, value):
        with pytest.raises(ValueError, match=rf"^{kinds}: {name}=.* has no meaning for batches of rows: leave it out"):
            open_stream(source([(np.eye(2), [0, 1])]), **{name: value})

    def test_a_table_has_no_format(self):
        with pytest.raises(ValueError, match=r"^the Table: format='csv' has no meaning for a table: leave it out"):
            open_stream(pa.table({"label": [0, 1], "a": [1.0, 2.0]}), "csv")

    @pytest.mark.parametrize("given", [{"ngrams": 2}, {"analyzer": "char"}, {"counts": True}, {"lowercase": False}])
    def test_how_text_is_read_needs_columns_of_text(self, given, tmp_path):
        (tmp_path / "t.csv").write_text("label,a\n1,2\n0,3\n")
        for source in (tmp_path / "t.csv", pa.table({"label": [0, 1], "a": [1.0, 2.0]})):
            with pytest.raises(ValueError, match=rf": {next(iter(given))}=.* needs text="):
                open_stream(source, numeric="a", **given)

    def test_columns_with_names_do_not_count_from_one(self, tmp_path):
        (tmp_path / "t.csv").write_text("label,a\n1,2\n0,3\n")
        with pytest.raises(ValueError, match=r"t\.csv: zero_based=False can't be used where features have"):
            open_stream(tmp_path / "t.csv", zero_based=False)

    def test_bad_parameters_are_found_before_the_file_is_read(self, tmp_path):
        (tmp_path / "bad.svm").write_text("this is no row\n")
        with pytest.raises(ValueError, match=r"^scheme of MRMR must be"):
            train(MRMR(scheme="x"), tmp_path / "bad.svm")


class TestOtherData:
    def test_data_beyond_the_columns_of_a_model(self, tmp_path, zero_first):
        model = SOFS(2)
        train(model, zero_first)
        (tmp_path / "wide.svm").write_text("1 0:1 700:1 800:1\n-1 1:1 900:1 1000:1\n")
        with pytest.warns(UserWarning, match=r"wide\.svm: 67% of the values have ids beyond the model's 4 columns"):
            evaluate(model, tmp_path / "wide.svm")

    @pytest.mark.parametrize("kind", ["ids", "text", "table"])
    def test_rows_without_a_selected_feature(self, tmp_path, kind):
        """In training every row has one. Where not one has, or 1 of 1,000, there is a warning; nowhere else."""
        rng, rows = np.random.default_rng(0), []
        for is_new in [0] * 400 + [1] * 1_000:
            label = int(rng.integers(2))
            rows.append((label, f"{'new' if is_new else 'old'}{label}", is_new * 100 + label + 1))
        names = {"ids": "a.svm", "text": "a.jsonl", "table": "a.csv"}
        write = {
            "ids": lambda label, word, id_: f"{label} {id_}:1 500:1\n",
            "text": lambda label, word, id_: f'{{"label": {label}, "c": "{word} it"}}\n',
            "table": lambda label, word, id_: f"{label},{word}\n",
        }[kind]

        def data(part):
            path = tmp_path / f"{len(part)}{names[kind]}"
            path.write_text(("label,c\n" if kind == "table" else "") + "".join(write(*row) for row in part))
            return path

        roles = {"text": {"text": "c"}, "table": {"categorical": "c"}}.get(kind, {})
        model = ShadowSOFS(2, random_state=0)
        train(model, open_stream(data(rows[:400]), **roles))
        save(model, tmp_path / "m.thresher")
        for each in (model, load(tmp_path / "m.thresher")):
            for use in (evaluate, type(each).predict, type(each).transform, type(each).decision_function):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    use(each, data(rows[:390]))
                    use(each, data(rows[380:500]))  # one in six
                with pytest.warns(
                    UserWarning, match=r"none of 1,000 rows has a feature that the model selected \(100%"
                ):
                    use(each, data(rows[400:]))
                with pytest.warns(UserWarning, match=r": only 1 of 1,001 rows has a feature that the model selected"):
                    use(each, data(rows[399:]))
        with pytest.warns(UserWarning, match="none of 1,000 rows"):
            train(ShadowSOFS(2), open_stream(data(rows[:400]), **roles), validate=data(rows[400:]))

    def test_few_rows_may_have_none_by_chance(self, tmp_path):
        (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n1 3:1\n-1 3:1\n" * 50)
        model = ShadowSOFS(2, fit_intercept=False)
        train(model, open_stream(tmp_path / "a.svm", zero_based=False))
        assert sorted(model.selected_.tolist()) == [0, 1]
        (tmp_path / "b.svm").write_text("1 3:1\n-1 3:1\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(tmp_path / "b.svm")

    def test_types_that_are_not_those_of_training(self, tmp_path):
        frame = pd.DataFrame({"label": [1, 0] * 30, "app": [35, 7] * 30, "site": ["a", "b"] * 30})
        frame.to_parquet(tmp_path / "a.parquet")
        model = ShadowSOFS(4)
        train(model, open_stream(tmp_path / "a.parquet", categorical=["app", "site"]))
        save(model, tmp_path / "m.thresher")
        margins = model.decision_function(frame)
        frame.to_csv(tmp_path / "a.csv", index=False)
        model = load(tmp_path / "m.thresher")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for same in (frame, frame.astype({"app": "int8", "site": "category"}), tmp_path / "a.csv"):
                np.testing.assert_array_equal(model.decision_function(same), margins)
        for kind, word in (("float64", "numbers"), ("str", "text")):
            with pytest.warns(
                UserWarning, match=rf"'app' holds {word} here, and held whole numbers where the model was"
            ):
                np.testing.assert_array_equal(model.decision_function(frame.astype({"app": kind})), margins)

    def test_a_table_that_became_text_counts_from_one(self, tmp_path):
        (tmp_path / "t.csv").write_text("label,a,b\n" + "1,2,0\n0,0,3\n" * 20)
        model = SOFS(2)
        train(model, tmp_path / "t.csv")
        (tmp_path / "t.svm").write_text("1 1:2\n0 2:3\n")
        with pytest.warns(UserWarning, match="id 0 does not occur"):
            evaluate(model, tmp_path / "t.svm")
        assert evaluate(model, open_stream(tmp_path / "t.svm", zero_based=False)).accuracy == 1.0

    def test_a_model_must_be_one(self, zero_first):
        with pytest.raises(
            TypeError, match=r"thresher estimator. Got 'm\.thresher' instead; a model file is read by load"
        ):
            evaluate("m.thresher", zero_first)


def test_skipped_lines_are_named_when_too_little_is_left(tmp_path):
    (tmp_path / "s.svm").write_text("1 1:1\n-1 1:oops\n1 2:1\n")
    with pytest.raises(DataError, match=r"two classes are needed.*1 line, the first because of: .*line 2"):
        train(SOFS(1), open_stream(tmp_path / "s.svm", on_bad_line="skip"))
