"""What is special about AROW; what holds for every online estimator is in test_online.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from states import state_of
from strategies import class_counts, norms, problems

from thresher import AROW, SOFS, ShadowSOFS, datasets


@pytest.mark.filterwarnings("ignore:The precision of every feature")
@given(problems(n_classes=class_counts), norms, st.booleans())
def test_is_what_the_others_are_with_places_for_all(problem, norm, fit_intercept):
    X, y = problem
    same = {"gamma": 1.0, "norm": norm, "fit_intercept": fit_intercept}
    made = AROW(**same), SOFS(10**9, **same), ShadowSOFS(10**9, n_passes=1, **same)
    arow, sofs, shadow = (model.fit(X, y) for model in made)
    assert set(arow.selected_) == set(sofs.selected_) == set(shadow.selected_)
    np.testing.assert_array_equal(arow.coef_.toarray(), sofs.coef_.toarray())
    np.testing.assert_array_equal(arow.decision_function(X), sofs.decision_function(X))
    np.testing.assert_array_equal(arow.predict_proba(X), sofs.predict_proba(X))
    for name in ("ids", "cells", "intercept"):  # of the layer that selects
        np.testing.assert_array_equal(*(state_of(model)["learned"][name] for model in (arow, shadow)))


def test_only_touched_columns_have_weights():
    X, y = datasets.make_x1(200)
    model = AROW().fit(X, y)
    touched = set(X.indices.tolist())
    assert set(model.selected_.tolist()) <= touched
    assert model.coef_.nnz == len(model.selected_) < 20_000
