"""How stable the selections of three methods are: stability.csv and STABILITY.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import config, data
from experiments.methods import METHODS
from experiments.reporting.tables import table
from experiments.store import read_csv, write_csv
from thresher import stability
from thresher.progress import Steps

BUDGET = 100
NAMES = ("SOFS", "ShadowSOFS", "l1-SVM")
COLUMNS = ("set", "method", "samples", "value", "low", "high", "always")

TEXT = """\
# Stability of the selection

Written by `python -m experiments stability`.

{n} random halves of all rows of a set, B = {budget}, every method with its defaults, online methods on shuffled rows.
*Stability* is the measure of Nogueira, Sechidis and Brown with its 95 % interval: 1 if all halves give the same
selection, about 0 if selections are as different as random ones. *In all* is how many features every half selects.

{table}
"""


def tasks(smallest: bool) -> list[tuple[config.Config, str, int]]:
    """Return sets, methods, and how many samples; the smallest form has a few generated rows."""
    if smallest:
        return [(config.read("relathe").smallest(), name, 3) for name in NAMES]
    return [(config.read(name), method, 10) for name in ("basehock", "ccat") for method in NAMES]


def run(folder: Path, bar: Steps, smallest: bool) -> None:
    """Measure everything and write the table and the page; all data must be there."""
    found: list[dict[str, Any]] = []
    for done, (of, name, n) in enumerate(tasks(smallest), start=1):
        rows = data.needed(of)
        method = METHODS[name]
        order = {"shuffle": True} if method.is_online else {}
        st = stability(method.estimator(BUDGET), (rows.X, rows.y), n=n, **order)
        always = sum(share == 1.0 for share in st.frequency.values())
        low, high = st.interval
        values = (of.name, name, n, f"{st.value:.3f}", f"{low:.3f}", f"{high:.3f}", always)
        found.append(dict(zip(COLUMNS, values, strict=True)))
        bar.done(done, f"{name} on {of.name}")
    write_csv(folder / "results" / "stability.csv", COLUMNS, found)
    write_report(folder)


def write_report(folder: Path) -> None:
    """Write STABILITY.md from stability.csv."""
    rows = read_csv(folder / "results" / "stability.csv")
    cells = [[row["set"], row["method"], row["value"], f"{row['low']} to {row['high']}", row["always"]] for row in rows]
    head = ["set", "method", "stability", "95 % interval", "in all"]
    n = rows[0]["samples"] if rows else 0
    text = TEXT.format(n=n, budget=BUDGET, table=table(head, cells))
    (folder / "STABILITY.md").write_text(text)
