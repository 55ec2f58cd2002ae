"""What the commands say on stderr."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Say one line."""
    print(f"thresher: {line}", file=sys.stderr)


def skipped_lines(first: list[str], n: int) -> None:
    """Report lines of data that were passed over."""
    if n:
        told = "1 line was skipped: " if n == 1 else f"{n:,} lines were skipped; the first is "
        say(told + first[0])
