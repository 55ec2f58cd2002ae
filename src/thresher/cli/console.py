"""What the commands say on stderr."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Say one line."""
    print(f"thresher: {line}", file=sys.stderr)


def skipped_lines(first: list[str], n: int) -> None:
    """Report lines of data that were passed over."""
    if n:
        say(f"{n:,} lines were skipped; the first is {first[0]}")
