"""What the commands write to stderr, and words that several of them use."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from thresher.messages import counted


def say(line: str) -> None:
    """Write one line to stderr."""
    print(f"thresher: {line}", file=sys.stderr)


def report_skipped(reasons: Sequence[str], n: int) -> None:
    """Report lines of data that were skipped."""
    if n:
        say("1 line was skipped: " + reasons[0] if n == 1 else f"{n:,} lines were skipped; the first is {reasons[0]}")


def report_written(n_rows: int, path: str, what: str = "") -> None:
    """Report rows that were written."""
    size = f", {Path(path).stat().st_size:,} bytes" if Path(path).is_file() else ""
    say(f"wrote {counted(n_rows, 'row')}{what} to {'standard output' if path == '-' else path}{size}")


def listed(names: list[str]) -> str:
    """Return "a and b", or "20: a, b, c, …" where there are many."""
    if len(names) == 2:
        return " and ".join(names)
    return f"{len(names)}: {', '.join(names[:10])}" + (", …" if len(names) > 10 else "")
