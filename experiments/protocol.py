"""The paper's protocol: permutations, one pass, parameters by cross-validation on training rows, the time to learn.

One cross-validation is made for each method and budget, on the training rows of permutation 0, and its choice is used
for all permutations. Each fit then runs in a process of its own with one thread; its cost is CPU time, and the data
are in memory before the clock starts.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from experiments.config import Config
from experiments.data import Rows, folds, load, split
from experiments.forks import Forks, Stopped
from experiments.methods import METHODS, Method, Parameters
from experiments.store import Found, Store
from thresher.progress import Steps
from thresher.training import train_many

SECONDS_PER_CELL = 120.0

DATA = ("set", "n_train", "n_test", "n_features", "train_nonzeros")

# A fit that takes no longer than SOON is repeated, and the least time counts: the first one in a process meets cold
# caches and memory that was never touched, and can take three times as long.
SOON = 2.0
N_RUNS = 3


class Experiment:
    """All cells of a data set."""

    def __init__(self, config: Config, store: Store, n_at_once: int = 2, seconds: float = SECONDS_PER_CELL) -> None:
        self.config = config
        self._store = store
        self._forks: Forks[tuple[str, int]] = Forks(seconds, n_at_once)
        self._n_done = 0

    @cached_property
    def rows(self) -> Rows:
        """All rows."""
        return load(self.config)

    @cached_property
    def cells(self) -> list[tuple[str, int]]:
        """Method and budget of each cell; budgets ascend: those after one that takes too long are skipped."""
        return [
            (name, budget) for name in self.config.methods for budget in self.config.budgets_of(self.rows.n_features)
        ]

    @property
    def n_steps(self) -> int:
        """How many steps `run` takes."""
        return len(self.cells) + sum(self.config.n_permutations(*cell) for cell in self.cells)

    def run(self, bar: Steps) -> None:
        """Choose parameters for all cells, then measure them."""
        self._choose(bar)
        for permutation in range(max(self.config.n_permutations(*cell) for cell in self.cells)):
            self._measure(permutation, bar)

    @property
    def row_size(self) -> int:
        """The mean number of nonzeros of a row."""
        return round(float(self.rows.X.nnz) / len(self.rows.y))

    def data(self) -> Found:
        """Return the size of the data as in the paper's tables, for permutation 0."""
        train, test = split(self.rows, self.config, 0)
        sizes = {"n_train": len(train.y), "n_test": len(test.y), "n_features": self.rows.n_features}
        return {"set": self.config.name, **sizes, "train_nonzeros": int(train.X.nnz)}

    def choices(self) -> list[Found]:
        """Return the parameters of all cells, as rows of a table."""
        return [
            {
                "set": self.config.name,
                "method": name,
                "budget": budget,
                **(self._store.get("choice", name, budget) or {}),
            }
            for name, budget in self.cells
        ]

    def fits(self) -> list[Found]:
        """Return what was measured, as rows of a table."""
        return [
            {"set": self.config.name, "method": name, "budget": budget, "permutation": permutation, **found}
            for name, budget in self.cells
            for permutation in range(self.config.n_permutations(name, budget))
            if (found := self._store.get("fit", name, budget, permutation)) is not None
        ]

    def _choose(self, bar: Steps) -> None:
        wanted = [cell for cell in self.cells if self._store.get("choice", *cell) is None]
        self._step(bar, "", len(self.cells) - len(wanted))
        if not wanted:
            return
        train, _ = split(self.rows, self.config, 0)
        divided = folds(train.take(slice(self.config.cv_rows)))
        slow = []
        for name, budget in wanted:
            method, grid = METHODS[name], self._grid(name)
            if len(grid) == 1:
                self._keep_choice(name, budget, _choice(grid, [None]))
            elif method.is_online:
                self._keep_choice(name, budget, _choice(grid, cross_validated(method, budget, grid, divided)))
            else:
                slow.append(((name, budget), partial(cross_validated, method, budget, grid, divided)))
                continue
            self._step(bar, f"{name}, B = {budget:,}: parameters")
        for (name, budget), scores in self._forks.run(slow):
            grid = self._grid(name)
            found = {"status": "stopped"} if isinstance(scores, Stopped) else _choice(grid, scores)
            self._keep_choice(name, budget, found)
            self._step(bar, f"{name}, B = {budget:,}: parameters")

    def _grid(self, name: str) -> list[Parameters]:
        return METHODS[name].grid(self.config.norms, self.config.gamma_powers)

    def _keep_choice(self, name: str, budget: int, found: Found) -> None:
        self._store.put(("choice", name, budget), found)

    def _measure(self, permutation: int, bar: Steps) -> None:
        due = [cell for cell in self.cells if permutation < self.config.n_permutations(*cell)]
        wanted = [cell for cell in due if self._store.get("fit", *cell, permutation) is None]
        self._step(bar, "", len(due) - len(wanted))
        if not wanted:
            return
        train, test = split(self.rows, self.config, permutation)
        for (name, budget), found in self._forks.run(self._tasks(wanted, permutation, train, test, bar)):
            result = {"status": "stopped"} if isinstance(found, Stopped) else found
            self._store.put(("fit", name, budget, permutation), result)
            self._step(bar, f"{name}, B = {budget:,}, permutation {permutation + 1}")

    def _tasks(
        self, cells: list[tuple[str, int]], permutation: int, train: Rows, test: Rows, bar: Steps
    ) -> Iterator[tuple[tuple[str, int], Callable[[], Found]]]:
        for name, budget in cells:
            if self._is_hopeless(name, budget):
                self._store.put(("fit", name, budget, permutation), {"status": "not tried"})
                self._step(bar, f"{name}, B = {budget:,}: not tried")
                continue
            choice = self._store.get("choice", name, budget)
            assert choice is not None
            yield (name, budget), partial(fitted, METHODS[name], budget, json.loads(choice["parameters"]), train, test)

    def _is_hopeless(self, name: str, budget: int) -> bool:
        """Return whether a method was stopped before, at this budget or a smaller one."""
        choice = self._store.get("choice", name, budget)
        if choice is not None and choice["status"] == "stopped":
            return True
        return any(
            (found := self._store.get("fit", name, smaller, permutation)) is not None and found["status"] == "stopped"
            for of, smaller in self.cells
            if of == name and smaller <= budget
            for permutation in range(self.config.n_permutations(name, smaller))
        )

    def _step(self, bar: Steps, message: str, n_steps: int = 1) -> None:
        self._n_done += n_steps
        bar.done(self._n_done, message)


