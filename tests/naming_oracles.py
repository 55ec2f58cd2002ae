"""Names, tokens and rows as they are defined, one character at a time."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

MASK = 2**64 - 1


def fold(a: int, b: int) -> int:
    return (a * b >> 64) ^ (a * b & MASK)


def name_id(name: str) -> int:
    """Hash a name as names/hash.hpp says."""
    raw = name.encode()
    h = 0x243F6A8885A308D3
    for begin in range(0, len(raw), 8):
        h = fold(h ^ int.from_bytes(raw[begin : begin + 8], "little"), 0xB7E151628AED2A6B)
    return fold(h ^ len(raw), 0x6A09E667F3BCC909) >> 2


@cache
def with_the_hash_of(name: str) -> str:
    """Return another name of 16 letters with the same hash: the first half decides what the second must be."""
    raw = name.encode()
    key, seed = 0xB7E151628AED2A6B, 0x243F6A8885A308D3
    first, second = (int.from_bytes(part, "little") for part in (raw[:8], raw[8:]))
    wanted = fold(seed ^ first, key) ^ second
    for number in itertools.count():
        head = f"{number:08d}".encode()
        tail = (fold(seed ^ int.from_bytes(head, "little"), key) ^ wanted).to_bytes(8, "little")
        if all(33 <= byte < 127 and byte not in b":|=^\\" for byte in tail):
            return (head + tail).decode()
    raise AssertionError


def lower(letter: str) -> str:
    return letter.lower()[0]  # of İ alone it would be two characters


def words(text: str, lowercase: bool = True) -> list[str]:
    """Runs of letters, marks, numbers and underscores."""
    found = [""]
    for letter in text:
        if unicodedata.category(letter)[0] in "LMN" or letter == "_":
            found[-1] += lower(letter) if lowercase else letter
        elif found[-1]:
            found.append("")
    return [word for word in found if word]


def characters(text: str, lowercase: bool = False) -> list[str]:
    """Characters, with one space for any run of them."""
    plain = " ".join(text.split())
    return [lower(letter) if lowercase else letter for letter in plain]


def ngrams(tokens: list[str], least: int, most: int, glue: str) -> Iterator[str]:
    for begin in range(len(tokens)):
        for n in range(least, most + 1):
            if begin + n <= len(tokens):
                yield glue.join(tokens[begin : begin + n])


def text_features(text: str, least: int, most: int, analyzer: str, counts: bool, lowercase: bool) -> dict[str, float]:
    """Return the features of a text by name."""
    tokens, glue = (words(text, lowercase), " ") if analyzer == "word" else (characters(text, lowercase), "")
    found: dict[str, float] = {}
    for name in ngrams(tokens, least, most, glue):
        found[name] = found.get(name, 0.0) + 1.0 if counts else 1.0
    return found


def escaped(column: str) -> str:
    """Return a column as it stands in the name of a feature."""
    return "".join(f"\\{letter}" if letter in "=^\\" else letter for letter in column)


def vw_name(space: str, name: str) -> str:
    """Return the name of a feature of VW text."""
    if space:
        return f"{escaped(space)}^{name}"
    column, equals, value = name.partition("=")
    return f"{escaped(column)}{equals}{value}"


def as_row(features: dict[str, float]) -> list[tuple[int, float]]:
    """Return named features as a row: ids ascending, with their values."""
    return sorted((name_id(name), value) for name, value in features.items())


def rows_of(starts: Iterable[int], ids: Iterable[int], values: Iterable[float]) -> list[list[tuple[int, float]]]:
    """Return CSR arrays as lists of (id, value)."""
    starts, pairs = list(map(int, starts)), list(zip(map(int, ids), map(float, values), strict=True))
    return [pairs[a:b] for a, b in itertools.pairwise(starts)]
