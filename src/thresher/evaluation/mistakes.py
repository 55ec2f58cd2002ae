"""The mistakes of which a model was most sure: wrong rows with the highest probability, and what their features add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch
from thresher.evaluation.explanation import Explanation, explained_rows
from thresher.model.model import Model

_MOST = 3
_MOST_PARTS = 5


@dataclass(frozen=True)
class Mistake:
    """A row that was predicted wrong.

    Attributes
    ----------
    location : str
        The file and line of the row.
    label, predicted : str, int or float
        Its label, and the one that was predicted.
    probability : float
        The predicted probability of `predicted`.
    explanation : list of (name, part)
        The features that add most to the score, as `explain` of an estimator returns them; the intercept is the last.
    """

    location: str
    label: Any
    predicted: Any
    probability: float
    explanation: Explanation


class _Wrong(NamedTuple):
    """A row that was predicted wrong: a batch of this row alone, and its labels by code."""

    probability: float
    row: Batch
    label: int
    predicted: int


class SurestMistakes:
    """The mistakes of the highest probability over the batches of a stream, of which it keeps the rows only."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._found: list[_Wrong] = []

    def add(
        self,
        batch: Batch,
        rows: NDArray[np.int64] | None,
        margins: NDArray[np.float64],
        labels: NDArray[np.intp],
        predicted: NDArray[Any],
    ) -> None:
        """Look at the predictions for a batch, or for some of its rows; labels are codes, also those predicted."""
        wrong = np.flatnonzero(labels != predicted)
        probabilities = self._model.probabilities_of(margins[wrong])[np.arange(len(wrong)), predicted[wrong]]
        new = []
        for k in np.argsort(-probabilities, kind="stable")[:_MOST].tolist():
            at = int(wrong[k])
            place = at if rows is None else int(rows[at])
            new.append(
                _Wrong(float(probabilities[k]), batch.part(place, place + 1), int(labels[at]), int(predicted[at]))
            )
        self._found = sorted(self._found + new, key=lambda each: -each.probability)[:_MOST]

    def explain(self, labels: list[Any]) -> list[Mistake]:
        """Return the surest first, each with its explanation; `labels` are those of the codes."""
        return [
            Mistake(
                each.row.location(0), labels[each.label], labels[each.predicted], each.probability,
                explained_rows(self._model, self._model.parts_of_batch(each.row), _MOST_PARTS)[0],
            )
            for each in self._found
        ]  # fmt: skip
