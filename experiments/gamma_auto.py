"""The cost of gamma="auto": its accuracy beside every γ of its grid, and its time beside that of one γ.

Table are learned in the order of the permutation.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from experiments import config, data
from experiments.config import HOME, Config
from experiments.methods import METHODS, Method
from experiments.processes import least_seconds
from experiments.reporting.tables import table
from experiments.results import Cell
from experiments.store import Found
from experiments.study import Step, Study, Table
from thresher import convert, methods, train
from thresher.model.race import FIRST_CHECK, grid

NAMES = tuple(method.estimator for method in methods.ONLINE if "gamma" in method.parameters)

# What must hold: points of accuracy below the best γ in a cell and on average, and times as long as one γ.
WORST, MEAN = 1.0, 0.4
LONGEST = {"memory": 4.0, "text": 2.0}


@dataclass(frozen=True)
class Task:
    """A data set, the budgets, and how many permutations."""

    config: Config
    budgets: tuple[int, ...]
    n_permutations: int
    n_times: int = 7  # each time is the least of so many runs

    def cells(self) -> Iterator[tuple[Method, int, Found]]:
        """Yield methods with their budgets, 0 where they keep all features, and how tables name them."""
        for name in NAMES:
            for budget in self.budgets if METHODS[name].has_budget else (0,):
                yield METHODS[name], budget, {"method": name, "set": self.config.name, "budget": budget}


def tasks(smallest: bool) -> list[Task]:
    """Return all tasks; the smallest form has one, on a few generated rows."""
    if smallest:
        few = replace(config.read("x1-20k").smallest(), n_train=2 * FIRST_CHECK + 100)
        return [Task(few, (5, 20), 2, n_times=1)]
    medium = [Task(config.read(name), (50, 200, 500), 10, n_times=40) for name in ("relathe", "basehock", "pcmac")]
    return [
        *medium,
        Task(config.read("ccat"), (50, 500, 5_000), 10, n_times=15),
        Task(config.read("news-random"), (1_000, 10_000, 50_000), 3),
        Task(config.read("x1"), (50, 200, 400), 3),
    ]


def steps(measure: Callable[[Task], Iterator[Found]], smallest: bool) -> list[Step]:
    """Return a step for each task."""
    return [(task.config.title, partial(measure, task)) for task in tasks(smallest)]


def accuracies(task: Task) -> Iterator[Found]:
    """Yield γ, its accuracy on test rows, and the γ that was chosen, for each γ of the grid and for "auto"."""
    rows = data.load(task.config)
    for method, budget, cell in task.cells():
        for permutation in range(task.n_permutations):
            training, test = data.split(rows, task.config, permutation)
            for gamma in (*grid(default_of(method)), "auto"):
                model = new_model(method, budget, gamma).fit(training.X, training.y)
                chosen = model.gamma_ if gamma == "auto" else gamma
                found = {"gamma": gamma, "accuracy": 100 * model.score(test.X, test.y), "chosen": chosen}
                yield {**cell, "permutation": permutation, **found}


def times(task: Task) -> Iterator[Found]:
    """Yield the seconds of the default γ and of "auto", in memory and from svmlight text."""
    rows, _ = data.split(data.load(task.config), task.config, 0)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.svm"
        convert(rows.stream(), path)
        for method, budget, cell in task.cells():
            models = {"fixed": partial(new_model, method, budget, default_of(method))}
            models["auto"] = partial(new_model, method, budget, "auto")
            fits = {name: partial(lambda new: new().fit(rows.X, rows.y), new) for name, new in models.items()}
            reads = {name: partial(lambda new: train(new(), path, shuffle=False), new) for name, new in models.items()}
            for where, works in (("memory", fits), ("text", reads)):
                yield {**cell, "where": where, **least_seconds(works, task.n_times)}


def default_of(method: Method) -> float:
    """Return a method's default γ."""
    default: Any = method.of.parameters["gamma"].default
    return float(default)


def new_model(method: Method, budget: int, gamma: Any) -> Any:
    """Return an estimator with its defaults that learns rows in their order."""
    return replace(method, fixed={"shuffle": False}).make(budget, {"gamma": gamma})


