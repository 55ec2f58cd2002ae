"""`evaluate`: the metrics of a model on data that it has not learned, in one reading and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.charts import Chart, Line, as_svg, draw, fragment, heat_map, table
from thresher.evaluation.alignment import open_for_model
from thresher.evaluation.counts import Counts, error_of_share
from thresher.evaluation.metrics import (
    ACCURACY,
    CLASS_METRICS,
    METRICS,
    HasMetrics,
    Metric,
    compute_metrics,
    document_metrics,
    pool_metrics,
)
from thresher.evaluation.mistakes import Mistake
from thresher.evaluation.prediction import as_model
from thresher.evaluation.remarks import after_blank_line, remarks_on
from thresher.evaluation.tally import Tally
from thresher.messages import count_noun
from thresher.model.labels import label_text
from thresher.streams.read_counts import ReadCounts

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
class Evaluation(HasMetrics):
    """How well a model predicts some rows. They count alike, whatever their weights.

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
    metrics: Mapping[str, float | None]
    n_skipped: int = 0
    skipped: list[str] = field(default_factory=list)
    threshold: float = 0.0
    mistakes: list[Mistake] = field(default_factory=list)

    @classmethod
    def pool(cls, parts: list[Evaluation]) -> Evaluation:
        """Return the evaluation of several models, each on rows of its own, as one."""
        counts = Counts.pool([part.counts for part in parts])
        return cls(counts, pool_metrics([part.metrics for part in parts], counts))

    @property
    def n_rows(self) -> int:
        """Rows read."""
        return self.counts.n_rows

    @property
    def labels(self) -> list[Any]:
        """The model's classes, and after them labels that it does not know."""
        return self.counts.labels

    @property
    def standard_error(self) -> float:
        """The standard error of the accuracy."""
        return float(error_of_share(self.accuracy, self.n_rows))

    @property
    def remarks(self) -> list[str]:
        """What the figures show."""
        return remarks_on(self.counts, self.metrics, self.standard_error)

    @property
    def positive(self) -> Any:
        """Which of two labels counts as found."""
        return self.counts.positive

    @property
    def known(self) -> list[tuple[Metric[Counts], float]]:
        """The metrics that it has, the main one first, and their values."""
        values = ((metric, self.metrics[metric.name]) for metric in METRICS[self.counts.target])
        return [(metric, value) for metric, value in values if value is not None]

    def rows_of_metrics(self, errors: Mapping[Any, float] | None = None) -> Iterator[tuple[str, str, str]]:
        """Yield what each metric is called, its value, and " (for spam)" if it is that of the positive label.

        `errors` are standard errors, by the name of a metric.
        """
        errors = errors or {}
        for metric, value in self.known:
            of = f" (for {label_text(self.positive)})" if metric.is_of_positive else ""
            yield metric.words, metric.cell(value, errors.get(metric.name)), of

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

    def table_of_classes(self, errors: Mapping[Any, float] | None = None) -> list[str]:
        """Return the lines of a table of the classes."""
        names = [metric.name for metric in CLASS_METRICS]
        rows = [["class", *names, "support"], *self.rows_of_classes(errors)]
        widths = [*(max(6 if errors is None else 15, len(name)) for name in names), len("support")]
        first = max(len(name) for name, *_ in rows)
        lines = []
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

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold, without the curves; labels as a file would write them.

        `confusion` is None if there are more than 1,000 labels; `confusion_pairs` has the same counts.
        """
        return {
            "rows": self.n_rows,
            "lines_skipped": self.n_skipped,
            **self.metrics,
            "standard_error": self.standard_error,
            "remarks": self.remarks,
            "positive": None if self.positive is None else label_text(self.positive),
            "labels": [label_text(label) for label in self.labels],
            "confusion": self.confusion.tolist() if len(self.labels) <= _MOST_WRITTEN else None,
            "confusion_pairs": self.confusion_pairs.tolist(),
            "per_class": {
                label_text(label): {**scores.metrics, "support": scores.support}
                for label, scores in self.per_class.items()
            },
            "threshold": self.threshold,
        }

    def __str__(self) -> str:
        values = (f"{words} {value}{of}" for words, value, of in self.rows_of_metrics())
        lines = [", ".join([count_noun(self.n_rows, "row"), *values])]
        if self.threshold != 0.0:
            lines[0] += f"; {label_text(self.labels[1])} is predicted above a margin of {self.threshold:.4g}"
        return "\n".join([*lines, "", *self.table_of_classes(), *after_blank_line(self.remarks)])

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
            title = f"{count_noun(self.n_rows, 'row')}, {ACCURACY.phrase(self.accuracy)}"
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


def evaluate(model: Any, data: Any, *, positive: Any = None, progress: bool = False) -> Evaluation:
    """Measure a trained model on data, in one reading.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    data : Stream, path, or anything else that `open_stream` takes
        A path is opened with `open_stream`. Ids are counted as the model counts them.
    positive : str, int or float, optional
        Which of two labels counts as found, in average precision and the curves; by default the second.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from thresher import ShadowSOFS, datasets, evaluate
    >>> model = ShadowSOFS(50).fit(*datasets.make_x1(2_000))
    >>> e = evaluate(model, datasets.make_x2(500, n_features=20_000, n_informative=200, n_noise=400, start=2_000))
    >>> e.n_rows, 0.6 < e.accuracy < e.roc_auc
    (500, True)
    """
    trained = as_model(model)
    tally = Tally(trained, positive=positive, explains=True)
    stream, reading, batches = open_for_model(trained, data, "evaluating", progress=progress)
    for batch in batches:
        tally.add(batch)
    return evaluation_of(tally, stream.name, reading)


def evaluation_of(tally: Tally, name: str, reading: ReadCounts | None = None) -> Evaluation:
    """Return the evaluation of a tally; `name` is that of the data."""
    reading, counts = reading or ReadCounts(), tally.counts(name)
    metrics, mistakes = compute_metrics(counts), tally.surest_mistakes()
    return Evaluation(counts, metrics, reading.n_skipped, reading.skipped, tally.threshold, mistakes)
