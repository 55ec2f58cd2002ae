"""GAMMA.md: gamma="auto" beside every γ of its grid, other rules for dropping, and time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.gamma_auto import NAMES, default_of
from experiments.methods import METHODS
from experiments.reporting.tables import NONE, table
from experiments.store import read_csv
from thresher.model.race import FIRST_LOOK, N_STAY, STANDARD_ERRORS, are_level

# What must hold: points of accuracy below the best γ in a cell and on average, and times as long as one γ.
WORST, MEAN = 1.0, 0.4
FEW = 2_000  # training rows
LONGEST = {"memory": 4.0, "text": 2.0}

TEXT = """\
# gamma="auto" beside every γ of its grid

Written by `python -m experiments gamma-auto` ({where}).

Rows are learned in the order of each permutation (`shuffle=False`); all else has its default. *Best γ* is the one of
the grid whose accuracy is highest on average over the permutations: it was chosen with sight of the test rows.
Differences are paired, ± one standard error. Accuracies are in %, differences in points.

{summary}

{accuracies}

## Other rules for dropping

What the race would have lost with other rules, on the training rows alone: by how many points of prequential error the
winner is above that of a race in which nobody is dropped, and how many γ were trained on average over the rows, on sets
of less than 2,000 training rows and on larger ones. "5, 4, 3" stands for the best five at the first look, the best four
at the second and the best three at later ones; *2 se* drops those that are clearly behind too, by so many standard
errors ([docs/gamma.md](../docs/gamma.md)). The rule in use is bold.

{rules}

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


@dataclass(frozen=True)
class Rule:
    """How many stay at the first look, the second and so on, and after how many standard errors one is dropped."""

    n_stay: tuple[int, ...]
    standard_errors: float = math.inf

    @property
    def name(self) -> str:
        """The rule in a few words."""
        errors = "" if self.standard_errors == math.inf else f"; {self.standard_errors:g} se"
        return ", ".join(map(str, self.n_stay)) + errors


IN_USE = Rule(N_STAY, STANDARD_ERRORS)
RULES = (
    Rule((9,)), Rule((9,), 2), Rule((9,), 1), Rule((5, 4)), Rule((5, 4), 2), Rule((5, 4, 3)), Rule((5, 4, 3), 2),
    IN_USE, Rule((5, 4, 3), 1), Rule((5, 4, 3, 2), 1.5), Rule((5, 3, 2, 1)),
)  # fmt: skip


def write_report(folder: Path) -> None:
    """Write GAMMA.md from the tables in `folder`/results."""
    results = folder / "results"
    cells = read_cells(results)
    ran = next((row for row in read_csv(results / "runs.csv") if row["set"] == "gamma-auto"), None)
    text = TEXT.format(
        where=f"{ran['cores']} cores of {ran['machine']}, commit {ran['commit']}" if ran else "no run yet",
        summary=_summary(cells),
        accuracies=_accuracies(cells),
        rules=_rules(read_races(results)),
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


@dataclass(frozen=True)
class Look:
    """Mistakes and loss of one γ at a number of rows."""

    rows: int
    mistakes: float
    loss: float


@dataclass
class PastRace:
    """The looks of each γ, if nobody is dropped."""

    default: float
    looks: dict[float, list[Look]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """How many rows there were."""
        return next(iter(self.looks.values()))[-1].rows

    def replay(self, rule: Rule) -> tuple[float, float]:
        """Return the points of prequential error that a rule loses, and the γ trained on average over the rows."""
        left, n_before, n_trained = sorted(self.looks), 0, 0
        ends = [look.rows for look in self.looks[left[0]]]
        for place, rows in enumerate(ends):
            n_trained += len(left) * (rows - n_before)
            n_before = rows
            if place < len(ends) - 1:
                stay = self._ranked(left, place)[: rule.n_stay[min(place, len(rule.n_stay) - 1)]]
                mistakes = [self.looks[gamma][place].mistakes for gamma in stay]
                left = [
                    gamma
                    for gamma, its in zip(stay, mistakes, strict=True)
                    if rule.standard_errors == math.inf
                    or are_level(its, mistakes[0], standard_errors=rule.standard_errors)
                ]
        winner, best = (self._ranked(each, -1)[0] for each in (left, list(self.looks)))
        lost = self.looks[winner][-1].mistakes - self.looks[best][-1].mistakes
        return 100 * lost / n_before, n_trained / n_before

    def _ranked(self, gammas: Sequence[float], place: int) -> list[float]:
        def at(gamma: float) -> tuple[float, float, float, float]:
            look = self.looks[gamma][place]
            return look.mistakes, look.loss, abs(math.log2(gamma / self.default)), -gamma

        return sorted(gammas, key=at)


def read_races(results: Path) -> list[PastRace]:
    """Return the races that have looks: more rows than the first look needs."""
    races: dict[tuple[str, ...], PastRace] = {}
    for row in read_csv(results / "gamma-auto-looks.csv"):
        key = (row["method"], row["set"], row["budget"], row["permutation"])
        race = races.setdefault(key, PastRace(default_of(METHODS[row["method"]])))
        look = Look(int(row["rows"]), float(row["mistakes"]), float(row["loss"]))
        race.looks.setdefault(float(row["gamma"]), []).append(look)
    return [race for race in races.values() if next(iter(race.looks.values()))[0].rows == FIRST_LOOK]


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


def _rules(races: list[PastRace]) -> str:
    rows = []
    for rule in RULES if races else ():
        lost, trained = zip(*(race.replay(rule) for race in races), strict=True)
        name = f"**{rule.name}**" if rule == IN_USE else rule.name
        costs: dict[bool, list[float]] = {True: [], False: []}
        for race, n in zip(races, trained, strict=True):
            costs[race.n_rows < FEW].append(n)
        means = [f"{statistics.fmean(cost):.1f}" if cost else NONE for cost in costs.values()]
        rows.append([name, f"{statistics.fmean(lost):.3f}", f"{max(lost):.2f}", *means])
    return table(["stay", "mean loss", "worst loss", "γ trained, few rows", "γ trained, many"], rows)


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
