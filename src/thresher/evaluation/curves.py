"""The ROC curve and the precision–recall curve, from the margins of all rows, and the areas under them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

# Points of a curve in an evaluation: more can't be seen.
_MOST_POINTS = 500


@dataclass(frozen=True, eq=False)
class Curves:
    """Both curves, from high thresholds to low ones, and the areas under them.

    Attributes
    ----------
    roc_auc, average_precision : float
        The areas, from all rows.
    roc_curve : array of shape (n_points, 2)
        False positive rate and true positive rate, from (0, 0) to (1, 1).
    precision_recall_curve : array of shape (n_points, 2)
        Recall and precision.
    """

    roc_auc: float
    average_precision: float
    roc_curve: _Floats
    precision_recall_curve: _Floats


def thresholds(margins: _Floats, is_positive: NDArray[np.bool_]) -> tuple[_Floats, NDArray[np.intp], _Floats]:
    """Return the margins from high to low, the index of the last above each threshold, and the positive rows up to it.

    Rows of equal margin are on the same side, so a threshold is below the last of them.
    """
    order = np.argsort(-margins, kind="stable")
    ordered = margins[order]
    ends = np.append(np.flatnonzero(np.diff(ordered)), len(margins) - 1)
    return ordered, ends, np.cumsum(is_positive[order])[ends].astype(np.float64)


def curves_of(margins: _Floats, is_positive: NDArray[np.bool_]) -> Curves:
    """Return both curves and the areas under them, exactly; rows of equal margin change sides together."""
    _, ends, true = thresholds(margins, is_positive)
    false = ends + 1 - true
    gained = np.diff(true, prepend=0.0)
    roc_auc = np.sum(np.diff(false, prepend=0.0) * (true - gained / 2)) / (true[-1] * false[-1])
    average_precision = np.sum(gained * true / (true + false)) / true[-1]
    points = _points_to_draw(true, false)
    true, false = true[points], false[points]
    recall = true / true[-1]
    return Curves(
        float(roc_auc),
        float(average_precision),
        roc_curve=np.vstack([np.zeros(2), np.column_stack([false / false[-1], recall])]),
        precision_recall_curve=np.column_stack([recall, true / (true + false)]),
    )


def _points_to_draw(true: _Floats, false: _Floats) -> NDArray[np.intp]:
    """Return which points of long curves are drawn: half evenly along the ROC curve, half denser at high thresholds.

    There, precision changes with every row.
    """
    if len(true) < _MOST_POINTS:
        return np.arange(len(true))
    n = _MOST_POINTS // 2 - 1
    along, first = true / true[-1] + false / false[-1], np.log(true + false)
    picked = [np.searchsorted(scale, np.linspace(scale[0], scale[-1], n)) for scale in (along, first)]
    return np.union1d(np.concatenate(picked), [len(true) - 1])
