"""What gamma="auto" costs: its accuracy beside every γ of its grid, and its time beside that of one γ.

Rows are learned in the order of the permutation. The γ that it is compared with is the one whose accuracy is best on
average over the permutations: it has seen the test rows, so no method can choose it.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments import config, data
from experiments.config import Config
from experiments.data import Rows
from experiments.methods import METHODS, Method
from experiments.reporting.tables import table
from experiments.store import Found, note_run, read_csv, write_csv
from thresher import train
from thresher.progress import Steps
from thresher.race import grid
from thresher.streams.conversion import convert

NAMES = ("ShadowSOFS", "SOFS", "AROW")
ACCURACY = ("method", "set", "budget", "permutation", "gamma", "accuracy", "chosen")
TIME = ("method", "set", "budget", "where", "fixed", "auto")
# What must hold: points of accuracy below the best γ in a cell and on average, and times as long as one γ.
WORST, MEAN, IN_MEMORY, FROM_TEXT = 1.0, 0.4, 4.0, 2.0


@dataclass(frozen=True)
class Task:
    """A data set, the budgets, and how many permutations."""

    config: Config
    budgets: tuple[int, ...]
    n_permutations: int
    n_times: int = 7  # each time is the least of so many runs

    def budgets_of(self, method: Method) -> tuple[int, ...]:
        """Return the budgets of a method; 0 where it keeps all features."""
        return self.budgets if method.has_budget else (0,)


def tasks(smallest: bool) -> list[Task]:
    """Return all tasks; the smallest form has one, on a few generated rows."""
    if smallest:
        return [Task(config.read("x1-20k").smallest(), (5, 20), 2, n_times=1)]
    medium = [Task(config.read(name), (50, 200, 500), 10, n_times=40) for name in ("relathe", "basehock", "pcmac")]
    return [
        *medium,
        Task(config.read("ccat"), (50, 500, 5_000), 10, n_times=15),
        Task(config.read("news-random"), (1_000, 10_000, 50_000), 3),
        Task(config.read("x1"), (50, 200, 400), 3),
    ]


def run(folder: Path, bar: Steps, smallest: bool) -> None:
    """Measure, write the tables to `folder`/results, and GAMMA.md."""
    accuracy: list[Found] = []
    times: list[Found] = []
    for n_done, task in enumerate(tasks(smallest)):
        bar.done(n_done, task.config.title)
        rows = data.load(task.config)
        if rows is None:
            continue
        for name in NAMES:
            accuracy += measure_accuracy(task, rows, METHODS[name])
            times += measure_time(task, data.split(rows, task.config, 0)[0], METHODS[name])
    bar.done(len(tasks(smallest)), "")
    write_csv(folder / "results" / "gamma-auto.csv", ACCURACY, accuracy)
    write_csv(folder / "results" / "gamma-auto-time.csv", TIME, times)
    note_run("gamma-auto", folder / "results")
    write_report(folder)


def measure_accuracy(task: Task, rows: Rows, method: Method) -> list[Found]:
    """Return the accuracy of each γ of the grid and of "auto", for each budget and permutation."""
    found = []
    for permutation in range(task.n_permutations):
        training, test = data.split(rows, task.config, permutation)
        for budget in task.budgets_of(method):
            for gamma in [*grid(default_of(method)), "auto"]:
                model = new_model(method, budget, gamma).fit(training.X, training.y)
                found.append(
                    {
                        "method": method.name, "set": task.config.name, "budget": budget, "permutation": permutation,
                        "gamma": gamma, "accuracy": 100 * model.score(test.X, test.y), "chosen": model.gamma_,
                    }
                )  # fmt: skip
    return found


def measure_time(task: Task, rows: Rows, method: Method) -> list[Found]:
    """Return the seconds of the default γ and of "auto" for each budget, in memory and from svmlight text."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.svm"
        convert(rows.stream(), path)
        for budget in task.budgets_of(method):

            def fit(gamma: Any, budget: int = budget) -> None:
                new_model(method, budget, gamma).fit(rows.X, rows.y)

            def read(gamma: Any, budget: int = budget) -> None:
                train(new_model(method, budget, gamma), path, shuffle=False)

            for where, work in (("memory", fit), ("text", read)):
                seconds = least_seconds(work, (default_of(method), "auto"), task.n_times)
                found.append(
                    {
                        "method": method.name, "set": task.config.name, "budget": budget, "where": where,
                        "fixed": seconds[0], "auto": seconds[1],
                    }
                )  # fmt: skip
    return found


def least_seconds(work: Callable[[Any], None], values: Iterable[Any], n_times: int) -> list[float]:
    """Return the least time of each of some values, tried in turn so that other work disturbs all of them alike."""
    seconds: list[list[float]] = []
    for _ in range(n_times):
        seconds.append([])
        for value in values:
            started = time.perf_counter()
            work(value)
            seconds[-1].append(time.perf_counter() - started)
    return [min(column) for column in zip(*seconds, strict=True)]


