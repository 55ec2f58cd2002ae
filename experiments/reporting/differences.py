"""Paired differences between cells, with their standard errors, and verdicts on statements about them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from experiments.results import Cell, SetResults


class Standing(Enum):
    """How a difference compares with zero: more than two standard errors away is above or below."""

    ABOVE = "above"
    LEVEL = "level"
    BELOW = "below"
    UNKNOWN = "no se"  # a single permutation has no standard error


@dataclass(frozen=True)
class Difference:
    """By how many points one accuracy is above another, over `n` permutations."""

    mean: float
    standard_error: float | None
    n: int

    @property
    def standing(self) -> Standing:
        """How it compares with zero."""
        if self.standard_error is None:
            return Standing.UNKNOWN
        if abs(self.mean) <= 2 * self.standard_error:
            return Standing.LEVEL
        return Standing.ABOVE if self.mean > 0 else Standing.BELOW


Gaps = dict[int, Difference]  # by budget


def difference(mine: Cell, other: Cell | float) -> Difference | None:
    """Compare with a cell on the permutations that both have, or with a figure of the paper, whose error is unknown."""
    return mean_difference([(mine, other)])


def mean_difference(pairs: Sequence[tuple[Cell, Cell | float]]) -> Difference | None:
    """Compare the means over several pairs, permutation by permutation; None where no permutation is common to all."""
    have = [set(cell.accuracies) for pair in pairs for cell in pair if isinstance(cell, Cell)]
    values = [
        # What is left of two equal figures is a rounding error.
        round(statistics.fmean(_at(mine, number) - _at(other, number) for mine, other in pairs), 9)
        for number in sorted(set.intersection(*have) if have else ())
    ]
    if not values:
        return None
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return Difference(statistics.fmean(values), error, len(values))


def _at(of: Cell | float, permutation: int) -> float:
    return of.accuracies[permutation] if isinstance(of, Cell) else of


def unpaired_difference(mine: Cell, other: Cell) -> Difference:
    """Compare the means of two cells that share no test rows."""
    n = min(len(mine.accuracies), len(other.accuracies))
    errors = [cell.deviation / math.sqrt(len(cell.accuracies)) for cell in (mine, other) if cell.deviation is not None]
    return Difference(mine.accuracy - other.accuracy, math.hypot(*errors) if len(errors) == 2 else None, n)


def strongest(
    results: SetResults, method: str, rivals: Iterable[str], budgets: Iterable[int]
) -> dict[int, tuple[str, Difference]]:
    """Return the rival that a method is least above, and how far it is, at each budget where there are figures."""
    found = {}
    for budget in budgets:
        mine = results.cell(method, budget)
        each = {name: gap for name in rivals if (gap := difference(mine, results.cell(name, budget))) is not None}
        if each:
            found[budget] = min(each.items(), key=lambda item: item[1].mean)
    return found


def gaps(results: SetResults, method: str, rivals: Iterable[str], budgets: Iterable[int]) -> Gaps:
    """Return how far a method is above the strongest of some rivals, at each budget where there are figures."""
    return {budget: gap for budget, (_, gap) in strongest(results, method, rivals, budgets).items()}


def against_paper(cells: Iterable[Cell], paper: Iterable[float]) -> Gaps:
    """Return how far cells are above the paper's figures; the standard error is that of our mean alone."""
    found = {cell.budget: difference(cell, value) for cell, value in zip(cells, paper, strict=True)}
    return {budget: gap for budget, gap in found.items() if gap is not None}


class Verdict(Enum):
    """A verdict on a statement."""

    HOLDS = "holds"
    FAILS = "**does not hold**"
    UNDECIDED = "undecided"
    NO_DATA = "no data"


def judge(holds: Iterable[bool]) -> Verdict:
    """Judge a statement by means alone: it must hold each time."""
    each = list(holds)
    return Verdict.NO_DATA if not each else Verdict.HOLDS if all(each) else Verdict.FAILS


def most_above(gaps: Collection[Difference]) -> Verdict:
    """Judge the statement that more than half of the differences are above zero."""
    counts = Counter(gap.standing for gap in gaps)
    if not gaps:
        return Verdict.NO_DATA
    if 2 * counts[Standing.ABOVE] > len(gaps):
        return Verdict.HOLDS
    return Verdict.UNDECIDED if 2 * (len(gaps) - counts[Standing.BELOW]) > len(gaps) else Verdict.FAILS


def few_below(gaps: Collection[Difference], most: int) -> Verdict:
    """Judge the statement that no more than so many differences are below zero."""
    counts = Counter(gap.standing for gap in gaps)
    if not gaps:
        return Verdict.NO_DATA
    if counts[Standing.BELOW] > most:
        return Verdict.FAILS
    return Verdict.HOLDS if counts[Standing.BELOW] + counts[Standing.UNKNOWN] <= most else Verdict.UNDECIDED


def error_of_share(percent: float, n_rows: int) -> float:
    """Return the standard error of an accuracy in % on so many test rows."""
    share = percent / 100
    return 100 * math.sqrt(share * (1 - share) / n_rows)
