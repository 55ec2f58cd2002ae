"""Memory for the state of features, and errors that say what to do if there is not enough."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thresher.messages import parameter
from thresher.model.race import Learner


class NotEnoughMemoryError(ValueError):
    """There is not enough memory for such large ids."""


def reserve(learner: Learner, n_ids: int) -> None:
    """Allocate memory for ids below `n_ids`."""
    with explain_lack_of_memory_for(n_ids):
        learner.reserve(n_ids)


@contextmanager
def explain_lack_of_memory() -> Iterator[None]:
    """Raise an error with a remedy if memory runs out while a hash table grows."""
    try:
        yield
    except MemoryError:
        raise NotEnoughMemoryError(
            f"not enough memory for all features of these rows: use {parameter('memory', 'sketch')}."
        ) from None


@contextmanager
def explain_lack_of_memory_for(n_ids: int) -> Iterator[None]:
    """Raise an error with the number of ids if there is not enough memory for them."""
    try:
        yield
    except MemoryError:
        raise NotEnoughMemoryError(
            f"not enough memory for {n_ids} feature ids (4 or 8 bytes each, times the classes if there are more than "
            f"two): use {parameter('memory', 'hash')} or {parameter('memory', 'sketch')}."
        ) from None
