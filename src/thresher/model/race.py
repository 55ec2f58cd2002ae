"""The race for gamma="auto": a learner for each γ of a grid, all on the same rows, until one is left.

Who leads, who is dropped at which check, and when the race ends is in docs/gamma.md. The rule uses only the counts of
the learners; rows of weight 0 do not count. So the result depends on the rows alone, not on how they are cut into
batches, on the number of threads, or on the machine.

Memory is measured at each check and at seven evenly spaced points in between, but only if the learners could exceed
the limit.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from operator import methodcaller
from typing import Any, TypeAlias, TypedDict, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.model.class_weights import add_in_order
from thresher.model.labels import RowTargets
from thresher.model.validators import (
    dict_of,
    is_count,
    is_flag,
    is_gamma,
    is_not_negative,
    is_number,
    is_text,
    list_of,
    optional,
)
from thresher.threads import default_threads

FIRST_CHECK = 512
N_STAY = (5, 4, 3)  # at the first check, the second, and all later ones
STANDARD_ERRORS = 1.5
MEMORY_LIMIT = 2_000_000_000  # bytes
_PAGE, _CELL, _ENTRY = 4096, 8, 20  # bytes; a cell is a mean and a precision, an entry what a hash table adds

_Answer = TypeVar("_Answer")


class Standing(TypedDict):
    """The standing of the race at a check: who was in it, smallest γ first, and who was dropped."""

    rows: int
    gamma: list[float]
    mistakes: list[float]
    loss: list[float]
    dropped: list[float]
    reason: str  # why: "behind", "memory", or "end" of the rows


@final
class RaceState(TypedDict):
    """All that the rest of a race depends on; `race` has values for JSON."""

    race: dict[str, Any]
    learners: list[_core.State]


def grid(default: float) -> list[float]:
    """Return the values of γ that start: 2^-7, 2^-5 … 2^7 and the default."""
    return sorted({*(2.0**power for power in range(-7, 8, 2)), default})


def are_level(mistakes: float, least: float, weight: float = 1.0) -> bool:
    """Return whether a learner is not clearly behind the leader, which has the least mistakes."""
    return mistakes - least <= STANDARD_ERRORS * math.sqrt(weight * (mistakes + least))


def are_level_in_squares(error: float, least: float, n_rows: float) -> bool:
    """Return the same where numbers are predicted: from the sums of squared errors, of so many rows.

    The root would be the standard error of the difference if errors were normal and independent.
    """
    return error - least <= STANDARD_ERRORS * math.sqrt(2.0 * (error**2 + least**2) / n_rows)


class Race:
    """Learners for several γ that are used like one: all of them learn, and the leader predicts.

    Parameters
    ----------
    new_learner : callable
        Returns a new learner for a γ.
    default : float
        The method's default for γ.
    n_vectors : int
        How many weights a feature has.
    norm : str
        How rows are scaled, in the core's terms.
    of_numbers : bool, default=False
        Whether they learn numbers, not classes.
    """

    def __init__(
        self,
        new_learner: Callable[[float], _core.Selector],
        default: float,
        n_vectors: int,
        norm: str,
        of_numbers: bool = False,
    ) -> None:
        self._new_learner = new_learner
        self._default = default
        self._n_vectors = n_vectors
        self._norm = norm
        self._of_numbers = of_numbers
        self._checked: _core.CsrBatch | None = None  # the last batch that was checked
        self._learners = {gamma: new_learner(gamma) for gamma in grid(default)}
        self._n_ids = 0
        self._pages_at_start = next(iter(self._learners.values())).n_pages()  # of a sketch, all that it ever takes
        self._n_rows = 0
        self._first_class: int | None = None
        self._has_two_classes = of_numbers
        self._weight = self._squared_weight = 0.0  # summed over the rows
        self._pool: ThreadPoolExecutor | None = None
        self.standings: list[Standing] = []

    def learn(
        self,
        batch: _core.CsrBatch,
        classes: RowTargets,
        row_weights: NDArray[np.float64] | None,
        order: NDArray[np.int64] | None,
        begin: int,
        end: int,
        check: bool,
        is_new: bool = True,
        partners: NDArray[np.int64] | None = None,
    ) -> _core.Fault | None:
        """Learn rows with all remaining learners, and drop some of them where a check is due."""
        if len(self._learners) == 1:
            return self.leader.learn(batch, classes, row_weights, order, begin, end, check, is_new, partners)
        if check and batch is not self._checked:  # once for all learners
            fault = batch.check(self._norm)
            if fault is not None:
                return fault
            self._checked = batch
        codes, weights, indices = _rows_with_weight(classes, row_weights, order, begin, end)
        n_done = 0
        while begin < end and len(self._learners) > 1:
            stop = self._next_check()
            n_next = min(n_done + stop - self._n_rows, len(codes))
            cut = end if n_next == len(codes) else int(indices[n_next - 1]) + 1
            self._for_each(methodcaller("learn", batch, classes, row_weights, order, begin, cut, False))
            self._count(codes[n_done:n_next], weights[n_done:n_next])
            if self._n_rows == stop:
                self._drop_losers()
            begin, n_done = cut, n_next
        if begin < end:
            return self.leader.learn(batch, classes, row_weights, order, begin, end, check=False)
        return None

    def finish(self) -> tuple[float, _core.Selector]:
        """End the race, and return the γ that won and its learner."""
        if self._pool is not None:
            self._pool.shutdown()  # after Ctrl-C, learners may still be busy with the last rows
        if len(self._learners) > 1:
            self._keep_only(self._ranking()[:1], "end")
        return next(iter(self._learners.items()))

    @property
    def leader(self) -> _core.Selector:
        """The learner that would win if the rows ended now."""
        return self._learners[self._ranking()[0]]

    def reserve(self, n_features: int) -> None:
        """Allocate memory for ids below `n_features`."""
        for learner in self._learners.values():
            learner.reserve(n_features)
        self._n_ids = max(self._n_ids, n_features)

    def score(
        self, batch: _core.CsrBatch, begin: int, end: int, order: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        return self.leader.score(batch, begin, end, order)

    def parts(
        self, batch: _core.CsrBatch, classes: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return what the leader's members add to its scores."""
        return self.leader.parts(batch, classes)

    def ranks(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the leader's ranks of features."""
        return self.leader.ranks(ids)

    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return self.leader.members()

    def member_ids(self) -> NDArray[np.int64]:
        """Return the ids of the members of all remaining learners: any of them can win."""
        return np.unique(np.concatenate([learner.member_ids() for learner in self._learners.values()]))

    def q_values(self) -> NDArray[np.float64]:
        """Return the q-values of the leader's members."""
        return self.leader.q_values()

    def strongest_decoys(self, n: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the leader's decoys of the highest ranks."""
        return self.leader.strongest_decoys(n)

    @property
    def intercept(self) -> NDArray[np.float64]:
        return self.leader.intercept

    @property
    def counters(self) -> dict[str, Any]:
        return self.leader.counters

    def state(self) -> RaceState:
        """Return all that the rest of the race depends on."""
        race = {
            "gamma": list(self._learners),
            "n_rows": self._n_rows,
            "first_class": self._first_class,
            "has_two_classes": self._has_two_classes,
            "weight": self._weight,
            "squared_weight": self._squared_weight,
            "standings": [standing.copy() for standing in self.standings],
        }
        return {"race": race, "learners": [learner.state() for learner in self._learners.values()]}

    def restore(self, race: dict[str, Any], learners: Sequence[_core.State]) -> None:
        """Continue from a state; only for a race in which nothing was learned yet."""
        self._learners = {gamma: self._new_learner(gamma) for gamma in race["gamma"]}
        for learner, state in zip(self._learners.values(), learners, strict=True):
            learner.restore(**state)
            if len(state["ids"]):
                self._n_ids = max(self._n_ids, int(state["ids"][-1]) + 1)
        self._n_rows, self._first_class = race["n_rows"], race["first_class"]
        self._has_two_classes = race["has_two_classes"]
        self._weight, self._squared_weight = race["weight"], race["squared_weight"]
        self.standings = [standing.copy() for standing in race["standings"]]

    def _next_check(self) -> int:
        """Return the number of rows at which the next check is due."""
        check = FIRST_CHECK
        while check <= self._n_rows:
            check *= 2
        if not self._can_exceed_limit():
            return check
        step = max(1, (1 << self._n_rows.bit_length()) // 16)  # an eighth of the last power of two
        return min(check, (self._n_rows // step + 1) * step)

    def _can_exceed_limit(self) -> bool:
        """Return whether the learners could exceed the limit if rows touched every id."""
        pages = self._n_ids * (self._n_vectors * _CELL + _ENTRY) // _PAGE + 1
        # Each once more, for a layer that predicts, and for decoys.
        return len(self._learners) * (3 * pages + self._pages_at_start) * _PAGE > MEMORY_LIMIT

    def _count(self, codes: RowTargets, weights: NDArray[np.float64]) -> None:
        self._n_rows += len(codes)
        self._weight = add_in_order(self._weight, weights)
        self._squared_weight = add_in_order(self._squared_weight, weights * weights)
        if len(codes) and not self._has_two_classes:
            if self._first_class is None:
                self._first_class = int(codes[0])
            self._has_two_classes = bool((codes != self._first_class).any())

    def _drop_losers(self) -> None:
        """Drop the learners that are behind, and all but the leader if they take too much memory."""
        n_rows, ranked = self._n_rows, self._ranking()
        ratio, rest = divmod(n_rows, FIRST_CHECK)
        if self._has_two_classes and rest == 0 and ratio.bit_count() == 1:
            best = ranked[: N_STAY[min(ratio.bit_length(), len(N_STAY)) - 1]]
            error = {gamma: self._learners[gamma].counters["error"] for gamma in best}
            weight, least = self._squared_weight / self._weight, error[best[0]]
            if self._of_numbers:
                ranked = [gamma for gamma in best if are_level_in_squares(error[gamma], least, self._weight / weight)]
            else:
                ranked = [gamma for gamma in best if are_level(error[gamma], least, weight)]
            self._keep_only(ranked, "behind")
        if self._can_exceed_limit() and _PAGE * sum(self._for_each(methodcaller("n_pages"))) > MEMORY_LIMIT:
            self._keep_only(ranked[:1], "memory")

    def _ranking(self) -> list[float]:
        """Return the γ of the remaining learners, the leader's first."""

        def rank_key(gamma: float) -> tuple[float, float, float, float]:
            counters = self._learners[gamma].counters
            loss = counters["loss"]
            return (
                counters["error"],
                math.inf if math.isnan(loss) else loss,
                abs(math.log2(gamma / self._default)),
                -gamma,
            )

        return sorted(self._learners, key=rank_key)

    def _keep_only(self, stay: list[float], reason: str) -> None:
        """Note the standing, and drop all others."""
        counters = [learner.counters for learner in self._learners.values()]
        self.standings.append(
            {
                "rows": counters[0]["n_samples"],
                "gamma": list(self._learners),
                "mistakes": [of_one["error"] for of_one in counters],
                "loss": [of_one["loss"] for of_one in counters],
                "dropped": [gamma for gamma in self._learners if gamma not in stay],
                "reason": reason,
            }
        )
        self._learners = {gamma: learner for gamma, learner in self._learners.items() if gamma in stay}

    def _for_each(self, work: Callable[[_core.Selector], _Answer]) -> list[_Answer]:
        """Return the results of `work` for all learners, which are distributed over the cores."""
        n_threads = min(len(self._learners), default_threads())
        if self._pool is None:
            self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="thresher-race")
        learners = list(self._learners.values())
        waiting = deque(range(len(learners)))
        answers: dict[int, _Answer] = {}

        def take_turns() -> None:
            while waiting:
                try:
                    k = waiting.popleft()
                except IndexError:
                    return
                answers[k] = work(learners[k])

        # After Ctrl-C either all or none of the learners must have learned the rows: any thread that runs does the work
        # of all, and the others find nothing left to do.
        futures: list[Future[None]] = []
        try:
            for _ in range(n_threads):
                futures.append(self._pool.submit(take_turns))
            for future in futures:
                future.result()
        finally:
            wait(futures)
        return [answers[k] for k in range(len(learners))]


STANDINGS_VALIDATOR = list_of(
    dict_of(
        rows=is_count, gamma=list_of(is_gamma), mistakes=list_of(is_number), loss=list_of(is_number),
        dropped=list_of(is_gamma), reason=is_text,
    )
)  # fmt: skip
RACE_VALIDATOR = optional(
    dict_of(
        gamma=list_of(is_gamma, 1), n_rows=is_count, first_class=optional(is_count), has_two_classes=is_flag,
        weight=is_not_negative, squared_weight=is_not_negative, standings=STANDINGS_VALIDATOR,
    )
)  # fmt: skip

Learner: TypeAlias = "_core.Selector | Race"


def winner_of(learner: Learner) -> tuple[_core.Selector, float | None, list[Standing]]:
    """Return the winner of a race, its γ, and the standings; without a race, the learner itself."""
    if not isinstance(learner, Race):
        return learner, None, []
    gamma, winner = learner.finish()
    return winner, gamma, learner.standings


def _rows_with_weight(
    classes: RowTargets, row_weights: NDArray[np.float64] | None, order: NDArray[np.int64] | None, begin: int, end: int
) -> tuple[RowTargets, NDArray[np.float64], NDArray[np.intp]]:
    """Return the codes, weights and indices of the rows whose weight is not 0."""
    rows = slice(begin, end) if order is None else order[begin:end]
    indices = np.arange(begin, end)
    if row_weights is None:
        return classes[rows], np.ones(end - begin), indices
    weights = row_weights[rows]
    count = weights != 0
    return classes[rows][count], weights[count], indices[count]
