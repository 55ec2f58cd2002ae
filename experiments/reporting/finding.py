"""A statement that the results are asked about, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from experiments.results import Difference

# Differences below this share of a time are not called differences.
SHARE = 0.05


class Verdict(Enum):
    """What the results say of a statement."""

    HOLDS = "holds"
    FAILS = "**does not hold**"
    UNTOLD = "can't be told"
    NO_DATA = "no data"


@dataclass(frozen=True)
class Finding:
    """A statement, whether it holds here, the figures in a sentence or two, and a table where they are many."""

    says: str
    verdict: Verdict
    found: str = ""
    table: tuple[str, ...] = ()


def judge(holds: bool) -> Verdict:
    """Return the verdict on what is judged by its mean."""
    return Verdict.HOLDS if holds else Verdict.FAILS


def all_above(gaps: Sequence[Difference]) -> Verdict:
    """Judge a statement that all differences are above zero."""
    if not gaps:
        return Verdict.NO_DATA
    if any(gap.is_below for gap in gaps):
        return Verdict.FAILS
    return Verdict.HOLDS if all(gap.is_above for gap in gaps) else Verdict.UNTOLD


def most_above(gaps: Sequence[Difference]) -> Verdict:
    """Judge a statement that more than half of the differences are above zero."""
    if not gaps:
        return Verdict.NO_DATA
    if 2 * sum(gap.is_above for gap in gaps) > len(gaps):
        return Verdict.HOLDS
    could_be = sum(gap.is_above or not gap.is_told for gap in gaps)
    return Verdict.UNTOLD if 2 * could_be > len(gaps) else Verdict.FAILS
