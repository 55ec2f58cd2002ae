"""`Evaluation`: what the evaluations of classes and of numbers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from thresher.evaluation.metrics import (
    KINDS,
    METRICS,
    HasMetrics,
    Kind,
    Measured,
    Metric,
    pool_metrics,
)
from thresher.messages import count_noun


@dataclass(frozen=True, eq=False)
class Evaluation(HasMetrics, ABC):
    """How well a model predicts some rows: of classes a `ClassEvaluation`, of numbers a `NumberEvaluation`.

    The rows count alike, whatever their weights.

    Attributes
    ----------
    n_rows : int
        Rows read.
    metrics : dict
        All metrics by their names; None where one does not exist. Each is an attribute too.
    standard_errors : dict
        The standard errors of metrics, by their names, where they are known.
    standard_error : float
        That of the main metric: accuracy, or R².
    remarks : list of str
        Sentences on what the figures show.
    n_skipped, skipped : int and list of str
        Lines or rows that were skipped, with `on_bad_line="skip"`, and why; the first hundred.
    """

    counts: Measured
    metrics: Mapping[str, float | None]
    n_skipped: int = 0
    skipped: list[str] = field(default_factory=list)

    @classmethod
    def pool(cls, parts: list[Any]) -> Any:
        """Return the evaluation of several models, each on rows of its own, as one."""
        counts = parts[0].counts.pool([part.counts for part in parts])
        return type(parts[0])(counts, pool_metrics([part.metrics for part in parts], counts))

    @property
    def kind(self) -> Kind:
        """How such predictions are measured."""
        return KINDS[self.counts.target]

    @property
    def n_rows(self) -> int:
        """Rows read."""
        return self.counts.n_rows

    @property
    def main(self) -> float:
        """The value of the main metric."""
        value = self.metrics[self.kind.main.name]
        assert value is not None
        return value

    @property
    def standard_errors(self) -> dict[Any, float]:
        """The standard errors of metrics, by their names."""
        table = METRICS[self.counts.target]
        return {metric.name: metric.error_of(self.counts) for metric in table if metric.error_of is not None}

    @property
    def standard_error(self) -> float:
        """The standard error of the main metric."""
        return self.standard_errors[self.kind.main.name]

    @property
    def remarks(self) -> list[str]:
        """What the figures show."""
        return self.remarks_by(self.standard_error)

    @abstractmethod
    def remarks_by(self, standard_error: float) -> list[str]:
        """Return the same with another standard error of the main metric."""

    @property
    def known(self) -> list[tuple[Metric[Any], float]]:
        """The metrics that it has, the main one first, and their values."""
        values = ((metric, self.metrics[metric.name]) for metric in METRICS[self.counts.target])
        return [(metric, value) for metric, value in values if value is not None]

    def rows_of_metrics(self, errors: Mapping[Any, float] | None = None) -> Iterator[tuple[str, str, str]]:
        """Yield what each metric is called, its value, and what it is of, as " (for spam)".

        `errors` are standard errors, by the name of a metric.
        """
        for metric, value in self.known:
            yield metric.words, metric.cell(value, (errors or {}).get(metric.name)), ""

    def parts(self) -> dict[Any, float | None]:
        """Return all values that have a standard error over several evaluations, by their keys there."""
        return dict(self.metrics)

    def lines(self, errors: Mapping[Any, float] | None = None) -> list[str]:
        """Return the lines that a text has below the metrics; `errors` have the keys of `parts`."""
        return []

    def to_dict(self, errors: Mapping[Any, float] | None = None) -> dict[str, Any]:
        """Return it as values that JSON can hold; `errors` have the keys of `parts`."""
        return {
            "rows": self.n_rows,
            "lines_skipped": self.n_skipped,
            **self.metrics,
            "standard_error": self.standard_error,
            "remarks": self.remarks,
        }

    @property
    def heading(self) -> str:
        """The number of rows, and the metrics."""
        values = (f"{words} {value}{of}" for words, value, of in self.rows_of_metrics())
        return ", ".join([count_noun(self.n_rows, "row"), *values])
