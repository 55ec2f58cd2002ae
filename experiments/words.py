"""How figures are written in the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from experiments.protocol import SECONDS_A_CELL
from experiments.results import Cell

NOT_DONE = {
    "stopped": f"> {SECONDS_A_CELL:.0f} s",
    "not tried": f"> {SECONDS_A_CELL:.0f} s at a smaller B",
    "not run": "–",
}


def accuracy(cell: Cell) -> str:
    """Return mean ± standard deviation, with the number of permutations where it is not 10."""
    if not cell.done:
        return NOT_DONE[cell.status]
    spread = "" if cell.deviation is None else f" ± {cell.deviation:.2f}"
    n = len(cell.accuracies)
    return f"{cell.accuracy:.2f}{spread}" + (f" (n = {n})" if n != 10 else "")


def seconds(value: float) -> str:
    """Return a time in seconds, with three digits that count."""
    return "–" if value != value else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def time_of(cell: Cell) -> str:
    """Return the CPU seconds of a cell."""
    return seconds(cell.seconds) if cell.done else NOT_DONE[cell.status]


def signed(value: float) -> str:
    """Return a difference in points."""
    return f"{value:+.2f}".replace("-", "−")


def spread(values: Sequence[float]) -> str:
    """Return the range of some differences."""
    if not values:
        return "no figure"
    return f"{signed(min(values))} to {signed(max(values))}" if len(values) > 1 else signed(values[0])


def listed(words: Iterable[str]) -> str:
    """Return a list as it is said."""
    words = list(words)
    return " and ".join(words) if len(words) < 3 else ", ".join(words[:-1]) + " and " + words[-1]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def parameters(text: str) -> str:
    """Return parameters as they are said: γ = 2."""
    names = {"gamma": "γ", "eta": "η", "lam": "λ"}
    return ", ".join(f"{names.get(key, key)} = {value:g}" for key, value in json.loads(text).items() if key != "norm")
