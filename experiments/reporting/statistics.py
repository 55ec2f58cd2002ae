"""Paired differences with their standard errors, and verdicts on statements about them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from experiments.results import Cell


class Standing(Enum):
    """How a difference compares with zero: more than two standard errors away is above or below."""

    ABOVE = "above"
    LEVEL = "level"
    BELOW = "below"
    UNKNOWN = "no se"  # a single permutation has no standard error


class Verdict(Enum):
    """A verdict on a statement."""

    HOLDS = "holds"
    FAILS = "**does not hold**"
    UNDECIDED = "undecided"
    NO_DATA = "no data"


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


def unpaired_difference(mine: Cell, other: Cell) -> Difference:
    """Compare the means of two cells that share no test rows."""
    n = min(len(mine.accuracies), len(other.accuracies))
    errors = [cell.deviation / math.sqrt(len(cell.accuracies)) for cell in (mine, other) if cell.deviation is not None]
    return Difference(mine.accuracy - other.accuracy, math.hypot(*errors) if len(errors) == 2 else None, n)


def _at(of: Cell | float, permutation: int) -> float:
    return of.accuracies[permutation] if isinstance(of, Cell) else of


def standings(gaps: Collection[Difference]) -> Counter[Standing]:
    """Count the differences by where they stand."""
    return Counter(gap.standing for gap in gaps)


def judge(holds: bool) -> Verdict:
    """Return the verdict on a statement that is judged by means alone."""
    return Verdict.HOLDS if holds else Verdict.FAILS


def most_above(gaps: Collection[Difference]) -> Verdict:
    """Judge the statement that more than half of the differences are above zero."""
    counts = standings(gaps)
    if not gaps:
        return Verdict.NO_DATA
    if 2 * counts[Standing.ABOVE] > len(gaps):
        return Verdict.HOLDS
    return Verdict.UNDECIDED if 2 * (len(gaps) - counts[Standing.BELOW]) > len(gaps) else Verdict.FAILS


def few_below(gaps: Collection[Difference], most: int) -> Verdict:
    """Judge the statement that no more than so many differences are below zero."""
    counts = standings(gaps)
    if not gaps:
        return Verdict.NO_DATA
    if counts[Standing.BELOW] > most:
        return Verdict.FAILS
    return Verdict.HOLDS if counts[Standing.BELOW] + counts[Standing.UNKNOWN] <= most else Verdict.UNDECIDED


def error_of_share(percent: float, n_rows: int) -> float:
    """Return the standard error of an accuracy in % on so many test rows."""
    share = percent / 100
    return 100 * math.sqrt(share * (1 - share) / n_rows)
