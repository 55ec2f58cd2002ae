"""`thresher demo`: the main job, on generated data."""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from thresher import datasets
from thresher.model import Model

BUDGETS = (50, 100, 150, 200, 300, 400)

NEXT = """\
The data have 200 informative columns: from B = 200 on there is room for all.

Try next, in Python:
    from thresher import SOFS, datasets
    X, y = datasets.make_x1(permute=True)
    model = SOFS(n_features_to_select=200).fit(X, y)
    model.selected_, model.score(X, y)

On your own data X is any CSR matrix, array or data frame, and y its labels.
ShadowSOFS, in the place of SOFS, finds better features where the budget is
small. For files there is thresher train. README.md goes on from here."""


def run(rows: int, seed: int) -> None:
    """Train SOFS on X1 at several budgets and print a table."""
    out, terminal = Console(), Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=terminal, transient=True,
        disable=not terminal.is_terminal,
    )  # fmt: skip
    table = Table(title=f"SOFS on X1: {rows:,} rows, 20,000 columns, 600 nonzeros a row")
    for heading in ("B", "accuracy, held out", "informative found", "seconds", "million nonzeros/s"):
        table.add_column(heading, justify="right")

    with bar:
        task = bar.add_task("making X1", total=1 + len(BUDGETS))
        X, y, informative = datasets.make_x1(rows, random_state=seed, return_informative=True)
        X_test, y_test = datasets.make_x1(max(1, rows // 10), random_state=seed, start=rows)
        bar.advance(task)
        for budget in BUDGETS:
            bar.update(task, description=f"training, B = {budget}")
            model = Model("sofs", n_features_to_select=budget)
            started = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - started
            accuracy = float(np.mean(model.predict(X_test) == y_test))
            found = len(np.intersect1d(model.members()[0], informative))
            table.add_row(
                f"{budget}", f"{accuracy:.4f}", f"{found} of {len(informative)}", f"{seconds:.3f}",
                f"{X.nnz / seconds / 1e6:.0f}",
            )  # fmt: skip
            bar.advance(task)
    out.print(table)
    out.print(NEXT, highlight=False)
