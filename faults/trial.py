"""The surroundings of a fault: a folder, a size, a seed; and the error of a promise that does not hold."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

Figures: TypeAlias = dict[str, Any]
_Value = TypeVar("_Value")

SEED = 20_260


class BrokenPromiseError(Exception):
    """Something is not as promised; the message says what."""


@dataclass(frozen=True)
class Trial:
    """Where a fault is tried out.

    Attributes
    ----------
    folder : Path
        An empty folder.
    smallest : bool
        Whether every part is to run once, in seconds.
    """

    folder: Path
    smallest: bool

    def size(self, full: _Value, smallest: _Value) -> _Value:
        """Return the value for the form that is run."""
        return smallest if self.smallest else full

    def random(self, fault: str) -> np.random.Generator:
        """Return the generator of a fault, which does not depend on the others."""
        return np.random.default_rng([SEED, *fault.encode()])

    def say(self, text: str) -> None:
        """Report progress."""
        print(f"    {text}", file=sys.stderr, flush=True)


def demand(holds: bool, what: str) -> None:
    """Raise BrokenPromiseError unless something holds."""
    if not holds:
        raise BrokenPromiseError(what)
