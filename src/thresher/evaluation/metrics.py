"""The table of metrics: the name of each, how it is computed from counts, and how it is printed.

A new metric is a row here. `evaluate`, `cross_validate`, `path`, the report, JSON and the printed tables read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from thresher.evaluation.counts import ClassCounts, Counts, error_of_share
from thresher.evaluation.residuals import Residuals, error_of_r2_alone

Measured: TypeAlias = Counts | Residuals

_Counted = TypeVar("_Counted")
_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True)
class Metric(Generic[_Counted]):
    """A metric.

    Attributes
    ----------
    name : str
        The attribute of an evaluation, the key in JSON, and the heading in printed tables of classes.
    words : str
        Its name in sentences.
    meaning : str
        A sentence or two on it, for the docstring of `Evaluation`.
    of : function
        Returns the value from what was counted, or None where it does not exist.
    in_tables, in_sentences : str or None
        How the value is written, as `format` has it; None for four digits, in the unit of the labels.
    is_of_positive : bool
        Whether it depends on which of two labels counts as found; that label is then printed with it.
    error_of : function, optional
        Returns the standard error from what was counted.
    """

    name: str
    words: str
    meaning: str
    of: Callable[[_Counted], float | None]
    in_tables: str | None = ".4f"
    in_sentences: str | None = ".4f"
    is_of_positive: bool = False
    error_of: Callable[[_Counted], float] | None = None

    def cell(self, value: float, error: float | None = None) -> str:
        """Return the value for a table, with its standard error where that is known."""
        form = self.in_tables or _four_digits(value)
        around = "" if error is None else f" ± {error:{form}}"
        return f"{value:{form}}{around}"

    def text(self, value: float) -> str:
        """Return the value for a sentence."""
        return f"{value:{self.in_sentences or _four_digits(value)}}"

    def phrase(self, value: float, where: str = "") -> str:
        """Return name and value for a sentence; `where` stands between them."""
        return f"{self.words}{where} {self.text(value)}"


def _four_digits(value: float) -> str:
    """Return the format of a value and its standard error with four digits of the value, or all before the point."""
    if value != 0.0 and not 1e-4 <= abs(value) < 1e9:
        return ".4g"
    return f",.{max(0, 3 - math.floor(math.log10(abs(value)))) if value else 4}f"


# By the kind of target, in the order in which they are shown. The first is the main one: `path` draws it, and a report
# begins with it.
METRICS: dict[str, tuple[Metric[Any], ...]] = {
    "classes": (
        Metric(
            "accuracy", "accuracy", "Share of rows whose label is predicted.",
            lambda found: found.n_right / found.n_rows, in_sentences=".2%",
            error_of=lambda found: float(error_of_share(found.n_right / found.n_rows, found.n_rows)),
        ),
        Metric(
            "baseline", "baseline",
            "Accuracy of always predicting the most frequent label of these rows.",
            lambda found: found.baseline, in_sentences=".2%",
        ),
        Metric(
            "log_loss", "log loss",
            "Mean negative log-likelihood of the labels, where the model has probabilities and knows all of them.",
            lambda found: found.log_loss,
        ),
        Metric(
            "roc_auc", "ROC AUC",
            "Area under the ROC curve, for two classes that both occur.",
            lambda found: found.curves.roc_auc if found.curves else None,
        ),
        Metric(
            "average_precision", "average precision",
            "Area under the precision–recall curve of the `positive` label, for two classes that both occur.",
            lambda found: found.curves.average_precision if found.curves else None, is_of_positive=True,
        ),
    ),
    "numbers": (
        Metric(
            "r2", "R²",
            "Share of the variance that is predicted: 1 minus the squared error divided by that of always predicting "
            "the mean of these rows. 0 is as good as the mean, and below 0 is worse.",
            lambda found: found.r2, error_of=lambda found: found.error_of_r2,
        ),
        Metric(
            "rmse", "RMSE", "Root of the mean squared error, in the unit of the numbers.",
            lambda found: found.rmse, None, None, error_of=lambda found: found.error_of_rmse,
        ),
        Metric(
            "mae", "MAE", "Mean absolute error.",
            lambda found: found.mae, None, None, error_of=lambda found: found.error_of_mae,
        ),
        Metric(
            "baseline", "RMSE of the mean", "RMSE of always predicting the mean of these rows.",
            lambda found: found.baseline, None, None,
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """How the predictions of a kind of target are measured, by the main metric and by a constant prediction.

    Attributes
    ----------
    target : str
        The kind of target.
    constant : str
        What the best constant prediction is called.
    score_of_constant : function
        Returns its main metric, from the metric `baseline`.
    error_of : function
        Returns the standard error of the main metric from its value, or an array of values, and the number of rows.
    """

    target: str
    constant: str
    score_of_constant: Callable[[float], float]
    error_of: Callable[[Any, int], Any]

    @property
    def main(self) -> Metric[Any]:
        """The main metric."""
        return METRICS[self.target][0]

    @property
    def baseline(self) -> Metric[Any]:
        """The metric of the constant prediction."""
        return next(metric for metric in METRICS[self.target] if metric.name == "baseline")


KINDS = {
    "classes": Kind("classes", "the most frequent label", lambda baseline: baseline, error_of_share),
    "numbers": Kind("numbers", "the mean", lambda _: 0.0, error_of_r2_alone),
}

# Of one class.
CLASS_METRICS: tuple[Metric[ClassCounts], ...] = (
    Metric(
        "precision",
        "precision",
        "Share of the rows predicted as the class that are of it.",
        lambda found: found.right / max(1, found.predicted),
    ),
    Metric(
        "recall",
        "recall",
        "Share of the class's rows that are predicted as it.",
        lambda found: found.right / max(1, found.actual),
    ),
    Metric(
        "f1",
        "F1",
        "Harmonic mean of precision and recall.",
        lambda found: 2 * found.right / max(1, found.predicted + found.actual),
    ),
)


class HasMetrics:
    """The values of metrics by name, each of which is an attribute too."""

    metrics: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        # Copies are asked for attributes before they have any.
        if name in vars(self).get("metrics", ()):
            return self.metrics[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def document_metrics(table: Sequence[Metric[Any]]) -> Callable[[_Class], _Class]:
    """List the metrics of a table in a class's docstring, at "{metrics}"."""
    attributes = "\n    ".join(f"{metric.name} : float\n        {metric.meaning}" for metric in table)

    def decorate(decorated: _Class) -> _Class:
        decorated.__doc__ = (decorated.__doc__ or "").replace("{metrics}", attributes)
        return decorated

    return decorate


def compute_metrics(counts: Measured) -> dict[str, float | None]:
    """Return the value of each metric."""
    return {metric.name: metric.of(counts) for metric in METRICS[counts.target]}


def pool_metrics(parts: list[Mapping[str, float | None]], counts: Measured) -> dict[str, float | None]:
    """Return the metrics of several models, each on rows of its own, from the counts over all of these rows.

    A metric that these do not give, such as an area under a curve, is the mean over the parts, since margins of
    different models can't be compared.
    """
    found = compute_metrics(counts)
    for name, value in found.items():
        values = [part[name] for part in parts]
        if value is None and None not in values:
            found[name] = float(np.mean(np.array(values, np.float64)))
    return found
