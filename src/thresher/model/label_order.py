"""A test of whether the rows of a stream are grouped by label.

An online learner follows the rows that it saw last. On rows sorted by label it ends up with the last class, and while
the rows of a class pass by it predicts that class and is right: its mistakes then say nothing about new rows.

The rows are cut into 32 to 64 spans of equal length (up to 64 rows: of one row), and the rows of each class are
counted in each. In random order all spans have the same share of a class, except for chance. How much the spans say
about a class is measured by mutual information: MI of the row's span and whether it belongs to the class, and for
each window of consecutive spans, MI of whether the row is in the window and whether it belongs to the class. The
rows are *grouped by label* if for some class one window, or all spans together, are

significant
    In random order, so much information has a probability of at most 10⁻⁶, for all windows and classes together. With
    N rows, n of them of the class and w in the window, x rows of the class in the window have the probability
    C(w, x)·C(N − w, n − x) / C(N, n). Since √(N/(8n(N − n)))·exp(N·H(n/N)) ≤ C(N, n) ≤ exp(N·H(n/N)), where H is the
    entropy, that is at most √(8n(N − n)/N)·exp(−N·MI), and x has at most 1 + min(n, w, N − n, N − w) values. For all
    spans together it is the same, with the product of the numbers of values for each span.

and large
    For a window, MI is at least a twentieth of H(n/N), the entropy of the class: as much as 5 % of the rows with only
    one class have, or two halves with 63.5 % and 36.5 % of a class that has half of all rows. For all spans
    together it is at least a fifth: as much as in runs of about 2 % of the rows each. If the rows are sorted by label,
    MI is all of H.

The second condition is there because in a long stream even differences that do no harm are significant. Where it lies
was found by reordering the rows of real data: a model loses accuracy where a span with too many rows of a class is
long compared with the whole stream. The number of runs of equal labels says little. In runs of up to 1 % of the rows a
model learns as well as in random order, and makes as many mistakes on its way, but one run of 10 % at the end can cost
many points, although it hardly changes the number of runs (tests/model/test_label_order.py). So neither short runs and
strict alternation nor moderate drift of the shares over time count as grouped.

Sorted rows of two equal classes are found from 39 rows on; in a longer stream, a class whose rows are all side by
side from ten rows on.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.model.labels import Codes
from thresher.model.validators import dict_of, is_count, list_of

POOR_ON_GROUPED_ROWS = "Online learning gives poor results on such rows"

_MOST_SPANS = 64
_N_TESTS = 1 + _MOST_SPANS * (_MOST_SPANS + 1) // 2  # for each class: all spans together, and each window
_FALSE_ALARMS = 1e-6
_LARGE_WINDOW, _LARGE_TOTAL = 0.05, 0.2  # information, as a share of the entropy of a class


class Grouping(NamedTuple):
    """A window of rows in which the share of a class differs from that in the other rows. Row numbers start at 1."""

    first: int
    last: int
    share: float  # of the class, in the window
    share_elsewhere: float
    of: str = "one class"

    def __str__(self) -> str:
        return (
            f"the rows are grouped by label ({self.of}: {self.share:.0%} of rows {self.first:,} to {self.last:,}, "
            f"{self.share_elsewhere:.0%} of the others)"
        )


class LabelOrder:
    """Counts labels in spans of a stream, to find out whether its rows are grouped by label.

    The answer depends on the rows alone, not on how they are cut into batches. The state has 64 numbers per class.
    """

    def __init__(self, of: str = "one class") -> None:
        self._of = of  # what the first class is called, of two
        self._n_rows = 0
        self._length = 1  # of a span, in rows; doubled whenever there would be more than 64
        self._counts = np.zeros((_MOST_SPANS, 2), dtype=np.int64)
        self._next_check, self._seems_grouped = 1, False  # rows that are not of the largest class

    def add(self, codes: Codes) -> None:
        if len(codes) == 0:
            return
        n_classes = max(self._counts.shape[1], int(codes.max()) + 1)
        if n_classes > self._counts.shape[1]:
            self._counts = np.pad(self._counts, ((0, 0), (0, n_classes - self._counts.shape[1])))
        end = self._n_rows + len(codes)
        while end > self._length * _MOST_SPANS:
            self._length *= 2
            pairs = self._counts.reshape(_MOST_SPANS // 2, 2, n_classes).sum(axis=1)
            self._counts = np.concatenate([pairs, np.zeros_like(pairs)])
        spans = np.arange(self._n_rows, end) // self._length
        first, last = int(spans[0]), int(spans[-1])
        more = np.bincount((spans - first) * n_classes + codes, minlength=(last - first + 1) * n_classes)
        self._counts[first : last + 1] += more.reshape(-1, n_classes)
        self._n_rows = end

    @property
    def n_rows(self) -> int:
        return self._n_rows

    def seems_grouped(self) -> bool:
        """Return whether the rows so far are grouped by label, or of one class. Calls are cheap: few of them check.

        With many classes a check takes time, so there is one whenever the rows that are not of the largest class have
        doubled: sorted rows are detected soon after the second class begins.
        """
        n_others = self._n_rows - int(self._counts.sum(axis=0).max())
        if n_others >= self._next_check:
            self._next_check = 2 * n_others
            self._seems_grouped = self.grouping() is not None
        return n_others == 0 or self._seems_grouped

    def grouping(self) -> Grouping | None:
        """Return the window with the most information about a class, if the rows are grouped by label; else None."""
        lengths = self._counts.sum(axis=1)
        ends = np.cumsum(lengths[lengths > 0])
        counts = self._counts[: len(ends), self._counts.any(axis=0)]
        if counts.shape[1] <= 2:
            window = _find_window(counts[:, 0], ends, 1)[1] if counts.size else None  # of two, each says the same
            return None if window is None else window._replace(of=self._of)
        n_tables = counts.shape[1] + 1
        _, window = max((_find_window(of_class, ends, n_tables) for of_class in counts.T), key=itemgetter(0))
        if window is None:
            # Classes of a few rows each are too small to be found one by one; the lower half of the labels is not.
            lower = np.cumsum(counts.sum(axis=0)) <= self._n_rows / 2
            _, window = _find_window(counts[:, lower].sum(axis=1), ends, n_tables)
            window = None if window is None else window._replace(of="the lower half of the labels")
        return window

    def state(self) -> dict[str, Any]:
        return {"n_rows": self._n_rows, "length": self._length, "counts": self._counts.tolist()}

    @classmethod
    def from_state(cls, state: Any, n_classes: int, of: str = "one class") -> Self:
        """Return an object with the state that `state` returned. ValueError if the state is not valid."""
        sizes = {len(span) for span in state["counts"]} if _STATE(state) else set()
        is_possible = (
            len(sizes) == 1
            and len(state["counts"]) == _MOST_SPANS
            and 2 <= min(sizes) <= n_classes
            and state["n_rows"] <= _MOST_SPANS * state["length"]
            and state["n_rows"] == sum(map(sum, state["counts"]))
        )
        if not is_possible:
            raise ValueError("its counts of labels do not fit its classes.")
        order = cls(of)
        order._n_rows, order._length = state["n_rows"], state["length"]
        order._counts = np.array(state["counts"], dtype=np.int64)
        return order


_STATE = dict_of(n_rows=is_count, length=lambda n: is_count(n) and n > 0, counts=list_of(list_of(is_count)))


def _find_window(counts: NDArray[np.int64], ends: NDArray[np.int64], n_tables: int) -> tuple[float, Grouping | None]:
    """Return the MI/H of the window with the most information about a class, and the window, or 0 and None."""
    n_rows, n = int(ends[-1]), int(counts.sum())
    if n in (0, n_rows):
        return 0.0, None
    begin, end = np.triu_indices(len(ends) + 1, k=1)
    rows_until, class_until = np.append(0, ends), np.append(0, np.cumsum(counts))
    w, x = rows_until[end] - rows_until[begin], class_until[end] - class_until[begin]
    entropy = float(_entropy(np.array(n_rows), np.array(n)))
    of_window = entropy - _entropy(w, x) - _entropy(n_rows - w, n - x)
    lengths = np.diff(rows_until)
    in_total = entropy - float(_entropy(lengths, counts).sum())
    # The least information that is significant, but for the number of values that counts can have.
    least = 0.5 * math.log(8 * n * (n_rows - n) / n_rows) + math.log(n_tables * _N_TESTS / _FALSE_ALARMS)
    smaller = min(n, n_rows - n)
    n_values = 1 + np.minimum(np.minimum(w, n_rows - w), smaller)
    window_counts = (of_window >= least + np.log(n_values)) & (of_window >= _LARGE_WINDOW * entropy)
    least_total = least + float(np.log(1 + np.minimum(lengths, smaller)).sum())
    if not window_counts.any() and in_total < max(least_total, _LARGE_TOTAL * entropy):
        return 0.0, None
    best = int(of_window.argmax())
    rows, hits = int(w[best]), int(x[best])
    window = Grouping(
        int(rows_until[begin[best]]) + 1, int(rows_until[end[best]]), hits / rows, (n - hits) / (n_rows - rows)
    )
    return float(of_window[best]) / entropy, window


def _entropy(n_rows: NDArray[np.int64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return N·H(n/N)."""
    return np.asarray(_xlogx(n_rows) - _xlogx(n) - _xlogx(n_rows - n))


def _xlogx(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(counts * np.log(np.maximum(counts, 1)))
