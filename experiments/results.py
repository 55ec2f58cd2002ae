"""The results that are in CSV files, as cells: a mean and a standard deviation over permutations."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments import config
from experiments.config import Config
from experiments.store import read_csv


@dataclass(frozen=True)
class Cell:
    """What a method does on a data set at a budget: accuracy in %, median CPU seconds, and means of the rest."""

    status: str
    accuracies: tuple[float, ...] = ()
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
        return statistics.fmean(self.accuracies) if self.accuracies else float("nan")

    @property
    def deviation(self) -> float | None:
        """The standard deviation over permutations, where there are two or more."""
        return statistics.stdev(self.accuracies) if len(self.accuracies) > 1 else None

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; 0 where nothing is known of it."""
        return (self.deviation or 0.0) / math.sqrt(max(1, len(self.accuracies)))


class Results:
    """All that a folder of results holds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.runs = read_csv(folder / "runs.csv")
        self.x2 = {row["method"]: row for row in read_csv(folder / "x2.csv")}
        self.x2_tried = read_csv(folder / "x2-tried.csv")

    @cached_property
    def sets(self) -> dict[str, SetResults]:
        """Every data set that has a config, with results or without."""
        return {name: SetResults(config.read(name), self._folder) for name in config.names()}


class SetResults:
    """The results on one data set."""

    def __init__(self, told: Config, folder: Path) -> None:
        self.config = told
        rows = read_csv(folder / f"{told.name}.csv")
        self.data = next(iter(read_csv(folder / f"{told.name}-data.csv")), None)
        costs = read_csv(folder / f"{told.name}-truncation.csv")
        self.n_features = int(self.data["n_features"]) if self.data else 0
        self.truncation = {int(row["budget"]): float(row["seconds"]) for row in costs}
        self._choices = [row for row in read_csv(folder / f"{told.name}-parameters.csv") if row["status"] == "done"]
        grouped: dict[tuple[str, int], list[dict[str, str]]] = {}
        for row in rows:
            grouped.setdefault((row["method"], int(row["budget"])), []).append(row)
        self._cells = {key: _cell(group) for key, group in grouped.items()}

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

    def cell(self, method: str, budget: int) -> Cell:
        """Return a cell; one that was not run has no figure."""
        return self._cells.get((method, budget), Cell("not run"))

    def chosen(self, *methods: str) -> list[dict[str, Any]]:
        """Return the parameters that cross-validation chose for some methods, a budget each."""
        return [json.loads(row["parameters"]) for row in self._choices if row["method"] in methods]

    def at_share(self, method: str, share: float) -> Cell:
        """Return the cell whose budget is this share of the columns."""
        return self.cell(method, Config.budget_of(share, self.n_features))

    def curve(self, method: str) -> list[tuple[int, Cell]]:
        """Return the budgets of a method that have figures, with their cells."""
        return [(budget, cell) for budget in self.budgets if (cell := self.cell(method, budget)).done]

    def gaps(self, method: str, rival: str, budgets: Iterable[int]) -> list[float]:
        """Return by how many points a method is above another, at each budget where both have figures."""
        pairs = [(self.cell(method, budget), self.cell(rival, budget)) for budget in budgets]
        return [mine.accuracy - other.accuracy for mine, other in pairs if mine.done and other.done]

    def with_truncation(self, method: str, budget: int) -> float:
        """Return the seconds of PET or FOFS with a full truncation for each update on top."""
        cell = self.cell(method, budget)
        return cell.seconds + cell.n_updates * self.truncation[budget]


def _cell(rows: list[dict[str, str]]) -> Cell:
    bad = [row["status"] for row in rows if row["status"] != "done"]
    if bad:  # a mean over some permutations only would depend on how fast the machine is
        return Cell("stopped" if "stopped" in bad else bad[0])

    def mean(name: str) -> float:
        return statistics.fmean(float(row[name]) for row in rows) if rows[0][name] else float("nan")

    accuracies = tuple(100 * float(row["accuracy"]) for row in rows)
    # The median, since on a machine with other work now and then one takes five times as long.
    seconds = statistics.median(float(row["seconds"]) for row in rows)
    return Cell("done", accuracies, seconds, mean("n_selected"), mean("n_updates"))
