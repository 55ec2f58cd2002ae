"""What is judged: in short, with a verdict each, and at length, with the figures."""

from __future__ import annotations

from collections.abc import Callable

from experiments.reporting.bars import bars
from experiments.reporting.claims import claims
from experiments.reporting.finding import Finding
from experiments.reporting.others import others
from experiments.reporting.words import capital, table
from experiments.results import Results

_GROUPS: dict[str, Callable[[Results], list[Finding]]] = {
    "What we hold ourselves to": bars,
    "Five claims of the text": claims,
    "Other findings": others,
}


def in_short(results: Results) -> list[str]:
    """Return the verdicts; the figures are in sections of their own."""
    lines = ["## In short", ""]
    lines += ["What can't be told is a difference of 2 standard errors or less, or one of a single permutation.", ""]
    for title, judged in _GROUPS.items():
        rows = [[finding.says, finding.verdict.value] for finding in judged(results)]
        lines += table([f"[{title}](#{_anchor(title)})", ""], rows)
    return lines


def at_length(results: Results) -> list[str]:
    """Return every statement with its figures."""
    lines = []
    for title, judged in _GROUPS.items():
        lines += [f"## {title}", ""]
        for number, finding in enumerate(judged(results), 1):
            found = f" {capital(finding.found)}." if finding.found else ""
            lines += [f"{number}. *{finding.says}*: {finding.verdict.value}.{found}", ""]
            lines += [f"   {line}".rstrip() for line in finding.table]
    return lines


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")
