"""Caches, models and checkpoints changed so that checksums, digests and offsets are still right.

The fuzz targets in Python forge what libFuzzer has changed; faults/mutations.py forges what it has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from isal.isal_zlib import crc32

from thresher.streams.formats.cache import PAD, TAIL

# Values that a careless check lets through.
VALUES: list[Any] = [
    -1, 0, 1, 2, 3, 63, 65, 2**31, 2**32 - 1, 2**53 + 1, 2**60, 2**63 - 1, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e300,
    1e-320, float("nan"), float("inf"), True, False, None, "", "x", "\ud800", "auto", "balanced", "hash", "dense",
    "sketch", "l2", "hinge", [], {}, [[]], [None], ["x"], [0], [0, 1], ["a", "b"], {"x": 1}, [[0, 1]], [["a", 1.0]],
]  # fmt: skip

_SIZES = {"I64": 8, "F32": 4, "U8": 1}
_DIGEST = 32


def cache(data: bytes, seed: int, by_itself: bool) -> bytes:
    """Return a cache with checksums that fit, nearly always; if `by_itself`, with another footer."""
    random = Random(seed)
    if len(data) < PAD + TAIL.size or random.randrange(16) == 0:
        return data
    length, _, magic = TAIL.unpack(data[-TAIL.size :])
    if length > len(data) - TAIL.size:
        length = max(len(data) - data.rfind(b'{"version"') - TAIL.size, 0)
    end = len(data) - TAIL.size - length
    body, text = data[:end], data[end : -TAIL.size]
    try:
        footer = json.loads(text)
        if by_itself:
            footer = changed(footer, random)
        for block in footer["blocks"]:
            block["crc"] = crc32(body[block["at"] : block["at"] + block["n_bytes"]])
        text = json.dumps(footer).encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        pass  # the text is kept, with its own checksum
    return body + text + TAIL.pack(len(text), crc32(text), magic)


def container(data: bytes, seed: int, by_itself: bool) -> bytes:
    """Return a model or checkpoint with a digest that fits, nearly always; if `by_itself`, with other metadata."""
    random = Random(seed)
    if len(data) < 8 + _DIGEST or random.randrange(16) == 0:
        return data
    try:
        header, length = json.JSONDecoder().raw_decode(data[8:].decode("latin-1").lstrip())
        tensors = data[8 + length : -_DIGEST].lstrip(b" ") if random.randrange(2) else data[8 + length : -_DIGEST]
        if by_itself and random.randrange(4):
            metadata = json.loads(header["__metadata__"]["thresher"])
            header["__metadata__"]["thresher"] = json.dumps(changed(metadata, random), sort_keys=True)
        elif by_itself:
            header = changed(header, random)
        if random.randrange(8):
            tensors = _laid_out(header, tensors)
        head = json.dumps(header).encode()
        head += b" " * (-len(head) % 8)
        content = len(head).to_bytes(8, "little") + head + tensors
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError, OverflowError):
        content = data[:-_DIGEST]
    return content + hashlib.sha256(content).digest()


def _laid_out(header: dict[str, Any], tensors: bytes) -> bytes:
    """Give tensors the offsets that their shapes need; return as many bytes."""
    at = 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        size = _SIZES[entry["dtype"]]
        for n in entry["shape"]:
            size *= n
        if not 0 <= at + size < 1 << 16:
            break
        entry["data_offsets"] = [at, at + size]
        at += size
    n = at - _DIGEST if "digest" in header else at
    return tensors[:n].ljust(n, b"\0")


def changed(value: Any, random: Random) -> Any:
    """Return JSON with one value replaced, removed, repeated or moved."""
    places = list(_places(value))
    *path, last = random.choice(places)
    if not path and last is None:
        return random.choice(VALUES)
    into = value
    for key in path:
        into = into[key]
    kind = random.randrange(8)
    if kind == 0:
        del into[last]
    elif kind == 1 and isinstance(into, list):
        into.insert(random.randrange(len(into) + 1), into[last])
    elif kind == 2 and len(places) > 2:
        *other, key = random.choice(places[1:])
        found = value
        for each in other:
            found = found[each]
        into[last] = found[key]
        if into[last] is into:  # JSON has no cycles
            into[last] = None
    elif kind == 3 and isinstance(into[last], int):
        into[last] += random.choice([-1, 1, 8, -8, 256, 2**32])
    elif kind == 4 and isinstance(into, dict):
        into[random.choice(["x", "kind", "n_rows", "keep"])] = into.pop(last)
    else:
        into[last] = random.choice(VALUES)
    return value


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place or (None,)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*place, key))