@dataclass
class Choice:
    """A method on a set at a budget: the accuracies of the γ that is best on average, of "auto" and of the default."""

    cells: dict[str, Cell]  # by γ, as it is written in the table
    chosen: list[float]  # by "auto"

    @property
    def best(self) -> str:
        """The γ of the highest mean accuracy."""
        return max((gamma for gamma in self.cells if gamma != "auto"), key=lambda gamma: self.cells[gamma].accuracy)

    @property
    def gaps(self) -> list[float]:
        """How far "auto" is above the best γ, by permutation."""
        best = self.cells[self.best].accuracies
        return [accuracy - best[permutation] for permutation, accuracy in self.cells["auto"].accuracies.items()]


def choices(rows: Table) -> dict[tuple[str, str, int], Choice]:
    """Return the choices by method, set and budget, in the order of the table."""
    accuracies: dict[tuple[str, str, int], dict[str, dict[int, float]]] = {}
    chosen: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        key = row["method"], row["set"], int(row["budget"])
        by_gamma = accuracies.setdefault(key, {}).setdefault(row["gamma"], {})
        by_gamma[int(row["permutation"])] = float(row["accuracy"])
        if row["gamma"] == "auto":
            chosen.setdefault(key, []).append(float(row["chosen"]))
    return {
        key: Choice({gamma: Cell("done", key[2], found) for gamma, found in by_gamma.items()}, chosen[key])
        for key, by_gamma in accuracies.items()
    }


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of GAMMA.md."""
    ran = next((row for row in tables["runs"] if row["set"] == "gamma-auto"), None)
    found = choices(tables["gamma-auto"])
    return {
        "where": f"{ran['cores']} cores of {ran['machine']}, commit {ran['commit']}" if ran else "no run yet",
        "summary": _summary(found),
        "accuracies": _accuracies(found),
        "times": _times(tables["gamma-auto-time"]),
    }


def _summary(found: dict[tuple[str, str, int], Choice]) -> str:
    rows = []
    for name in NAMES:
        gaps = [statistics.fmean(choice.gaps) for (method, _, _), choice in found.items() if method == name]
        if gaps:
            mean = statistics.fmean(gaps)
            holds = "yes" if min(gaps) >= -WORST and mean >= -MEAN else "**no**"
            rows.append([name, str(len(gaps)), f"{min(gaps):+.2f}", f"{mean:+.2f}", holds])
    head = ["", "cells", "worst cell", "mean over cells", f"no more than {WORST:g} and {MEAN:g} below"]
    return table(head, rows)


def _accuracies(found: dict[tuple[str, str, int], Choice]) -> str:
    rows = []
    for (method, set_, budget), choice in found.items():
        gaps, best = choice.gaps, choice.best
        error = f" ± {statistics.stdev(gaps) / math.sqrt(len(gaps)):.2f}" if len(gaps) > 1 else ""
        default = choice.cells[str(default_of(METHODS[method]))]
        rows.append(
            [
                method, set_, _budget(budget), _power(float(best)), f"{choice.cells[best].accuracy:.2f}",
                f"{choice.cells['auto'].accuracy:.2f}", f"{statistics.fmean(gaps):+.2f}{error}",
                f"{default.accuracy:.2f}",
                ", ".join(f"{_power(gamma)} ({choice.chosen.count(gamma)})" for gamma in sorted(set(choice.chosen))),
            ]
        )  # fmt: skip
    head = ["", "set", "B", "best γ", "accuracy", 'with "auto"', "difference", "default γ", "chosen (how often)"]
    return table(head, rows)


def _times(found: Table) -> str:
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


def _power(gamma: float) -> str:
    return f"2^{math.log2(gamma):g}"


def _budget(budget: int) -> str:
    return f"{budget:,}" if budget else "all"


STUDY = Study(
    "gamma-auto", 'accuracy and time of gamma="auto"', HOME / "GAMMA.md", NAMES,
    {"gamma-auto": partial(steps, accuracies), "gamma-auto-time": partial(steps, times)}, placeholders,
)  # fmt: skip
