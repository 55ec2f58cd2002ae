"""A chart as data: lines over two axes, for any backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Tick: TypeAlias = tuple[float, str]
Format: TypeAlias = Literal["count", "number", "share"]
Style: TypeAlias = Literal["main", "second", "muted"]


@dataclass(frozen=True)
class Line:
    """A line of a chart.

    Attributes
    ----------
    name : str
        Its name in the legend; without a name it is not in the legend.
    x, y : sequence of float
        Its points.
    style : "main", "second" or "muted"
        How much it stands out.
    error : sequence of float, optional
        The half width of a band around it.
    has_dots, is_dashed, has_line : bool
        Whether each point is marked, the line is dashed, and there is a line at all.
    is_cloud : bool
        Whether there are only points, many of them and small.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: Style = "main"
    error: Sequence[float] | None = None
    has_dots: bool = False
    is_dashed: bool = False
    has_line: bool = True
    is_cloud: bool = False

    def band(self) -> tuple[list[float], list[float]]:
        """Return the lower and the upper end of the band; without an error, the line itself."""
        error = self.error or [0.0] * len(self.y)
        low, high = ([y + sign * e for y, e in zip(self.y, error, strict=True)] for sign in (-1, 1))
        return low, high


@dataclass(frozen=True)
class Chart:
    """Lines and their axes.

    Attributes
    ----------
    title, x_label, y_label : str
        Texts; labels name the unit.
    lines : list of Line
        Later ones are drawn on top.
    x_format, y_format : "count", "number" or "share"
        How numbers are written: 12,000, 0.25 or 25 %.
    is_log : bool
        Whether the x axis is logarithmic.
    is_log_up : bool
        Whether the y axis is. Its values are above 0, and it begins at the lowest.
    x_limits, y_limits : tuple of float, optional
        Where the axes begin and end; by default where the points do, and the y axis at 0.
    mark : tuple of float and str, optional
        A value of x to point out, and why.
    """

    title: str
    x_label: str
    y_label: str
    lines: list[Line]
    x_format: Format = "count"
    y_format: Format = "share"
    is_log: bool = False
    is_log_up: bool = False
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    mark: tuple[float, str] | None = None

    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return where the axes begin and end."""
        x = [value for line in self.lines for value in line.x]
        y = [value for line in self.lines for value in line.band()[1]]
        across = self.x_limits or (min(x), max(x))
        if across[0] == across[1]:
            across = (across[0] * 0.9, across[1] * 1.1) if across[0] > 0 else (0.0, 1.0)
        up = self.y_limits or ((min(y) / 1.3, max(y) * 1.3) if self.is_log_up else (0.0, max(y) * 1.05 or 1.0))
        return across, up

    def ticks(self, most_across: int, most_up: int) -> tuple[list[Tick], list[Tick]]:
        """Return the ticks of both axes, about as many as given, with their labels."""
        (left, right), (low, high) = self.limits()
        across = log_ticks(left, right, most_across) if self.is_log else ticks(left, right, most_across)
        up = log_ticks(low, high, most_up) if self.is_log_up else ticks(low, high, most_up)
        return _with_labels(across, self.x_format, self.is_log), _with_labels(up, self.y_format, self.is_log_up)


def _with_labels(values: list[float], format: Format, is_log: bool = False) -> list[Tick]:
    step = values[1] - values[0] if len(values) > 1 and not is_log else None
    return [(value, number_text(value, format, step)) for value in values]


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two limits: multiples of 1, 2 or 5 times a power of ten."""
    step = (high - low) / most
    power = 10.0 ** math.floor(math.log10(step))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= step * 0.85)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers for a logarithmic axis: powers of ten, with 2 and 5 times them where they fit."""
    if high / low < 4:
        return [tick for tick in ticks(low, high, most) if tick > 0]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [s * 10.0**p for p in powers for s in steps if low * 0.999 <= s * 10.0**p <= high * 1.001]
        if len(found) <= most + 1:
            return found
    return found[:: math.ceil(len(found) / most)]


def number_text(value: float, format: Format, step: float | None = None) -> str:
    """Return a number as text; `step` is the distance of ticks, which gives the number of digits."""
    if format == "share":
        digits = 1 if step is None else max(0, math.ceil(-math.log10(step * 100) - 1e-9))
        return f"{value * 100:.{digits}f} %"
    if format == "count" and (value == round(value) or abs(value) >= 100):
        return f"{value:,.0f}"
    if step is None:
        return f"{value:,.4g}"
    return f"{value:,.{max(0, math.ceil(-math.log10(step) - 1e-9))}f}"
