"""Sparse matrices for hypothesis."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

CONTINUOUS = st.floats(-4, 4, width=32)
TIES = st.sampled_from([0.0, 1.0])


@st.composite
def problems(
    draw: st.DrawFn,
    values: st.SearchStrategy[float] = CONTINUOUS,
    max_rows: int = 25,
    n_classes: st.SearchStrategy[int] | None = None,
):
    """Draw X and labels from 0 on, all of which occur: rows of no, one, or many features, explicit zeros, any width."""
    n_features = draw(st.integers(1, 40))
    n = draw(n_classes) if n_classes is not None else 2
    rows = draw(
        st.lists(
            st.dictionaries(st.integers(0, n_features - 1), values, max_size=n_features), min_size=n, max_size=max_rows
        )
    )
    labels = draw(st.lists(st.integers(0, n - 1), min_size=len(rows), max_size=len(rows)))
    labels[:n] = range(n)[::-1]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    ids = np.array([j for row in rows for j in sorted(row)], dtype=np.int32)
    data = np.array([row[j] for row in rows for j in sorted(row)], dtype=np.float32)
    return sp.csr_matrix((data, ids, starts), shape=(len(rows), n_features)), np.array(labels)


budgets = st.one_of(st.just(1), st.integers(1, 50))
norms = st.sampled_from(["l2", None])
class_counts = st.integers(2, 5)


def random_problem(n_rows: int, n_features: int, density: float, seed: int, n_classes: int = 2):
    """Draw Gaussian values, and labels that a few columns decide: ±1, or 0 … n_classes − 1."""
    random = np.random.default_rng(seed)
    X = sp.random(n_rows, n_features, density, "csr", np.float32, random, random.standard_normal)
    if n_classes > 2:
        truth = np.where(np.arange(n_features)[:, None] < 20, random.standard_normal((n_features, n_classes)), 0.0)
        y = np.argmax(X @ truth + 0.1 * random.standard_normal((n_rows, n_classes)), axis=1)
        y[:n_classes] = range(n_classes)
        return X, y
    truth = np.where(np.arange(n_features) < 10, random.standard_normal(n_features), 0.0)
    y = np.where(X @ truth + 0.1 * random.standard_normal(n_rows) > 0, 1, -1)
    y[:2] = [1, -1]
    return X, y
