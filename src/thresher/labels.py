"""Labels and their codes: 0 for the first class in sorted order, 1 for the second, and so on."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Labels: TypeAlias = NDArray[Any]
Codes: TypeAlias = NDArray[np.int32]


def encode(y: ArrayLike, classes: Labels | None) -> tuple[Codes, Labels]:
    """Return the code of each label, and the classes; without `classes` they are the labels that occur in y."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension. Got shape {labels.shape} instead.")
    refuse_missing(labels)
    known = distinct("y", labels) if classes is None else classes
    if len(known) == 0:
        raise ValueError("y is empty: there is nothing to learn from.")
    if len(known) == 1:
        raise ValueError(f"There is 1 class ({known.tolist()[0]!r}), but two are needed: add rows of another class.")
    codes, strange = _places(labels, known)
    if np.any(strange):
        row = int(np.flatnonzero(strange)[0])
        raise ValueError(f"y[{row}] is {labels.tolist()[row]!r}, which is not in classes={known.tolist()}.")
    return codes, known


def refuse_missing(labels: Labels) -> None:
    """Raise ValueError for the first label that is None, NaN or pandas' NA among Python's own objects."""
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return
    for row, label in enumerate(labels.tolist()):
        if label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and label != label):
            raise ValueError(f"y[{row}] is {label!r}: the label is missing. Drop the row, or give it a label.")


def distinct(name: str, labels: Labels) -> Labels:
    """Return the labels that occur, sorted. Labels of mixed types, NaN and infinity are an error."""
    try:
        found: Labels = np.unique(labels)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise ValueError(f"{name} has labels of different types ({kinds}): use only text or only numbers.") from None
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise ValueError(f"{name} contains {found[~np.isfinite(found)][0]}: labels must be finite numbers or text.")
    return found


