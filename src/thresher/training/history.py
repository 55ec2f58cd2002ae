"""What happened in a training run."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from thresher.race import Look


@dataclass
class History:
    """What happened in training. The lists have one entry for each point in time.

    Attributes
    ----------
    rows, seconds : list
        Rows learned so far, all passes together, and the time since training began.
    error, loss : list of float
        Share of rows predicted wrong just before they were learned, and the mean loss so far: the squared hinge for
        second-order methods, the hinge or perceptron loss for the others. Empty for batch methods, which learn once.
    validation : list of float or None
        Accuracy on the validation data, at the end of each pass; else None.
    skipped : list of str
        Lines that were skipped, and why; the first hundred.
    n_validation_rows : int
        How many rows the validation data have.
    n_skipped, n_bytes, n_passes : int
        How many lines were skipped, how many bytes were read, and how many passes were begun.
    interrupted : bool
        Whether Ctrl-C ended it early.
    shuffled : bool
        Whether the rows were learned in random order.
    grouped_by_label : bool
        Whether the rows were learned in an order grouped by label (docs/order.md). `error` and `loss` then say nothing
        about new rows.
    race : list of dict
        With gamma="auto", how the race for γ went in this run: each time that some could be dropped, the `rows` so far,
        the values of `gamma` that were left, their `mistakes` (weighted by the rows' weights) and `loss`, which were
        `dropped`, and the `reason`: "behind", "memory", or "end" of the rows.
    """

    rows: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    validation: list[float | None] = field(default_factory=list)
    n_validation_rows: int = 0
    skipped: list[str] = field(default_factory=list)
    n_skipped: int = 0
    n_passes: int = 0
    n_bytes: int = 0
    interrupted: bool = False
    shuffled: bool = False
    grouped_by_label: bool = False
    race: list[Look] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """Return the history as values for JSON."""
        return asdict(self)

    @classmethod
    def resumed(cls, state: dict[str, Any]) -> Self:
        """Return a history with the values that `state` returned."""
        return cls(**copy.deepcopy(state))
