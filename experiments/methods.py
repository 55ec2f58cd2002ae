"""The methods of the paper's tables: their names there, and the parameters that cross-validation chooses from.

Each row stands on one of `thresher.methods`. This is the only list in experiments/; the configs choose from it by name.
All online methods learn as in the paper, whatever the library's defaults are; "ShadowSOFS defaults" is what a user gets
who sets nothing but the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from thresher import methods

Parameters = dict[str, Any]

POWERS = (-5, 5)  # the smallest and the largest power of 2 in a grid, as in the paper
# Of γ on all sets but X2: with many rows, or rows that are not scaled, 2^5 would often be chosen.
GAMMA_POWERS = (-5, 13)


@dataclass(frozen=True)
class Method:
    """A row of the paper's tables: a method, what is fixed, and the names of the parameters to choose."""

    name: str
    of: methods.Method
    chosen: tuple[str, ...] = ()
    fixed: Parameters = field(default_factory=dict)
    has_norm_grid: bool = True

    @property
    def estimator(self) -> Any:
        """The estimator."""
        return self.of.load_estimator()

    @property
    def is_online(self) -> bool:
        """Whether it reads the rows once."""
        return not self.of.is_batch

    @property
    def has_budget(self) -> bool:
        """Whether it keeps a number of features that we choose."""
        return self.of.has_budget

    def make(self, budget: int, parameters: Parameters) -> Any:
        """Return a new estimator."""
        given = {"n_features_to_select": budget} if self.has_budget else {}
        return self.estimator(**given, **self.fixed, **parameters)

    def grid(self, norms: tuple[str, ...], gamma_powers: tuple[int, int] = POWERS) -> list[Parameters]:
        """Return all parameters to choose from on a data set whose rows may be scaled in these ways."""
        scalings = norms if self.has_norm_grid else norms[:1]
        own = self._own_grid(gamma_powers)
        return [{**point, "norm": None if norm == "none" else norm} for norm in scalings for point in own]

    def ends(self, gamma_powers: tuple[int, int] = POWERS) -> dict[str, tuple[float, float]]:
        """Return the smallest and the largest value of each parameter to choose."""
        own = self._own_grid(gamma_powers)
        return {name: (min(p[name] for p in own), max(p[name] for p in own)) for name in self.chosen}

    def _own_grid(self, gamma_powers: tuple[int, int]) -> list[Parameters]:
        values = {
            "gamma": _powers_of_2(*gamma_powers),
            "eta": _powers_of_2(*POWERS),
            "lam": [value / 100 for value in _powers_of_2(*POWERS)],
        }
        # Of two parameters every second power, or the grid would have hundreds of points.
        step = len(self.chosen) or 1
        points = product(*(values[name][::step] for name in self.chosen))
        grid = [dict(zip(self.chosen, point, strict=True)) for point in points]
        # FOFS requires λη < 1, or the decay would reverse the weights.
        return [point for point in grid if point.get("lam", 0.0) * point.get("eta", 0.0) < 1]


def _powers_of_2(low: int, high: int) -> list[float]:
    return [2.0**power for power in range(low, high + 1)]


AS_IN_THE_PAPER: Parameters = {"fit_intercept": False, "n_passes": 1, "shuffle": False}


def _online(name: str, method: str, chosen: tuple[str, ...], **fixed: Any) -> Method:
    return Method(name, methods.find(method), chosen, AS_IN_THE_PAPER | fixed)


def _batch(name: str, method: str, **given: Any) -> Method:
    return Method(name, methods.find(method), **given)


METHODS = {
    method.name: method
    for method in (
        _online("SOFS", "sofs", ("gamma",)),
        _online("ShadowSOFS", "shadow_sofs", ("gamma",), refit=False),
        Method("ShadowSOFS defaults", methods.find("shadow_sofs"), has_norm_grid=False),
        _online("PET", "pet", ("eta",), loss="hinge"),
        # Without an intercept η only scales its weights.
        _online("PET perceptron", "pet", (), loss="perceptron"),
        _online("FOFS", "fofs", ("eta", "lam")),
        _online("AROW", "arow", ("gamma",)),
        _online("OGD", "ogd", ("eta",)),
        _batch("mRMR", "mrmr"),
        _batch("FGM", "fgm"),
        # It searches C by itself, which can take a minute: ten more searches for the rows' scaling would be hours.
        _batch("l1-SVM", "l1svm", has_norm_grid=False),
    )
}

# The paper's own methods by kind, in the order in which it names them.
PAPER_ONLINE = ("PET", "FOFS", "SOFS")
PAPER_BATCH = ("mRMR", "l1-SVM", "FGM")
# The rows of its tables, ours beside them.
SHADOW = ("ShadowSOFS", "ShadowSOFS defaults")
TABLE_2_METHODS = ("OGD", "AROW", "SOFS", *SHADOW)
TABLE_4_METHODS = ("PET", "PET perceptron", "SOFS", *SHADOW, "FGM")
TABLE_6_METHODS = ("mRMR", "SOFS", *SHADOW, "FOFS", "PET", "PET perceptron", "l1-SVM", "FGM")