def _places(labels: Labels, known: Labels) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the index of each label in `known`, which is sorted, and which labels are not in it."""
    if "O" in (labels.dtype.kind, known.dtype.kind):  # Python objects: numpy finds a common type
        labels, known = np.array(labels.tolist()), np.array(known.tolist())
    if (labels.dtype.kind in "US") != (known.dtype.kind in "US"):
        return np.zeros(len(labels), np.int32), np.ones(len(labels), bool)
    codes = np.minimum(np.searchsorted(known, labels), len(known) - 1).astype(np.int32)
    return codes, known[codes] != labels


def _given_weights(given: dict[Any, Any], classes: list[Any]) -> NDArray[np.float64]:
    """Return the weight of each class; labels are compared as a file would write them."""
    for label, weight in given.items():
        if not isinstance(label, str | Real):
            raise ClassWeightError(f"class_weight has the class {label!r}: classes are numbers or text.")
        if not isinstance(weight, Real) or not 0 <= float(weight) < float("inf"):
            raise ClassWeightError(f"class_weight[{label!r}] is {weight!r}: weights must be finite and not negative.")
    by_name = {shown(label): float(weight) for label, weight in given.items()}
    if len(by_name) < len(given):
        raise ClassWeightError(f"class_weight has a class twice, as a number and as text: {given!r}.")
    names = [None if label is None else shown(label) for label in classes]
    unknown = next((label for label in given if shown(label) not in names), None)
    if unknown is not None and None not in names:  # None: a class of a stream that was not seen yet
        known = ", ".join(name for name in names if name is not None)
        raise ClassWeightError(f"class_weight names class {unknown!r}, which is not among the classes ({known}).")
    return np.array([1.0 if name is None else by_name.get(name, 1.0) for name in names])


class ClassWeights:
    """Weights of rows by their class, for rows that come one after another, and counts of the rows.

    With "balanced" a row of class c has the weight n/(C·n_c): of the n rows so far, this one included, n_c are of its
    class, and there are C classes. Rows of weight 0 do not count. So the weights do not depend on how the rows are cut
    into batches. In later passes n and n_c stay as they are.

    Attributes
    ----------
    counts : array
        How many different rows of each class came, by code.
    weight, squared_weight : float
        Sums of the weights of these rows, and of their squares.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self.counts = np.zeros(0, np.int64)
        self.weight = self.squared_weight = 0.0

    @property
    def typical_weight(self) -> float:
        """The mean weight of a row, as far as it counts in what was learned: Σw²/Σw."""
        return self.squared_weight / self.weight if self.weight > 0 else 1.0

    def of_rows(
        self, codes: Codes, importances: NDArray[np.float64] | None, classes: list[Any], *, are_new: bool = True
    ) -> NDArray[np.float64] | None:
        """Return the weights of rows, times their own, and count new rows; None if all are 1.

        `classes` are those by code. On an error nothing is counted.
        """
        weights = importances
        if self.given is not None:
            own = np.ones(len(codes)) if importances is None else importances
            if isinstance(self.given, dict):
                weights = own * _given_weights(self.given, classes)[codes]
            else:
                weights = own * self._balanced(codes, own != 0, len(classes), are_new)
        if are_new:
            self.count(codes, weights)
        return weights

    def _balanced(self, codes: Codes, counts: NDArray[np.bool_], n_classes: int, are_new: bool) -> NDArray[np.float64]:
        before = np.pad(self.counts, (0, n_classes - len(self.counts)))
        if not are_new:
            each = before.sum() / (n_classes * np.maximum(before, 1))
            return np.asarray(each[codes])
        n_rows = before.sum() + np.cumsum(counts)
        weights = np.zeros(len(codes))
        for code in np.unique(codes):
            rows = np.flatnonzero(counts & (codes == code))
            weights[rows] = n_rows[rows] / (n_classes * (before[code] + np.arange(1, len(rows) + 1)))
        return weights

    def count(self, codes: Codes, weights: NDArray[np.float64] | None) -> None:
        """Count rows that come for the first time."""
        counted = codes if weights is None else codes[weights != 0]
        found = np.bincount(counted, minlength=len(self.counts))
        found[: len(self.counts)] += self.counts
        self.counts = found
        if weights is None:
            self.weight += len(codes)
            self.squared_weight += len(codes)
        else:
            self.weight = add_in_order(self.weight, weights)
            self.squared_weight = add_in_order(self.squared_weight, weights * weights)

    def state(self) -> list[float]:
        """Return the counts, after the two sums, as values for JSON."""
        return [self.weight, self.squared_weight, *self.counts.tolist()]

    def restore(self, state: list[float]) -> None:
        """Continue with the counts that `state` returned."""
        self.weight, self.squared_weight = float(state[0]), float(state[1])
        self.counts = np.array(state[2:], np.int64)

    def swap_classes(self) -> None:
        """Exchange the two classes."""
        self.counts = np.pad(self.counts, (0, 2 - len(self.counts)))[::-1].copy()


def row_weights(
    class_weight: Any, codes: Codes, classes: Labels, sample_weight: ArrayLike | None
) -> NDArray[np.float64] | None:
    """Return the weight of each row: its own times its class's; None if all are 1."""
    weights = None
    if sample_weight is not None:
        try:
            weights = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight must contain numbers: {error}.") from None
        weights = np.ascontiguousarray(np.broadcast_to(weights, codes.shape) if weights.ndim == 0 else weights)
        if weights.shape != codes.shape:
            raise ValueError(f"sample_weight has shape {weights.shape}, but X has {len(codes)} rows.")
        bad = ~(np.isfinite(weights) & (weights >= 0))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(f"sample_weight[{row}] is {weights[row]:g}: weights must be finite and not negative.")
    if class_weight is None:
        return weights
    if isinstance(class_weight, dict):
        each = _given_weights(class_weight, classes.tolist())
    else:  # "balanced"
        counted = codes if weights is None else codes[weights != 0]
        counts = np.bincount(counted, minlength=len(classes))
        each = len(counted) / (len(classes) * np.maximum(counts, 1))
    return each[codes] if weights is None else weights * each[codes]


class ClassWeightError(ValueError):
    """A class weight that can't be used with these classes."""


