"""The runs on a data set, as its file in configs/ lists them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from experiments.methods import GAMMA_POWERS

HOME = Path(__file__).parent


@dataclass(frozen=True)
class Config:
    """A data set and the experiments on it; a budget is a number of features, a share is one of all columns."""

    name: str
    title: str
    table: str  # the part of the report it belongs to: medium, raw, large, synthetic or dense
    n_train: int
    n_test: int
    split: str  # random: a permutation of all rows; first, last: the first or the last rows train, in random order
    methods: tuple[str, ...]
    norms: tuple[str, ...]
    budgets: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    known: str | None = None  # the name in `thresher data list`
    file: str | None = None  # what the user must download,
    home: str | None = None  # and from where
    generate: dict[str, Any] = field(default_factory=dict)  # for datasets.make_x1
    cv_rows: int | None = None  # how many training rows the cross-validation uses; all unless given
    gamma_powers: tuple[int, int] = GAMMA_POWERS  # the smallest and the largest power of 2 in the grid of γ
    permutations: dict[str, int] = field(default_factory=dict)
    once_above: dict[str, int] = field(
        default_factory=dict
    )  # budgets for which a method takes too long to run it often
    most_permutations: int = 10

    def n_permutations(self, method: str, budget: int) -> int:
        """Return how often a cell is run: 10 times as in the paper, or less where the file says so."""
        if budget > self.once_above.get(method, budget):
            return 1
        return min(self.permutations.get(method, 10), self.most_permutations)

    def budgets_of(self, n_features: int) -> list[int]:
        """Return all budgets, ascending."""
        return sorted({*self.budgets, *(self.budget_of(share, n_features) for share in self.shares)})

    @staticmethod
    def budget_of(share: float, n_features: int) -> int:
        """Return how many features a share of them is; at least one."""
        return max(1, int(share * n_features))

    def smallest(self) -> Config:
        """Return the smallest version: a few generated rows in place of the data, two budgets, two permutations."""
        return replace(
            self,
            known=None,
            file=None,
            generate={"n_features": 600, "n_informative": 20, "n_noise": 40},
            n_train=400,
            n_test=100,
            budgets=self.budgets[::4][:2],
            shares=() if self.budgets else self.shares[::3],
            cv_rows=100,
            most_permutations=2,
        )


def names() -> list[str]:
    """Return the names of all data sets that have a file in configs/."""
    return sorted(path.stem for path in (HOME / "configs").glob("*.toml"))


def read(name: str) -> Config:
    """Return what configs/NAME.toml says."""
    path = HOME / "configs" / f"{name}.toml"
    if not path.exists():
        raise ValueError(f"there is no {path.name} in experiments/configs; there are {', '.join(names())}.")
    values: dict[str, Any] = tomllib.loads(path.read_text())
    lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    return Config(name, **(values | lists))
