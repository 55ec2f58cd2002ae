"""Ways to spoil a file: bytes, lines and tokens of any format, and contents of ours whose checksums are right."""

from __future__ import annotations

import re
from collections.abc import Callable

import forged
import numpy as np

Random = np.random.Generator
Mutation = Callable[[bytes, Random], bytes]

_TOKENS = (
    b"", b"-1", b"0", b"99999999999999999999", b"9223372036854775807", b"1e999", b"nan", b"inf", b":", b"|", b",", b'"',
    b"{", b"}", b"[", b"\\", b"\\u", b"\xff\xfe", b"\0", b"#", b"\r", b"\n", b"1:1:1", b"x" * 70_000, b"7" * 5_000,
)  # fmt: skip


def flip_bytes(raw: bytes, random: Random) -> bytes:
    """Replace some bytes by others."""
    out = bytearray(raw)
    for at in random.integers(len(raw), size=int(random.integers(1, 9))):
        out[at] = int(random.integers(256))
    return bytes(out)


def flip_bits(raw: bytes, random: Random) -> bytes:
    """Flip some bits."""
    out = bytearray(raw)
    for at in random.integers(8 * len(raw), size=int(random.integers(1, 5))):
        out[at // 8] ^= 1 << int(at % 8)
    return bytes(out)


def cut(raw: bytes, random: Random) -> bytes:
    """Leave out the end, or a part in between."""
    begin, end = sorted(random.integers(len(raw) + 1, size=2).tolist())
    return raw[:begin] if random.random() < 0.5 else raw[:begin] + raw[end:]


def repeat(raw: bytes, random: Random) -> bytes:
    """Put a part of the file somewhere else, too."""
    begin, end, at = sorted(random.integers(len(raw) + 1, size=3).tolist())
    return raw[:at] + raw[begin:end] + raw[at:]


def cut_lines(raw: bytes, random: Random) -> bytes:
    """Truncate some lines."""
    lines = raw.split(b"\n")
    for at in random.integers(len(lines), size=int(random.integers(1, 4))):
        lines[at] = lines[at][: int(random.integers(len(lines[at]) + 1))]
    return b"\n".join(lines)


def swap_tokens(raw: bytes, random: Random) -> bytes:
    """Exchange two tokens, or the characters between them."""
    tokens = re.split(rb"([\s:|,;\"{}]+)", raw)
    for _ in range(int(random.integers(1, 4))):
        a, b = random.integers(len(tokens), size=2)
        tokens[a], tokens[b] = tokens[b], tokens[a]
    return b"".join(tokens)


def replace_token(raw: bytes, random: Random) -> bytes:
    """Write something absurd instead of a token."""
    tokens = re.split(rb"([\s:|,;\"{}]+)", raw)
    tokens[int(random.integers(len(tokens)))] = _TOKENS[int(random.integers(len(_TOKENS)))]
    return b"".join(tokens)


def replace_number(raw: bytes, random: Random) -> bytes:
    """Overwrite 1, 2, 4 or 8 bytes with a number at the end of its range: offsets and lengths are out of range."""
    size = int(random.choice([1, 2, 4, 8]))
    value = int(random.choice([0, 1, -1, -2, 2, 64])) if random.random() < 0.5 else 1 << int(random.integers(8 * size))
    out, at = bytearray(raw), int(random.integers(len(raw)))
    # Most numbers lie at multiples of their size.
    at -= at % size if random.random() < 0.7 else 0
    part = (value % (1 << 8 * size)).to_bytes(size, "little")
    out[at : at + size] = part[: len(raw) - at]
    return bytes(out)


OF_TEXT: tuple[Mutation, ...] = (flip_bytes, flip_bits, cut, repeat, cut_lines, swap_tokens, replace_token)
OF_BINARY: tuple[Mutation, ...] = (flip_bytes, flip_bits, cut, repeat, replace_number, replace_number)


def forge_cache(raw: bytes, random: Random) -> bytes:
    """Change bytes or the footer of a cache, and all checksums with it."""
    return _forged(forged.cache, raw, random)


def forge_container(raw: bytes, random: Random) -> bytes:
    """Change bytes or the metadata of a model or checkpoint, and the digest with it."""
    return _forged(forged.container, raw, random)


def _forged(mutated: Callable[[bytes, int, bool], bytes], raw: bytes, random: Random) -> bytes:
    has_own_changes = random.random() < 0.5
    changed = raw if has_own_changes else OF_BINARY[int(random.choice([0, 1, 4]))](raw, random)
    return mutated(changed, int(random.integers(2**31)), has_own_changes)
