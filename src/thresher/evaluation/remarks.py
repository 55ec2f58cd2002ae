"""Sentences on figures that are worth one: those near the baseline, and a class that is never predicted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.evaluation.counts import Counts
from thresher.evaluation.metrics import Kind
from thresher.messages import parameter
from thresher.model.labels import label_text

_HIGH_AUC = 0.8  # from here on the margins order the rows well


def remarks_on(kind: Kind, counts: Counts, metrics: Mapping[str, float | None], standard_error: float) -> list[str]:
    """Return the remarks on an evaluation of classes; the standard error is that of its accuracy."""
    accuracy, baseline = (metrics[name] or 0.0 for name in ("accuracy", "baseline"))
    most_frequent = label_text(counts.most_frequent)
    of_baseline = remarks_on_baseline(kind, "accuracy", accuracy, baseline, standard_error, most_frequent)
    return [*of_baseline, *remarks_on_missed_class(counts, metrics["roc_auc"])]


def missed_classes(counts: Counts) -> list[Any]:
    """Return the labels that are never predicted."""
    of_classes = zip(counts.labels, counts.of_classes(), strict=True)
    return [label for label, of_class in of_classes if of_class.predicted == 0]


def remarks_on_missed_class(counts: Counts, roc_auc: float | None) -> list[str]:
    """Return a remark if one of two classes is never predicted although the margins find it; else none."""
    if roc_auc is None or roc_auc < _HIGH_AUC:
        return []
    return [
        f"{label_text(label)} is never predicted, although ROC AUC is {roc_auc:.4f}: choose another threshold with "
        f"{parameter('set_threshold')}, or train an online method with {parameter('class_weight', 'balanced')}."
        for label in missed_classes(counts)
    ]


def after_blank_line(remarks: list[str]) -> list[str]:
    """Return the lines of remarks that follow others; none if there are no remarks."""
    return ["", *remarks] if remarks else []


def remarks_on_baseline(
    kind: Kind, what: str, value: float, baseline: float, standard_error: float, constant: str | None = None
) -> list[str]:
    """Return a remark on a figure that is within one standard error of the baseline, or worse; else none.

    `what` names the figure, which can be an error too; `value` is the main metric, and `baseline` the metric of that
    name. `constant` is what is always predicted then.
    """
    of_constant, constant = kind.score_of_constant(baseline), constant or kind.constant
    # Rounding must not decide about a model that predicts one label. Among rows of one label all do well, and equal
    # numbers have no variance to predict.
    all_are_equal = baseline == 0.0 if kind.target == "numbers" else of_constant == 1.0
    if all_are_equal or value > of_constant + standard_error + 1e-12:
        return []
    if value < of_constant - standard_error - 1e-12:
        return [f"The {what} is worse than the baseline: always predicting {constant} does better."]
    return [
        f"The {what} is within one standard error ({standard_error:.4f}) of the baseline: always predicting "
        f"{constant} does about as well."
    ]
