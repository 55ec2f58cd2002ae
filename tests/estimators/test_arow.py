"""What is special about AROW; what holds for every online estimator is in test_online.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import class_counts, norms, problems

from thresher import AROW, SOFS, ShadowSOFS, datasets


@pytest.mark.filterwarnings("ignore:The precision of every feature")
@given(problems(n_classes=class_counts), norms, st.booleans())
def test_is_what_the_others_are_with_room_for_all(problem, norm, fit_intercept):
    X, y = problem
    same = {"gamma": 1.0, "norm": norm, "fit_intercept": fit_intercept}
    arow = AROW(**same).fit(X, y)
    for budgeted in (SOFS, ShadowSOFS):
        other = budgeted(10**9, **same).fit(X, y)
        assert set(arow.selected_) == set(other.selected_)
        np.testing.assert_array_equal(arow.coef_.toarray(), other.coef_.toarray())
        np.testing.assert_array_equal(arow.decision_function(X), other.decision_function(X))
        np.testing.assert_array_equal(arow.predict_proba(X), other.predict_proba(X))


def test_only_touched_columns_have_weights():
    X, y = datasets.make_x1(200)
    model = AROW().fit(X, y)
    touched = set(X.indices.tolist())
    assert set(model.selected_.tolist()) <= touched
    assert model.coef_.nnz == len(model.selected_) < 20_000
