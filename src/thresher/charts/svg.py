"""A chart as SVG, for web pages: no script, no fonts, and colours that follow the page.

Colours are variables of the page's style sheet (--main, --second, --muted, --paper); where there are none, as in a
notebook, they have values that can be read on white and on black. Text has the page's colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from thresher.charts.chart import Chart, Line, number_text
from thresher.charts.html import escape_controls

_WIDTH, _HEIGHT = 440, 280
_CHARACTER = 7.0  # about the width of one, of 13 pixels
_COLOURS = {"main": "var(--main,#2f6fde)", "second": "var(--second,#d9730d)", "muted": "var(--muted,#98a1ad)"}
_QUIET = 'fill="currentColor" fill-opacity=".68"'

Scale = Callable[[float], float]


def as_svg(chart: Chart) -> str:
    """Return a chart as an SVG element that takes the width it is given."""
    (left, right), (low, high) = chart.limits()
    across, up = chart.ticks(5 if chart.is_log else 6, 5)
    named = [line for line in chart.lines if line.name]
    begin, end = 14 + _CHARACTER * max((len(text) for _, text in up), default=0), _WIDTH - 22
    top, bottom = 50 if len(named) > 1 else 30, _HEIGHT - 46
    x, y = _scale(left, right, begin, end, chart.is_log), _scale(low, high, bottom, top, chart.is_log_up)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{_text(chart.title)}" font-family="inherit" font-size="13" '
        'style="width:100%;height:auto;display:block">',
        f'<text x="0" y="13" {_QUIET}>{_text(chart.y_label)}</text>',
        f'<text x="{(begin + end) / 2:.1f}" y="{_HEIGHT - 6}" text-anchor="middle" {_QUIET}>'
        f"{_text(chart.x_label)}</text>",
    ]
    for tick, text in up:
        parts.append(
            f'<path d="M{begin:.1f} {y(tick):.1f}H{end}" stroke="currentColor" '
            f'stroke-opacity="{0.35 if tick == low else 0.13}"/>'
            f'<text x="{begin - 7:.1f}" y="{y(tick) + 4.5:.1f}" text-anchor="end" {_QUIET}>{text}</text>'
        )
    for tick, text in across:
        # What would stick out at the right is moved to the left.
        at = min(x(tick), _WIDTH - len(text) * _CHARACTER / 2)
        parts.append(f'<text x="{at:.1f}" y="{bottom + 19}" text-anchor="middle" {_QUIET}>{text}</text>')
    if chart.mark is not None:
        parts.append(_mark(chart.mark, x, top, bottom, end))
    parts += [_draw_line(line, chart, x, y) for line in chart.lines]
    if len(named) > 1:
        parts.append(_legend(named))
    return "".join([*parts, "</svg>"])


def _scale(low: float, high: float, begin: float, end: float, is_log: bool) -> Scale:
    if is_log:
        low, high = math.log(low), math.log(high)
    share = (end - begin) / (high - low)
    return lambda value: begin + ((math.log(value) if is_log else value) - low) * share


def _draw_line(line: Line, chart: Chart, x: Scale, y: Scale) -> str:
    colour, points = _COLOURS[line.style], [(x(a), y(b)) for a, b in zip(line.x, line.y, strict=True)]
    if line.is_cloud:
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in points)
        return f'<path d="{dots}" stroke="{colour}" stroke-opacity=".45" stroke-width="4" stroke-linecap="round"/>'
    parts = []
    if line.error is not None:
        below, above = ([f"{x(a):.1f} {y(b):.1f}" for a, b in zip(line.x, end, strict=True)] for end in line.band())
        parts.append(f'<path d="M{"L".join(above + below[::-1])}Z" fill="{colour}" fill-opacity=".16"/>')
    if line.has_line and len(points) > 1:
        dashes = ' stroke-dasharray="5 4"' if line.is_dashed else ""
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        width = 1.5 if line.style == "muted" else 2.2
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{dashes}/>'
        )
    if line.has_dots or len(points) == 1:
        for (a, b), at, value in zip(points, line.x, line.y, strict=True):
            words = f"{number_text(at, chart.x_format)}: {number_text(value, chart.y_format)}"
            words = f"{line.name}, {words}" if line.name else words
            parts.append(
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.4" fill="{colour}" stroke="var(--paper,transparent)">'
                f"<title>{_text(words)}</title></circle>"
            )
    return "".join(parts)


def _mark(mark: tuple[float, str], x: Scale, top: float, bottom: float, end: float) -> str:
    at, words = x(mark[0]), mark[1]
    is_right = at + 8 + len(words) * _CHARACTER > end
    side = f'x="{at - 6:.1f}" text-anchor="end"' if is_right else f'x="{at + 6:.1f}"'
    return (
        f'<path d="M{at:.1f} {top}V{bottom}" stroke="{_COLOURS["second"]}" stroke-dasharray="3 3"/>'
        f'<text {side} y="{bottom - 10:.1f}" fill="{_COLOURS["second"]}">{_text(words)}</text>'
    )


def _legend(lines: list[Line]) -> str:
    parts, at = [], 0.0
    for line in lines:
        colour = _COLOURS[line.style]
        sign = (
            f'<path d="M{at:.1f} 32h16" stroke="{colour}" stroke-width="2.2"'
            + (' stroke-dasharray="5 4"' if line.is_dashed else "") + "/>"
            if line.has_line
            else f'<circle cx="{at + 8:.1f}" cy="32" r="3.4" fill="{colour}"/>'
        )  # fmt: skip
        parts.append(f'{sign}<text x="{at + 22:.1f}" y="36.5" fill="currentColor">{_text(line.name)}</text>')
        at += 38 + len(line.name) * _CHARACTER
    return "".join(parts)


def _text(words: str) -> str:
    return escape(escape_controls(words))
