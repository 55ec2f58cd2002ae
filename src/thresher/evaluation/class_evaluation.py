"""`ClassEvaluation`: how well classes are predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.charts import Chart, Line, as_svg, draw, fragment, heat_map, table
from thresher.evaluation.base import Evaluation
from thresher.evaluation.counts import Counts
from thresher.evaluation.metrics import CLASS_METRICS, METRICS, HasMetrics, document_metrics
from thresher.evaluation.mistakes import Mistake
from thresher.evaluation.remarks import after_blank_line, remarks_on
from thresher.messages import count_noun
from thresher.model.labels import label_text

MOST_LABELS = 50  # in a confusion matrix that is shown as a table
_MOST_WRITTEN = 1_000  # in one that is written as JSON, a million numbers
_Floats = NDArray[np.float64]


@document_metrics(CLASS_METRICS)
@dataclass(frozen=True)
class ClassScores(HasMetrics):
    """How well one class is found; a ratio of 0 to 0 counts as 0.

    Attributes
    ----------
    {metrics}
    support : int
        Rows that have its label.
    """

    metrics: Mapping[str, float]
    support: int


@document_metrics(METRICS["classes"])
@dataclass(frozen=True, eq=False)
class ClassEvaluation(Evaluation):
    """How well a model predicts the classes of some rows. They count alike, whatever their weights.

    Attributes
    ----------
    n_rows : int
        Rows read.
    labels : list
        The model's classes, and after them labels of the data that the model does not know, sorted.
    positive : str, int, float or None
        Which of two labels counts as found, in average precision and the curves; None if the model has more classes.
        `per_class` has precision, recall and f1 of either.
    metrics : dict
        All metrics by their names; None where one does not exist. Each is an attribute too.
    {metrics}
    standard_error : float
        Of the accuracy a of n rows: √(a·(1 − a)/n).
    remarks : list of str
        Sentences on what the figures show: that accuracy is within one standard error of the baseline, or below it;
        that one of two classes is never predicted, although ROC AUC is 0.8 or more.
    confusion : array of shape (n_labels, n_labels)
        Rows by actual label (first axis) and predicted label (second axis), in the order of `labels`. It is created on
        first use: with 10,000 labels, it has 800 MB.
    confusion_pairs : array of shape (n_pairs, 3)
        The entries of `confusion` that are not 0, in their order: actual label and predicted label, as indices
        into `labels`, and rows.
    per_class : dict
        Precision, recall, f1 and support by label. A ratio of 0 to 0 counts as 0.
    roc_curve : array of shape (n_points, 2) or None
        False positive rate and true positive rate of the positive label at thresholds from high to low, from (0, 0) to
        (1, 1), where `roc_auc` is known; of many rows, at most 500 points of the curve.
    precision_recall_curve : array of shape (n_points, 2) or None
        Recall and precision at the same thresholds, but for the first, which predicts nothing.
    n_skipped, skipped : int and list of str
        Lines or rows that were skipped, with `on_bad_line="skip"`, and why; the first hundred.
    threshold : float
        The margin above which the second of two classes is predicted; 0 unless `set_threshold` has chosen another.
    mistakes : list of Mistake
        Of `evaluate`, where the model has probabilities: up to three rows whose wrong label had the highest
        probability, the surest first, each with its location, `label`, `predicted`, `probability` and `explanation`.
    """

    counts: Counts
    threshold: float = 0.0
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def labels(self) -> list[Any]:
        """The model's classes, and after them labels that it does not know."""
        return self.counts.labels

    def remarks_by(self, standard_error: float) -> list[str]:
        """Return what the figures show, with a standard error of the accuracy."""
        return remarks_on(self.kind, self.counts, self.metrics, standard_error)

    @property
    def positive(self) -> Any:
        """Which of two labels counts as found."""
        return self.counts.positive

    def rows_of_metrics(self, errors: Mapping[Any, float] | None = None) -> Iterator[tuple[str, str, str]]:
        """Yield what each metric is called, its value, and " (for spam)" if it is that of the positive label."""
        for (metric, _), (words, value, _) in zip(self.known, super().rows_of_metrics(errors), strict=True):
            yield words, value, f" (for {label_text(self.positive)})" if metric.is_of_positive else ""

    def parts(self) -> dict[Any, float | None]:
        """Return the metrics by name, and those of each class by name and label."""
        of_classes = {
            (metric.name, label): scores.metrics[metric.name]
            for label, scores in self.per_class.items()
            for metric in CLASS_METRICS
        }
        return {**self.metrics, **of_classes}

    @cached_property
    def per_class(self) -> dict[Any, ClassScores]:
        """Metrics of each class, by its label."""
        scores = (
            ClassScores({metric.name: metric.of(found) or 0.0 for metric in CLASS_METRICS}, found.actual)
            for found in self.counts.of_classes()
        )
        return dict(zip(self.labels, scores, strict=True))

    def rows_of_classes(self, errors: Mapping[Any, float] | None = None) -> Iterator[list[str]]:
        """Yield a row for each class, as tables show it: its name, its metrics, and its rows.

        `errors` are standard errors, by the name of a metric and the label.
        """
        errors = errors or {}
        for label, scores in self.per_class.items():
            cells = (m.cell(scores.metrics[m.name], errors.get((m.name, label))) for m in CLASS_METRICS)
            yield [label_text(label), *cells, f"{scores.support:,}"]

    def lines(self, errors: Mapping[Any, float] | None = None) -> list[str]:
        """Return a table of the classes, after a blank line."""
        names = [metric.name for metric in CLASS_METRICS]
        rows = [["class", *names, "support"], *self.rows_of_classes(errors)]
        widths = [*(max(6 if errors is None else 15, len(name)) for name in names), len("support")]
        first = max(len(name) for name, *_ in rows)
        lines = [""]
        for name, *numbers in rows:
            cells = (f"{number:>{width}}" for number, width in zip(numbers, widths, strict=True))
            lines.append("  ".join([f"{name:{first}}", *cells]))
        return lines

    @property
    def confusion_pairs(self) -> NDArray[np.int64]:
        """Rows by actual and predicted label, where there are any."""
        return self.counts.pairs

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Rows by actual and predicted label."""
        counts = np.zeros((len(self.labels), len(self.labels)), np.int64)
        actual, predicted, n_rows = self.confusion_pairs.T
        counts[actual, predicted] = n_rows
        return counts

    @property
    def roc_curve(self) -> _Floats | None:
        """Points of the ROC curve."""
        return None if self.counts.curves is None else self.counts.curves.roc_curve

    @property
    def precision_recall_curve(self) -> _Floats | None:
        """Points of the precision–recall curve."""
        return None if self.counts.curves is None else self.counts.curves.precision_recall_curve

    def to_dict(self, errors: Mapping[Any, float] | None = None) -> dict[str, Any]:
        """Return it as values that JSON can hold, without the curves; labels as a file would write them.

        `confusion` is None if there are more than 1,000 labels; `confusion_pairs` has the same counts.
        """
        return {
            **super().to_dict(),
            "positive": None if self.positive is None else label_text(self.positive),
            "labels": [label_text(label) for label in self.labels],
            "confusion": self.confusion.tolist() if len(self.labels) <= _MOST_WRITTEN else None,
            "confusion_pairs": self.confusion_pairs.tolist(),
            "per_class": {
                label_text(label): {**scores.metrics, "support": scores.support, **_errors_of(label, errors)}
                for label, scores in self.per_class.items()
            },
            "threshold": self.threshold,
        }

    def __str__(self) -> str:
        above = ""
        if self.threshold != 0.0:
            above = f"; {label_text(self.labels[1])} is predicted above a margin of {self.threshold:.4g}"
        return "\n".join([self.heading + above, *self.lines(), *after_blank_line(self.remarks)])

    def plot(self, kind: Literal["roc", "precision_recall", "confusion"] | None = None, *, ax: Any = None) -> Any:
        """Draw it with matplotlib.

        Parameters
        ----------
        kind : {"roc", "precision_recall", "confusion"}, optional
            The ROC curve or the precision–recall curve, where they are known, or the confusion matrix; by default the
            first of these that is known.
        ax : matplotlib Axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        charts = self.charts()
        kind = kind or ("roc" if "roc" in charts else "confusion")
        if kind == "confusion":
            names = [label_text(label) for label in self.labels]
            title = f"{count_noun(self.n_rows, 'row')}, {self.kind.main.phrase(self.main)}"
            return heat_map(names, self.confusion, title, ax)
        if kind not in charts:
            known = ", ".join([*charts, "confusion"])
            raise ValueError(f"kind={kind!r} is not available for this evaluation; it has {known}.")
        return draw(charts[kind], ax)

    def charts(self) -> dict[str, Chart]:
        """Return the curves that it has, by the `kind` of `plot`."""
        if self.roc_curve is None or self.precision_recall_curve is None:
            return {}
        false, true = self.roc_curve.T.tolist()
        recall, precision = self.precision_recall_curve.T.tolist()
        positive, whole = label_text(self.positive), (0.0, 1.0)
        share = self.per_class[self.positive].support / self.n_rows
        return {
            "roc": Chart(
                f"ROC curve, area {self.roc_auc:.4f}", "false positive rate", f"true positive rate of {positive}",
                [Line("", whole, whole, "muted", is_dashed=True), Line("", false, true)],
                x_format="share", x_limits=whole, y_limits=(0.0, 1.03),
            ),
            "precision_recall": Chart(
                f"Precision and recall, average precision {self.average_precision:.4f}", f"recall of {positive}",
                f"precision of {positive}",
                [Line("", whole, (share, share), "muted", is_dashed=True), Line("", recall, precision)],
                x_format="share", x_limits=whole, y_limits=(0.0, 1.03),
            ),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        heading = str(self).partition("\n")[0]
        scores = table(["class", *(metric.name for metric in CLASS_METRICS), "rows"], self.rows_of_classes())
        if len(self.labels) > MOST_LABELS:
            return fragment(heading, scores, remarks=self.remarks)
        names = [label_text(label) for label in self.labels]
        counts = table(
            ["actual ↓ predicted →", *names],
            ([name, *(f"{n:,}" for n in row)] for name, row in zip(names, self.confusion.tolist(), strict=True)),
        )
        return fragment(heading, scores, counts, *map(as_svg, self.charts().values()), remarks=self.remarks)


def _errors_of(label: Any, errors: Mapping[Any, float] | None) -> dict[str, float | None]:
    """Return the standard errors of the metrics of a class, for JSON."""
    if errors is None:
        return {}
    return {f"{metric.name}_standard_error": errors.get((metric.name, label)) for metric in CLASS_METRICS}
