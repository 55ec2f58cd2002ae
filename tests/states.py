"""Comparing what models have learned, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracles import MarginScaleOracle

from thresher.model import state
from thresher.model.model import Model

# What the core's learners know, beside counters and numbers: of features, of the predicting layer, and of decoys.
DECOYS = ("decoy_ids", "decoy_cells", "decoy_table", "shown_ids", "shown_values")
ARRAYS = ("ids", "cells", "intercept", "table", "predicting_ids", "predicting_cells", "predicting_intercept", *DECOYS)

OF_MARGINS = ("margin_scale", "margin_information", "margin_rows")  # counters: what makes margins probabilities


def model_of(estimator: Any) -> Model:
    """Return the model of an estimator, or the model given: what has no public name in an estimator has one there."""
    return estimator if isinstance(estimator, Model) else estimator._model


def state_of(model: Any) -> dict[str, Any]:
    """Return all that a model or an estimator knows."""
    return state.state_of(model_of(model))


def assert_same_state(one: Any, other: Any) -> None:
    """Compare what two have learned: estimators, models, or states as `Model.state` returns them."""
    one, other = ((each if isinstance(each, dict) else state_of(each))["learned"] for each in (one, other))
    assert one.keys() == other.keys() == {"counters", "learner", "max_fdr", *ARRAYS}
    for name in ARRAYS:
        np.testing.assert_array_equal(one[name].view(np.uint8), other[name].view(np.uint8), err_msg=name)
    assert one["counters"] == other["counters"]
    assert one["learner"] == other["learner"]
    assert one["max_fdr"] == other["max_fdr"]


def assert_same_scale(model: Any, oracle: MarginScaleOracle) -> None:
    """Compare the scale of margins, which makes them probabilities."""
    if not oracle.is_rounding:
        np.testing.assert_allclose(model_of(model).counters["margin_scale"], oracle.scale, rtol=1e-6)


def same_state(one: Any, other: Any) -> bool:
    """Return whether two have learned the same."""
    try:
        assert_same_state(one, other)
    except AssertionError:
        return False
    return True
