"""Fig. 1 (X1) and Figs. 2–3 (the medium sets), accuracy and time by the number of features; and those of studies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # draws without a display

import matplotlib.pyplot as plt
import numpy as np

from experiments import memory
from experiments.paper import BUDGETS, TABLE_6
from experiments.results import Record, SetResults
from experiments.store import read_csv
from experiments.study import Table, means

# A method looks the same in all figures: SOFS and ShadowSOFS in strong colours, the others in quieter ones. One without
# an entry here is drawn last, in matplotlib's own colours.
LOOKS: dict[str, dict[str, Any]] = {
    "ShadowSOFS": {"color": "#c1272d", "marker": "o", "linewidth": 2.2},
    "ShadowSOFS defaults": {"color": "#c1272d", "marker": "o", "linestyle": ":"},
    "SOFS": {"color": "#0b5fa5", "marker": "s", "linewidth": 2.2},
    "FOFS": {"color": "#4f9d4f", "marker": "^"},
    "PET": {"color": "#e08a1e", "marker": "v"},
    "PET perceptron": {"color": "#e08a1e", "marker": "v", "linestyle": ":"},
    "mRMR": {"color": "#7b5ea7", "marker": "D", "linestyle": "--"},
    "l1-SVM": {"color": "#555555", "marker": "x", "linestyle": "--"},
    "FGM": {"color": "#8c564b", "marker": "+", "linestyle": "--"},
}
_STYLE: dict[Any, Any] = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e5e5e5", "font.size": 9,
    "lines.markersize": 4, "lines.linewidth": 1.4, "svg.hashsalt": "thresher", "svg.fonttype": "none",
}  # fmt: skip


def draw_all(folder: Path) -> None:
    """Draw every figure that has results."""
    record = Record(folder / "results")
    with mpl.rc_context(_STYLE):
        for results in record.present("x1", "x1-20k"):
            _save(_pair(results), folder / "figures" / f"fig1-{results.name}")
        if record.medium:
            _save(_panels(record.medium, "accuracy"), folder / "figures" / "fig2-accuracy")
            _save(_panels(record.medium, "seconds"), folder / "figures" / "fig3-time")
        if rows := read_csv(folder / "results" / "memory.csv"):
            _save(_memory(rows), folder / "figures" / "memory")
        if rows := read_csv(folder / "results" / "probabilities-groups.csv"):
            _save(_probabilities(rows), folder / "figures" / "probabilities")


def _memory(rows: Table) -> Any:
    """Draw accuracy against the bytes of a sketch, and of feature hashing, for each set of experiments.memory."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, panels = plt.subplots(1, len(sets), figsize=(9.5, 3.8), layout="constrained", squeeze=False)
    for axes, name in zip(panels.flat, sets, strict=True):
        cells = [(key, values) for key, values in means(rows, memory.CELL, memory.KINDS) if key[0] == name]
        for method in dict.fromkeys(key[2] for key, _ in cells):
            of = [(int(key[4]), values) for key, values in cells if key[2] == method]
            colour = LOOKS[method]["color"]
            axes.axhline(of[0][1][0], color=colour, linewidth=0.8, label=f"{method}, dense")
            for k, kind, dashes in ((1, "sketch", "-"), (2, "feature hashing", ":")):
                points = [values[k] for _, values in of]
                axes.plot([n for n, _ in of], points, dashes, color=colour, marker="o", label=f"{method}, {kind}")
        axes.set_xscale("log")
        axes.set_title(f"{name}, B = {int(cells[0][0][1]):,}", fontsize=9)
        axes.set_xlabel("bytes")
        axes.set_ylabel("accuracy on test rows, %")
    _legend(figure, panels.flat[0])
    return figure


