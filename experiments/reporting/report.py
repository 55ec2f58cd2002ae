"""REPORT.md: each table and figure beside the paper's, and what to make of it; a module has a table and its prose.

Every sentence that says something about results is made from them, so that it can't say what they don't.
"""

from __future__ import annotations

from pathlib import Path

from experiments.reporting.figure_1 import figure_1
from experiments.reporting.judged import at_length, in_short
from experiments.reporting.opening import opening
from experiments.reporting.other_rows import dense_rows, rows_as_they_are
from experiments.reporting.runs import runs
from experiments.reporting.table_2 import table_2
from experiments.reporting.table_4 import table_4
from experiments.reporting.table_6 import figures_2_and_3, table_6
from experiments.reporting.times import table_7, truncation
from experiments.results import Results

_SECTIONS = (
    opening, in_short, figure_1, table_2, table_4, table_6, rows_as_they_are, figures_2_and_3, dense_rows, table_7,
    truncation, at_length, runs,
)  # fmt: skip


def write_report(folder: Path) -> None:
    """Write REPORT.md from the results in a folder."""
    (folder / "REPORT.md").write_text(report(Results(folder / "results")))


def report(results: Results) -> str:
    """Return the text of the report."""
    lines = [line for section in _SECTIONS for line in section(results)]
    return "\n".join(lines).rstrip() + "\n"
