"""How stable the selections of three methods are: stability.csv and STABILITY.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from experiments import config, data
from experiments.config import HOME, Config
from experiments.methods import METHODS
from experiments.reporting.tables import table
from experiments.store import Found
from experiments.study import Step, Study, Table
from thresher import stability

BUDGET = 100
NAMES = ("SOFS", "ShadowSOFS", "l1-SVM")


def steps(smallest: bool) -> list[Step]:
    """Return sets and methods; the smallest form has a few generated rows."""
    sets = [config.read("relathe").smallest()] if smallest else [config.read("basehock"), config.read("ccat")]
    n = 3 if smallest else 10
    return [(f"{name} on {of.name}", partial(measured, of, name, n)) for of in sets for name in NAMES]


def measured(of: Config, name: str, n: int) -> Iterator[Found]:
    """Measure a method on samples of a set."""
    rows, method = data.load(of), METHODS[name]
    order = {"shuffle": True} if method.is_online else {}
    found = stability(method.estimator(BUDGET), (rows.X, rows.y), n=n, **order)
    low, high = found.interval
    always = sum(share == 1.0 for share in found.frequency.values())
    figures = {name: f"{value:.3f}" for name, value in (("value", found.value), ("low", low), ("high", high))}
    yield {"set": of.name, "method": name, "samples": n, **figures, "always": always}


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of STABILITY.md."""
    rows = tables["stability"]
    cells = [[row["set"], row["method"], row["value"], f"{row['low']} to {row['high']}", row["always"]] for row in rows]
    head = ["set", "method", "stability", "95 % interval", "in all"]
    return {"n": rows[0]["samples"] if rows else "0", "budget": str(BUDGET), "table": table(head, cells)}


STUDY = Study(
    "stability", "how stable the selections of three methods are", HOME / "STABILITY.md", NAMES,
    {"stability": steps}, placeholders,
)  # fmt: skip
