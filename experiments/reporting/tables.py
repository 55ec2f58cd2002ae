"""Markdown tables, and how a figure is written in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from experiments.protocol import SECONDS_PER_CELL
from experiments.reporting.differences import Difference, Standing
from experiments.results import Cell, SetResults

NONE = "–"
NOT_DONE = {
    "stopped": f"> {SECONDS_PER_CELL:.0f} s",
    "choice stopped": f"cross-validation > {SECONDS_PER_CELL:.0f} s",
    "not tried": f"> {SECONDS_PER_CELL:.0f} s at a smaller B",
    "not run": NONE,
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
GREEK = {"gamma": "γ", "eta": "η", "lam": "λ"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; without rows, a sentence."""
    rows = list(rows)
    if not rows:
        return "*No results yet.*"
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def by_budget(budgets: Iterable[int]) -> list[str]:
    """Return the head of a table with one column per budget."""
    return ["", *(f"B = {budget}" for budget in budgets)]


def accuracy(cell: Cell) -> str:
    """Return mean ± standard deviation, with the permutations if not 10, and the features if well below the budget."""
    if not cell.done:
        return NOT_DONE[cell.status]
    around = "" if cell.deviation is None else f" ± {cell.deviation:.2f}"
    n = f" (n = {len(cell.accuracies)})" if len(cell.accuracies) != 10 else ""
    features = "" if cell.reached else f" [{cell.n_selected:,.0f} features]"
    return f"{cell.accuracy:.2f}{around}{n}{features}"


def seconds(value: float) -> str:
    """Return a time in seconds, with three significant digits."""
    return NONE if value != value else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cell_seconds(cell: Cell) -> str:
    """Return the CPU seconds of a cell."""
    return seconds(cell.seconds) if cell.done else NOT_DONE[cell.status]


def accuracy_and_seconds(cell: Cell) -> str:
    """Return both."""
    return f"{accuracy(cell)} ({seconds(cell.seconds)} s)" if cell.done else accuracy(cell)


def signed(value: float, digits: int = 2) -> str:
    """Return a difference in points."""
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")


def points(gap: Difference | None) -> str:
    """Return a difference with its standard error."""
    if gap is None:
        return NONE
    error = f"n = {gap.n}, no se" if gap.standard_error is None else f"se {gap.standard_error:.2f}"
    return f"{signed(gap.mean)} ({error})"


def points_and_standing(gap: Difference | None) -> str:
    """Return a difference with its standard error and what that means: above, level or below."""
    if gap is None or gap.standing is Standing.UNKNOWN:
        return points(gap)
    return f"{points(gap)} {gap.standing.value}"


def counts(gaps: Collection[Difference]) -> str:
    """Return how many differences are above, level and below."""
    found = Counter(gap.standing for gap in gaps)
    unknown = f", {found[Standing.UNKNOWN]} without se" if found[Standing.UNKNOWN] else ""
    return f"{found[Standing.ABOVE]} / {found[Standing.LEVEL]} / {found[Standing.BELOW]}{unknown}"


def comparisons(rows: Iterable[tuple[str, str, Collection[Difference]]]) -> str:
    """Return the table of some comparisons: a data set, what is compared, and the differences in its cells."""
    head = ["", "difference", "cells", "lowest", "highest", *(standing.value for standing in Standing)]
    lines = []
    for name, what, gaps in rows:
        if gaps:
            means, found = [gap.mean for gap in gaps], Counter(gap.standing for gap in gaps)
            numbers = [str(found[standing]) for standing in Standing]
            lines.append([name, what, str(len(gaps)), signed(min(means)), signed(max(means)), *numbers])
    return table(head, lines)


def parameters(chosen: dict[str, Any]) -> str:
    """Return parameters as the paper names them: γ = 2."""
    return ", ".join(f"{GREEK[name]} = {value:g}" for name, value in chosen.items() if name in GREEK)


def settings(given: dict[str, Any]) -> str:
    """Return how an online method is set, in words."""
    intercept = "an intercept" if given["fit_intercept"] else "no intercept"
    order = "rows shuffled before they are learned" if given["shuffle"] else "rows in their order"
    passes = "three passes over at most 5,000 rows and one over more" if given["n_passes"] == "auto" else "one pass"
    closing = ", and a closing pass" if given["refit"] else ""
    return f"{parameters(given)}, {intercept}, {order}, {passes}{closing}"


def powers(ends: tuple[int, int]) -> str:
    """Return a grid of powers of 2."""
    return " … ".join(f"2{str(power).translate(_RAISED)}" for power in ends)


def absent(results: SetResults) -> str:
    """Return what the cells of a set without results say."""
    return "data not present" if results.config.home else "not run"


def accuracy_rows(results: SetResults, methods: Iterable[str], budgets: Sequence[int]) -> list[list[str]]:
    """Return one row of accuracies per method."""
    return [[method, *(accuracy(results.cell(method, budget)) for budget in budgets)] for method in methods]
