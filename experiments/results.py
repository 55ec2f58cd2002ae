"""The results in the CSV files, as cells: what a method reached on a data set at a budget, over permutations."""

from __future__ import annotations

import json
import statistics
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments import config, x2
from experiments.config import Config
from experiments.paper import MEDIUM
from experiments.store import read_csv

REACHED = 0.9  # a cell with a smaller share of its B features is not one of B features

NAN = float("nan")


@dataclass(frozen=True)
class Cell:
    """Results of a method on a data set at a budget: accuracies in %, median CPU seconds, and means of the rest."""

    status: str
    budget: int
    accuracies: Mapping[int, float] = field(default_factory=dict)  # by permutation
    seconds: float = NAN
    n_selected: float = NAN
    n_updates: float = NAN

    @property
    def done(self) -> bool:
        """Whether there are figures."""
        return bool(self.accuracies)

    @property
    def accuracy(self) -> float:
        """The mean; NaN where there are no figures."""
        return statistics.fmean(self.accuracies.values()) if self.accuracies else NAN

    @property
    def deviation(self) -> float | None:
        """The standard deviation over permutations, where there are two or more."""
        return statistics.stdev(self.accuracies.values()) if len(self.accuracies) > 1 else None

    @property
    def reached(self) -> bool:
        """Whether about as many features were selected as the budget allows."""
        return self.done and self.n_selected >= REACHED * self.budget


class OnX2:
    """Results of a method on X2: accuracy and sparsity in %."""

    def __init__(self, row: Mapping[str, str]) -> None:
        self.parameters: dict[str, Any] = json.loads(row["parameters"])
        self.accuracy = 100 * float(row["accuracy"])
        self.seconds, self.learning_seconds = float(row["seconds"]), float(row["learning_seconds"])
        self.sparsity, self.n_updates = float(row["sparsity"]), int(row["n_updates"])
        self.gigabytes = float(row["peak_mb"]) / 1000


class Record:
    """All results in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.runs = read_csv(folder / "runs.csv")
        self.x2 = {row["method"]: OnX2(row) for row in read_csv(folder / "x2.csv") if row["accuracy"]}
        # ShadowSOFS's defaults before it had a second layer: no command measures them again.
        self.one_layer = _cells(read_csv(folder / "table-6-of-one-layer.csv"), ("set", "budget"))

    @cached_property
    def sets(self) -> dict[str, SetResults]:
        """Every data set that has a config, with results or without."""
        return {name: SetResults(config.read(name), self._folder) for name in config.names()}

    def present(self, *names: str) -> list[SetResults]:
        """Return those of some data sets that have results."""
        return [self.sets[name] for name in names if self.sets[name].present]

    @property
    def medium(self) -> list[SetResults]:
        """The medium sets that have results."""
        return self.present(*MEDIUM)

    @property
    def unscaled(self) -> list[SetResults]:
        """The medium sets with rows as they are that have results."""
        return [results for results in self.present(*self.sets) if results.config.table == "raw"]

    def scaled(self, unscaled: SetResults) -> SetResults:
        """Return the set of the same rows for which cross-validation chose the scaling."""
        return self.sets[unscaled.name.removesuffix("-raw")]

    @property
    def x2_size(self) -> x2.Size:
        """The size of X2: the one whose first rows were used to choose parameters."""
        n_rows = {int(row["n_rows"]) for row in read_csv(self._folder / "x2-tried.csv")}
        return next((size for size in x2.SIZES if size.prefix in n_rows), x2.Size())


class SetResults:
    """The results on one data set."""

    def __init__(self, of: Config, folder: Path) -> None:
        self.config = of
        self.name = of.name
        self.title = of.title
        sizes = next(iter(read_csv(folder / f"{of.name}-data.csv")), {})
        self.n_features = int(sizes.get("n_features", 0))
        self.train_nonzeros = int(sizes.get("train_nonzeros", 0))
        costs = read_csv(folder / f"{of.name}-truncation.csv")
        self.truncation = {int(row["budget"]): float(row["seconds"]) for row in costs}
        choices = read_csv(folder / f"{of.name}-parameters.csv")
        self._choices = {(row["method"], int(row["budget"])): row for row in choices}
        stopped = {key for key, row in self._choices.items() if row["status"] == "stopped"}
        self._cells = _cells(read_csv(folder / f"{of.name}.csv"), ("method", "budget"), stopped)

    @property
    def present(self) -> bool:
        """Whether there are results."""
        return bool(self._cells)

    @property
    def methods(self) -> list[str]:
        """Methods that were run, in the order of the config."""
        return [name for name in self.config.methods if any(method == name for method, _ in self._cells)]

    @property
    def budgets(self) -> list[int]:
        """All budgets, ascending."""
        return sorted({budget for _, budget in self._cells})

    @property
    def chosen(self) -> dict[tuple[str, int], dict[str, Any]]:
        """The parameters that cross-validation chose, by method and budget."""
        return {key: json.loads(row["parameters"]) for key, row in self._choices.items() if row["status"] == "done"}

    def cell(self, method: str, budget: int) -> Cell:
        """Return a cell; one that was not run has no figures."""
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

    def truncating_seconds(self, method: str, budget: int) -> float:
        """Return the seconds of PET or FOFS with a full truncation added for each update; NaN where one is unknown."""
        cell = self.cell(method, budget)
        return cell.seconds + cell.n_updates * self.truncation.get(budget, NAN)


def _cells(
    rows: Iterable[dict[str, str]], keys: tuple[str, str], choice_stopped: Collection[tuple[str, int]] = ()
) -> dict[tuple[str, int], Cell]:
    """Return the cells of a table of fits; `keys` are its columns of a name and of the budget."""
    grouped: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in rows:
        grouped.setdefault((row[keys[0]], int(row[keys[1]])), []).append(row)
    return {key: _cell(key[1], cell, key in choice_stopped) for key, cell in grouped.items()}


def _cell(budget: int, rows: list[dict[str, str]], choice_stopped: bool) -> Cell:
    bad = [row["status"] for row in rows if row["status"] != "done"]
    if bad:  # a mean over some of the permutations would depend on how fast the machine is
        return Cell("choice stopped" if choice_stopped else "stopped" if "stopped" in bad else bad[0], budget)

    def mean(name: str) -> float:
        return statistics.fmean(float(row[name]) for row in rows) if rows[0][name] else NAN

    accuracies = {int(row["permutation"]): 100 * float(row["accuracy"]) for row in rows}
    # The median: with other work on the machine, one permutation now and then takes five times as long.
    seconds = statistics.median(float(row["seconds"]) for row in rows)
    return Cell("done", budget, accuracies, seconds, mean("n_selected"), mean("n_updates"))
