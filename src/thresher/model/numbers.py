"""Numbers as the target of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.messages import parameter, warn
from thresher.model.label_order import Grouping, LabelOrder
from thresher.model.labels import LabelError, Labels, label_text, labels_of_rows
from thresher.model.validators import anything, dict_of, is_flag, is_not_negative, is_number, list_of, optional

Floats = NDArray[np.float64]

# Ranks are squares in float32, so that targets of other sizes would leave its range.
LEAST, MOST = 1e-12, 1e12
_ENOUGH_FOR_MIDDLE = 256  # rows


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers. A label's code is the number itself."""

    kind: ClassVar[str] = "numbers"
    heading: ClassVar[str] = "prediction"  # of a column of predictions
    prediction_of_nothing: ClassVar[str] = "the mean of the labels"
    n_vectors: ClassVar[int] = 1
    by_code: ClassVar[list[Any]] = []

    def encode(self, y: ArrayLike) -> Floats:
        """Return the numbers of rows; ValueError for the first that is none, or too large."""
        try:
            return numbers_of(labels_of_rows(y))
        except LabelError as error:
            raise ValueError(f"y[{error.row}]: {error}") from None

    def labels_for(self, margins: Floats, _threshold: float) -> Labels:
        """Return the predictions, which are the scores."""
        return margins

    @property
    def type_in_tables(self) -> np.dtype[Any]:
        """The type of a column of predictions."""
        return np.dtype(np.float64)

    def headings(self, what: str, *, of_vectors: bool = True) -> list[str]:
        """Return the heading of a column with a number for each row."""
        return [what]

    def check_size(self, numbers: Floats) -> None:
        """Raise ValueError for numbers that are all too small to learn, but not all 0."""
        check_size(float(np.abs(numbers).max(initial=0.0)))
        if len(numbers) and (numbers == numbers[0]).all():
            _warn_of_equal(numbers[0])

    def grouping_of(self, numbers: Floats) -> Grouping | None:
        """Return how rows in this order are grouped by their numbers, if they are."""
        order = StreamNumbers()
        order.count_learned(numbers)
        return order.order.grouping()

    def problem_with_sample(self, n_rows: NDArray[np.int64]) -> str | None:
        """Return why so many rows are too few to learn or to measure, or None."""
        n = int(n_rows.sum())
        return None if n > 1 else "one row only" if n else "no rows"

    def check_can_have_threshold(self) -> None:
        raise ValueError("a threshold needs two classes, but the model predicts numbers: leave it out.")

    def check_can_write(self, *, margins: bool, probabilities: bool) -> None:
        """Raise ValueError if more than predictions of numbers is asked for."""
        for name, asked in (("margins", margins), ("probabilities", probabilities)):
            if asked:
                raise ValueError(f"{parameter(name)} needs classes, but the model predicts numbers: leave it out.")

    def code_of_positive(self, positive: Any) -> None:
        """Raise ValueError if a label is named that counts as found; numbers have none."""
        if positive is not None:
            raise ValueError(
                f"{parameter('positive', positive)} needs two classes, but the model predicts numbers: leave it out."
            )

    def describe(self) -> dict[str, Any]:
        """Return the settings that `show` prints."""
        return {"target": "number"}

    def to_json(self) -> str:
        return self.kind


