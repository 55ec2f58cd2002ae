"""The labels of river's rows, whose classes need not be known in advance, and their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.model.labels import refuse_missing


class LabelCodes:
    """The classes, given or the two that occur, and their codes.

    River's labels are any hashable objects, compared as dict keys, one row at a time. `StreamClasses` compares arrays
    of text and numbers as files write them, which takes seven times as long for a single row.

    The first label gets a provisional code. Once there is a second, codes are in the ascending order of the two, if
    they have one.

    Attributes
    ----------
    labels : list
        The labels that can be predicted, by code: at first False and True, as in river's own classifiers. After a
        first label that is neither, only that label can be predicted until a second appears.
    are_given : bool
        Whether the classes were given.
    swapped : bool
        Whether the first label got the other code when a second appeared.
    """

    def __init__(self, given: list[Any] | tuple[Any, ...] | None) -> None:
        self.are_given = given is not None
        self.labels: list[Any] = [False, True]
        self._codes: dict[Any, int] = {}
        self.swapped = False
        if given is not None:
            self.labels = _sort(list(dict.fromkeys(map(_python_value, given))))
            if len(self.labels) < 2:
                raise ValueError(f"classes must have at least two different labels. Got {given!r} instead.")
            self._codes = {label: code for code, label in enumerate(self.labels)}

    @property
    def n_vectors(self) -> int:
        """How many weights a feature has."""
        return 1 if len(self.labels) <= 2 else len(self.labels)

    @property
    def are_known(self) -> bool:
        """Whether all of them are known."""
        return len(self._codes) >= 2

    def seen_labels(self) -> list[Any]:
        """Return the labels that are known to occur."""
        return [label for label in self.labels if label in self._codes]

    def by_code(self) -> list[Any]:
        """Return the labels by code; None for one that was not seen yet."""
        labels: list[Any] = [None] * max(2, len(self.labels))
        for label, code in self._codes.items():
            labels[code] = label
        return labels

    def encode(self, labels: list[Any]) -> list[int]:
        """Return the codes of labels. If there are too many classes, none is added."""
        try:
            return [self._codes[label] for label in labels]
        except KeyError:
            refuse_missing(as_array(labels))
        new = [_python_value(label) for label in dict.fromkeys(labels) if label not in self._codes]
        if self.are_given:
            raise ValueError(f"the label {new[0]!r} is not among the classes {self.labels!r}: pass all in classes=[…].")
        if len(self._codes) + len(new) > 2:
            known = [*self._codes, *new]
            raise ValueError(
                f"the label {known[2]!r} is a third class, after {known[0]!r} and {known[1]!r}: list all classes, as "
                f"in classes={known!r}."
            )
        for label in new:
            self._add(label)
        return [self._codes[label] for label in labels]

    def _add(self, label: Any) -> None:
        if not self._codes:
            code = int(label == 1)
            if label in (False, True):
                self.labels[code] = label
            else:
                self.labels = [label]
            self._codes = {label: code}
            return
        ((first, code),) = self._codes.items()
        self.labels = _sort([first, label] if code == 0 else [label, first])
        self._codes = {label: code for code, label in enumerate(self.labels)}
        self.swapped = self._codes[first] != code


def _python_value(label: Any) -> Any:
    """Return a label of numpy as a Python object."""
    return label.item() if isinstance(label, np.generic) else label


def _sort(labels: list[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:  # such as text and numbers
        return labels


def as_array(labels: list[Any]) -> NDArray[Any]:
    """Return labels of any kind as an array of objects."""
    return np.fromiter(labels, object, len(labels))
