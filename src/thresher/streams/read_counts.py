"""The counts of a reading: rows, and lines that were skipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from thresher.batch import Batch
from thresher.progress import progress_bar
from thresher.streams.stream import Stream

_MOST_REASONS = 100


class Skips(Protocol):
    """An object with a count of skipped lines and the first reasons."""

    n_skipped: int
    skipped: list[str]


def add_skipped(total: Skips, n: int, reasons: list[str]) -> None:
    """Add lines that were skipped; the first hundred reasons are kept."""
    total.n_skipped += n
    total.skipped += reasons[: _MOST_REASONS - len(total.skipped)]


@dataclass
class Reading:
    """How many rows were read, and which lines were skipped.

    Attributes
    ----------
    n_rows : int
        Rows read.
    n_skipped : int
        Lines or rows that were skipped, with `on_bad_line="skip"`.
    skipped : list of str
        Why; the first hundred.
    """

    n_rows: int = 0
    n_skipped: int = 0
    skipped: list[str] = field(default_factory=list)

    def count(self, batch: Batch) -> None:
        """Add what a batch holds."""
        self.n_rows += batch.n_rows
        add_skipped(self, len(batch.skipped), batch.skipped)

    def count_batches(self, stream: Stream, what: str, batches: Iterator[Batch], progress: bool) -> Iterator[Batch]:
        """Yield a stream's batches and count them, with a bar on stderr if `progress` and that is a terminal."""
        with progress_bar(what, stream, 1, progress) as bar:
            for batch in batches:
                self.count(batch)
                bar.advance(batch.n_bytes, batch.n_rows, None)
                yield batch