def cross_validated(
    method: Method, budget: int, grid: list[Parameters], divided: list[tuple[Rows, Rows]]
) -> list[float]:
    """Return the mean accuracy over the folds for all parameters of a grid."""
    scores = np.zeros((len(divided), len(grid)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a grid has corners where a method does badly and warns
        for fold, (learned, judged) in enumerate(divided):
            models = [method.make(budget, parameters) for parameters in grid]
            if method.is_online:
                histories = train_many(models, learned.stream(), validate=judged.stream(), shuffle=False)
                scores[fold] = [history.validation[-1] for history in histories]
            else:
                scores[fold] = [model.fit(learned.X, learned.y).score(judged.X, judged.y) for model in models]
    return [float(score) for score in scores.mean(axis=0)]


def fitted(method: Method, budget: int, parameters: Parameters, train: Rows, test: Rows) -> Found:
    """Return how well a method does on the test rows, and the CPU seconds that selection and learning took."""
    seconds = float("inf")
    for _ in range(N_RUNS):
        model = method.make(budget, parameters)
        before = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(train.X, train.y)
        seconds = min(seconds, time.process_time() - before)
        if seconds > SOON:
            break
    return {
        "status": "done",
        "accuracy": round(float(model.score(test.X, test.y)), 8),
        "seconds": round(seconds, 6),
        "n_selected": len(model.selected_),
        "n_updates": getattr(model, "n_updates_", ""),
    }


def _choice(grid: list[Parameters], scores: list[Any]) -> Found:
    best = max(range(len(grid)), key=lambda place: scores[place] or 0.0)  # on ties the first
    score = "" if scores[best] is None else round(scores[best], 8)
    return {"status": "done", "parameters": json.dumps(grid[best]), "cv_accuracy": score}
