"""Pictures: charts as data, and two ways to draw them.

`as_svg` is for reports and notebooks: it needs no package, follows the light or dark colours of the page, and has no
links inside, so that a report can forbid all links. `draw` puts the same chart on matplotlib's Axes, for the figures of
users.
"""

from thresher.charts.chart import Chart, Line
from thresher.charts.figure import bars, draw, heat_map
from thresher.charts.html import escape_controls, fragment, table
from thresher.charts.svg import as_svg

__all__ = ["Chart", "Line", "as_svg", "bars", "draw", "escape_controls", "fragment", "heat_map", "table"]
