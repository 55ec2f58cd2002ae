"""The generators: the paper's shapes, and rows that depend on nothing but the seed and their number."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from thresher import datasets


def same(a, b) -> bool:
    return (a != b).nnz == 0


class TestX1:
    def test_shape_and_form(self):
        X, y, informative = datasets.make_x1(500, return_informative=True)
        assert X.shape == (500, 20_000)
        assert X.dtype == np.float32
        assert X.indices.dtype == X.indptr.dtype == np.int32
        assert set(y) == {-1, 1}
        assert informative.tolist() == list(range(200))
        assert (np.diff(X.indptr) == 600).all()
        X.has_canonical_format = X.has_sorted_indices = False  # make scipy check again
        del X._has_canonical_format, X._has_sorted_indices
        assert X.has_canonical_format
        assert (X.data != 0).all()

    def test_values_are_normal_and_noise_is_uniform(self):
        X, _ = datasets.make_x1(2_000, random_state=5)
        assert kstest(X.data, "norm").pvalue > 1e-3
        noise = X.indices[X.indices >= 200]
        assert kstest((noise - 200 + 0.5) / 19_800, "uniform").pvalue > 1e-3
        assert len(np.unique(noise)) == 19_800

    def test_labels_are_the_sign_of_a_positive_combination(self):
        X, y = datasets.make_x1(4_000, n_features=100, n_informative=5, n_noise=20)
        dense = X[:, :5].toarray().astype(np.float64)
        w = np.linalg.lstsq(dense, y, rcond=None)[0]
        assert (w > 0).all()
        assert np.mean(np.sign(dense @ w) == y) > 0.97

    def test_five_decimals(self):
        X, _ = datasets.make_x1(200)
        text = np.array([f"{value:.5f}" for value in X.data])
        np.testing.assert_array_equal(text.astype(np.float64).astype(np.float32), X.data)

    @given(st.integers(0, 300), st.integers(1, 50), st.booleans(), st.integers(0, 5))
    def test_a_row_depends_on_seed_and_number_alone(self, start, n, permute, dense_noise):
        shape = {"n_features": 60, "n_informative": 4, "n_noise": 9, "permute": permute, "dense_noise": dense_noise}
        whole, labels = datasets.make_x1(400, random_state=3, **shape)
        X, y = datasets.make_x1(n, random_state=3, start=start, **shape)
        assert same(X, whole[start : start + n])
        np.testing.assert_array_equal(y, labels[start : start + n])

    def test_seeds_differ(self):
        assert not same(datasets.make_x1(10, random_state=1)[0], datasets.make_x1(10, random_state=2)[0])
        assert not same(datasets.make_x1(10, random_state=None)[0], datasets.make_x1(10, random_state=None)[0])

    def test_permute_moves_columns_and_nothing_else(self):
        plain, y = datasets.make_x1(300, n_features=80, n_informative=5, n_noise=10, dense_noise=3)
        moved, labels, informative = datasets.make_x1(
            300, n_features=80, n_informative=5, n_noise=10, dense_noise=3, permute=True, return_informative=True
        )
        np.testing.assert_array_equal(y, labels)
        np.testing.assert_array_equal(plain[:, :5].toarray(), moved[:, informative].toarray())
        columns = sorted(map(tuple, plain.toarray().T.tolist()))
        assert columns == sorted(map(tuple, moved.toarray().T.tolist()))
        assert sorted(informative.tolist()) != list(range(5))

    def test_dense_noise_is_always_there(self):
        X, _ = datasets.make_x1(300, dense_noise=150)
        assert (np.diff(X.indptr) == 600).all()
        always = np.flatnonzero(X.getnnz(axis=0) == 300)
        assert always.tolist() == list(range(350))

    @pytest.mark.parametrize("n_noise", [0, 1, 20, 40, 50])
    def test_every_share_of_noise(self, n_noise):
        X, _ = datasets.make_x1(50, n_features=60, n_informative=10, n_noise=n_noise)
        assert (np.diff(X.indptr) == 10 + n_noise).all()
        assert (np.diff(X.indices.reshape(50, -1)) > 0).all()
        assert X.indices.max() < 60


class TestX2:
    def test_shape(self):
        stream, informative = datasets.make_x2(1_500, return_informative=True)
        batches = list(stream)
        assert [X.shape for X, _ in batches] == [(1_000, 10**9), (500, 10**9)]
        assert all(X.indices.dtype == np.int32 and X.dtype == np.float32 for X, _ in batches)
        assert informative.tolist() == list(range(500))
        assert (np.diff(batches[0][0].indptr) == 1_000).all()
        assert batches[0][0].indices.max() > 9 * 10**8

    def test_reads_again_and_from_any_row(self):
        stream = datasets.make_x2(300, batch_size=100)
        first, again = list(stream), list(stream)
        later = list(datasets.make_x2(100, start=200, batch_size=60))
        assert all(same(a, b) for (a, _), (b, _) in zip(first, again, strict=True))
        assert same(first[2][0][:60], later[0][0])
        assert same(first[2][0][60:], later[1][0])

    def test_holds_a_few_batches_at_a_time(self):
        """One is in use, two wait, and one is made."""
        tracemalloc.start()
        for X, _ in datasets.make_x2(20_000, batch_size=500):
            del X
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4.5 * 500 * 1_000 * 8


@pytest.mark.parametrize("make", [datasets.make_x1, datasets.make_x2])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1. Got 0"),
        ({"n_features": 2**31}, "n_features must be below 2"),
        ({"n_features": 100}, "n_informative \\+ n_noise must not be above n_features"),
        ({"dense_noise": 501}, "dense_noise must not be above n_noise"),
        ({"start": -1}, "start must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"n_noise": 1.5}, "n_noise must be"),
    ],
)
def test_bad_parameters(make, bad, message):
    with pytest.raises(ValueError, match=message):
        make(**{"n_samples": 10, **bad})


@pytest.mark.parametrize("content", ["1 1:1\n-1 2:1\n", "1 301:1\n" * 49_749])
def test_a_file_that_is_not_the_data_set(tmp_path, monkeypatch, content):
    (tmp_path / "w8a").write_text(content)
    monkeypatch.setenv("THRESHER_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"w8a: w8a has 49,749 rows and 300 columns, but the file has (2|49,749) and"):
        datasets.load("w8a")