def _probabilities(rows: Table) -> Any:
    """Draw how often the second class came against its probability, for each set of experiments.probabilities."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, panels = plt.subplots(1, len(sets), figsize=(9.5, 4.2), layout="constrained", squeeze=False)
    looks = {"fit": LOOKS["ShadowSOFS"], "one reading": {"color": "#777777", "marker": "s", "linestyle": ":"}}
    for axes, name in zip(panels.flat, sets, strict=True):
        of_set = [row for row in rows if row["set"] == name and int(row["came"]) > 0]
        ends = [min(float(row["predicted"]) for row in of_set), 1.0]
        axes.plot(ends, ends, color="#999999", linewidth=0.8, label="as it should be")
        for what, look in looks.items():
            drawn = [row for row in of_set if row["what"] == what]
            n, came = (np.array([int(row[key]) for row in drawn]) for key in ("rows", "came"))
            # Two standard errors; of a share p of n rows √(p(1 − p)/n).
            errors = 2 * np.sqrt(came / n * (1 - came / n) / n)
            below = np.minimum(errors, 0.9 * came / n)  # a bar to 0 has no end on a logarithmic axis
            axes.errorbar(
                [float(row["predicted"]) for row in drawn],
                came / n,
                [below, errors],
                label=what,
                elinewidth=0.8,
                **look,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        rate = sum(int(row["came"]) for row in of_set if row["what"] == "fit") / sum(
            int(row["rows"]) for row in rows if (row["set"], row["what"]) == (name, "fit")
        )
        axes.axvline(rate, color="#999999", linewidth=0.8, linestyle=":")
        axes.set_title(f"{name}: the second class is {100 * rate:.2g} % of the rows", fontsize=9)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        axes.set_xlabel("probability")
        axes.set_ylabel("how often it came")
    _legend(figure, panels.flat[0])
    return figure


def _pair(results: SetResults) -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for axes, what in ((left, "accuracy"), (right, "seconds")):
        _draw(axes, results, what, in_shares=False)
        axes.set_xlabel("features selected, B")
        axes.set_ylabel("accuracy on test rows, %" if what == "accuracy" else "CPU seconds")
    left.axvline(200, color="#999999", linewidth=0.8, linestyle=":")
    left.annotate("200 informative", (200, left.get_ylim()[0]), (3, 4), textcoords="offset points", color="#777777")
    figure.suptitle(results.title)
    _legend(figure, left)
    return figure


def _panels(sets: list[SetResults], what: str) -> Any:
    n_rows = -(-len(sets) // 2)
    figure, grid = plt.subplots(n_rows, 2, figsize=(9.5, 3.2 * n_rows), layout="constrained", squeeze=False)
    for axes, results in zip(grid.flat, sets, strict=False):
        _draw(axes, results, what, in_shares=True)
        if what == "accuracy":
            paper = TABLE_6[results.name]["SOFS"]
            shares = [100 * budget / results.n_features for budget in BUDGETS]
            axes.plot(shares, paper, color="#0b5fa5", linestyle="none", marker="*", markersize=8, alpha=0.5,
                      label="SOFS, the paper's")  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks([0.2, 0.5, 1, 2, 5, 10, 20, 40], minor=False)
        axes.set_xlim(min(100 * budget / results.n_features for budget in results.budgets) * 0.9, 45)
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:g}")
        axes.set_title(f"{results.title}, {results.n_features:,} columns", fontsize=9)
        axes.set_xlabel("share of features selected, %")
        axes.set_ylabel("accuracy on test rows, %" if what == "accuracy" else "CPU seconds")
    for axes in list(grid.flat)[len(sets) :]:
        axes.remove()
    _legend(figure, grid.flat[0])
    return figure


def _draw(axes: Any, results: SetResults, what: str, in_shares: bool) -> None:
    for method in sorted(results.methods, key=lambda name: list(LOOKS).index(name) if name in LOOKS else len(LOOKS)):
        curve = results.reached_curve(method)
        if not curve:
            continue
        x = [100 * cell.budget / results.n_features if in_shares else cell.budget for cell in curve]
        y = [getattr(cell, what) for cell in curve]
        (line,) = axes.plot(x, y, label=method, **LOOKS.get(method, {}))
        if what == "accuracy":
            spread = [cell.deviation or 0.0 for cell in curve]
            low, high = ([v + sign * s for v, s in zip(y, spread, strict=True)] for sign in (-1, 1))
            axes.fill_between(x, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    if what == "seconds":
        axes.set_yscale("log")


def _legend(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)), frameon=False, fontsize=8)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)
