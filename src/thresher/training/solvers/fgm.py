"""FGM: an SVM that asks for its features group by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.progress import steps_bar
from thresher.training.solvers.problem import Floats, Problem, Solution, by_size, signs

BYTES_PER_VALUE = 48

# The sub-problem is solved until a step changes its objective by less than this share, or for so many steps.
_STEP_TOLERANCE = 1e-9
_MOST_STEPS = 10_000


def solve(problem: Problem, parameters: Mapping[str, Any]) -> Solution:
    """Add groups of the features that would change the SVM most, and train it on all groups so far."""
    X, Y = problem.X, signs(problem)
    size = parameters["group_size"] or max(1, problem.budget // 10)
    members: list[NDArray[np.intp]] = []
    machine = _Machine(Y, parameters["C"], parameters["fit_intercept"])
    at = machine.start()
    objective = [at.objective]
    with steps_bar("selecting", problem.budget, parameters["progress"]) as bar:
        while (n_members := sum(map(len, members))) < problem.budget:
            pull = np.square(X.T @ (machine.slack(at) * Y)).sum(axis=1)
            if members:
                pull[np.concatenate(members)] = -1.0
            # The first group is what is to be kept.
            is_first = not members and len(problem.keep) > 0
            group = problem.keep if is_first else _largest(pull, min(size, problem.budget - n_members))
            if len(group) == 0:  # what is left would change nothing
                break
            members.append(group)
            at = machine.solve(X[:, np.concatenate(members)], [len(group) for group in members], at)
            objective.append(at.objective)
            bar.done(n_members + len(group), f"{n_members + len(group):,} features, objective {objective[-1]:.6g}")
            if objective[-2] - objective[-1] < parameters["tol"] * objective[0] and not is_first:
                break
    columns = problem.columns[np.concatenate(members)] if members else problem.columns[:0]
    found = by_size(columns, np.ascontiguousarray(at.weights.T), at.intercept)
    return replace(found, extras={"objective": np.array(objective)})


@dataclass(frozen=True)
class _Point:
    weights: Floats  # (n_members, n_outputs)
    intercept: Floats  # (n_outputs,)
    margins: Floats  # (n_rows, n_outputs)
    objective: float


class _Machine:
    """The SVM over given groups: accelerated proximal gradient (Tan, Tsang, Wang, Algorithm 4 and its §5.2).

    minimises  F(W) = ½ (Σ_t ‖W_t‖)² + C/2·Σ_ik max(0, 1 − y_ik (x_i·w_k + b_k))²

    W_t are the weights of group t for all outputs k, so that classes share their groups.
    """

    def __init__(self, Y: Floats, C: float, fit_intercept: bool) -> None:
        self._Y, self._C, self._fit_intercept = Y, C, fit_intercept
        self._lipschitz = C  # rows of unit length need no less; found by looking, from there

    def start(self) -> _Point:
        """Return W = 0 without any group."""
        n_rows, n_outputs = self._Y.shape
        margins = np.zeros((n_rows, n_outputs))
        return _Point(np.zeros((0, n_outputs)), np.zeros(n_outputs), margins, self._loss(margins))

    def slack(self, solution: _Point) -> Floats:
        """Return max(0, 1 − y m), which is α/C."""
        return np.maximum(0.0, 1.0 - self._Y * solution.margins)

    def solve(self, X: Any, sizes: list[int], start: _Point) -> _Point:
        """Return the minimum over the groups, from the solution over all groups but the last."""
        turned = X.T.tocsr()
        groups = np.repeat(np.arange(len(sizes)), sizes)
        weights = np.vstack([start.weights, np.zeros((sizes[-1], self._Y.shape[1]))])
        here = _Point(weights, start.intercept, start.margins, start.objective)
        before, momentum = here, 1.0
        for _ in range(_MOST_STEPS):
            next_momentum = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = _extrapolate(here, before, (momentum - 1.0) / next_momentum)
            found = self._step(X, turned, groups, ahead)
            if found.objective > here.objective:
                if momentum == 1.0:  # not even a plain step helps: rounding is all that is left
                    break
                before, momentum = here, 1.0
                continue
            gain = here.objective - found.objective
            before, here, momentum = here, found, next_momentum
            if gain <= _STEP_TOLERANCE * here.objective:
                break
        return here

    def _step(self, X: Any, turned: Any, groups: NDArray[np.intp], at: _Point) -> _Point:
        """Take a proximal gradient step, as long as the loss lies below its quadratic model there."""
        slack = np.maximum(0.0, 1.0 - self._Y * at.margins)
        pull = self._C * slack * self._Y
        gradient = -(turned @ pull)
        intercept_gradient = -pull.sum(axis=0) if self._fit_intercept else np.zeros(self._Y.shape[1])
        loss = self._C / 2.0 * float(np.square(slack).sum())
        self._lipschitz *= 0.9
        while True:
            weights = _shrink(at.weights - gradient / self._lipschitz, groups, 1.0 / self._lipschitz)
            intercept = at.intercept - intercept_gradient / self._lipschitz
            margins = X @ weights + intercept
            by, intercept_by = weights - at.weights, intercept - at.intercept
            square = float(np.square(by).sum() + np.square(intercept_by).sum())
            model = float((gradient * by).sum() + intercept_gradient @ intercept_by) + self._lipschitz / 2.0 * square
            new_loss = self._loss(margins)
            if new_loss <= loss + model + 1e-12 * loss:
                return _Point(weights, intercept, margins, new_loss + _norms(weights, groups).sum() ** 2 / 2.0)
            self._lipschitz *= 2.0

    def _loss(self, margins: Floats) -> float:
        return self._C / 2.0 * float(np.square(np.maximum(0.0, 1.0 - self._Y * margins)).sum())


def _extrapolate(here: _Point, before: _Point, by: float) -> _Point:
    def beyond(now: Floats, then: Floats) -> Floats:
        return now + by * (now - then)

    return _Point(
        beyond(here.weights, before.weights),
        beyond(here.intercept, before.intercept),
        beyond(here.margins, before.margins),
        np.nan,
    )


def _norms(weights: Floats, groups: NDArray[np.intp]) -> Floats:
    norms: Floats = np.sqrt(np.bincount(groups, weights=np.square(weights).sum(axis=1)))
    return norms


def _shrink(weights: Floats, groups: NDArray[np.intp], step: float) -> Floats:
    """Return the point that minimises ½ ‖W − weights‖² + step/2·(Σ_t ‖W_t‖)².

    Each norm o_t is shortened by the same ς = step/(1 + ρ·step)·Σ o_t over the ρ largest, those that stay above it.
    """
    norms = _norms(weights, groups)
    descending = np.sort(norms)[::-1]
    shortening = np.cumsum(descending) * step / (1.0 + step * np.arange(1, len(norms) + 1))
    by = shortening[np.count_nonzero(descending > shortening) - 1] if norms.any() else 0.0
    factors = np.maximum(0.0, 1.0 - by / np.where(norms > 0, norms, 1.0))
    return weights * factors[groups, np.newaxis]


def _largest(pull: Floats, n: int) -> NDArray[np.intp]:
    """Return the places of the n largest, largest first and on ties the smaller place; those above 0 only."""
    if n < len(pull):
        least = np.partition(pull, len(pull) - n)[len(pull) - n]
        places = np.flatnonzero(pull >= max(least, np.finfo(float).tiny))
    else:
        places = np.flatnonzero(pull > 0)
    return places[np.argsort(-pull[places], kind="stable")][:n]
