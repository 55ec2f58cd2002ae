"""Collects the numbers of the batches of a stream, and their predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thresher.evaluation.residuals import Residuals
from thresher.model.labels import LabelError
from thresher.model.model import Model
from thresher.model.numbers import numbers_of
from thresher.streams import Batch, DataError

_Floats = NDArray[np.float64]


class NumberTally:
    """The numbers of the batches of a stream, and what a model predicts: 16 bytes per row."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._actual: list[_Floats] = []
        self._predicted: list[_Floats] = []

    def add(self, batch: Batch, rows: NDArray[np.int64] | None = None) -> None:
        """Add a batch, or some of its rows."""
        batch.refuse_unlabelled("there is nothing to compare with")
        try:
            actual = numbers_of(batch.labels)
        except LabelError as error:
            raise DataError(f"{batch.location(error.row)}: the model predicts numbers, but {error}") from None
        self._actual.append(actual if rows is None else actual[rows])
        self._predicted.append(self._model.score_batch(batch, rows))

    @property
    def support(self) -> NDArray[np.int64]:
        """How many rows there are, as one class."""
        return np.array([sum(map(len, self._actual))], np.int64)

    def counts(self, name: str) -> Residuals:
        """Return the rows; `name` is that of the data."""
        if not self.support.any():
            raise DataError(f"{name}: there are no rows.")
        return Residuals(np.concatenate(self._actual), np.concatenate(self._predicted))
