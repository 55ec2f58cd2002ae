"""`NumberEvaluation`: how well numbers are predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.charts import Chart, Line, as_svg, draw, fragment
from thresher.evaluation.base import Evaluation
from thresher.evaluation.metrics import METRICS, document_metrics
from thresher.evaluation.remarks import after_blank_line, remarks_on_baseline
from thresher.evaluation.residuals import Residuals

_MOST_POINTS = 500  # of a chart: more could not be told apart
_Floats = NDArray[np.float64]


@document_metrics(METRICS["numbers"])
@dataclass(frozen=True, eq=False)
class NumberEvaluation(Evaluation):
    """How well a model predicts the numbers of some rows. They count alike, whatever their weights.

    Attributes
    ----------
    n_rows : int
        Rows read.
    actual, predicted : array
        The number of each row, and its prediction, in the order of the rows.
    metrics : dict
        All metrics by their names. Each is an attribute too.
    {metrics}
    standard_errors : dict
        Those of R², RMSE and MAE, by the delta method, for rows that are independent.
    standard_error : float
        That of R².
    remarks : list of str
        A sentence that says so if R² is within one standard error of 0, which is that of the mean, or below.
    n_skipped, skipped : int and list of str
        Lines or rows that were skipped, with `on_bad_line="skip"`, and why; the first hundred.
    """

    counts: Residuals

    @property
    def actual(self) -> _Floats:
        """The number of each row."""
        return self.counts.actual

    @property
    def predicted(self) -> _Floats:
        """The prediction of each row."""
        return self.counts.predicted

    def remarks_by(self, standard_error: float) -> list[str]:
        """Return what the figures show, with a standard error of R²."""
        if not np.ptp(self.actual):  # there is nothing to compare with
            return []
        return remarks_on_baseline(self.kind, "R²", self.main, self.counts.baseline, standard_error)

    def rows_of_metrics(self, errors: Mapping[Any, float] | None = None) -> Iterator[tuple[str, str, str]]:
        """Yield what each metric is called, and its value with its standard error, by default its own."""
        return super().rows_of_metrics(self.standard_errors if errors is None else errors)

    def to_dict(self, errors: Mapping[Any, float] | None = None) -> dict[str, Any]:
        """Return it as values that JSON can hold, without the numbers of the rows."""
        return super().to_dict() | {"standard_errors": self.standard_errors}

    def __str__(self) -> str:
        return "\n".join([self.heading, *after_blank_line(self.remarks)])

    def plot(self, kind: Literal["predicted", "residuals"] = "predicted", *, ax: Any = None) -> Any:
        """Draw it with matplotlib.

        Parameters
        ----------
        kind : {"predicted", "residuals"}, default="predicted"
            The predictions against the numbers of the rows, or what is left of these against the predictions. Of many
            rows, 500 are drawn, at equal distances in their order.
        ax : matplotlib Axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        charts = self.charts()
        if kind not in charts:
            raise ValueError(f"kind={kind!r} is not available for this evaluation; it has {', '.join(charts)}.")
        return draw(charts[kind], ax)

    def charts(self) -> dict[str, Chart]:
        """Return the pictures, by the `kind` of `plot`."""
        rows = np.unique(np.linspace(0, self.n_rows - 1, min(self.n_rows, _MOST_POINTS)).astype(np.int64))
        actual, predicted, residuals = self.actual[rows], self.predicted[rows], self.counts.residuals[rows]
        both, across, up = (_limits(each) for each in (np.concatenate([actual, predicted]), predicted, residuals))
        form: dict[str, Any] = {"x_format": "number", "y_format": "number"}
        return {
            "predicted": Chart(
                "Predicted and actual numbers", "actual", "predicted",
                [Line("", both, both, "muted", is_dashed=True), _cloud(actual, predicted)],
                x_limits=both, y_limits=both, **form,
            ),
            "residuals": Chart(
                "Residuals", "predicted", "actual minus predicted",
                [Line("", across, (0.0, 0.0), "muted", is_dashed=True), _cloud(predicted, residuals)],
                x_limits=across, y_limits=up, **form,
            ),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        return fragment(self.heading, *map(as_svg, self.charts().values()), remarks=self.remarks)


def _cloud(x: _Floats, y: _Floats) -> Line:
    return Line("", x.tolist(), y.tolist(), is_cloud=True)


def _limits(numbers: _Floats) -> tuple[float, float]:
    """Return limits of an axis that leave some room beside all numbers, also if they are equal."""
    low, high = float(numbers.min()), float(numbers.max())
    room = 0.04 * (high - low) or 0.1 * abs(low) or 1.0
    return low - room, high + room
