"""Helpers for messages: warnings that point to the caller's line, counts with their noun, short lists, texts, sizes."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TypeAlias

_MOST_COMPARED = 10_000  # names: a table can have millions


Spelling: TypeAlias = Callable[..., str]


def as_keyword(name: str, *value: object) -> str:
    """Return a parameter as in Python: "keep", or "shuffle=True" with a value; with ... as the value, "label="."""
    return "=".join([name, *("" if each is ... else as_literal(each) for each in value)])


def as_literal(value: object) -> str:
    """Return a value as in Python, but 8.0 as 8."""
    return f"{value:.10g}" if isinstance(value, float) else repr(value)


_spelling: Spelling = as_keyword


def spelling() -> Spelling:
    """Return how messages of this process write parameters."""
    return _spelling


def spell_parameters(new: Spelling) -> None:
    """Let messages of this process write parameters in another way, as the command line does."""
    global _spelling
    _spelling = new


def parameter(name: str, *value: object) -> str:
    """Return a parameter, with its value or without, as whoever reads the message would write it.

    Messages name all parameters by this: in a finished text they could not be told from the user's own words.
    """
    return _spelling(name, *value)


def warn(message: str, category: type[Warning]) -> None:
    """Warn with the line of the first caller outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("thresher.", "sklearn.")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def count_noun(n: int, noun: str) -> str:
    """Return "1 feature", "2,000 features"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def join_some(names: Sequence[str], most: int = 8) -> str:
    """Return "a, b, c", or the first few of them and how many there are."""
    return ", ".join(names[:most]) + (f", … ({len(names):,} in all)" if len(names) > most else "")


def shorten(text: str, most: int = 40) -> str:
    """Return a text, or the start of a long one."""
    return text if len(text) <= most else text[:most] + "…"


def value_text(value: object) -> str:
    """Return a value as people read it: "yes", "1,000", "0.5", "a, b"."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return join_some([value_text(each) for each in value], 20)
    if isinstance(value, dict):
        return ", ".join(f"{value_text(key)}: {value_text(each)}" for key, each in value.items())
    return str(value)


def join_and_suggest(names: Sequence[str], wanted: object) -> str:
    """Return "a, b, price." and, if the wanted name is similar to one of them, " Did you mean 'price'?"."""
    by_lower = {name.lower(): name for name in reversed(names[:_MOST_COMPARED])}
    near = difflib.get_close_matches(str(wanted).lower(), by_lower, 1)
    return f"{join_some(names)}." + (f" Did you mean {by_lower[near[0]]!r}?" if near else "")


def size_text(n_bytes: int) -> str:
    """Return "256 MB", which are 256·2²⁰ bytes, "64 KB", or "1,000 bytes"."""
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if n_bytes >= 1 << power and n_bytes % (1 << power) == 0:
            return f"{n_bytes >> power:,} {unit}"
    return count_noun(n_bytes, "byte")
