"""Numbers as the command line has them, sizes such as 64M among them.

Text that is no number stays text, so that it is refused where the value is checked: in one line that names the option,
what was given, and what is allowed.
"""

from __future__ import annotations

from typing import Any

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30}


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
SIZE: dict[str, Any] = {"metavar": "N|NK|NM|NG"}


def n_bytes(option: str, text: str, least: int, most: int) -> int:
    """Return a number of bytes; an error names the option."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].upper() in ("K", "M", "G") else (text, "")
    if not (number.isascii() and number.isdigit() and len(number) < 20):
        raise ValueError(f"{option} must be a number of bytes, as 64M. Got {text!r} instead.")
    size = int(number) << _UNITS[unit]
    if not least <= size <= most:
        raise ValueError(f"{option} must be from {_short(least)} to {_short(most)}. Got {text!r} instead.")
    return size


def _short(size: int) -> str:
    """Return the shortest way to write a size."""
    return min((f"{size >> power}{unit}" for unit, power in _UNITS.items() if size % (1 << power) == 0), key=len)
