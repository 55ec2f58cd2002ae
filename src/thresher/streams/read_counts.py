"""The counts of a reading: rows, and lines that were skipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from thresher.batch import Batch
from thresher.progress import progress_bar
from thresher.streams.stream import Stream

_MOST_REASONS = 100


@dataclass(kw_only=True)
class Skipped:
    """The lines or rows that were skipped, with `on_bad_line="skip"`.

    Attributes
    ----------
    n_skipped : int
        How many lines or rows.
    skipped : list of str
        Why; the first hundred.
    """

    n_skipped: int = 0
    skipped: list[str] = field(default_factory=list)

    def add_skipped(self, n: int, reasons: list[str]) -> None:
        """Add lines or rows that were skipped."""
        self.n_skipped += n
        self.skipped += reasons[: _MOST_REASONS - len(self.skipped)]


@dataclass
class ReadCounts(Skipped):
    """How many rows were read, and which lines were skipped.

    Attributes
    ----------
    n_rows : int
        Rows read.
    n_skipped, skipped : int and list of str
        Lines or rows that were skipped, with `on_bad_line="skip"`, and why; the first hundred.
    """

    n_rows: int = 0

    def count(self, batch: Batch) -> None:
        """Add what a batch holds."""
        self.n_rows += batch.n_rows
        self.add_skipped(len(batch.skipped), batch.skipped)

    def count_batches(self, stream: Stream, what: str, batches: Iterator[Batch], progress: bool) -> Iterator[Batch]:
        """Yield a stream's batches and count them, with a bar on stderr if `progress` and that is a terminal."""
        with progress_bar(what, stream, 1, progress) as bar:
            for batch in batches:
                self.count(batch)
                bar.advance(batch.n_bytes, batch.n_rows, None)
                yield batch
