"""Mutations of model files and checkpoints that keep offsets and the digest right."""

from __future__ import annotations

import hashlib
import json
from random import Random
from typing import Any

from forged import changed

_SIZES = {"I64": 8, "F32": 4, "U8": 1}
_DIGEST = 32


def mutated(data: bytes, seed: int, by_itself: bool) -> bytes:
    """Return a file with a digest that fits, nearly always; if `by_itself`, with other metadata or tensors."""
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
