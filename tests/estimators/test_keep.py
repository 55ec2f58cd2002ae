"""Features to keep: members from the start that never leave, in every method with a budget."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from command_line import thresher
from every import BATCH, BUDGETED, budgeted
from hypothesis import given
from hypothesis import strategies as st
from states import assert_same_state, model_of
from strategies import TIES, class_counts, problems, random_problem
from test_online import assert_equals_oracle, assert_same_bits, in_order, with_oracle

from thresher import MRMR, SOFS, ShadowSOFS, load, open_stream, save, train
from thresher.io.model_files import save_model

pytestmark = pytest.mark.filterwarnings("ignore:The precision of every feature")
with_a_budget = pytest.mark.parametrize("estimator", [*BUDGETED, *BATCH], ids=lambda each: each.__name__)


@st.composite
def kept(draw, width, budget):
    columns = st.lists(st.integers(0, width - 1), unique=True, max_size=min(budget, width))
    return draw(columns)


@budgeted
class TestOracle:
    @given(st.data(), problems(n_classes=class_counts), st.integers(1, 12), st.booleans())
    def test_random_values(self, estimator, data, problem, budget, fit_intercept):
        X, y = problem
        keep = data.draw(kept(X.shape[1], budget))
        n_classes = len(np.unique(y))
        model, oracle = with_oracle(estimator, budget, n_classes, keep=keep, fit_intercept=fit_intercept)
        assert_equals_oracle(model.fit(X, y), oracle.fit(X, y))
        assert set(keep) <= set(model.selected_.tolist())
        assert len(model.selected_) <= budget

    @given(st.data(), problems(TIES, max_rows=60), st.integers(1, 6))
    def test_ties(self, estimator, data, problem, budget):
        X, y = problem
        model, oracle = with_oracle(estimator, budget, keep=data.draw(kept(X.shape[1], budget)))
        assert_equals_oracle(model.fit(X, y), oracle.fit(X, y))

    @pytest.mark.slow
    def test_long_stream_with_a_useless_column(self, estimator, simd):
        X, y = random_problem(2_000, 300, 0.1, seed=3)
        model, oracle = with_oracle(estimator, 20, keep=[299, 5])
        assert_equals_oracle(model.fit(X, y), oracle.fit(X, np.maximum(y, 0)))


@budgeted
class TestSameBits:
    @given(st.data(), problems(max_rows=40, n_classes=class_counts), st.integers(1, 12))
    def test_any_batching_saved_in_between(self, estimator, data, problem, budget):
        X, y = problem
        keep = data.draw(kept(X.shape[1], budget))
        whole = in_order(estimator, budget, keep=keep).fit(X, y)
        cut = data.draw(st.integers(1, X.shape[0] - 1))
        first = in_order(estimator, budget, keep=keep).partial_fit(X[:cut], y[:cut], classes=np.unique(y))
        assert set(keep) <= set(first.selected_.tolist())
        again = pickle.loads(pickle.dumps(first)).partial_fit(X[cut:], y[cut:])
        assert_same_bits(again, whole)

    def test_model_file(self, estimator, tmp_path):
        X, y = random_problem(300, 50, 0.2, seed=1)
        whole = in_order(estimator, 6, keep=[40, 2]).fit(X, y)
        save(in_order(estimator, 6, keep=[40, 2]).partial_fit(X[:100], y[:100], classes=[-1, 1]), tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert loaded.keep == [40, 2]
        assert_same_bits(loaded.partial_fit(X[100:], y[100:]), whole)
        save_model(model_of(whole), tmp_path / "compact", compact=True)
        assert set(load(tmp_path / "compact").selected_) == set(whole.selected_)

    def test_stream_equals_fit(self, estimator):
        X, y = random_problem(300, 50, 0.2, seed=2)
        streamed = in_order(estimator, 6, keep=[40, 2])
        train(streamed, [(X[:70], y[:70]), (X[70:], y[70:])], shuffle=False)
        assert_same_state(streamed, in_order(estimator, 6, keep=[40, 2]).fit(X, y))


@with_a_budget
class TestEveryMethod:
    def test_kept_columns_are_selected(self, estimator):
        X, y = random_problem(300, 60, 0.2, seed=5)
        X = sp.hstack([X, sp.csr_matrix((300, 1), dtype=np.float32)]).tocsr()  # a column that is always zero
        model = estimator(8, keep=[59, 60, 30]).fit(X, y)
        assert {59, 60, 30} <= set(model.selected_.tolist())
        assert len(model.selected_) <= 8
        assert model.transform(X).shape[1] == len(model.selected_)

    def test_nothing_but_what_is_kept(self, estimator):
        X, y = random_problem(200, 30, 0.3, seed=6)
        assert set(estimator(3, keep=[7, 20, 11]).fit(X, y).selected_.tolist()) == {7, 20, 11}

    def test_by_name(self, estimator):
        pandas = pytest.importorskip("pandas")
        X, y = random_problem(200, 5, 0.9, seed=7)
        frame = pandas.DataFrame(X.toarray(), columns=list("abcde"))
        assert {"c", "e"} <= set(estimator(3, keep=["e", "c"]).fit(frame, y).get_feature_names_out())
        with pytest.raises(ValueError, match=r"keep names 'z', which is not among the columns \(a, b, c, d, e\)"):
            estimator(3, keep=["z"]).fit(frame, y)

    @pytest.mark.parametrize(
        ("keep", "message"),
        [
            ([1, 2, 3, 4], "keep lists 4 features, more than the budget of 3"),
            ([5], "keep lists column 5, but there are 5"),
            ([-1], "keep of .* must be None or a list of different columns"),
            ([1, 1], "keep of .* must be None or a list of different columns"),
            (["a"], "keep names 'a', but the columns of the data have no names"),
            (7, "keep of .* must be None or a list of different columns"),
        ],
    )
    def test_bad_input(self, estimator, keep, message):
        X, y = random_problem(50, 5, 0.9, seed=8)
        model = estimator(3).fit(X, y)
        before = model.selected_.tolist()
        with pytest.raises(ValueError, match=message):
            model.set_params(keep=keep).fit(X, y)
        assert model.selected_.tolist() == before


def test_arrays_of_columns_and_a_share_as_budget():
    X, y = random_problem(200, 40, 0.3, seed=9)
    assert {3, 9} <= set(SOFS(0.1, keep=np.array([3, 9])).fit(X, y).selected_.tolist())
    with pytest.raises(ValueError, match="keep lists 5 features, more than the budget of 4"):
        SOFS(0.1, keep=[1, 2, 3, 4, 5]).fit(X, y)


def test_keep_can_not_change_while_learning():
    X, y = random_problem(100, 10, 0.5, seed=1)
    model = SOFS(3, keep=[1]).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match=r"keep can't be changed from \[1\] to \[2\]"):
        model.set_params(keep=[2]).partial_fit(X, y)


def test_mrmr_goes_on_from_what_is_kept():
    X, y = random_problem(300, 40, 0.3, seed=4)
    free = MRMR(6).fit(X, y).selected_.tolist()
    assert MRMR(6, keep=free[:3]).fit(X, y).selected_.tolist()[3:] == free[3:]


class TestFiles:
    @pytest.fixture
    def path(self, tmp_path):
        X, y = random_problem(400, 50, 0.2, seed=11)
        lines = []
        for r in range(400):
            row = slice(X.indptr[r], X.indptr[r + 1])
            pairs = " ".join(f"{j + 1}:{v:.5g}" for j, v in zip(X.indices[row], X.data[row], strict=True))
            lines.append(f"{y[r]} {pairs}\n")
        (tmp_path / "train.svm").write_text("".join(lines))
        return tmp_path / "train.svm"

    def test_python_needs_the_base(self, path):
        with pytest.raises(ValueError, match="set zero_based= in open_stream"):
            train(ShadowSOFS(5, keep=[3]), path)
        model = ShadowSOFS(5, keep=[3])
        train(model, open_stream(path, zero_based=False))
        assert 3 in model.selected_

    @pytest.mark.parametrize("method", ["shadow", "pet", "fgm", "l1svm"])
    def test_ids_as_the_file_writes_them(self, path, method):
        out = path.with_suffix(".thresher")
        done = thresher("train", path, "-k", 5, "--method", method, "--keep", "4,50", "-o", out, "--json")
        assert {"4", "50"} <= set(json.loads(done.stdout)["selected"])
        assert load(out).keep == [3, 49]
        assert {3, 49} <= set(load(out).selected_.tolist())

    def test_an_id_below_the_base(self, path):
        done = thresher("train", path, "-k", 5, "--one-based", "--keep", 0, "-o", path.with_suffix(".m"))
        assert done.returncode == 2
        assert "keep names id 0, but the ids of the data count from 1" in done.stderr
        assert not path.with_suffix(".m").exists()

    def test_shown_as_the_file_writes_them(self, path):
        thresher("train", path, "-k", 5, "--keep", "4,50", "-o", path.with_suffix(".m"))
        assert json.loads(thresher("show", path.with_suffix(".m"), "--json").stdout)["keep"] == ["4", "50"]

    @pytest.mark.parametrize("method", ["shadow", "mrmr"])
    def test_an_id_that_never_occurs(self, path, method):
        found = json.loads(thresher("train", path, "-k", 5, "--method", method, "--keep", 4000, "--json").stdout)
        assert "4000" in found["selected"]
        assert found["n_features"] == 4000

    def test_names_of_a_table(self, tmp_path):
        X, y = random_problem(100, 4, 0.9, seed=2)
        rows = "\n".join(",".join(f"{v:.4g}" for v in [*row, label]) for row, label in zip(X.toarray(), y, strict=True))
        (tmp_path / "t.csv").write_text(f"age,height,weight,income,label\n{rows}\n")
        done = thresher("train", tmp_path / "t.csv", "-k", 2, "--keep", "income", "--json")
        assert "income" in json.loads(done.stdout)["selected"]
        with pytest.raises(ValueError, match=r"keep names 'salary', which is not among the columns \(age, height"):
            train(ShadowSOFS(2, keep=["salary"]), open_stream(tmp_path / "t.csv"))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["-k", "2", "--keep", "1,2,3"], "keep lists 3 features, more than the budget of 2"),
            (["-k", "2", "--keep", "x"], "keep names 'x', which is not a feature id"),
            (["-k", "2", "--keep", "9" * 5_000], "9', which is not a feature id"),
            (
                ["-k", "2", "--keep", "1,1"],
                "must be a list of different columns, by number or by name. Got ['1', '1'] instead.",
            ),
            (["--method", "arow", "--keep", "1"], "--keep can't be used with --method arow: it selects all features"),
        ],
    )
    def test_bad_input(self, path, options, message):
        done = thresher("train", path, *options, "-o", path.with_suffix(".thresher"))
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
        assert not path.with_suffix(".thresher").exists()


def test_a_column_that_a_list_of_batches_does_not_have():
    X, y = random_problem(50, 5, 0.9, seed=8)
    with pytest.raises(ValueError, match="keep lists column 5, but there are 5"):
        train(SOFS(3, keep=[5]), [(X, y)])
