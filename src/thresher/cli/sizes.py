"""Sizes as the command line has them: 64M."""

from __future__ import annotations

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30}
METAVAR = "N|NK|NM|NG"


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
