"""What every threshold gives: the ROC curve, the precision–recall curve, and the areas under them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

# Points of a curve that an evaluation keeps: more can't be seen.
_MOST_POINTS = 500


def thresholds(margins: _Floats, is_positive: NDArray[np.bool_]) -> tuple[_Floats, NDArray[np.intp], _Floats]:
    """Return the margins from high to low, the place of the last above each threshold, and the positive rows up to it.

    Rows of equal margin are on the same side, so a threshold is below the last of them.
    """
    order = np.argsort(-margins, kind="stable")
    ordered = margins[order]
    ends = np.append(np.flatnonzero(np.diff(ordered)), len(margins) - 1)
    return ordered, ends, np.cumsum(is_positive[order])[ends].astype(np.float64)


def at_all_thresholds(margins: _Floats, is_positive: NDArray[np.bool_]) -> dict[str, Any]:
    """Return both curves and the areas under them, exactly; rows of equal margin change sides together."""
    _, ends, true = thresholds(margins, is_positive)
    false = ends + 1 - true
    gained = np.diff(true, prepend=0.0)
    roc_auc = np.sum(np.diff(false, prepend=0.0) * (true - gained / 2)) / (true[-1] * false[-1])
    average_precision = np.sum(gained * true / (true + false)) / true[-1]
    kept = _visible(true, false)
    true, false = true[kept], false[kept]
    recall = true / true[-1]
    return {
        "roc_auc": float(roc_auc),
        "average_precision": float(average_precision),
        "roc_curve": np.vstack([np.zeros(2), np.column_stack([false / false[-1], recall])]),
        "precision_recall_curve": np.column_stack([recall, true / (true + false)]),
    }


def _visible(true: _Floats, false: _Floats) -> NDArray[np.intp]:
    """Return which points of long curves are kept: half evenly along the ROC curve, half denser at high thresholds.

    There, precision changes with every row.
    """
    if len(true) < _MOST_POINTS:
        return np.arange(len(true))
    n = _MOST_POINTS // 2 - 1
    along, first = true / true[-1] + false / false[-1], np.log(true + false)
    picked = [np.searchsorted(scale, np.linspace(scale[0], scale[-1], n)) for scale in (along, first)]
    return np.union1d(np.concatenate(picked), [len(true) - 1])
