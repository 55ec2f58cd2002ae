"""The counts of an evaluation: rows by actual and predicted label, log-likelihood, and curves of two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.evaluation.curves import Curves

_FEW_PAIRS = 1 << 12

_Pairs = NDArray[np.int64]  # each row: the indices of an actual and a predicted label, and how many rows have them


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts over the rows of a stream, from which metrics are computed.

    Attributes
    ----------
    labels : list
        The model's classes, and after them labels that it does not know, sorted.
    pairs : array of shape (n_pairs, 3)
        Indices of the actual and the predicted label, and how many rows have them.
    log_likelihood : float or None
        Of all rows, where the model has probabilities and knows all labels.
    curves : Curves or None
        Of two classes that both occur.
    positive : str, int, float or None
        Which of two classes counts as found; None if the model has more.
    """

    target: ClassVar[str] = "classes"

    labels: list[Any]
    pairs: _Pairs
    log_likelihood: float | None = None
    curves: Curves | None = None
    positive: Any = None

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.pairs[:, 2].sum())

    @property
    def n_right(self) -> int:
        """How many of them were predicted right."""
        return int(self.pairs[self.pairs[:, 0] == self.pairs[:, 1], 2].sum())

    @property
    def most_frequent(self) -> Any:
        """The most frequent label of these rows."""
        return self.labels[int(self._n_by_label.argmax())]

    @property
    def baseline(self) -> float:
        """The accuracy of always predicting that label."""
        return int(self._n_by_label.max()) / self.n_rows

    @property
    def _n_by_label(self) -> NDArray[np.int64]:
        return n_by_label(self.pairs, 0, len(self.labels))

    @property
    def log_loss(self) -> float | None:
        """Mean negative log-likelihood."""
        return None if self.log_likelihood is None else -self.log_likelihood / self.n_rows

    def of_classes(self) -> list[ClassCounts]:
        """Return the counts of each label."""
        right = self.pairs[self.pairs[:, 0] == self.pairs[:, 1]]
        columns = ((right, 0), (self.pairs, 1), (self.pairs, 0))
        of_all = (n_by_label(pairs, column, len(self.labels)).tolist() for pairs, column in columns)
        return [ClassCounts(*of_one) for of_one in zip(*of_all, strict=True)]

    @classmethod
    def pool(cls, parts: list[Counts]) -> Counts:
        """Return the counts of several models, each on rows of its own."""
        labels = max((part.labels for part in parts), key=len)
        labels = list(dict.fromkeys([*labels, *(label for part in parts for label in part.labels)]))
        places, pairs = {label: place for place, label in enumerate(labels)}, PairCounts(len(labels))
        for part in parts:
            place = np.array([places[label] for label in part.labels])
            actual, predicted, n_rows = part.pairs.T
            pairs.add(place[actual], place[predicted], n_rows)
        known = [part.log_likelihood for part in parts if part.log_likelihood is not None]
        log_likelihood = sum(known) if len(known) == len(parts) else None
        return cls(labels, pairs.pairs(), log_likelihood, positive=parts[0].positive)


@dataclass(frozen=True)
class ClassCounts:
    """Rows of one class: predicted right, predicted at all, and those that have its label."""

    right: int
    predicted: int
    actual: int


class PairCounts:
    """Counts of pairs of labels, actual and predicted. Time and memory depend on the rows and the pairs that occur.

    Parameters
    ----------
    n_labels : int
        Indices of labels are below it.
    """

    def __init__(self, n_labels: int) -> None:
        self._n_labels = n_labels
        self._keys, self._counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        self._n_new = 0  # since they were merged

    def add(self, actual: NDArray[Any], predicted: NDArray[Any], n_rows: NDArray[np.int64] | None = None) -> None:
        """Count rows by the indices of their labels; with `n_rows`, pairs that stand for several rows each."""
        keys = actual.astype(np.int64) * self._n_labels + predicted
        if n_rows is None:
            keys, n_rows = np.unique(keys, return_counts=True)
        self._keys.append(keys)
        self._counts.append(n_rows)
        self._n_new += len(keys)
        if self._n_new > _FEW_PAIRS + len(self._keys[0]):  # so that all merges together take about as long as the last
            self._merge()

    def _merge(self) -> None:
        keys, places = np.unique(np.concatenate(self._keys), return_inverse=True)
        counts = np.zeros(len(keys), np.int64)
        np.add.at(counts, places, np.concatenate(self._counts))
        self._keys, self._counts, self._n_new = [keys], [counts], 0

    def pairs(self) -> _Pairs:
        """Return the pairs that occur, in ascending order."""
        self._merge()
        return np.column_stack([*np.divmod(self._keys[0], self._n_labels), self._counts[0]])


def error_of_share(share: Any, n_rows: int) -> Any:
    """Return the standard error of a share of so many rows, or of an array of shares: √(a·(1 − a)/n)."""
    return np.sqrt(share * (1.0 - share) / n_rows)


def n_by_label(pairs: _Pairs, column: int, n_labels: int) -> NDArray[np.int64]:
    """Return how many rows have each label: the actual one (column 0) or the predicted one (1)."""
    counts = np.zeros(n_labels, np.int64)
    np.add.at(counts, pairs[:, column], pairs[:, 2])
    return counts
