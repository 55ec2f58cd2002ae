"""The results that are in CSV files, as cells: a mean and a standard deviation over permutations."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments import config
from experiments.config import Config
from experiments.paper import MEDIUM
from experiments.store import read_csv
from experiments.x2 import QUICK, Size

REACHED = 0.9  # a cell with fewer of its B features is not one of B features


@dataclass(frozen=True)
class Cell:
    """What a method does on a data set at a budget: accuracy in %, median CPU seconds, and means of the rest."""

    status: str
    budget: int
    accuracies: Mapping[int, float] = field(default_factory=dict)  # by permutation
    seconds: float = float("nan")
    n_selected: float = float("nan")
    n_updates: float = float("nan")

    @property
    def done(self) -> bool:
        """Whether there is a figure."""
        return bool(self.accuracies)

    @property
    def accuracy(self) -> float:
        """The mean; NaN where there is no figure."""
        return statistics.fmean(self.accuracies.values()) if self.accuracies else float("nan")

    @property
    def deviation(self) -> float | None:
        """The standard deviation over permutations, where there are two or more."""
        return statistics.stdev(self.accuracies.values()) if len(self.accuracies) > 1 else None

    @property
    def reached(self) -> bool:
        """Whether about as many features were selected as the budget says."""
        return self.done and self.n_selected >= REACHED * self.budget


@dataclass(frozen=True)
class Difference:
    """By how many points one cell is above another, over the permutations that both have."""

    mean: float
    standard_error: float | None  # of one permutation there is none
    n: int

    @classmethod
    def of(cls, mine: Cell, other: Cell | float) -> Difference | None:
        """Compare with a cell on the same permutations, or with a figure of the paper, whose error is not known."""
        return cls.over([(mine, other)])

    @classmethod
    def over(cls, pairs: Sequence[tuple[Cell, Cell | float]]) -> Difference | None:
        """Compare on the mean over several pairs, permutation by permutation; None where there are none in common."""
        have = [set(cell.accuracies) for pair in pairs for cell in pair if isinstance(cell, Cell)]
        values = [
            # What is left of two equal figures is an error of rounding.
            round(statistics.fmean(_at(mine, number) - _at(other, number) for mine, other in pairs), 9)
            for number in sorted(set.intersection(*have) if have else ())
        ]
        if not values:
            return None
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
        return cls(statistics.fmean(values), error, len(values))

    @property
    def is_above(self) -> bool:
        """Whether it is above zero by more than two standard errors."""
        return self.standard_error is not None and self.mean > 2 * self.standard_error

    @property
    def is_below(self) -> bool:
        """Whether it is below zero by more than two standard errors."""
        return self.standard_error is not None and self.mean < -2 * self.standard_error

    @property
    def is_told(self) -> bool:
        """Whether there is a difference that can be told."""
        return self.is_above or self.is_below


def _at(of: Cell | float, permutation: int) -> float:
    return of.accuracies[permutation] if isinstance(of, Cell) else of


class Results:
    """All that a folder of results holds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.runs = read_csv(folder / "runs.csv")
        self.x2 = {row["method"]: row for row in read_csv(folder / "x2.csv") if row["accuracy"]}
        self.x2_tried = read_csv(folder / "x2-tried.csv")

    @cached_property
    def sets(self) -> dict[str, SetResults]:
        """Every data set that has a config, with results or without."""
        return {name: SetResults(config.read(name), self._folder) for name in config.names()}

    def here(self, *names: str) -> list[SetResults]:
        """Return those of some data sets that have results."""
        return [self.sets[name] for name in names if self.sets[name].here]

    @property
    def medium(self) -> list[SetResults]:
        """The medium sets that have results."""
        return self.here(*MEDIUM)

    @property
    def raw(self) -> list[SetResults]:
        """The medium sets with rows as they are that have results."""
        return [told for told in self.here(*self.sets) if told.config.table == "raw"]

    def scaled(self, raw: SetResults) -> SetResults:
        """Return the set of the same rows, where cross-validation was free to scale them."""
        assert raw.config.known is not None
        return self.sets[raw.config.known]

    @property
    def x2_size(self) -> Size:
        """The size of X2: the one whose first rows were used to choose parameters."""
        n_rows = {int(row["n_rows"]) for row in self.x2_tried}
        return next((size for size in (Size(), QUICK) if size.prefix in n_rows), Size())


