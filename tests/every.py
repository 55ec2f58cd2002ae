"""Every public estimator, found by walking the API: a new one gets all shared checks by existing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

import thresher
from thresher.batch.base import BatchSelector
from thresher.estimator import FeatureSelector
from thresher.online.base import OnlineSelector, SecondOrderSelector

EVERY: list[Any] = [
    found
    for found in (getattr(thresher, name) for name in thresher.__all__)
    if isinstance(found, type) and issubclass(found, FeatureSelector)
]
ONLINE = [estimator for estimator in EVERY if issubclass(estimator, OnlineSelector)]
BATCH = [estimator for estimator in EVERY if issubclass(estimator, BatchSelector)]
BUDGETED = [estimator for estimator in ONLINE if "n_features_to_select" in estimator().get_params()]
SECOND_ORDER = [estimator for estimator in ONLINE if issubclass(estimator, SecondOrderSelector)]

every = pytest.mark.parametrize("estimator", EVERY, ids=lambda estimator: estimator.__name__)
batch = pytest.mark.parametrize("estimator", BATCH, ids=lambda estimator: estimator.__name__)
online = pytest.mark.parametrize("estimator", ONLINE, ids=lambda estimator: estimator.__name__)
budgeted = pytest.mark.parametrize("estimator", BUDGETED, ids=lambda estimator: estimator.__name__)
second_order = pytest.mark.parametrize("estimator", SECOND_ORDER, ids=lambda estimator: estimator.__name__)


def made(estimator: Any, budget: int | float, **given: Any) -> Any:
    """Return an estimator with a budget, if it is one that has any."""
    return estimator(**applicable(estimator, budget), **given)


def applicable(estimator: Any, budget: int | float) -> dict[str, Any]:
    """Return the budget as a parameter, if the estimator is one that has any."""
    return {"n_features_to_select": budget} if estimator in BUDGETED else {}


CHOICES = {
    "gamma": (2.0**-5, 0.3, 1.0, 8.0),
    "eta": (2.0**-5, 0.2, 1.0, 3.0),
    "lam": (0.001, 0.01, 0.3),
    "loss": ("perceptron", "hinge"),
}


@st.composite
def own_parameters(draw: st.DrawFn, estimator: Any) -> dict[str, Any]:
    """Draw values for the parameters that the estimator's step is made of."""
    names = estimator().get_params()
    return {name: draw(st.sampled_from(values)) for name, values in CHOICES.items() if name in names}
