"""What the core's readers return, by name."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.model.names import BatchNames


class ParsedRows(NamedTuple):
    """Rows in canonical CSR, and what else their reader found.

    Attributes
    ----------
    starts, ids, values : array
    labels : array of float64
        Numbers; `words` has those that float64 can't hold.
    words : list of (int, str)
        Row and label: text, where `labels` has 0 or NaN, or the digits of a whole number from 2^53 on, which `labels`
        has rounded.
    importances : array of float64, or None if all are 1
    lines : array of int32
        The line of each row, from 0.
    bad : list of (int, str)
        Lines that can't be read, and why.
    n_lines, largest_id : int
    zero_seen : bool
        Whether id 0 occurs.
    namespace : str or None
        The namespace of VW text whose names are numbers.
    names : BatchNames or None
        Where features have names.
    ends_too_long : bool
        Whether the text was cut before a line that is longer than allowed.
    """

    starts: NDArray[Any]
    ids: NDArray[Any]
    values: NDArray[np.float32]
    labels: NDArray[np.float64]
    words: list[tuple[int, str]]
    importances: NDArray[np.float64] | None
    lines: NDArray[np.int32]
    bad: list[tuple[int, str]]
    n_lines: int
    largest_id: int
    zero_seen: bool
    namespace: str | None
    names: BatchNames | None
    ends_too_long: bool

    @classmethod
    def of(cls, found: _core.ParsedText) -> Self:
        """Return what a reader of the core found."""
        names = found[-2]
        return cls(*found[:-2], None if names is None else BatchNames(*names), found[-1])
