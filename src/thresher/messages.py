"""Helpers for messages: warnings that point to the caller's line, and counts with their noun."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning]) -> None:
    """Warn with the line of the first caller outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("thresher.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def counted(n: int, noun: str) -> str:
    """Return "1 feature", "2,000 features"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
