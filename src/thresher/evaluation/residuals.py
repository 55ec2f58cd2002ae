"""Numbers and their predictions: what the metrics of numbers are computed from, and their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Residuals:
    """The rows of a stream as numbers, 16 bytes per row.

    Attributes
    ----------
    actual, predicted : array
        The number of each row, and its prediction.
    """

    target: ClassVar[str] = "numbers"

    actual: _Floats
    predicted: _Floats

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.actual)

    @property
    def residuals(self) -> _Floats:
        """What is left of each number by its prediction."""
        return self.actual - self.predicted

    @property
    def _deviations(self) -> _Floats:
        return np.asarray(self.actual - self.actual.mean())

    @property
    def r2(self) -> float:
        """1 − MSE/V, with the variance V; where all numbers are equal, 1 if all predictions are exact, else 0."""
        squared, of_mean = _mean_square(self.residuals), _mean_square(self._deviations)
        return 1.0 - squared / of_mean if of_mean > 0.0 else float(squared == 0.0)

    @property
    def error_of_r2(self) -> float:
        """Its standard error, by the delta method: row i moves R² by (MSE/V·d² − e²)/V/n, with e and d of that row."""
        squares, of_mean = np.square(self.residuals), np.square(self._deviations)
        variance = float(of_mean.mean())
        if variance == 0.0:
            return 0.0
        moves = (squares.mean() / variance * of_mean - squares) / variance
        return float(np.sqrt(np.square(moves).mean() / self.n_rows))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error, MSE."""
        return float(np.sqrt(_mean_square(self.residuals)))

    @property
    def error_of_rmse(self) -> float:
        """Its standard error: that of the MSE, divided by 2·RMSE."""
        rmse = self.rmse
        return float(np.square(self.residuals).std() / np.sqrt(self.n_rows) / (2.0 * rmse)) if rmse > 0.0 else 0.0

    @property
    def mae(self) -> float:
        """The mean absolute error."""
        return float(np.abs(self.residuals).mean())

    @property
    def error_of_mae(self) -> float:
        """Its standard error."""
        return float(np.abs(self.residuals).std() / np.sqrt(self.n_rows))

    @property
    def baseline(self) -> float:
        """The RMSE of always predicting the mean of these rows."""
        return float(np.sqrt(_mean_square(self._deviations)))

    @classmethod
    def pool(cls, parts: list[Residuals]) -> Residuals:
        """Return the rows of several models, each with rows of its own."""
        return cls(*(np.concatenate(each) for each in ([p.actual for p in parts], [p.predicted for p in parts])))


def error_of_r2_alone(r2: Any, n_rows: int) -> Any:
    """Return the standard error of an R², or of an array of them, as if errors were normal; r = 1 − R² is MSE/V.

    Up to R² = 1, errors are taken to be independent of the predictions: 2·r·√(R²/n). Below 0, what the predictions add
    to the mean is taken to be noise: 2·√(r·(r − 1)/n).
    """
    r = 1.0 - np.asarray(r2, np.float64)
    return 2.0 * np.sqrt(r * np.minimum(r, 1.0) * np.abs(1.0 - r) / max(1, n_rows))


def _mean_square(numbers: _Floats) -> float:
    return float(np.square(numbers).mean())
