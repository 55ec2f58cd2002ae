"""`thresher demo`: the main job, on generated data."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from thresher.methods import find
from thresher.progress import steps_bar

EXAMPLES = ("thresher demo --rows 20000",)
BUDGETS = (50, 100, 150, 200, 300, 400)

METHODS = [find(name) for name in ("sofs", "shadow_sofs")]

NEXT = """\
The data have 200 informative columns: from B = 200 on all of them fit.
Below that, ShadowSOFS selects the columns that decide most; SOFS, the paper's
method, selects whatever it has seen most. Above it, the places left go to noise:
ShadowSOFS takes columns that agree with the labels by chance, whose weights
cost it some accuracy: with 100,000 rows it is 0.6 points below SOFS at B = 300,
and 1.0 at 400. Those that SOFS takes have hardly any weight.

Try next, in Python:
    from thresher import ShadowSOFS, datasets
    X, y = datasets.make_x1(permute=True)
    model = ShadowSOFS(n_features_to_select=200).fit(X, y)
    model.selected_, model.score(X, y)

On your own data X is any CSR matrix, array or data frame, and y its labels.
For files there is thresher train. README.md continues from here."""


def demo(
    rows: Annotated[int, typer.Option(help="Rows to train on; a tenth as many again are held out.", min=100)] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed of the data.", min=0)] = 0,
) -> None:
    """Generate data whose truth is known, select features at several budgets, and show what was found.

    The data are the paper's X1: 200 informative columns of 20,000, and 400 columns of noise in every row. Accuracy is
    that on held-out rows.
    """
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from thresher import datasets

    table = Table(title=f"SOFS and ShadowSOFS on X1: {rows:,} rows, 20,000 columns, 600 nonzeros per row")
    table.add_column("B", justify="right")
    for what in ("accuracy", "found", "seconds"):
        for method in METHODS:
            table.add_column(f"{what}\n{method.estimator}", justify="right")

    with steps_bar("training", len(BUDGETS) * len(METHODS), wanted=True) as bar:
        bar.done(0, "making X1")
        X, y, informative = datasets.make_x1(rows, random_state=seed, return_informative=True)
        X_test, y_test = datasets.make_x1(max(1, rows // 10), random_state=seed, start=rows)
        for budget in BUDGETS:
            accuracy, found, seconds = list[str](), list[str](), list[str]()
            for method in METHODS:
                bar.done(table.row_count * len(METHODS) + len(found), f"{method.estimator}, B = {budget}")
                model = method.load_estimator()(n_features_to_select=budget)
                started = time.perf_counter()
                model.fit(X, y)
                seconds.append(f"{time.perf_counter() - started:.3f}")
                accuracy.append(f"{model.score(X_test, y_test):.4f}")
                found.append(f"{len(np.intersect1d(model.selected_, informative))} of {len(informative)}")
            table.add_row(f"{budget}", *accuracy, *found, *seconds)
    Console().print(table)
    print(NEXT)
