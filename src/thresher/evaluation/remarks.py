"""Sentences on figures that are worth one: accuracy near the baseline, and a class that is never predicted."""

from __future__ import annotations

from collections.abc import Mapping

from thresher.evaluation.counts import Counts
from thresher.messages import parameter
from thresher.model.labels import label_text

_HIGH_AUC = 0.8  # from here on the margins order the rows well


def remarks_on(counts: Counts, metrics: Mapping[str, float | None], standard_error: float) -> list[str]:
    """Return the remarks on an evaluation; the standard error is that of its accuracy."""
    accuracy, baseline, roc_auc = (metrics[name] or 0.0 for name in ("accuracy", "baseline", "roc_auc"))
    found = remarks_on_baseline("accuracy", accuracy, baseline, standard_error, label_text(counts.most_frequent))
    if roc_auc < _HIGH_AUC:
        return found
    for label, of_class in zip(counts.labels, counts.of_classes(), strict=True):
        if of_class.predicted > 0:
            continue
        found.append(
            f"{label_text(label)} is never predicted, although ROC AUC is {roc_auc:.4f}: choose another threshold "
            f"with {parameter('set_threshold')}, or train an online method with "
            f"{parameter('class_weight', 'balanced')}."
        )
    return found


def after_blank_line(remarks: list[str]) -> list[str]:
    """Return the lines of remarks that follow others; none if there are no remarks."""
    return ["", *remarks] if remarks else []


def remarks_on_baseline(
    what: str, accuracy: float, baseline: float, standard_error: float, most_frequent: str = "the most frequent label"
) -> list[str]:
    """Return a remark on a figure that is within one standard error of the baseline, or worse; else none.

    `what` names the figure, which can be an error too; `accuracy` is 1 minus that.
    """
    # Rounding must not decide about a model that predicts one label. Among rows of one label all do well.
    if baseline == 1.0 or accuracy > baseline + standard_error + 1e-12:
        return []
    if accuracy < baseline - standard_error - 1e-12:
        return [f"The {what} is worse than the baseline: always predicting {most_frequent} does better."]
    return [
        f"The {what} is within one standard error ({standard_error:.4f}) of the baseline: always predicting "
        f"{most_frequent} does as well."
    ]