def default_of(method: Method) -> float:
    """Return a method's default γ."""
    default: Any = method.of.parameters["gamma"].default
    return float(default)


def new_model(method: Method, budget: int, gamma: Any) -> Any:
    """Return an estimator with its defaults, that learns rows in their order."""
    return method.make(budget, {"gamma": gamma, "shuffle": False})


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


def read_cells(folder: Path) -> dict[tuple[str, str, int], Cell]:
    """Return all cells in the order of the file."""
    cells: dict[tuple[str, str, int], Cell] = {}
    for row in read_csv(folder / "gamma-auto.csv"):
        cell = cells.setdefault((row["method"], row["set"], int(row["budget"])), Cell())
        permutation, accuracy = int(row["permutation"]), float(row["accuracy"])
        if row["gamma"] == "auto":
            cell.auto[permutation] = accuracy
            cell.chosen.append(float(row["chosen"]))
        else:
            cell.by_gamma.setdefault(float(row["gamma"]), {})[permutation] = accuracy
    return cells


def write_report(folder: Path) -> None:
    """Write GAMMA.md from the tables in `folder`/results."""
    results = folder / "results"
    cells = read_cells(results)
    ran = next((row for row in read_csv(results / "runs.csv") if row["set"] == "gamma-auto"), None)
    where = f"{ran['cores']} cores of {ran['machine']}, commit {ran['commit']}" if ran else "no run yet"
    text = f"""\
# gamma="auto" beside every γ of its grid

Written by `python -m experiments gamma-auto` ({where}).

Rows are learned in the order of each permutation (`shuffle=False`), all else has its default. *Best γ* is the one of
the grid whose accuracy is highest on average over the permutations, with sight of the test rows. Differences are
paired, ± one standard error. Accuracies are in %, differences in points.

{_summary(cells)}

{_accuracies(cells)}

## Time

Seconds to train, the least of several runs, the default γ and "auto" in turn; *text* is svmlight, read, parsed and
learned. "auto" learns with several γ at a time on all cores.

{_times(read_csv(results / "gamma-auto-time.csv"))}
"""
    (folder / "GAMMA.md").write_text(text)


def _summary(cells: dict[tuple[str, str, int], Cell]) -> str:
    rows = []
    for name in NAMES:
        gaps = [statistics.fmean(cell.gaps) for (method, _, _), cell in cells.items() if method == name]
        if gaps:
            mean = statistics.fmean(gaps)
            holds = "yes" if min(gaps) >= -WORST and mean >= -MEAN else "**no**"
            rows.append([name, str(len(gaps)), f"{min(gaps):+.2f}", f"{mean:+.2f}", holds])
    head = ["", "cells", "worst cell", "mean over cells", f"no more than {WORST:g} and {MEAN:g} below"]
    return table(head, rows)


def _accuracies(cells: dict[tuple[str, str, int], Cell]) -> str:
    rows = []
    for (method, set_, budget), cell in cells.items():
        gaps = cell.gaps
        error = f" ± {statistics.stdev(gaps) / math.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else ""
        default = default_of(METHODS[method])
        rows.append(
            [
                method, set_, f"{budget:,}" if budget else "all", f"{cell.best:g}", f"{cell.mean(cell.best):.2f}",
                f"{statistics.fmean(cell.auto.values()):.2f}", f"{statistics.fmean(gaps):+.2f}{error}",
                f"{cell.mean(default):.2f}", _powers(cell.chosen),
            ]
        )  # fmt: skip
    head = ["", "set", "B", "best γ", "accuracy", 'with "auto"', "difference", "default γ", "chosen γ (how often)"]
    return table(head, rows)


def _powers(chosen: list[float]) -> str:
    """Return how often each γ was chosen, as powers of 2."""
    return ", ".join(f"2^{math.log2(gamma):g} ({chosen.count(gamma)})" for gamma in sorted(set(chosen)))


def _times(found: list[dict[str, str]]) -> str:
    rows = []
    for row in found:
        fixed, auto = float(row["fixed"]), float(row["auto"])
        limit = IN_MEMORY if row["where"] == "memory" else FROM_TEXT
        ratio = auto / fixed
        shown = f"{ratio:.2f}" if ratio <= limit else f"**{ratio:.2f}**"
        budget = f"{int(row['budget']):,}" if int(row["budget"]) else "all"
        rows.append(
            [row["method"], row["set"], budget, row["where"], f"{fixed:.4f}", f"{auto:.4f}", shown, f"{limit:g}"]
        )
    return table(["", "set", "B", "from", "one γ", '"auto"', "ratio", "at most"], rows)
