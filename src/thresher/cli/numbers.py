"""Numbers as the command line has them.

Text that is no number stays text, so that it is refused where the value is checked: in one line that names the option,
what was given, and what is allowed.
"""

from __future__ import annotations

from typing import Any


def whole_or_text(text: str) -> int | str:
    """Return a whole number, or what was given instead."""
    try:
        return int(text)
    except ValueError:
        return text


def number_or_text(text: str) -> float | str:
    """Return a number, or what was given instead."""
    try:
        return float(text)
    except ValueError:
        return text


# How an option is parsed and shown, for typer.
WHOLE: dict[str, Any] = {"parser": whole_or_text, "metavar": "N"}
NUMBER: dict[str, Any] = {"parser": number_or_text, "metavar": "X"}
