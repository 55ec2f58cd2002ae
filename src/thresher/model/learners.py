"""The learners of the core: made from a method and its parameters, and trained on a matrix."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import blocks
from thresher.csr import Csr, as_batch, raise_fault
from thresher.methods import DEFAULT_BYTES, LEAST_BYTES, Method
from thresher.model.labels import Codes
from thresher.model.memory import reserve, room_for, room_for_features
from thresher.model.race import Look, Race
from thresher.parameters import budget as budget_of
from thresher.parameters import check_keep, random_generator

Learner: TypeAlias = "_core.Selector | Race"


def new_learner(
    method: Method,
    parameters: dict[str, Any],
    n_classes: int,
    kept: NDArray[np.int64],
    *,
    gamma: float | None,
    n_features: int | None,
    id_base: int = 0,
    members_only: bool = False,
) -> Learner:
    """Return a new learner; a race if the method has γ and it is not known yet.

    `kept` are the ids of the features to keep. `members_only`: it will predict alone, with the members of a sketch.
    """
    assert method.kernels is not None
    memory, n_bytes = parameters["memory"], 0
    kernels = method.kernels
    if memory == "sketch" and members_only:  # without the table
        memory = "hash"
    elif memory == "sketch":
        assert method.sketch_kernels is not None
        kernels, n_bytes = method.sketch_kernels, parameters["memory_bytes"] or DEFAULT_BYTES
        if n_classes > 2 and n_bytes < (least := LEAST_BYTES * n_classes):
            raise ValueError(f"memory_bytes={n_bytes} is too small for {n_classes} classes: use at least {least}.")
    elif memory == "auto" and method.keeps_members_only:
        memory = "hash"
    kernel = getattr(_core, kernels[n_classes > 2])
    budget = budget_of(parameters, n_features)
    check_keep(parameters, budget)

    def of(gamma: float | None) -> _core.Selector:
        with room_for(int(kept.max(initial=-1)) + 1):
            learner: _core.Selector = kernel(
                n_classes=n_classes,
                budget=budget,
                norm=parameters["norm"] or "none",
                fit_intercept=parameters["fit_intercept"],
                parameters=method.of_kernel({**parameters, "gamma": gamma}),
                keep=kept,
                memory=memory,
                memory_bytes=n_bytes,
            )
        return learner

    learner: Learner
    if gamma is None and "gamma" in parameters:
        default: Any = method.parameters["gamma"].default
        learner = Race(of, default, n_vectors=1 if n_classes == 2 else n_classes)
    else:
        learner = of(gamma)
    if n_features is not None:
        reserve(learner, n_features + id_base)
    return learner


def run_passes(
    learner: Learner, parameters: dict[str, Any], X: Csr, codes: Codes, importances: NDArray[np.float64] | None
) -> None:
    """Learn all rows of a matrix, as often and in the order that the parameters say."""
    batch = as_batch(X, 0)
    is_race = isinstance(learner, Race)
    if is_race and (fault := batch.check(parameters["norm"] or "none")) is not None:  # once for all learners
        raise_fault(fault, X)
    random = random_generator(parameters["random_state"])
    for turn in range(parameters["n_passes"]):
        order = random.permutation(len(codes)) if parameters["shuffle"] else None
        for begin, end in blocks(X.shape[0], len(X.data)):
            # The first pass checks each row while it is in cache; on a fault the learner is discarded.
            first = turn == 0
            with room_for_features():
                fault = learner.learn(
                    batch, codes, importances, order, begin, end, check=first and not is_race, is_new=first
                )
            if fault is not None:
                raise_fault(fault, X)
        batch.trust()
        if isinstance(learner, Race):
            learner.finish()  # later passes train the winner only


def winner_of(learner: Learner) -> tuple[_core.Selector, float | None, list[Look]]:
    """Return the winner of a race, its γ, and how the race went; without a race, the learner itself."""
    if not isinstance(learner, Race):
        return learner, None, []
    gamma, winner = learner.finish()
    return winner, gamma, learner.looks
