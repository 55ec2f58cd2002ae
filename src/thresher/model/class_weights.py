"""Weights of rows: a row's own weight times the weight of its class."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.messages import parameter
from thresher.methods import Method
from thresher.model.labels import Codes, label_text


class ClassWeightError(ValueError):
    """A class weight that can't be used with these classes."""


class ClassWeights:
    """Weights of rows by their class, for rows in sequence, and counts of the rows.

    With "balanced" a row of class c has the weight n/(C·n_c): of the n rows so far, this one included, n_c are of its
    class, and there are C classes. Rows of weight 0 do not count. So the weights do not depend on how the rows are cut
    into batches. In later passes n and n_c stay as they are.

    Attributes
    ----------
    counts : array
        How many different rows of each class there were, by code.
    totals : array of float64
        The sum of their weights.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self.counts = np.zeros(0, np.int64)
        self.totals = np.zeros(0)

    def of_rows(
        self, codes: Codes, row_weights: NDArray[np.float64] | None, classes: list[Any], *, are_new: bool = True
    ) -> NDArray[np.float64] | None:
        """Return the weights of rows, times their own, and count new rows; None if all are 1.

        `classes` are those by code. On an error nothing is counted.
        """
        weights = row_weights
        if self.given is not None:
            own = np.ones(len(codes)) if row_weights is None else row_weights
            if isinstance(self.given, dict):
                weights = own * _weights_by_class(self.given, classes)[codes]
            else:
                weights = own * self._balance(codes, own != 0, len(classes), are_new)
        if are_new:
            self.count(codes, weights)
        return weights

    def of_all_rows(
        self, codes: Codes, row_weights: NDArray[np.float64] | None, classes: list[Any]
    ) -> NDArray[np.float64] | None:
        """Return the weights of all rows of a new model, and count them; "balanced" is by their totals."""
        if self.given == "balanced":
            self.counts = np.bincount(codes if row_weights is None else codes[row_weights != 0])
        weights = self.of_rows(codes, row_weights, classes, are_new=False)
        self.counts, self.totals = np.zeros(0, np.int64), np.zeros(0)
        self.count(codes, weights)
        return weights

    def _balance(self, codes: Codes, counts: NDArray[np.bool_], n_classes: int, are_new: bool) -> NDArray[np.float64]:
        before = _padded(self.counts, n_classes)
        if not are_new:
            each = before.sum() / (n_classes * np.maximum(before, 1))
            return np.asarray(each[codes])
        n_rows = before.sum() + np.cumsum(counts)
        weights = np.zeros(len(codes))
        for code in np.unique(codes):
            rows = np.flatnonzero(counts & (codes == code))
            weights[rows] = n_rows[rows] / (n_classes * (before[code] + np.arange(1, len(rows) + 1)))
        return weights

    def count(self, codes: Codes, weights: NDArray[np.float64] | None) -> None:
        """Count rows that come for the first time."""
        counted = codes if weights is None else codes[weights != 0]
        found = np.bincount(counted, minlength=len(self.counts))
        found[: len(self.counts)] += self.counts
        self.counts = found
        self.totals = _padded(self.totals, len(found))
        for code in np.unique(counted):
            own = np.ones((codes == code).sum()) if weights is None else weights[codes == code]
            # Weights have no upper limit, and what is not finite can't be saved.
            with np.errstate(over="ignore"):
                self.totals[code] = min(add_in_order(self.totals[code], own), sys.float_info.max)

    def frequencies(self, n_classes: int) -> NDArray[np.float64]:
        """Return the share of each class in the weights of all rows."""
        totals = _padded(self.totals, n_classes)
        return np.asarray(totals / totals.sum())

    def state(self) -> tuple[list[int], list[float]]:
        """Return the counts and the totals, as values for JSON."""
        return self.counts.tolist(), self.totals.tolist()

    def restore(self, counts: list[int], totals: list[float]) -> None:
        """Continue with what `state` returned."""
        self.counts, self.totals = np.array(counts, np.int64), np.array(totals, np.float64)

    def since(self, before: ClassWeights) -> ClassWeights:
        """Return what was counted since these counts were a copy of `before`."""
        counted = copy.copy(self)
        counted.counts = self.counts.copy()
        counted.counts[: len(before.counts)] -= before.counts
        counted.totals = self.totals.copy()
        counted.totals[: len(before.totals)] -= before.totals
        return counted

    def __add__(self, more: ClassWeights) -> ClassWeights:
        total = copy.copy(self)
        n = max(len(self.counts), len(more.counts))
        total.counts = _padded(self.counts, n) + _padded(more.counts, n)
        total.totals = _padded(self.totals, n) + _padded(more.totals, n)
        return total

    def swap_classes(self) -> None:
        self.counts, self.totals = (_padded(each, 2)[::-1].copy() for each in (self.counts, self.totals))


def weights_of_rows(method: Method, parameters: Mapping[str, Any]) -> ClassWeights:
    """Return what weighs and counts the rows of a new model."""
    return RowWeights() if method.predicts == "numbers" else ClassWeights(parameters.get("class_weight"))


class RowWeights(ClassWeights):
    """Weights of rows whose targets are numbers: all of them count as one class."""

    def __init__(self) -> None:
        super().__init__(None)

    def count(self, codes: NDArray[Any], weights: NDArray[np.float64] | None) -> None:
        """Count rows that come for the first time."""
        super().count(np.zeros(len(codes), np.int32), weights)


def _padded(numbers: NDArray[Any], n: int) -> NDArray[Any]:
    return np.pad(numbers, (0, n - len(numbers)))


def _weights_by_class(given: dict[Any, Any], classes: list[Any]) -> NDArray[np.float64]:
    """Return the weight of each class; labels are compared as a file would write them."""
    for label, weight in given.items():
        if not isinstance(label, str | Real):
            raise ClassWeightError(f"{parameter('class_weight')} has the class {label!r}: classes are numbers or text.")
        if not isinstance(weight, Real) or not 0 <= float(weight) < float("inf"):
            raise ClassWeightError(
                f"{parameter('class_weight')}[{label!r}] is {weight!r}: weights must be finite and not negative."
            )
    by_name = {label_text(label): float(weight) for label, weight in given.items()}
    if len(by_name) < len(given):
        raise ClassWeightError(f"{parameter('class_weight')} has a class twice, as a number and as text: {given!r}.")
    names = [None if label is None else label_text(label) for label in classes]
    unknown = next((label for label in given if label_text(label) not in names), None)
    if unknown is not None and None not in names:  # None: a class of a stream that was not seen yet
        known = ", ".join(name for name in names if name is not None)
        raise ClassWeightError(
            f"{parameter('class_weight')} names class {unknown!r}, which is not among the classes ({known})."
        )
    return np.array([1.0 if name is None else by_name.get(name, 1.0) for name in names])


def are_weights(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which numbers can be weights of rows."""
    return np.isfinite(numbers) & (numbers >= 0)


def check_row_weights(name: str, given: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return the weight of each row; `given` can be one for all of them. ValueError for what can't be weights."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must contain numbers: {error}.") from None
    if weights.ndim > 0 and weights.shape != (n_rows,):
        raise ValueError(f"{name} has shape {weights.shape}, but X has {n_rows} rows.")
    bad = np.flatnonzero(~are_weights(weights))
    if len(bad):
        index = f"[{bad[0]}]" if weights.ndim else ""
        raise ValueError(f"{name}{index} is {weights.flat[bad[0]]:g}: weights must be finite and not negative.")
    return np.ascontiguousarray(np.broadcast_to(weights, n_rows))


def add_in_order(total: float, numbers: NDArray[np.float64]) -> float:
    """Return a sum that does not depend on how the numbers are cut into parts."""
    return float(np.add.accumulate(np.concatenate(([total], numbers)))[-1])
