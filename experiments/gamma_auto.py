"""The cost of gamma="auto": its accuracy beside every γ of its grid, and its time beside that of one γ.

Rows are learned in the order of the permutation.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments import config, data
from experiments.config import Config
from experiments.data import Rows
from experiments.methods import METHODS, Method
from experiments.store import Found, Methods, note_run, write_csv
from thresher import methods, train
from thresher.model.race import FIRST_LOOK, grid
from thresher.progress import Steps
from thresher.streams.conversion import convert

NAMES = tuple(method.estimator for method in methods.ONLINE if "gamma" in method.parameters)
ACCURACY = ("method", "set", "budget", "permutation", "gamma", "accuracy", "chosen")
TIME = ("method", "set", "budget", "where", "fixed", "auto")


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
        few = replace(config.read("x1-20k").smallest(), n_train=2 * FIRST_LOOK + 100)
        return [Task(few, (5, 20), 2, n_times=1)]
    medium = [Task(config.read(name), (50, 200, 500), 10, n_times=40) for name in ("relathe", "basehock", "pcmac")]
    return [
        *medium,
        Task(config.read("ccat"), (50, 500, 5_000), 10, n_times=15),
        Task(config.read("news-random"), (1_000, 10_000, 50_000), 3),
        Task(config.read("x1"), (50, 200, 400), 3),
    ]


def run(results: Path, bar: Steps, smallest: bool, only_time: bool) -> None:
    """Measure, and write the tables; all data must be there."""
    accuracy: list[Found] = []
    times: list[Found] = []
    for n_done, task in enumerate(tasks(smallest)):
        bar.done(n_done, task.config.title)
        rows = data.needed(task.config)
        for method in (METHODS[name] for name in NAMES):
            for budget in task.budgets_of(method):
                cell = {"method": method.name, "set": task.config.name, "budget": budget}
                training, _ = data.split(rows, task.config, 0)
                times += [{**cell, **found} for found in timed(method, budget, training, task.n_times)]
                for permutation in range(0 if only_time else task.n_permutations):
                    of_one = {**cell, "permutation": permutation}
                    found_here = measured(method, budget, *data.split(rows, task.config, permutation))
                    accuracy += [{**of_one, **found} for found in found_here]
    bar.done(len(tasks(smallest)), "")
    if not only_time:
        write_csv(results / "gamma-auto.csv", ACCURACY, accuracy)
    write_csv(results / "gamma-auto-time.csv", TIME, times)
    note_run("gamma-auto", Methods(NAMES, NAMES), results)


def measured(method: Method, budget: int, training: Rows, test: Rows) -> Iterable[Found]:
    """Yield γ, its accuracy on test rows, and the γ that was chosen, for each γ of the grid and for "auto"."""
    for gamma in (*grid(default_of(method)), "auto"):
        model = new_model(method, budget, gamma).fit(training.X, training.y)
        chosen = model.gamma_ if gamma == "auto" else gamma
        yield {"gamma": gamma, "accuracy": 100 * model.score(test.X, test.y), "chosen": chosen}


def timed(method: Method, budget: int, rows: Rows, n_times: int) -> list[Found]:
    """Return the seconds of the default γ and of "auto", in memory and from svmlight text."""

    def fit(gamma: Any) -> None:
        new_model(method, budget, gamma).fit(rows.X, rows.y)

    def read(gamma: Any) -> None:
        train(new_model(method, budget, gamma), path, shuffle=False)

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.svm"
        convert(rows.stream(), path)
        found = []
        for where, work in (("memory", fit), ("text", read)):
            fixed, auto = least_seconds(work, (default_of(method), "auto"), n_times)
            found.append({"where": where, "fixed": fixed, "auto": auto})
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
    """Return an estimator with its defaults that learns rows in their order."""
    return replace(method, fixed={"shuffle": False}).make(budget, {"gamma": gamma})
