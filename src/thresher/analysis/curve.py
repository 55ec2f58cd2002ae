"""`path`: how accuracy, or R² of numbers, grows with the number of features."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.analysis.resampling import require_budget, untrained_copy
from thresher.charts import Chart, Line, as_svg, draw, fragment, table
from thresher.evaluation.counts import Counts
from thresher.evaluation.evaluation import evaluate
from thresher.evaluation.metrics import METRICS, HasMetrics, Kind, Measured
from thresher.evaluation.remarks import after_blank_line, missed_classes, remarks_on_baseline, remarks_on_missed_class
from thresher.evaluation.residuals import Residuals
from thresher.messages import count_noun, parameter
from thresher.model.model import Model
from thresher.parameters import Whole, check
from thresher.streams import Data, DataError, Stream, as_stream
from thresher.training.history import History
from thresher.training.job import Request
from thresher.training.loop import models_of, run

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve(HasMetrics):
    """Accuracy, or R² of numbers, against the number of features.

    Attributes
    ----------
    n_features : list of int
        The budgets, ascending.
    accuracy, standard_error : array
        Share of rows predicted right with each budget, and √(a·(1 − a)/n) of it. Of numbers it is `r2`, with the
        standard error of the validation data; on rows before they were learned, that of normal errors, since only their
        sums are known.
    rmse : array
        Of numbers only: the root of the mean squared error with each budget.
    baseline : float
        Share of the most frequent label among the same rows: the accuracy of always predicting it. Of numbers, the RMSE
        of always predicting the mean, of the same rows, or of the rows before.
    suggested : int
        The smallest budget whose accuracy, or R², is within one standard error of the best.
    remarks : list of str
        Sentences on what the figures of the suggested budget show, as those of an `Evaluation`.
    n_rows : int
        The rows that were measured.
    measured_on : str
        The validation data, or "rows before they were learned".
    n_skipped, skipped : int and list of str
        Lines that were skipped, with `on_bad_line="skip"`, and why; the first hundred.
    model : estimator or Model
        The one with the suggested budget, trained in the same reading.
    history : History
        How it was trained.
    """

    n_features: list[int]
    metrics: Mapping[str, _Floats]  # the main one first
    standard_error: _Floats
    baseline: float
    suggested: int
    remarks: list[str]
    n_rows: int
    measured_on: str
    model: Any
    history: History

    @property
    def kind(self) -> Kind:
        """How such predictions are measured."""
        return self.history.kind

    @property
    def main(self) -> _Floats:
        """The main metric with each budget."""
        return self.metrics[self.kind.main.name]

    @property
    def n_skipped(self) -> int:
        """Lines that were skipped."""
        return self.history.n_skipped

    @property
    def skipped(self) -> list[str]:
        """Why; the first hundred."""
        return self.history.skipped

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {
            "n_features": self.n_features,
            **{name: values.tolist() for name, values in self.metrics.items()},
            "standard_error": self.standard_error.tolist(),
            "baseline": self.baseline,
            "suggested": self.suggested,
            "rows": self.n_rows,
            "measured_on": self.measured_on,
            "lines_skipped": self.n_skipped,
            "remarks": self.remarks,
        }

    @property
    def heading(self) -> str:
        """The metric, the data, the number of rows, and the baseline."""
        rows = count_noun(self.n_rows, "row")
        baseline = self.kind.baseline
        return f"{self.kind.main.words} on {self.measured_on}, {rows}, {baseline.words} {baseline.cell(self.baseline)}"

    def points(self) -> list[tuple[int, float, float, bool]]:
        """Return each budget, its main metric, the standard error, and whether it is the suggested one."""
        values = zip(self.n_features, self.main.tolist(), self.standard_error.tolist(), strict=True)
        return [(n, value, error, n == self.suggested) for n, value, error in values]

    def columns(self) -> dict[str, list[str]]:
        """Return what tables show of each budget, by the heading of the column."""
        known = ((metric, self.metrics.get(metric.name)) for metric in METRICS[self.history.target])
        columns = {
            metric.words: list(map(metric.cell, values.tolist())) for metric, values in known if values is not None
        }
        errors = list(map(self.kind.main.cell, self.standard_error.tolist()))
        main = self.kind.main.words
        return {main: columns.pop(main), "standard error": errors, **columns}

    def __str__(self) -> str:
        columns = [
            [f"{cell:>{max(8, len(name))}}" for cell in [name, *cells]] for name, cells in self.columns().items()
        ]
        header, *rows = ("  ".join(row) for row in zip(*columns, strict=True))
        lines = [self.heading, "", f"features  {header}"]
        for n, row in zip(self.n_features, rows, strict=True):
            mark = "  suggested: the fewest within one standard error of the best" if n == self.suggested else ""
            lines.append(f"{n:8,}  {row}{mark}")
        return "\n".join([*lines, *after_blank_line(self.remarks)])

    def plot(self, *, ax: Any = None) -> Any:
        """Draw accuracy, or R², against the number of features, with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        return draw(self.chart(), ax)

    def chart(self) -> Chart:
        """Return the picture that `plot` draws."""
        main, words = self.main, self.kind.main.words
        low, high = float((main - self.standard_error).min()), float((main + self.standard_error).max())
        line = Line("", self.n_features, main.tolist(), error=self.standard_error.tolist(), has_dots=True)
        return Chart(
            f"{words.capitalize()} and the number of features", "number of features", f"{words} on {self.measured_on}",
            [line], is_log=self.n_features[-1] >= 4 * self.n_features[0],
            y_limits=(max(min(0.0, low), low - 0.02), min(1.0, high + 0.02)),
            mark=(self.suggested, f"suggested: {self.suggested:,}"),
        )  # fmt: skip

    def _repr_html_(self) -> str:
        columns = self.columns()
        marks = ["suggested" if n == self.suggested else "" for n in self.n_features]
        rows = zip([f"{n:,}" for n in self.n_features], *columns.values(), marks, strict=True)
        figures = table(["features", *columns, ""], list(map(list, rows)))
        return fragment(self.heading, as_svg(self.chart()), figures, remarks=self.remarks)


