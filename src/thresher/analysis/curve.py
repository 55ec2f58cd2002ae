"""`path`: how accuracy grows with the number of features."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.analysis.resampling import require_budget, untrained_copy
from thresher.charts import Chart, Line, as_svg, draw, fragment, table
from thresher.evaluation.counts import Counts, error_of_share
from thresher.evaluation.evaluation import evaluate
from thresher.evaluation.metrics import ACCURACY, BASELINE
from thresher.evaluation.remarks import after_blank_line, missed_classes, remarks_on_baseline, remarks_on_missed_class
from thresher.messages import count_noun, parameter
from thresher.model.model import Model
from thresher.parameters import Whole, check
from thresher.streams import Data, DataError, Stream, as_stream
from thresher.training.history import History
from thresher.training.job import Request
from thresher.training.loop import models_of, run


@dataclass(frozen=True, eq=False)
class Curve:
    """Accuracy against the number of features.

    Attributes
    ----------
    n_features : list of int
        The budgets, ascending.
    accuracy, standard_error : array
        Share of rows predicted right with each budget, and √(a·(1 − a)/n) of it.
    baseline : float
        Share of the most frequent label among the same rows: the accuracy of always predicting it.
    suggested : int
        The smallest budget whose accuracy is within one standard error of the best.
    remarks : list of str
        Sentences on what the figures of the suggested budget show, as those of an `Evaluation`.
    n_rows : int
        The rows on which accuracy was measured.
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
    accuracy: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    baseline: float
    suggested: int
    remarks: list[str]
    n_rows: int
    measured_on: str
    model: Any
    history: History

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
            ACCURACY.name: self.accuracy.tolist(),
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
        return f"{ACCURACY.words} on {self.measured_on}, {rows}, {BASELINE.words} {BASELINE.cell(self.baseline)}"

    def points(self) -> list[tuple[int, float, float, bool]]:
        """Return each budget, its accuracy, the standard error, and whether it is the suggested one."""
        values = zip(self.n_features, self.accuracy.tolist(), self.standard_error.tolist(), strict=True)
        return [(n, share, error, n == self.suggested) for n, share, error in values]

    def __str__(self) -> str:
        lines = [self.heading, "", f"features  {ACCURACY.words}  standard error"]
        for n, share, error, is_suggested in self.points():
            mark = "  suggested: the fewest within one standard error of the best" if is_suggested else ""
            lines.append(f"{n:8,}  {ACCURACY.cell(share):>8}  {ACCURACY.cell(error):>14}{mark}")
        return "\n".join([*lines, *after_blank_line(self.remarks)])

    def plot(self, *, ax: Any = None) -> Any:
        """Draw accuracy against the number of features, with matplotlib.

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
        low = float((self.accuracy - self.standard_error).min())
        line = Line("", self.n_features, self.accuracy.tolist(), error=self.standard_error.tolist(), has_dots=True)
        return Chart(
            f"{ACCURACY.words.capitalize()} and the number of features", "number of features",
            f"{ACCURACY.words} on {self.measured_on}", [line],
            is_log=self.n_features[-1] >= 4 * self.n_features[0],
            y_limits=(max(0.0, low - 0.02), min(1.0, float((self.accuracy + self.standard_error).max()) + 0.02)),
            mark=(self.suggested, f"suggested: {self.suggested:,}"),
        )  # fmt: skip

    def _repr_html_(self) -> str:
        rows = (
            [f"{n:,}", ACCURACY.cell(share), ACCURACY.cell(error), "suggested" if is_suggested else ""]
            for n, share, error, is_suggested in self.points()
        )
        figures = table(["features", ACCURACY.words, "standard error", ""], rows)
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
    """Measure accuracy with several budgets, in the same reading of the data.

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
        Data to measure accuracy on. Without them, each row is predicted just before it is learned for the first time.
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
        shares, baseline = [each.n_right / each.n_rows for each in counts], counts[0].baseline
        curve = _curve(budgets, shares, counts[0].n_rows, held_out.name, models, histories, baseline)
        of_suggested = counts[budgets.index(curve.suggested)]
        return replace(curve, remarks=[*curve.remarks, *_remarks_on_missed(of_suggested, curve.model, held_out)])
    if histories[0].grouped_by_label:
        shuffle_them = f"use {parameter('shuffle', True)}, or " if stream.can_be_read_again else ""
        raise DataError(
            f"{stream.name}: the rows are grouped by label, so the accuracy on rows before they were learned says "
            f"nothing about new rows: {shuffle_them}name test data ({parameter('validate', ...)})."
        )
    shares, n_rows = [1.0 - history.error[-1] for history in histories], histories[0].n_predicted
    baseline = histories[0].baseline or 0.0
    return _curve(budgets, shares, n_rows, "rows before they were learned", models, histories, baseline)


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
    shares: list[float],
    n_rows: int,
    measured_on: str,
    models: list[Any],
    histories: list[History],
    baseline: float,
) -> Curve:
    accuracy = np.array(shares)
    error = error_of_share(accuracy, n_rows)
    best = int(accuracy.argmax())
    near = accuracy >= accuracy[best] - error[best]
    suggested = int(near.argmax())
    what = f"accuracy with {count_noun(budgets[suggested], 'feature')}"
    remarks = remarks_on_baseline(what, shares[suggested], baseline, float(error[suggested]))
    return Curve(
        budgets, accuracy, error, baseline, budgets[suggested], remarks, n_rows, measured_on,
        models[suggested], histories[suggested],
    )  # fmt: skip


def _remarks_on_missed(counts: Counts, model: Any, held_out: Stream) -> list[str]:
    """Return the remark on a class that is never predicted; for ROC AUC the data are then read again."""
    if len(counts.labels) > 2 or not missed_classes(counts) or not held_out.can_be_read_again:
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
