"""The base of river's classifiers."""

from __future__ import annotations

import math
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from river import base

from thresher.methods import Method
from thresher.model.classes import Classes, predicted_codes, probabilities
from thresher.model.labels import RowTargets
from thresher.model.settling import fix_target
from thresher.parameters import Instance, OneOf, Parameter
from thresher.river.label_codes import LabelCodes, as_array
from thresher.river.rows import Row
from thresher.river.selector import RiverSelector

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas has no types

_CLASSES = Parameter(
    None,
    (OneOf((None,)), Instance(list), Instance(tuple)),
    "all labels, needed if there are more than two; by default, the first two that occur",
)


class RiverClassifier(RiverSelector, base.MiniBatchClassifier):
    """A classifier of river."""

    def __init__(self, **given: Any) -> None:
        self._codes = LabelCodes(given["classes"])
        super().__init__(**given)
        if self._codes.are_given:
            self._model.target = Classes(as_array(self._codes.labels))

    @classmethod
    def table(cls, method: Method) -> dict[str, Parameter]:
        """Return the parameters of the class for a method."""
        return super().table(method) | {"classes": _CLASSES}

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """Return the label of a row."""
        labels = self._codes.labels
        if len(labels) == 1:
            return labels[0]
        scores = self._learner.score(self._row(x)[1], 0, 1)
        return labels[int(scores[0] > 0.0) if len(scores) == 1 else int(scores.argmax())]

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label.

        Without `classes`, the labels are False and True until another one is seen. That one has probability 1 until
        there is a second.
        """
        labels = self._codes.labels
        if len(labels) == 1:
            return {labels[0]: 1.0}
        scores = self._learner.score(self._row(x)[1], 0, 1).tolist()
        scale = self._learner.counters["margin_scale"]
        return dict(zip(labels, _probabilities([scale * score for score in scores]), strict=True))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the labels of the rows of a data frame."""
        import pandas as pd

        labels = self._codes.labels
        codes = predicted_codes(self._scores(X), 0.0) if len(labels) > 1 else np.zeros(len(X), np.intp)
        return pd.Series([labels[code] for code in codes.tolist()], index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probabilities of the labels, a column for each, for the rows of a data frame."""
        import pandas as pd

        labels = self._codes.labels
        chances = probabilities(self._learner.counters["margin_scale"] * self._scores(X))
        return pd.DataFrame(
            chances if len(labels) > 1 else np.ones((len(X), 1)),
            index=X.index,
            columns=pd.Index(labels, tupleize_cols=False),
        )

    @property
    def classes_(self) -> list[Any]:
        """The labels: `classes`, or those seen so far; in ascending order, if they have one."""
        return self._codes.seen_labels()

    @property
    def _multiclass(self) -> bool:
        return len(self._codes.labels) > 2

    @property
    def _n_vectors(self) -> int:  # type: ignore[override]
        return self._codes.n_vectors

    def _by_label(self, numbers: list[float]) -> Any:
        return numbers[0] if len(numbers) == 1 else dict(zip(self._codes.labels, numbers, strict=True))

    def _targets(self, labels: list[Any], counts: NDArray[np.bool_]) -> RowTargets:
        codes = np.zeros(len(labels), np.int32)
        codes[counts] = self._codes.encode(list(compress(labels, counts.tolist())))
        return codes

    def _weights_of(self, codes: RowTargets, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        if self._model.target is None and self._codes.are_known:
            fix_target(self._model, Classes(as_array(self._codes.labels)), self._codes.swapped, id_base=0)
        if self._model.parameters["class_weight"] is None:
            return weights
        return self._model.class_weights.of_rows(codes, weights, self._codes.by_code())


def _probabilities(log_odds: list[float]) -> list[float]:
    """Return the probabilities of a row: for a single one numpy would take longer than the prediction."""
    if len(log_odds) == 1:
        log_odds = [0.0, log_odds[0]]
    most = max(log_odds)
    chances = [math.exp(each - most) for each in log_odds]
    total, best = sum(chances), log_odds.index(most)
    chances = [chance / total for chance in chances]
    if chances.index(max(chances)) != best:  # log odds that differ by less than a rounding error
        chances[best] = math.nextafter(chances[best], 1.0)
    return chances
