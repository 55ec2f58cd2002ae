"""Classes as the target of a model, two or more; nothing outside this file needs to know how many.

While a first stream is learned, they are provisional: `StreamClasses`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.messages import join_some, parameter
from thresher.model.label_order import Grouping, LabelOrder
from thresher.model.labels import (
    Codes,
    LabelError,
    Labels,
    as_labels,
    as_number,
    as_text_labels,
    as_whole_numbers,
    concatenate_labels,
    distinct_labels,
    find_labels,
    is_same_label,
    label_text,
    labels_equal,
    labels_from_values,
    labels_of_rows,
)
from thresher.model.validators import anything, are_labels, dict_of, is_flag

if TYPE_CHECKING:
    from thresher.model.model import Model

Floats = NDArray[np.float64]

MOST_CLASSES = 1_000  # that are found without being asked again
_MANY = 20  # with more different labels than this, they are hardly classes
_ENOUGH = 10  # rows that all have different labels, for these to be ids


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes that are all known. A label's code is its index among them.

    Attributes
    ----------
    labels : array
        At least two different ones, in ascending order.
    """

    kind: ClassVar[str] = "classes"
    heading: ClassVar[str] = "label"  # of a column of predictions
    prediction_of_nothing: ClassVar[str] = "the frequencies of the classes"

    labels: Labels

    @property
    def by_code(self) -> list[Any]:
        """The labels in the order of their codes."""
        known: list[Any] = self.labels.tolist()
        return known

    @property
    def n_classes(self) -> int:
        return len(self.labels)

    @property
    def n_vectors(self) -> int:
        """How many weights a feature has: one for two classes, else one per class."""
        return 1 if len(self.labels) == 2 else len(self.labels)

    def encode(self, y: ArrayLike) -> Codes:
        """Return the code of each label in y; ValueError for one that is not among the classes."""
        labels = labels_of_rows(y)
        codes, strange = find_labels(labels, self.labels)
        if np.any(strange):
            row = int(np.flatnonzero(strange)[0])
            raise ValueError(
                f"y[{row}] is {labels.tolist()[row]!r}, which is not in {parameter('classes', self.labels.tolist())}."
            )
        return codes

    def labels_for(self, margins: Floats, threshold: float) -> Labels:
        """Return the predicted labels: of the second of two classes if the margin is above the threshold."""
        return np.asarray(self.labels[predicted_codes(margins, threshold)])

    @property
    def type_in_tables(self) -> np.dtype[Any]:
        """The type of a column of labels: whole numbers are integers there."""
        return as_whole_numbers(self.labels).dtype

    def headings(self, what: str, *, of_vectors: bool = True) -> list[str]:
        """Return the headings of columns with a number for each vector, or for each class."""
        if of_vectors and self.n_vectors == 1:
            return [what]
        return [f"{what}_{label_text(label)}" for label in self.labels.tolist()]

    def check_size(self, codes: Codes) -> None:
        """Any codes will do; numbers can be too small."""

    def grouping_of(self, codes: Codes) -> Grouping | None:
        """Return how rows in this order are grouped by label, if they are."""
        order = LabelOrder()
        order.add(codes)
        return order.grouping()

    def problem_with_sample(self, n_rows: NDArray[np.int64]) -> str | None:
        """Return why a sample with these numbers of rows by code is too small to learn or to measure, or None."""
        codes = np.flatnonzero(n_rows)
        if len(codes) > 1:
            return None
        return f"rows of one class only ({label_text(self.labels[codes[0]])})" if len(codes) else "no rows"

    def check_can_have_threshold(self) -> None:
        if self.n_vectors > 1:
            raise ValueError(f"a threshold needs two classes, but the model has {self.n_vectors}.")

    def check_can_write(self, *, margins: bool, probabilities: bool) -> None:
        """Classes have margins; the method says whether they have probabilities."""

    def code_of_positive(self, positive: Any) -> int | None:
        """Return the code of the label that counts as found: of two, the second unless `positive` names the first.

        Of more classes there is none; naming one, or a label that is no class, is a ValueError.
        """
        if positive is None:
            return 1 if self.n_classes == 2 else None
        given = positive.item() if isinstance(positive, np.generic) else positive
        if self.n_classes > 2:
            raise ValueError(
                f"{parameter('positive', given)} needs two classes, but the model has {self.n_classes}: leave it out."
            )
        labels = self.labels.tolist()
        for code, label in enumerate(labels):
            if is_same_label(label, given):
                return code
        known = ", ".join(map(label_text, labels))
        raise ValueError(
            f"{parameter('positive', given)} is not among the model's classes ({known}): name one of them."
        )

    def describe(self) -> dict[str, Any]:
        """Return the settings that `show` prints."""
        return {"classes": [label_text(label) for label in self.labels.tolist()]}

    def to_json(self) -> list[Any]:
        labels: list[Any] = self.labels.tolist()
        return labels


def classes_from_json(value: Any) -> Classes:
    """Return the classes that `to_json` was called on; raise ValueError for any other value."""
    if (
        not isinstance(value, list)
        or len(value) < 2
        or not all(isinstance(label, str | int | float) for label in value)
        or len({isinstance(label, str) for label in value}) > 1
        or not all(one < other for one, other in itertools.pairwise(value))
    ):
        raise ValueError("it must have at least two classes, in ascending order")
    return Classes(labels_from_values(value))


