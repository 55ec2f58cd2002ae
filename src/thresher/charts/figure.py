"""Charts on matplotlib, which is imported when the first one is drawn."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from thresher.charts.chart import Chart, Line
from thresher.charts.html import escape_controls

_COLOURS = {"main": "#2f6fde", "second": "#d9730d", "muted": "#98a1ad"}
_MOST_IN_LEGEND = 4


def draw(chart: Chart, ax: Any = None) -> Any:
    """Draw a chart on matplotlib's Axes, new ones unless they are given; return them."""
    ax = _axes(ax)
    for line in chart.lines:
        _draw(line, ax)
    (left, right), (low, high) = chart.limits()
    if chart.is_log:
        ax.set_xscale("log")
    if chart.is_log_up:
        ax.set_yscale("log")
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    for axis, found in zip((ax.xaxis, ax.yaxis), chart.ticks(6, 6), strict=True):
        _set_ticks(axis, [value for value, _ in found], [words for _, words in found])
    if chart.mark is not None:
        ax.axvline(chart.mark[0], color=_COLOURS["second"], linestyle=":", label=escape_controls(chart.mark[1]))
    ax.set_title(escape_controls(chart.title), parse_math=False)
    ax.set_xlabel(escape_controls(chart.x_label), parse_math=False)
    ax.set_ylabel(escape_controls(chart.y_label), parse_math=False)
    _tidy(ax)
    named = [line for line in chart.lines if line.name]
    if len(named) > _MOST_IN_LEGEND:  # each has its name at its end
        for line in named:
            ax.annotate(
                escape_controls(line.name), (line.x[-1], line.y[-1]), (6, 0), textcoords="offset points", va="center",
                color=_COLOURS[line.style], fontsize="small", parse_math=False,
            )  # fmt: skip
    elif chart.mark is not None or len(named) > 1:
        for text in ax.legend(frameon=False).get_texts():
            text.set_parse_math(False)
    return ax


def bars(names: Sequence[str], values: Sequence[float], title: str, label: str, ax: Any = None) -> Any:
    """Draw horizontal bars, the first on top; those above and below 0 differ in colour. Return the Axes."""
    ax = _axes(ax, height=max(2.0, 0.27 * len(names) + 1.0))
    places = range(len(names))
    colours = [_COLOURS["main" if value >= 0 else "second"] for value in values]
    ax.barh(places, values, color=colours, height=0.7)
    ax.axvline(0, color="0.4", linewidth=0.8)
    _set_ticks(ax.yaxis, places, [escape_controls(name) for name in names])
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.set_title(escape_controls(title), parse_math=False)
    ax.set_xlabel(escape_controls(label), parse_math=False)
    _tidy(ax, grid="x")
    return ax


def heat_map(labels: Sequence[str], counts: Any, title: str, ax: Any = None) -> Any:
    """Draw a square table of counts, actual labels down and predicted ones across. Return the Axes."""
    ax = _axes(ax)
    shares = counts / counts.sum(axis=1, keepdims=True).clip(1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for axis in (ax.xaxis, ax.yaxis):
        _set_ticks(axis, range(len(labels)), [escape_controls(label) for label in labels])
    if len(labels) <= 20:  # more numbers would not fit
        for (row, column), count in np.ndenumerate(counts):
            colour = "white" if shares[row, column] > 0.5 else "black"
            ax.text(column, row, f"{count:,}", ha="center", va="center", color=colour)
    ax.set_title(escape_controls(title), parse_math=False)
    ax.set_xlabel("predicted")
    ax.set_ylabel("actual")
    return ax


def _axes(ax: Any, height: float = 4.0) -> Any:
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise ImportError(
            "plots need matplotlib: install it with pip install 'thresher[report]'.", name="matplotlib"
        ) from None
    return pyplot.subplots(figsize=(6.4, height), layout="constrained")[1] if ax is None else ax


def _draw(line: Line, ax: Any) -> None:
    colour = _COLOURS[line.style]
    if line.is_cloud:
        ax.plot(line.x, line.y, ".", color=colour, alpha=0.45, markersize=4, clip_on=False)
        return
    marker = "o" if line.has_dots or len(line.x) == 1 else None
    style = "none" if not line.has_line else "--" if line.is_dashed else "-"
    ax.plot(
        line.x, line.y, color=colour, marker=marker, markersize=4.5, linestyle=style,
        label=escape_controls(line.name) or None, clip_on=marker is None,
        linewidth=1.2 if line.style == "muted" else 2.0,
    )  # fmt: skip
    if line.error is not None:
        ax.fill_between(line.x, *line.band(), color=colour, alpha=0.16, linewidth=0)


def _set_ticks(axis: Any, values: Sequence[float], words: Sequence[str]) -> None:
    """Set ticks whose labels are plain text, even with dollar signs, which matplotlib takes for formulas."""
    axis.set_ticks(list(values), labels=words)
    axis.set_ticks([], minor=True)
    for label in axis.get_ticklabels():
        label.set_parse_math(False)


def _tidy(ax: Any, grid: str = "y") -> None:
    ax.spines[["top", "right", "left"] if grid == "y" else ["top", "right", "left", "bottom"]].set_visible(False)
    ax.grid(axis=grid, color="0.88", linewidth=0.8)
    ax.set_axisbelow(True)
