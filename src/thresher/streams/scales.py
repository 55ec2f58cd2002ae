"""The mean and the deviation of numbers, by which the numeric columns of a table are scaled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.streams.arrow_values import arrow, is_number, is_text

_AS_IT_IS = (0.0, 1.0)
_MANY_MISSING = 0.01  # the share of rows without a number from which on `column=missing` is a feature

_LARGEST = float(np.finfo(np.float32).max)  # larger ones can't be read

Scale = tuple[float, float]


def scales_of(columns: Sequence[Any | None]) -> tuple[tuple[Scale, ...], tuple[bool, ...]]:
    """Return the mean and the deviation of each column, and whether many rows have no number in it.

    Columns of 0 and 1 stay as they are: 1 says that something is so, and means the same in each of them. So do columns
    without numbers; None stands for one that is not there.
    """
    found = [_scale(column) for column in columns]
    return tuple(scale for scale, _ in found), tuple(missing for _, missing in found)


def _scale(column: Any | None) -> tuple[Scale, bool]:
    if column is not None and is_text(column.type):  # of a CSV with rows that are not numbers
        column = arrow().chunked_array([arrow().array(map(_number, column.to_pylist()), arrow().float64())])
    if column is None or not is_number(column.type):
        return _AS_IT_IS, False
    numbers = column.cast(arrow().float64(), safe=False).to_numpy()
    is_missing = bool(np.count_nonzero(np.isnan(numbers)) > _MANY_MISSING * len(numbers))
    return _mean_and_deviation(numbers[np.abs(numbers) <= _LARGEST]), is_missing


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _mean_and_deviation(numbers: NDArray[np.float64]) -> Scale:
    if len(numbers) == 0 or bool(((numbers == 0.0) | (numbers == 1.0)).all()):
        return _AS_IT_IS
    if numbers.min() == numbers.max():
        return float(numbers[0]), 1.0
    mean = _sum(numbers) / len(numbers)
    deviation = (_sum((numbers - mean) ** 2) / len(numbers)) ** 0.5
    return (mean, deviation) if deviation > 0.0 else _AS_IT_IS  # values so small that their squares are 0


def _sum(numbers: NDArray[np.float64]) -> float:
    """Return the sum in the order of the rows: numpy's own order differs between processors."""
    return float(np.cumsum(numbers)[-1])
