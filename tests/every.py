"""Every estimator, from the table of methods: a new row there gets all shared checks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from thresher import methods
from thresher.model.model import Model

EVERY: list[Any] = [method.load_estimator() for method in methods.CLASSIFIERS]
OF_NUMBERS: list[Any] = [method.load_estimator() for method in methods.REGRESSORS]
ONLINE: list[Any] = [method.load_estimator() for method in methods.ONLINE]
BATCH: list[Any] = [method.load_estimator() for method in methods.BATCH]
BUDGETED: list[Any] = [method.load_estimator() for method in methods.ONLINE if method.has_budget]
SECOND_ORDER: list[Any] = [method.load_estimator() for method in methods.ONLINE if "gamma" in method.parameters]

every = pytest.mark.parametrize("estimator", EVERY, ids=lambda estimator: estimator.__name__)
of_any_target = pytest.mark.parametrize("estimator", [*EVERY, *OF_NUMBERS], ids=lambda estimator: estimator.__name__)
batch = pytest.mark.parametrize("estimator", BATCH, ids=lambda estimator: estimator.__name__)
online = pytest.mark.parametrize("estimator", ONLINE, ids=lambda estimator: estimator.__name__)
budgeted = pytest.mark.parametrize("estimator", BUDGETED, ids=lambda estimator: estimator.__name__)
second_order = pytest.mark.parametrize("estimator", SECOND_ORDER, ids=lambda estimator: estimator.__name__)


def made(estimator: Any, budget: int | float, **given: Any) -> Any:
    """Return an estimator, with a budget if it supports one."""
    return estimator(**applicable(estimator, budget), **given)


def in_order(estimator: Any, budget: int | float, **given: Any) -> Any:
    """Return an estimator whose `fit` learns the rows once, in their order, as `partial_fit` does."""
    once = {"refit": False, "n_passes": 1} if row_of(estimator).predicts_apart else {}
    return made(estimator, budget, **{"shuffle": False, **once, **given})


def row_of(estimator: Any) -> methods.Method:
    """Return the row of an estimator's class in the table."""
    return next(method for method in methods.METHODS.values() if method.estimator == estimator.__name__)


def of_kernel(name: str) -> dict[str, Any]:
    """Return what the kernel of a method is given, by default: for tests that use the core alone."""
    method = methods.find(name)
    return method.kernel_parameters(method.complete({}))


def new_model(estimator: Any) -> Model:
    """Return a new model with the parameters of an estimator, as its `fit` uses."""
    return Model(row_of(type(estimator)).name, **estimator.get_params())


def applicable(estimator: Any, budget: int | float) -> dict[str, Any]:
    """Return the budget as a parameter, if the estimator supports one."""
    return {"n_features_to_select": budget} if estimator in BUDGETED else {}


def rate_of(estimator: Any) -> str:
    """Return the parameter by which an online estimator learns faster or slower: the first of its own."""
    return next(name for name in row_of(estimator).own if name not in methods.BUDGET)


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
