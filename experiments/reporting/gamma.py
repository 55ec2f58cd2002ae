"""GAMMA.md: gamma="auto" beside every γ of its grid, and its time."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from experiments.gamma_auto import NAMES, default_of
from experiments.methods import METHODS
from experiments.reporting.tables import table
from experiments.store import read_csv

# What must hold: points of accuracy below the best γ in a cell and on average, and times as long as one γ.
WORST, MEAN = 1.0, 0.4
LONGEST = {"memory": 4.0, "text": 2.0}

TEXT = """\
# gamma="auto" beside every γ of its grid

Written by `python -m experiments gamma-auto` ({where}).

Rows are learned in the order of each permutation (`shuffle=False`); all else has its default. *Best γ* is the one of
the grid whose accuracy is highest on average over the permutations: it was chosen with sight of the test rows.
Differences are paired, ± one standard error. Accuracies are in %, differences in points.

{summary}

{accuracies}

## Time

Seconds to train, the least of several runs, the default γ and "auto" in turn; *text* is svmlight, which is read, parsed
and learned. "auto" learns with several γ at a time, on all cores.

{times}
"""

CellKey = tuple[str, str, int]


@dataclass
class Cell:
    """A method on a set at a budget: accuracies by permutation of each γ and of "auto", and what that chose."""

    by_gamma: dict[float, dict[int, float]] = field(default_factory=dict)
    auto: dict[int, float] = field(default_factory=dict)
    chosen: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The γ of the highest mean accuracy."""
        return max(self.by_gamma, key=self.mean)

    def mean(self, gamma: float) -> float:
        """Return the mean accuracy of a γ."""
        return statistics.fmean(self.by_gamma[gamma].values())

    @property
    def gaps(self) -> list[float]:
        """How far "auto" is above the best γ, by permutation."""
        best = self.by_gamma[self.best]
        return [accuracy - best[permutation] for permutation, accuracy in self.auto.items()]


def write_report(folder: Path) -> None:
    """Write GAMMA.md from the tables in `folder`/results."""
    results = folder / "results"
    cells = read_cells(results)
    ran = next((row for row in read_csv(results / "runs.csv") if row["set"] == "gamma-auto"), None)
    text = TEXT.format(
        where=f"{ran['cores']} cores of {ran['machine']}, commit {ran['commit']}" if ran else "no run yet",
        summary=_summary(cells),
        accuracies=_accuracies(cells),
        times=_times(read_csv(results / "gamma-auto-time.csv")),
    )
    (folder / "GAMMA.md").write_text(text)


def read_cells(results: Path) -> dict[CellKey, Cell]:
    """Return all cells, in the order of the file."""
    cells: dict[CellKey, Cell] = {}
    for row in read_csv(results / "gamma-auto.csv"):
        cell = cells.setdefault((row["method"], row["set"], int(row["budget"])), Cell())
        permutation, accuracy = int(row["permutation"]), float(row["accuracy"])
        if row["gamma"] == "auto":
            cell.auto[permutation] = accuracy
            cell.chosen.append(float(row["chosen"]))
        else:
            cell.by_gamma.setdefault(float(row["gamma"]), {})[permutation] = accuracy
    return cells


def _summary(cells: dict[CellKey, Cell]) -> str:
    rows = []
    for name in NAMES:
        gaps = [statistics.fmean(cell.gaps) for (method, _, _), cell in cells.items() if method == name]
        if gaps:
            mean = statistics.fmean(gaps)
            holds = "yes" if min(gaps) >= -WORST and mean >= -MEAN else "**no**"
            rows.append([name, str(len(gaps)), f"{min(gaps):+.2f}", f"{mean:+.2f}", holds])
    head = ["", "cells", "worst cell", "mean over cells", f"no more than {WORST:g} and {MEAN:g} below"]
    return table(head, rows)


def _accuracies(cells: dict[CellKey, Cell]) -> str:
    rows = []
    for (method, set_, budget), cell in cells.items():
        gaps = cell.gaps
        error = f" ± {statistics.stdev(gaps) / math.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else ""
        rows.append(
            [
                method, set_, _budget(budget), f"2^{math.log2(cell.best):g}", f"{cell.mean(cell.best):.2f}",
                f"{statistics.fmean(cell.auto.values()):.2f}", f"{statistics.fmean(gaps):+.2f}{error}",
                f"{cell.mean(default_of(METHODS[method])):.2f}", _powers(cell.chosen),
            ]
        )  # fmt: skip
    head = ["", "set", "B", "best γ", "accuracy", 'with "auto"', "difference", "default γ", "chosen (how often)"]
    return table(head, rows)


def _powers(chosen: list[float]) -> str:
    """Return how often each γ was chosen, as powers of 2."""
    return ", ".join(f"2^{math.log2(gamma):g} ({chosen.count(gamma)})" for gamma in sorted(set(chosen)))


def _times(found: list[dict[str, str]]) -> str:
    rows = []
    for row in found:
        fixed, auto, longest = float(row["fixed"]), float(row["auto"]), LONGEST[row["where"]]
        ratio = f"{auto / fixed:.2f}" if auto <= longest * fixed else f"**{auto / fixed:.2f}**"
        rows.append(
            [
                row["method"], row["set"], _budget(int(row["budget"])), row["where"], f"{fixed:.4f}", f"{auto:.4f}",
                ratio, f"{longest:g}",
            ]
        )  # fmt: skip
    return table(["", "set", "B", "from", "one γ", '"auto"', "ratio", "at most"], rows)


def _budget(budget: int) -> str:
    return f"{budget:,}" if budget else "all"
