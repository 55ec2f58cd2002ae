"""The table of metrics: the name of each, how it is computed from counts, and how it is printed.

A new metric is a row here. `evaluate`, `cross_validate`, `path`, the report, JSON and the printed tables read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from thresher.evaluation.counts import ClassCounts, Counts

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
    in_tables, in_sentences : str
        How the value is written, as `format` has it.
    is_of_positive : bool
        Whether it depends on which of two labels counts as found; that label is then printed with it.
    """

    name: str
    words: str
    meaning: str
    of: Callable[[_Counted], float | None]
    in_tables: str = ".4f"
    in_sentences: str = ".4f"
    is_of_positive: bool = False

    def cell(self, value: float, error: float | None = None) -> str:
        """Return the value for a table, with its standard error where that is known."""
        around = "" if error is None else f" ± {error:{self.in_tables}}"
        return f"{value:{self.in_tables}}{around}"

    def phrase(self, value: float, where: str = "") -> str:
        """Return name and value for a sentence; `where` stands between them."""
        return f"{self.words}{where} {value:{self.in_sentences}}"


# By the kind of target, in the order in which they are shown. The first is the main one: `path` draws it, and a report
# begins with it.
METRICS: dict[str, tuple[Metric[Counts], ...]] = {
    "classes": (
        Metric(
            "accuracy", "accuracy", "Share of rows whose label is predicted.",
            lambda found: found.n_right / found.n_rows, in_sentences=".2%",
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
}  # fmt: skip
ACCURACY, BASELINE = METRICS["classes"][:2]

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

    metrics: Mapping[str, float | None]

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


def compute_metrics(counts: Counts) -> dict[str, float | None]:
    """Return the value of each metric."""
    return {metric.name: metric.of(counts) for metric in METRICS[counts.target]}


def pool_metrics(parts: list[Mapping[str, float | None]], counts: Counts) -> dict[str, float | None]:
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