class SetResults:
    """The results on one data set."""

    def __init__(self, told: Config, folder: Path) -> None:
        self.config = told
        rows = read_csv(folder / f"{told.name}.csv")
        self.data = next(iter(read_csv(folder / f"{told.name}-data.csv")), None)
        costs = read_csv(folder / f"{told.name}-truncation.csv")
        self.n_features = int(self.data["n_features"]) if self.data else 0
        self.truncation = {int(row["budget"]): float(row["seconds"]) for row in costs}
        self._choices = {
            (row["method"], int(row["budget"])): row for row in read_csv(folder / f"{told.name}-parameters.csv")
        }
        grouped: dict[tuple[str, int], list[dict[str, str]]] = {}
        for row in rows:
            grouped.setdefault((row["method"], int(row["budget"])), []).append(row)
        self._cells = {key: self._cell(key, group) for key, group in grouped.items()}

    @property
    def here(self) -> bool:
        """Whether there are results."""
        return bool(self._cells)

    @property
    def methods(self) -> list[str]:
        """Methods that were run, in the order of the config."""
        return [name for name in self.config.methods if any(of == name for of, _ in self._cells)]

    @property
    def budgets(self) -> list[int]:
        """All budgets, ascending."""
        return sorted({budget for _, budget in self._cells})

    @property
    def chosen(self) -> dict[tuple[str, int], dict[str, Any]]:
        """The parameters that cross-validation chose, by method and budget."""
        return {key: json.loads(row["parameters"]) for key, row in self._choices.items() if row["status"] == "done"}

    def cell(self, method: str, budget: int) -> Cell:
        """Return a cell; one that was not run has no figure."""
        return self._cells.get((method, budget), Cell("not run", budget))

    def at_share(self, method: str, share: float) -> Cell:
        """Return the cell whose budget is this share of the columns."""
        return self.cell(method, Config.budget_of(share, self.n_features))

    def curve(self, method: str) -> list[Cell]:
        """Return the cells of a method that have figures; budgets ascend."""
        return [cell for budget in self.budgets if (cell := self.cell(method, budget)).done]

    def reached_curve(self, method: str) -> list[Cell]:
        """Return the same up to where the method no longer selects as many features as it may."""
        curve = self.curve(method)
        end = next((place for place, cell in enumerate(curve) if not cell.reached), len(curve))
        return curve[:end]

    def gaps(self, method: str, rival: str, budgets: Iterable[int]) -> dict[int, Difference]:
        """Return how far a method is above another, at each budget where both have figures."""
        found = {budget: Difference.of(self.cell(method, budget), self.cell(rival, budget)) for budget in budgets}
        return {budget: gap for budget, gap in found.items() if gap is not None}

    def with_truncation(self, method: str, budget: int) -> float:
        """Return the seconds of PET or FOFS with a full truncation for each update on top."""
        cell = self.cell(method, budget)
        return cell.seconds + cell.n_updates * self.truncation[budget]

    def _cell(self, key: tuple[str, int], rows: list[dict[str, str]]) -> Cell:
        budget = key[1]
        bad = [row["status"] for row in rows if row["status"] != "done"]
        if bad:  # a mean over some permutations only would depend on how fast the machine is
            if self._choices.get(key, {}).get("status") == "stopped":
                return Cell("choice stopped", budget)
            return Cell("stopped" if "stopped" in bad else bad[0], budget)

        def mean(name: str) -> float:
            return statistics.fmean(float(row[name]) for row in rows) if rows[0][name] else float("nan")

        accuracies = {int(row["permutation"]): 100 * float(row["accuracy"]) for row in rows}
        # The median, since on a machine with other work now and then one takes five times as long.
        seconds = statistics.median(float(row["seconds"]) for row in rows)
        return Cell("done", budget, accuracies, seconds, mean("n_selected"), mean("n_updates"))


def against_paper(cells: Iterable[Cell], paper: Iterable[float]) -> dict[int, Difference]:
    """Return how far cells are above the paper's figures, by budget; the standard error is that of our mean alone."""
    found = {cell.budget: Difference.of(cell, value) for cell, value in zip(cells, paper, strict=True)}
    return {budget: gap for budget, gap in found.items() if gap is not None}
