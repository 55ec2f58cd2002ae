"""What the commands say and show on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from thresher.model import Model
from thresher.progress import progress_bar
from thresher.streams import Batch, Stream
from thresher.streams.alignment import batches_for


def say(line: str) -> None:
    """Say one line."""
    print(f"thresher: {line}", file=sys.stderr)


def skipped_lines(first: list[str], n: int) -> None:
    """Report lines of data that were passed over."""
    if n:
        told = "1 line was skipped: " if n == 1 else f"{n:,} lines were skipped; the first is "
        say(told + first[0])


def watched(stream: Stream, what: str, model: Model | None = None) -> Iterator[Batch]:
    """Yield the batches with a progress bar, and report skipped lines at the end."""
    first: list[str] = []
    n_skipped = 0
    with progress_bar(what, stream, 1, wanted=True) as bar:
        for batch in stream.batches() if model is None else batches_for(model, stream):
            n_skipped += len(batch.skipped)
            first += batch.skipped[: 1 - len(first)]
            bar.advance(batch.n_bytes, batch.n_rows, None)
            yield batch
    skipped_lines(first, n_skipped)


def told_together(names: list[str]) -> str:
    """Return "a and b", or "20: a, b, c, …" where there are many."""
    if len(names) == 2:
        return " and ".join(names)
    return f"{len(names)}: {', '.join(names[:10])}" + (", …" if len(names) > 10 else "")