def path(
    model: Any,
    data: Data,
    n_features: Sequence[int],
    validate: Data | None = None,
    *,
    passes: int | Literal["auto"] | None = None,
    shuffle: bool | Literal["auto"] = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool | int = False,
    progress: bool = False,
) -> Curve:
    """Measure accuracy, or R² of numbers, with several budgets, in the same reading of the data.

    Each point is that of a model as `train` would have trained it.

    Parameters
    ----------
    model : estimator or Model
        Of a method with a budget. It does not change: models with its parameters are trained.
    data : Stream, path, or anything else that `open_stream` takes
        What to learn from.
    n_features : sequence of int
        The budgets.
    validate : Stream or path, optional
        Data to measure on. Without them, each row is predicted just before it is learned for the first time.
        Batch methods need validation data, and so do methods other than ShadowSOFS with more than one pass.
    passes, shuffle, classes, multiclass, progress
        As in `train`.

    Returns
    -------
    Curve

    Examples
    --------
    >>> from thresher import ShadowSOFS, datasets, path
    >>> curve = path(ShadowSOFS(), datasets.make_x1(10_000), n_features=[20, 100, 200, 300])
    >>> curve.n_features, curve.suggested
    ([20, 100, 200, 300], 200)
    """
    request = Request(
        passes=passes, validate=validate, shuffle=shuffle, classes=classes, multiclass=multiclass, progress=progress
    )
    budgets = _budgets(model, n_features)
    stream = as_stream(data)
    held_out = None if validate is None else as_stream(validate, naming=stream.naming)
    models = [_with_budget(model, budget) for budget in budgets]
    with models_of(models) as trained:
        _check_validation(trained[0], request)
        runs = run(trained, stream, replace(request, validate=held_out))
    histories = [each.history for each in runs]
    if histories[0].interrupted:
        raise KeyboardInterrupt
    if held_out is not None:
        counts = [each.validated for each in runs if each.validated is not None]
        main, baseline = histories[0].kind.main, counts[0].baseline
        assert main.error_of is not None
        values, errors = [main.of(each) or 0.0 for each in counts], [main.error_of(each) for each in counts]
        rmse = [each.rmse for each in counts if isinstance(each, Residuals)]
        curve = _curve(budgets, values, counts[0].n_rows, held_out.name, models, histories, baseline, rmse, errors)
        of_suggested = counts[budgets.index(curve.suggested)]
        return replace(curve, remarks=[*curve.remarks, *_remarks_on_missed(of_suggested, curve.model, held_out)])
    if histories[0].grouped_by_label:
        shuffle_them = f"use {parameter('shuffle', True)}, or " if stream.can_be_read_again else ""
        raise DataError(
            f"{stream.name}: the rows are grouped by label, so the {histories[0].kind.main.words} on rows before they "
            f"were learned says nothing about new rows: {shuffle_them}name test data ({parameter('validate', ...)})."
        )
    values, n_rows = [1.0 - history.error[-1] for history in histories], histories[0].n_predicted
    baseline = histories[0].baseline or 0.0
    rmse = [history.rmse[-1] for history in histories if history.rmse]
    return _curve(budgets, values, n_rows, "rows before they were learned", models, histories, baseline, rmse)


