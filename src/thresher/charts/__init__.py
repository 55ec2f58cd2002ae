"""Pictures: what a chart shows, and two ways to draw it, as SVG for web pages and on matplotlib's axes."""

from thresher.charts.chart import Chart, Line
from thresher.charts.figure import bars, draw, heat_map
from thresher.charts.html import fragment, table, visible
from thresher.charts.svg import as_svg

__all__ = ["Chart", "Line", "as_svg", "bars", "draw", "fragment", "heat_map", "table", "visible"]
