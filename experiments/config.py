"""What to run on a data set, as its file in configs/ says."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HOME = Path(__file__).parent


@dataclass(frozen=True)
class Config:
    """A data set and the experiments on it; a budget is a number of features, a share one of all columns."""

    name: str
    title: str
    table: str  # which of the report's it belongs to: medium, raw, large, synthetic or dense
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
    differs: str | None = None  # how the data are not the paper's
    generate: dict[str, Any] = field(default_factory=dict)  # for datasets.make_x1
    cv_rows: int | None = None  # how many training rows the cross-validation may see; all unless given
    permutations: dict[str, int] = field(default_factory=dict)
    most_permutations: int = 10

    def n_permutations(self, method: str) -> int:
        """Return how often a method is run: 10 times as in the paper, or less where the file says so."""
        return min(self.permutations.get(method, 10), self.most_permutations)

    def budgets_of(self, n_features: int) -> list[int]:
        """Return all budgets, ascending."""
        return sorted({*self.budgets, *(self.budget_of(share, n_features) for share in self.shares)})

    @staticmethod
    def budget_of(share: float, n_features: int) -> int:
        """Return how many features a share of them is; at least one."""
        return max(1, int(share * n_features))

    def quick(self) -> Config:
        """Return a small version, to see that everything works."""
        generate = {**self.generate, "n_features": min(2_000, self.generate["n_features"])} if self.generate else {}
        return replace(
            self,
            n_train=2_000 if generate else self.n_train,
            n_test=1_000 if generate else self.n_test,
            generate=generate,
            budgets=self.budgets[1::3],
            shares=self.shares[1::3],
            cv_rows=1_000,
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
    return from_table(name, tomllib.loads(path.read_text()))


def from_table(name: str, table: dict[str, Any]) -> Config:
    """Return a config from what TOML holds."""
    told: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return Config(name, **told)
