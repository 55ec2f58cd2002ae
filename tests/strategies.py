"""Sparse matrices for hypothesis."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

CONTINUOUS = st.floats(-4, 4, width=32)
TIES = st.sampled_from([0.0, 1.0])


@st.composite
def problems(draw: st.DrawFn, values: st.SearchStrategy[float] = CONTINUOUS, max_rows: int = 25):
    """Draw X and y ±1 with both labels: rows of no, one, or many features, explicit zeros, any number of columns."""
    n_features = draw(st.integers(1, 40))
    rows = draw(
        st.lists(
            st.dictionaries(st.integers(0, n_features - 1), values, max_size=n_features), min_size=2, max_size=max_rows
        )
    )
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)))
    labels[:2] = [1, -1]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    ids = np.array([j for row in rows for j in sorted(row)], dtype=np.int32)
    data = np.array([row[j] for row in rows for j in sorted(row)], dtype=np.float32)
    return sp.csr_matrix((data, ids, starts), shape=(len(rows), n_features)), np.array(labels)


budgets = st.one_of(st.just(1), st.integers(1, 50))
gammas = st.sampled_from([2.0**-5, 0.3, 1.0, 8.0])
norms = st.sampled_from(["l2", None])


def random_problem(n_rows: int, n_features: int, density: float, seed: int):
    """Draw Gaussian values, and labels that a few columns decide."""
    random = np.random.default_rng(seed)
    X = sp.random(n_rows, n_features, density, "csr", np.float32, random, random.standard_normal)
    truth = np.where(np.arange(n_features) < 10, random.standard_normal(n_features), 0.0)
    y = np.where(X @ truth + 0.1 * random.standard_normal(n_rows) > 0, 1, -1)
    y[:2] = [1, -1]
    return X, y
