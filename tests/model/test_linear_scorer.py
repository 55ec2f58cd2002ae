"""The linear scorer, which predicts with what a batch method has selected, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from thresher import _core


def batch_of(X: sp.csr_matrix) -> _core.CsrBatch:
    batch = _core.CsrBatch(X.indptr, X.indices, X.data, X.shape[1])
    assert batch.check("none") is None
    return batch


def expected(X: sp.csr_matrix, norm: str, ids, weights, intercept):
    """Scores in float64, with a dense row at a time."""
    dense = X.toarray().astype(np.float64)
    if norm == "l2":
        lengths = np.linalg.norm(dense, axis=1, keepdims=True)
        dense = np.divide(dense, lengths, out=dense, where=lengths > 0)
    known = ids < X.shape[1]
    return dense[:, ids[known]] @ weights[known].astype(np.float64) + intercept


@given(
    seed=st.integers(0, 2**32 - 1),
    n_vectors=st.sampled_from([1, 3, 5]),
    norm=st.sampled_from(["l2", "none"]),
    values=st.sampled_from([np.float32, np.float64]),
    whole=st.sampled_from([np.int32, np.int64]),
    intercept_type=st.sampled_from([np.float32, np.float64]),
    n_selected=st.integers(0, 30),
)
def test_scores_equal_numpy(seed, n_vectors, norm, values, whole, intercept_type, n_selected):
    random = np.random.default_rng(seed)
    X = sp.random(20, 40, random.random(), "csr", dtype=np.float64, random_state=random).astype(values)
    X.indptr, X.indices = X.indptr.astype(whole), X.indices.astype(whole)
    ids = random.permutation(60)[:n_selected]  # some are beyond the width of X
    weights = random.normal(size=(n_selected, n_vectors)).astype(np.float32)
    intercept = random.normal(size=n_vectors).astype(intercept_type)
    scorer = _core.LinearScorer(n_vectors, norm, ids, weights.reshape(-1), intercept)
    begin, end = sorted(random.integers(0, 21, size=2).tolist())
    margins = scorer.score(batch_of(X), begin, end)
    assert margins.dtype == np.float64
    np.testing.assert_allclose(
        margins.reshape(-1, n_vectors),
        expected(X, norm, ids, weights, intercept)[begin:end],
        rtol=1e-5,
        atol=1e-5,
    )


def test_what_it_was_made_of_comes_back():
    ids, weights = np.array([7, 2**62, 0]), np.arange(6, dtype=np.float32)
    scorer = _core.LinearScorer(2, "l2", ids, weights, np.array([0.1, 0.2]))
    again, weights_again = scorer.members()
    np.testing.assert_array_equal(again, ids)
    np.testing.assert_array_equal(weights_again, weights)
    np.testing.assert_array_equal(scorer.intercept, [0.1, 0.2])


@pytest.mark.parametrize("simd", _core.simd_paths())
def test_every_path_gives_the_same_bits(simd):
    random = np.random.default_rng(0)
    X = sp.random(200, 300, 0.2, "csr", dtype=np.float32, random_state=random)
    args = (1, "l2", random.permutation(300)[:50], random.normal(size=50).astype(np.float32), np.array([0.3]))
    before = _core.simd_in_use()
    try:
        found = []
        for path in ("scalar", simd):
            _core.use_simd(path)
            found.append(_core.LinearScorer(*args).score(batch_of(X), 0, 200)[0])
    finally:
        _core.use_simd(before)
    np.testing.assert_array_equal(*found)


GOOD = {
    "n_vectors": 1,
    "norm": "l2",
    "ids": np.array([1, 2]),
    "weights": np.array([1, 2], dtype=np.float32),
    "intercept": np.array([0.0]),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_vectors": 2}, "weights must have n_vectors entries per id, 4 in all. Got 2"),
        ({"n_vectors": 0}, "n_vectors must be at least 1"),
        ({"norm": "l1"}, "norm must be 'l2' or 'none'"),
        ({"ids": np.array([1, 1])}, "ids must be distinct: 1 occurs twice"),
        ({"ids": np.array([1, -1])}, "ids must not be negative"),
        ({"weights": np.array([1, np.nan], dtype=np.float32)}, "weights must be finite"),
        ({"intercept": np.array([np.inf])}, "intercept must be finite"),
        ({"intercept": np.zeros(2)}, "intercept must have n_vectors entries, 1. Got 2"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    _core.LinearScorer(**GOOD)
    with pytest.raises(ValueError, match=message):
        _core.LinearScorer(**{**GOOD, **change})


def test_rows_must_be_checked_and_in_range():
    scorer = _core.LinearScorer(**GOOD)
    X = sp.csr_matrix(np.eye(3, dtype=np.float32))
    with pytest.raises(ValueError, match="was not checked"):
        scorer.score(_core.CsrBatch(X.indptr, X.indices, X.data, 3), 0, 3)
    with pytest.raises(IndexError, match="rows out of range"):
        scorer.score(batch_of(X), 0, 4)