def classes_for(model: Model, given: ArrayLike | None) -> Classes:
    """Return the classes of a model, or those given for one that has none yet."""
    known = _known_classes(model)
    if given is None:
        if known is None:
            raise ValueError(
                f"{parameter('classes')} must be given on the first call to partial_fit, for example "
                f"{parameter('classes', [0, 1])}."
            )
        return known
    labels = distinct_labels("classes", as_labels(given))
    if known is None:
        if len(labels) < 2:
            raise ValueError(f"{parameter('classes')} must have at least two entries. Got {given!r} instead.")
        return Classes(labels)
    if labels.tolist() != known.labels.tolist():
        raise ValueError(
            f"{parameter('classes', labels.tolist())} differ from the classes that the model was trained on, "
            f"{known.labels.tolist()}."
        )
    return known


def _known_classes(model: Model) -> Classes | None:
    assert model.target is None or isinstance(model.target, Classes)
    return model.target


def collect_labels(labels: Iterable[Labels], multiclass: bool | int) -> Labels | None:
    """Return all classes of a stream, from the labels of its batches; ValueError if they are too many.

    None if there are fewer than two: learning then raises the error.
    """
    found: list[Labels] = []
    for part in labels:
        found = [np.unique(concatenate_labels([*found, part]))]
    classes = concatenate_labels(found)
    refuse_too_many(classes, multiclass)
    return classes if len(classes) > 1 else None


def refuse_too_many(classes: Labels, multiclass: bool | int) -> None:
    """Raise ValueError if there are more classes than `multiclass` allows; True allows 1,000."""
    n, most = len(classes), MOST_CLASSES if multiclass is True else int(multiclass)
    if n > most:
        raise ValueError(
            f"there are {n:,} labels, and {parameter('multiclass', multiclass)} allows {most:,} classes: to predict "
            f"numbers use {parameter('ShadowSOFSRegressor')}, else allow so many, {parameter('multiclass', n)}."
        )


def classes_of_labels(labels: Labels, *, multiclass: bool | int) -> Classes:
    """Return all different labels of the data as classes; more than two are an error unless `multiclass`."""
    if len(labels) < 2:
        one = f"all rows have the label {label_text(labels[0])}: two classes are needed." if len(labels) else ""
        raise ValueError(one or "there are no rows.")
    if len(labels) > 2 and not multiclass:
        these = join_some([label_text(label) for label in labels.tolist()])
        if are_hardly_classes(labels, len(labels)):
            raise ValueError(f"there are {len(labels):,} labels ({these}). {_hardly_classes()}")
        raise ValueError(
            f"there are more than two classes ({these}): name them with {parameter('classes', ['a', 'b', 'c'])}, or "
            f"use {parameter('multiclass', True)}."
        )
    if multiclass:
        refuse_too_many(labels, multiclass)
    return Classes(labels)


def classes_for_matrix(model: Model, y: ArrayLike) -> Classes:
    """Return the classes of a model, or for a new one the labels in y."""
    if (known := _known_classes(model)) is not None:
        return known
    found = distinct_labels("y", labels_of_rows(y))
    if len(found) == 0:
        raise ValueError("y is empty: there is nothing to learn from.")
    if len(found) == 1:
        raise ValueError(f"There is 1 class ({found.tolist()[0]!r}), but two are needed: add rows of another class.")
    return Classes(found)


