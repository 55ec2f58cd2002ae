"""The base of river's regressors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from river import base

from thresher.model.labels import LabelError, RowTargets
from thresher.model.numbers import Numbers, numbers_of
from thresher.river.rows import Row
from thresher.river.selector import RiverSelector

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas has no types


class RiverRegressor(RiverSelector, base.MiniBatchRegressor):
    """A regressor of river."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._model.target = Numbers()

    def predict_one(self, x: Row, **kwargs: Any) -> float:
        """Return the number of a row."""
        return float(self._learner.score(self._row(x)[1], 0, 1)[0])

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the numbers of the rows of a data frame."""
        import pandas as pd

        return pd.Series(self._scores(X), index=X.index)

    def _targets(self, labels: list[Any], counts: NDArray[np.bool_]) -> RowTargets:
        numbers = np.zeros(len(labels))
        try:
            numbers[counts] = numbers_of(np.array(labels)[counts])
        except LabelError as error:
            raise ValueError(f"y: {error}") from None
        return numbers