class UnknownLabelError(ValueError):
    """A label that is not one of the classes; `row` is its row in the batch."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


class StreamClasses:
    """The classes of a stream: those given, or the two that occur.

    The classes are not known before the stream is read, so the first label gets a provisional code: 1 if it is a
    positive number, else 0. At the end `in_order` is True if the codes are in the order of the sorted labels.
    """

    def __init__(self, classes: Labels | None = None) -> None:
        self._known: list[Any] = [] if classes is None else classes.tolist()
        self._seen_as = list(self._known)
        self._given = classes is not None
        self._first_code = 0

    def encode(self, labels: Labels) -> Codes:
        """Return the codes of the labels of a batch; a label outside the classes, or a third one, raises an error."""
        labels = self._comparable(labels)
        codes = np.full(len(labels), -1, dtype=np.int32)
        for place, label in enumerate(self._seen_as):
            codes[labels == label] = self._code(place)
        while (strange := np.flatnonzero(codes < 0)).size:
            label = labels[strange[0]].item()
            if self._given or len(self._known) == 2:
                self._refuse(int(strange[0]), label)
            if not self._known:
                self._first_code = int(not isinstance(label, str) and label > 0)
            self._known.append(label)
            self._seen_as.append(label)
            codes[labels == label] = self._code(len(self._known) - 1)
        return codes

    def by_code(self) -> list[Any]:
        """Return the labels in the order of their codes, as far as they are known; None for a class not seen yet."""
        labels = [None] * max(2, len(self._known))
        for place, label in enumerate(self._known):
            labels[self._code(place)] = label
        return labels

    def state(self) -> dict[str, Any]:
        """Return what was seen so far, as values for JSON."""
        return {
            "known": self._known, "seen_as": self._seen_as, "given": self._given, "first_code": self._first_code
        }  # fmt: skip

    @classmethod
    def resumed(cls, state: dict[str, Any]) -> Self:
        """Return an object with the state that `state` returned."""
        classes = cls()
        classes._known, classes._seen_as = list(state["known"]), list(state["seen_as"])
        classes._given, classes._first_code = state["given"], state["first_code"]
        return classes

    @property
    def in_order(self) -> bool:
        """Whether the smaller label has code 0."""
        return self._code(self._known.index(min(self._known))) == 0

    def classes(self) -> Labels:
        """Return the classes, sorted; fewer than two are an error."""
        if len(self._known) == 0:
            raise ValueError("there are no rows to learn from.")
        if len(self._known) == 1:
            raise ValueError(f"all rows have the label {shown(self._known[0])}: two classes are needed.")
        return np.array(sorted(self._known))

    def _code(self, place: int) -> int:
        return place if self._given else self._first_code ^ place

    def _comparable(self, labels: Labels) -> Labels:
        """Convert labels and classes to one type: if some are text, numbers become text as a file would write them.

        Classes given by the user keep their type; only the copy that labels are compared with is converted.
        """
        words = labels.dtype.kind == "U"
        if words and self._seen_as and not isinstance(self._seen_as[0], str):
            self._seen_as = [shown(label) for label in self._seen_as]
            if not self._given:
                self._known = list(self._seen_as)
        if not words and self._seen_as and isinstance(self._seen_as[0], str):
            return as_words(labels)
        return labels

    def _refuse(self, row: int, label: Any) -> None:
        known = [shown(known) for known in self._known]
        if self._given:
            raise UnknownLabelError(
                row,
                f"the label {shown(label)} is not among the classes {', '.join(known)}: remove such rows, or train a "
                "model that has this class.",
            )
        all_of_them = ",".join([*known, shown(label)])
        raise UnknownLabelError(
            row,
            f"the label {shown(label)} is a third class, after {' and '.join(known)}: list all classes (--classes "
            f"{all_of_them},…; classes= in Python), or let them be found in an extra pass (--multiclass; "
            "multiclass=True).",
        )


def as_words(labels: Labels) -> Labels:
    """Return labels as text."""
    return labels if labels.dtype.kind == "U" else np.array([shown(label) for label in labels.tolist()], dtype=np.str_)


def together(parts: list[Labels]) -> Labels:
    """Return all labels in one array; if some are text, all become text."""
    if any(part.dtype.kind == "U" for part in parts):
        parts = [as_words(part) for part in parts]
    return np.concatenate(parts) if parts else np.zeros(0)


def add_in_order(total: float, numbers: NDArray[np.float64]) -> float:
    """Return a sum that does not depend on how the numbers are cut into parts."""
    return float(np.add.accumulate(np.concatenate(([total], numbers)))[-1])


def shown(label: Any) -> str:
    """Return a label as a file would write it: 1 rather than 1.0."""
    if isinstance(label, str):
        return label
    number = float(label)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
