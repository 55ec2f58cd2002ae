"""Counts of right and wrong predictions over the batches of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.evaluation.counts import Counts, PairCounts, n_by_label
from thresher.evaluation.curves import curves_of
from thresher.evaluation.mistakes import Mistake, SurestMistakes
from thresher.messages import count_noun, join_some, warn
from thresher.model.classes import Classes, predicted_codes
from thresher.model.labels import Labels, as_number, label_text
from thresher.model.model import Model
from thresher.streams import Batch, DataError

_Floats = NDArray[np.float64]

# A confusion matrix can have a few labels that the model does not know; more of them are measurements, or the wrong
# column.
_MOST_UNKNOWN = 100


class ClassTally:
    """Counts over the batches of a stream.

    Of two classes it also keeps the margins, 9 bytes per row. With `only_pairs` it keeps neither these nor the
    log-likelihood. `positive` is the label that counts as found, by default the second of two. With `explains` it keeps
    the surest mistakes.
    """

    def __init__(self, model: Model, only_pairs: bool = False, positive: Any = None, *, explains: bool = False) -> None:
        assert isinstance(model.target, Classes)
        self.positive = model.target.code_of_positive(positive)  # its code; None with more than two classes
        self._model = model
        self._labels: list[Any] = model.target.labels.tolist()
        self._keeps_margins = len(self._labels) == 2 and not only_pairs
        self._has_probabilities = model.method.has_probabilities and not only_pairs
        # A label has its place under its value and under what a file writes, since text can hold numbers.
        self._places = {label: place for place, label in enumerate(self._labels)}
        for place, label in enumerate(self._labels):
            self._places.setdefault(label_text(label), place)
        self._n_classes = len(self._labels)
        self._pairs = PairCounts(self._n_classes + _MOST_UNKNOWN)
        self._log_likelihood = 0.0
        self._margins: list[_Floats] = []
        self._is_second: list[NDArray[np.bool_]] = []
        self._mistakes = SurestMistakes(model) if explains and self._has_probabilities else None

    def add(self, batch: Batch, rows: NDArray[np.int64] | None = None) -> None:
        """Count a batch, or some of its rows."""
        model = self._model
        margins = model.score_batch(batch, rows)
        predicted = predicted_codes(margins, model.threshold)
        actual = self._codes(batch, batch.labels if rows is None else batch.labels[rows])
        self._pairs.add(actual, predicted)
        if self._mistakes is not None:
            self._mistakes.add(batch, rows, margins, actual, predicted)
        knows_all = len(self._labels) == self._n_classes
        if self._has_probabilities and knows_all:
            # As scikit-learn does, no probability counts as exactly 0.
            of_actual = model.probabilities_of(margins)[np.arange(len(actual)), actual]
            likelihoods = np.maximum(of_actual, np.finfo(np.float64).eps)
            self._log_likelihood += float(np.log(likelihoods).sum())
        if self._keeps_margins and knows_all:
            self._margins.append(margins)
            self._is_second.append(actual == 1)

    @property
    def threshold(self) -> float:
        """The margin above which the second of two classes is predicted."""
        return self._model.threshold

    def surest_mistakes(self) -> list[Mistake]:
        """Return the mistakes of the highest probability, if they are explained and the model has probabilities."""
        return [] if self._mistakes is None else self._mistakes.explain(self._labels)

    @property
    def support(self) -> NDArray[np.int64]:
        """How many rows of each label were counted."""
        return n_by_label(self._pairs.pairs(), 0, len(self._labels))

    def counts(self, name: str) -> Counts:
        """Return the counts; `name` is that of the data. Warns if no prediction can be right."""
        labels, pairs = self._sort()
        n_rows = int(pairs[:, 2].sum())
        if n_rows == 0:
            raise DataError(f"{name}: there are no rows.")
        knows_all = len(labels) == self._n_classes
        if not knows_all:
            unknown, n_unknown = labels[self._n_classes :], int(self.support[self._n_classes :].sum())
            warn(
                f"{name}: {n_unknown:,} of {count_noun(n_rows, 'row')} have labels ({_some_labels(unknown)}) not among "
                f"the model's classes ({_some_labels(labels[: self._n_classes])}), so no prediction of them can be "
                "right.",
                UserWarning,
            )
        elif not (pairs[:, 0] == pairs[:, 1]).any():
            warn(f"{name}: no row was predicted right; the model's classes are {_some_labels(labels)}.", UserWarning)
        log_likelihood = self._log_likelihood if knows_all and self._has_probabilities else None
        has_both = self._keeps_margins and knows_all and bool(self.support.all())
        curves = curves_of(*self.margins(name)) if has_both else None
        return Counts(labels, pairs, log_likelihood, curves, None if self.positive is None else labels[self.positive])

    def margins(self, name: str) -> tuple[_Floats, NDArray[np.bool_]]:
        """Return how much each row speaks for the positive class, and which are of it.

        Both classes must occur, and no other. For the second class that is the margin, for the first its negative.
        """
        labels = [label for label, n in zip(self._labels, self.support, strict=True) if n]
        if len(self._labels) > self._n_classes or len(labels) < 2:
            known = _some_labels(self._labels[: self._n_classes])
            found = _some_labels(labels) or "none"
            raise DataError(f"{name}: rows of the classes {known} are needed, and no others. It has {found}.")
        margins, is_second = np.concatenate(self._margins), np.concatenate(self._is_second)
        return (margins, is_second) if self.positive == 1 else (-margins, ~is_second)

    def _codes(self, batch: Batch, labels: Labels) -> NDArray[np.intp]:
        """Return the index of each label in `_labels`; new labels are added."""
        batch.refuse_unlabelled("there is nothing to compare with")
        found, indices = np.unique(labels, return_inverse=True)
        codes = [self._index(label, batch) for label in found.tolist()]
        return np.array(codes, dtype=np.intp)[indices]

    def _index(self, label: Any, batch: Batch) -> int:
        place = self._places.get(label, self._places.get(label_text(label)))
        if place is None:
            place = len(self._labels)
            if place >= self._n_classes + _MOST_UNKNOWN:
                known = _some_labels(self._labels[: self._n_classes])
                raise DataError(
                    f"{batch.file}: it has more than {_MOST_UNKNOWN} labels that are not among the model's classes "
                    f"({known}), such as {label_text(label)}: check the file and its label column."
                )
            self._labels.append(label)
            self._places[label] = self._places[label_text(label)] = place
        return place

    def _sort(self) -> tuple[list[Any], NDArray[np.int64]]:
        """Return labels and pairs in an order that does not depend on the batches: classes, numbers, words."""
        are_words = isinstance(self._labels[0], str)
        unknown = [_as_text_or_number(label, are_words) for label in self._labels[self._n_classes :]]
        labels = self._labels[: self._n_classes] + unknown
        order = sorted(range(len(unknown)), key=lambda at: (isinstance(unknown[at], str), unknown[at]))
        order = [*range(self._n_classes), *(self._n_classes + at for at in order)]
        pairs = self._pairs.pairs()
        pairs[:, 0] = np.argsort(order)[pairs[:, 0]]  # what is predicted is a class
        return [labels[place] for place in order], pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _as_text_or_number(label: Any, as_word: bool) -> Any:
    """Return a label as text or, if possible, as a number: its type in a batch depends on the other rows."""
    return label_text(label) if as_word else as_number(label)


def _some_labels(labels: list[Any]) -> str:
    return join_some([label_text(label) for label in labels])