class StreamClasses:
    """The classes of a stream, those given or the two that occur, and whether its rows are grouped by them.

    The classes are not known before the stream is read, so the first label gets a provisional code: 1 if it is a
    positive number, else 0. At the end `final_classes` returns whether that is the order of the sorted labels.
    """

    def __init__(self, given: Classes | None = None) -> None:
        self._known: list[Any] = [] if given is None else given.labels.tolist()
        self._seen_as = list(self._known)
        self._given = given is not None
        self._first_code = 0
        self.order = LabelOrder()
        self.n_vectors = 1 if given is None else given.n_vectors

    @classmethod
    def for_model(cls, model: Model, given: ArrayLike | None = None) -> Self:
        """Return the classes of a pass over a stream: a model's, those given, or the first two to occur."""
        return cls(None if given is None and model.target is None else classes_for(model, given))

    @classmethod
    def from_state(cls, state: Any, n_vectors: int) -> Self:
        """Return the target with a state that `state` returned, for a model with that many vectors.

        Raise ValueError if the values, which come from a file, can't be a state.
        """
        n_classes = max(2, n_vectors)
        is_possible = (
            _STATE(state)
            and len(state["known"]) == len(state["seen_as"]) <= n_classes
            and (not state["given"] or len(state["known"]) == n_classes)
            and (state["given"] or n_classes == 2)
        )
        if not is_possible:
            raise ValueError("its labels do not fit its classes.")
        classes = cls()
        classes._known, classes._seen_as = list(state["known"]), list(state["seen_as"])
        classes._given, classes._first_code = state["given"], state["first_code"]
        classes.order, classes.n_vectors = LabelOrder.from_state(state["order"], n_classes), n_vectors
        return classes

    def encode(self, labels: Labels) -> Codes:
        """Return the codes of the labels of a batch; a label outside the classes, or a third one, raises an error."""
        labels = self._comparable(labels)
        codes = np.full(len(labels), -1, dtype=np.int32)
        for place, label in enumerate(self._seen_as):
            codes[labels_equal(labels, label)] = self._code(place)
        while (strange := np.flatnonzero(codes < 0)).size:
            label = labels[strange[0]].item()
            if self._given or len(self._known) == 2:
                self._refuse(int(strange[0]), labels)
            if not self._known:
                self._first_code = int(not isinstance(label, str) and label > 0)
            self._known.append(label)
            self._seen_as.append(label)
            codes[labels_equal(labels, label)] = self._code(len(self._known) - 1)
        return codes

    def count_learned(self, codes: Codes) -> None:
        """Note the order of rows that were learned."""
        self.order.add(codes)

    def by_code(self) -> list[Any]:
        """Return the labels in the order of their codes, as far as they are known; None for a class not seen yet."""
        labels = [None] * max(2, len(self._known))
        for place, label in enumerate(self._known):
            labels[self._code(place)] = label
        return labels

    def state(self) -> dict[str, Any]:
        return {
            "known": self._known, "seen_as": self._seen_as, "given": self._given, "first_code": self._first_code,
            "order": self.order.state(),
        }  # fmt: skip

    def final(self) -> tuple[Classes, bool]:
        """Return the classes, and whether the codes were in the opposite order; fewer than two are an error."""
        if len(self._known) == 0:
            raise ValueError("there are no rows to learn from.")
        if len(self._known) == 1:
            raise ValueError(f"all rows have the label {label_text(self._known[0])}: two classes are needed.")
        known = labels_from_values(self._known)
        labels = known.tolist()
        return Classes(np.sort(known)), self._code(labels.index(min(labels))) != 0

    def _code(self, place: int) -> int:
        return place if self._given else self._first_code ^ place

    def _comparable(self, labels: Labels) -> Labels:
        """Convert labels and classes to one type: if some are text, numbers become text as a file would write them.

        Classes given by the user keep their type; only the copy that labels are compared with is converted.
        """
        words = labels.dtype.kind == "U"
        if words and self._seen_as and not isinstance(self._seen_as[0], str):
            self._seen_as = [label_text(label) for label in self._seen_as]
            if not self._given:
                self._known = list(self._seen_as)
        if not words and self._seen_as and isinstance(self._seen_as[0], str):
            return as_text_labels(labels)
        return labels

    def _refuse(self, row: int, labels: Labels) -> None:
        label = label_text(labels[row].item())
        known = [label_text(known) for known in self._known]
        if self._given:
            raise LabelError(
                row,
                f"the label {label} is not among the classes {', '.join(known)}: remove such rows, or train a "
                "model that has this class.",
            )
        third = f"the label {label} is a third class, after {' and '.join(known)}"
        n_different = len(np.unique(labels))
        if are_hardly_classes(labels, n_different):
            these = f"these {len(labels):,} rows have {n_different:,} different labels"
            raise LabelError(row, f"{third}, and {these}. {_hardly_classes()}")
        raise LabelError(
            row,
            f"{third}: list all classes, {parameter('classes', [*map(as_number, [*known, label]), '…'])}, or let them "
            f"be found in an extra pass, {parameter('multiclass', True)}.",
        )


_STATE = dict_of(
    known=are_labels, seen_as=are_labels, given=is_flag, first_code=lambda code: type(code) is int and code in (0, 1),
    order=anything,
)  # fmt: skip


def are_hardly_classes(labels: Labels, n_different: int) -> bool:
    """Return whether labels look like numbers to predict, or like ids."""
    is_fraction = labels.dtype.kind == "f" and bool((labels != np.rint(labels)).any())
    return is_fraction or n_different > _MANY or n_different == len(labels) >= _ENOUGH


def predicted_codes(margins: Floats, threshold: float) -> NDArray[np.intp]:
    return (margins > threshold).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)


def probabilities(log_odds: Floats) -> Floats:
    """Return the probability of each class: σ(−m) and σ(m), or with more than two the softmax of each row.

    The first of the largest log odds is also the first of the largest results.
    """
    if log_odds.ndim == 1:
        log_odds = np.column_stack([np.zeros_like(log_odds), log_odds])
    chances = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    # Log odds that differ by less than a rounding error have equal results; then the right one gets the last bit.
    best = log_odds.argmax(axis=1)
    (tied,) = np.nonzero(chances.argmax(axis=1) != best)
    chances[tied, best[tied]] = np.nextafter(chances[tied, best[tied]], 1.0)
    return np.asarray(chances)


def _hardly_classes() -> str:
    return (
        f"Labels must be classes, not ids: in a table, name their column with {parameter('label', ...)}. To predict "
        f"numbers use {parameter('ShadowSOFSRegressor')}. If they are classes, use {parameter('multiclass', True)}."
    )