class StreamNumbers:
    """The numbers of a stream: how large they are, and whether its rows are grouped by them.

    For that the rows count as two classes, those up to the median of the first rows and those above it.
    """

    n_vectors = 1

    def __init__(self) -> None:
        self._first: list[float] = []  # of the stream, until there are enough of them
        self._middle: float | None = None
        self._order = LabelOrder()
        self._largest = 0.0
        self._differ = False

    def encode(self, labels: Labels) -> Floats:
        """Return the numbers of a batch; a label that is none, or too large, raises LabelError."""
        return numbers_of(labels)

    def by_code(self) -> list[Any]:
        """There are no classes."""
        return []

    def count_learned(self, numbers: Floats) -> None:
        """Note the size and the order of rows that were learned."""
        self._largest = max(self._largest, float(np.abs(numbers).max(initial=0.0)))
        first = self._first[:1] or numbers[:1].tolist()
        self._differ = self._differ or bool((numbers != first).any())
        if self._middle is None:
            n_lacking = _ENOUGH_FOR_MIDDLE - len(self._first)
            self._first += numbers[:n_lacking].tolist()
            numbers = numbers[n_lacking:]
            if len(self._first) < _ENOUGH_FOR_MIDDLE:
                return
            self._middle, self._order = self._middle_of_first()
        self._order.add(_sides(numbers, self._middle))

    @property
    def order(self) -> LabelOrder:
        """The order of the rows so far, by the two sides of the middle."""
        return self._order if self._middle is not None or not self._first else self._middle_of_first()[1]

    def _middle_of_first(self) -> tuple[float, LabelOrder]:
        first = np.array(self._first)
        middle = float(np.median(first))
        order = LabelOrder(f"targets up to {middle:.4g}")
        order.add(_sides(first, middle))
        return middle, order

    def final(self) -> tuple[Numbers, bool]:
        """Return the target, and that no codes change; numbers that are all too small, or none, are an error."""
        if not self._first:
            raise ValueError("there are no rows to learn from.")
        check_size(self._largest)
        if not self._differ:
            _warn_of_equal(self._first[0])
        return Numbers(), False

    def state(self) -> dict[str, Any]:
        return {
            "first": self._first, "middle": self._middle, "order": self._order.state(), "largest": self._largest,
            "differ": self._differ,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return the target with a state that `state` returned; ValueError if it can't be one."""
        if not _STATE(state) or (state["middle"] is None) != (len(state["first"]) < _ENOUGH_FOR_MIDDLE):
            raise ValueError("its numbers do not fit its rows.")
        numbers = cls()
        numbers._first, numbers._middle, numbers._largest = list(state["first"]), state["middle"], state["largest"]
        numbers._differ = state["differ"]
        if numbers._middle is not None:
            numbers._order = LabelOrder.from_state(state["order"], 2, f"targets up to {numbers._middle:.4g}")
        return numbers


_STATE = dict_of(
    first=list_of(is_number), middle=optional(is_number), order=anything, largest=is_not_negative, differ=is_flag
)  # fmt: skip


def numbers_of(labels: Labels) -> Floats:
    """Return labels as numbers; LabelError for the first that is none, not finite, or too large."""
    if labels.dtype.kind in "mM" and len(labels):
        raise LabelError(0, f"the label {labels[0]} is a date or a duration: give a number, such as days since a date.")
    try:
        numbers = np.ascontiguousarray(labels, np.float64)
    except (TypeError, ValueError):
        row, word = next((row, label) for row, label in enumerate(labels.tolist()) if not _is_number(label))
        raise LabelError(
            row, f"the label {label_text(word)!r} is not a number: name the column of the numbers, or predict classes."
        ) from None
    bad = np.flatnonzero(~(np.abs(numbers) <= MOST))
    if len(bad):
        row = int(bad[0])
        reason = (
            f"larger than {MOST:g}: rescale the labels" if np.isfinite(numbers[row]) else "not finite: drop the row"
        )
        raise LabelError(row, f"the label {numbers[row]:g} is {reason}.")
    return numbers


def check_size(largest: float) -> None:
    """Raise ValueError if the largest of all numbers is too small, but not 0."""
    if 0.0 < largest < LEAST:
        raise ValueError(f"no label is larger than {largest:g} in size, and {LEAST:g} is needed: rescale the labels.")


def _warn_of_equal(number: float) -> None:
    warn(f"all labels are {number:g}, so nothing else is predicted.", UserWarning)


def _sides(numbers: Floats, middle: float) -> NDArray[np.int32]:
    return (numbers > middle).astype(np.int32)


def _is_number(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return False
    return True
