"""How figures are written in the report."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from experiments.protocol import SECONDS_A_CELL
from experiments.results import Cell, Difference, SetResults

NOT_DONE = {
    "stopped": f"> {SECONDS_A_CELL:.0f} s",
    "choice stopped": f"cross-validation > {SECONDS_A_CELL:.0f} s",
    "not tried": f"> {SECONDS_A_CELL:.0f} s at a smaller B",
    "not run": "–",
}


def accuracy(cell: Cell) -> str:
    """Return mean ± standard deviation, with the permutations if not 10, and the features if well below the budget."""
    if not cell.done:
        return NOT_DONE[cell.status]
    around = "" if cell.deviation is None else f" ± {cell.deviation:.2f}"
    n = len(cell.accuracies)
    told = f"{cell.accuracy:.2f}{around}" + (f" (n = {n})" if n != 10 else "")
    return told if cell.reached else f"{told} [{cell.n_selected:,.0f} features]"


def seconds(value: float) -> str:
    """Return a time in seconds, with three digits that count."""
    return "–" if value != value else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def time_of(cell: Cell) -> str:
    """Return the CPU seconds of a cell."""
    return seconds(cell.seconds) if cell.done else NOT_DONE[cell.status]


def signed(value: float) -> str:
    """Return a difference in points."""
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text == "−0.00" else text


def error_of(gap: Difference) -> str:
    """Return a standard error."""
    return f"n = {gap.n}, no se" if gap.standard_error is None else f"se {gap.standard_error:.2f}"


def difference(gap: Difference | None) -> str:
    """Return a difference with its standard error."""
    return "–" if gap is None else f"{signed(gap.mean)} ({error_of(gap)})"


def spread(gaps: Iterable[Difference]) -> str:
    """Return the range of some differences."""
    values = [gap.mean for gap in gaps]
    if not values:
        return "no figure"
    return f"{signed(min(values))} to {signed(max(values))}" if len(values) > 1 else signed(values[0])


def tally(gaps: Collection[Difference], above: str = "above", below: str = "below") -> str:
    """Return in how many cases a difference can be told, and which."""
    counts = {
        f"{above} in": sum(gap.is_above for gap in gaps),
        f"{below} in": sum(gap.is_below for gap in gaps),
        "no difference that can be told in": sum(not gap.is_told and gap.n > 1 for gap in gaps),
        "one permutation and so no standard error in": sum(gap.n == 1 for gap in gaps),
    }
    return ", ".join(f"{what} {count}" for what, count in counts.items() if count) + f" of {len(gaps)}"


def listed(words: Iterable[str]) -> str:
    """Return a list as it is said."""
    words = list(words)
    return " and ".join(words) if len(words) < 3 else ", ".join(words[:-1]) + " and " + words[-1]


def capital(text: str) -> str:
    """Return a sentence with its first letter large."""
    return text[:1].upper() + text[1:]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def accuracies(told: SetResults, methods: Iterable[str], budgets: Iterable[int]) -> list[list[str]]:
    """Return the rows of a table of accuracies, a method each."""
    budgets = list(budgets)
    return [[method, *(accuracy(told.cell(method, budget)) for budget in budgets)] for method in methods]


def by_budget(budgets: Iterable[int]) -> list[str]:
    """Return the head of a table with a budget a column."""
    return ["", *(f"B = {budget}" for budget in budgets)]


def parameters(text: str) -> str:
    """Return parameters as they are said: γ = 2."""
    return ", ".join(f"{GREEK.get(key, key)} = {value:g}" for key, value in json.loads(text).items() if key != "norm")


GREEK = {"gamma": "γ", "eta": "η", "lam": "λ"}


def absent(told: SetResults) -> str:
    """Return what stands in the cells of a set that has no results."""
    return "data not present" if told.config.home else "not run"


def where(told: SetResults) -> str:
    """Return where the data of a set are to be had."""
    again = f"`python -m experiments run {told.config.name}`"
    if told.config.home is None:
        return f"Not run yet: {again}."
    return (
        f"Data not present: get them from <{told.config.home}>, put `{told.config.file}` into the folder that "
        f"THRESHER_DATA names, and run {again}."
    )