def _check_validation(model: Model, request: Request) -> None:
    """Raise ValueError if validation data are needed and not there."""
    if request.validate is not None:
        return
    if model.method.is_batch:
        name = model.method.estimator
        raise ValueError(f"{parameter('validate')} is needed with {name}, which sees all rows at once: name test data.")
    n_passes = model.parameters["n_passes"] if request.passes is None else request.passes
    # Where a layer predicts, mistakes are those of first readings.
    if n_passes != 1 and not model.method.predicts_apart:
        raise ValueError(
            f"{parameter('validate')} is needed with {parameter('passes', n_passes)}: in later passes no row is new. "
            "Name test data."
        )


def _curve(
    budgets: list[int],
    values: list[float],
    n_rows: int,
    measured_on: str,
    models: list[Any],
    histories: list[History],
    baseline: float,
    rmse: Sequence[float] = (),
    errors: list[float] | None = None,
) -> Curve:
    """Return the curve of the main metric; without standard errors, they are computed from its values alone."""
    kind, main = histories[0].kind, np.array(values)
    error = kind.error_of(main, n_rows) if errors is None else np.array(errors)
    best = int(main.argmax())
    near = main >= main[best] - error[best]
    suggested = int(near.argmax())
    what = f"{kind.main.words} with {count_noun(budgets[suggested], 'feature')}"
    remarks = remarks_on_baseline(kind, what, values[suggested], baseline, float(error[suggested]))
    metrics = {kind.main.name: main}
    if len(rmse):
        metrics["rmse"] = np.array(rmse)
    return Curve(
        budgets, metrics, error, baseline, budgets[suggested], remarks, n_rows, measured_on,
        models[suggested], histories[suggested],
    )  # fmt: skip


def _remarks_on_missed(counts: Measured, model: Any, held_out: Stream) -> list[str]:
    """Return the remark on a class that is never predicted; for ROC AUC the data are then read again."""
    if (
        not isinstance(counts, Counts)
        or len(counts.labels) > 2
        or not missed_classes(counts)
        or not held_out.can_be_read_again
    ):
        return []
    return remarks_on_missed_class(counts, evaluate(model, held_out).roc_auc)


def _budgets(model: Any, given: Sequence[int]) -> list[int]:
    require_budget(model)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray) or len(given) == 0:
        raise ValueError(f"n_features must be a list of budgets. Got {given!r} instead.")
    for budget in given:
        check("each budget in n_features", budget, Whole(1))
    budgets = sorted(int(budget) for budget in given)
    twice = next((one for one, after in itertools.pairwise(budgets) if one == after), None)
    if twice is not None:
        raise ValueError(f"the budget {twice} is listed twice: list each once.")
    return budgets


def _with_budget(template: Any, budget: int) -> Any:
    if isinstance(template, Model):
        return template.untrained_copy(n_features_to_select=budget)
    new = untrained_copy(template)
    new.n_features_to_select = budget
    return new
