"""Labels as values: text or numbers. `model/targets.py` defines what they mean to a model.

Files and tables are read as float64. Whole numbers that float64 can't distinguish stay whole numbers, and numbers of
more than 64 bits become text. An array has one type, so this can differ from batch to
batch; the functions here compare labels by value and lose nothing when they put them together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Labels: TypeAlias = NDArray[Any]
Codes: TypeAlias = NDArray[np.int32]
RowTargets: TypeAlias = NDArray[Any]  # codes of classes (int32), or numbers (float64)

LARGE = 2**53  # from here on, float64 can't represent every whole number
_WHOLE = re.compile(r"\s*([+-]?)0*([0-9]+)(?:\.0*)?\s*")


class LabelError(ValueError):
    """A label that can't be what the target is; `row` is its row in the batch."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def as_whole_numbers(labels: Labels) -> Labels:
    """Return classes as the column of a table holds them: whole numbers without a point."""
    is_whole = labels.dtype.kind == "f" and bool((labels == np.rint(labels)).all() and (abs(labels) < 2**63).all())
    return labels.astype(np.int64) if is_whole else labels


def as_labels(values: ArrayLike) -> Labels:
    """Return the user's labels as an array. ValueError if numpy would round one of a list."""
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    labels = _exact_labels(values)
    if labels is None:
        raise ValueError(
            f"the label {next(filter(_is_large, values))} has more than 53 bits, and no type of numpy (int64, uint64) "
            "holds all labels exactly: use text."
        )
    return labels


def labels_from_values(values: list[Any]) -> Labels:
    """Return labels that were read one by one as an array: text if one of them is text, or if numpy would round one.

    A missing label, NaN, is "" where labels are text.
    """
    labels = None if any(isinstance(label, str) or label != label for label in values) else _exact_labels(values)
    return _as_text(values) if labels is None else labels


def _exact_labels(values: Sequence[Any]) -> Labels | None:
    """Return labels as numpy converts them, or as 64-bit integers; None if neither is exact."""
    labels = np.asarray(values)
    if labels.ndim != 1 or labels.dtype.kind not in "fO" or not any(map(_is_large, values)):
        return labels
    try:
        whole = [int(label) for label in values]
    except (TypeError, ValueError, OverflowError):  # None, NaN or infinity, which are refused
        return labels
    if whole == list(values):
        for kind in (np.iinfo(np.int64), np.iinfo(np.uint64)):
            if kind.min <= min(whole) and max(whole) <= kind.max:
                return np.array(whole, kind.dtype)
    return None


def _is_large(label: Any) -> bool:
    return isinstance(label, Integral) and abs(int(label)) > LARGE


def are_large(labels: Labels) -> NDArray[np.bool_]:
    """Return which numbers are too large for float64 to distinguish them from the next whole number."""
    return np.asarray((labels >= LARGE) | (labels <= -LARGE))


def as_number(label: Any) -> Any:
    """Return a text label as a number, if it is one as `label_text` writes it; any other label as it is."""
    try:
        number = number_from_text(label) if isinstance(label, str) else label
    except ValueError:
        return label
    return number if number == label or (math.isfinite(number) and label_text(number) == label) else label


def number_from_text(text: str) -> float:
    """Return a text as a number: a float, or an int if it is a large whole number that is written in full."""
    number = float(text)
    whole = _WHOLE.fullmatch(text) if LARGE <= abs(number) < float("inf") else None
    return number if whole is None else int(whole[1] + whole[2])


def refuse_missing(labels: Labels) -> None:
    """Raise ValueError for the first label that is None, NaN or pandas' NA among Python's own objects."""
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return
    for row, label in enumerate(labels.tolist()):
        if label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and label != label):
            raise ValueError(f"y[{row}] is {label!r}: the label is missing. Drop the row, or give it a label.")


def labels_of_rows(y: ArrayLike) -> Labels:
    """Return the labels of the rows of a matrix, one each; a missing one is an error."""
    labels = as_labels(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension. Got shape {labels.shape} instead.")
    refuse_missing(labels)
    return labels


def distinct_labels(name: str, labels: Labels) -> Labels:
    """Return the labels that occur, sorted. Labels of mixed types, NaN and infinity are an error."""
    try:
        found: Labels = np.unique(labels)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise ValueError(f"{name} has labels of different types ({kinds}): use only text or only numbers.") from None
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise ValueError(f"{name} contains {found[~np.isfinite(found)][0]}: labels must be finite numbers or text.")
    return found


def labels_equal(labels: Labels, others: Any) -> NDArray[np.bool_]:
    """Return which labels equal the others, or a single one, exactly; numpy would round large ones."""
    others = np.asarray(others)
    same = np.asarray(labels == others)
    if labels.dtype.kind != others.dtype.kind and are_large(others).any():
        again = np.flatnonzero(same)
        pairs = zip(labels[again].tolist(), np.broadcast_to(others, same.shape)[again].tolist(), strict=True)
        same[again] = [one == other for one, other in pairs]
    return same


def find_labels(labels: Labels, known: Labels) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the index of each label in `known`, which is sorted, and which labels are not in it."""
    if "O" in (labels.dtype.kind, known.dtype.kind):  # Python objects: numpy finds a common type
        labels, known = as_labels(labels.tolist()), as_labels(known.tolist())
    if (labels.dtype.kind in "US") != (known.dtype.kind in "US"):
        return np.zeros(len(labels), np.int32), np.ones(len(labels), bool)
    if labels.dtype.kind != known.dtype.kind:  # Python compares whole numbers with float64 exactly
        place_of = {label: place for place, label in enumerate(known.tolist())}
        found, at = np.unique(labels, return_inverse=True)
        codes = np.array([place_of.get(label, -1) for label in found.tolist()], np.int32)[at]
        return np.maximum(codes, 0), codes < 0
    codes = np.minimum(np.searchsorted(known, labels), len(known) - 1).astype(np.int32)
    return codes, known[codes] != labels


def as_text_labels(labels: Labels) -> Labels:
    """Return labels as text, "" for a missing one."""
    return labels if labels.dtype.kind == "U" else _as_text(labels.tolist())


def _as_text(labels: Sequence[Any]) -> Labels:
    return np.array(["" if label != label else label_text(label) for label in labels], dtype=np.str_)


def concatenate_labels(parts: list[Labels]) -> Labels:
    """Return all labels in one array; if some are text, all become text."""
    if any(part.dtype.kind == "U" for part in parts):
        parts = [as_text_labels(part) for part in parts]
    whole = np.concatenate(parts) if parts else np.zeros(0)
    if whole.dtype.kind == "f" and any(part.dtype.kind in "iu" and are_large(part).any() for part in parts):
        return labels_from_values([label for part in parts for label in part.tolist()])
    return whole


def is_same_label(label: Any, given: Any) -> bool:
    """Return whether the user, who may write 1 as "1" or "+1", has named a label."""
    if not isinstance(given, str | Real):
        return False
    if label_text(label) == label_text(given):
        return True
    try:
        return not isinstance(label, str) and isinstance(given, str) and bool(number_from_text(given) == label)
    except ValueError:
        return False


def label_text(label: Any) -> str:
    """Return a label as a file would write it: 1 rather than 1.0."""
    if isinstance(label, str):
        return label
    if isinstance(label, Integral):
        return str(int(label))
    number = float(label)
    return str(int(number)) if number.is_integer() and abs(number) < 2**64 else repr(number)
