"""Ways to spoil a file: bytes, lines and tokens of any format, and contents of ours whose checksums are right."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from isal.isal_zlib import crc32
from safetensors.numpy import load as load_tensors

from thresher.io.container import serialized
from thresher.streams.formats.cache_footer import TAIL

Random = np.random.Generator
Mutation = Callable[[bytes, Random], bytes]

ABSURD: tuple[Any, ...] = (
    -1, 0, 1, 7, 2**31 - 1, 2**31, 2**32, 2**60, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400, 0.5, 1e300, True, None,
    "", "x", "\0", [], {}, [0], [[]], ["x"], {"x": 1}, "y" * 1_000,
)  # fmt: skip
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
    """Change a block or the footer of a cache, and all checksums with it."""
    length, _, magic = TAIL.unpack(raw[-TAIL.size :])
    body, footer = bytearray(raw[: -TAIL.size - length]), json.loads(raw[-TAIL.size - length : -TAIL.size])
    if random.random() < 0.6:
        block = footer["blocks"][int(random.integers(len(footer["blocks"])))]
        begin, end = block["at"], block["at"] + block["n_bytes"]
        payload = OF_BINARY[int(random.choice([0, 1, 4]))](bytes(body[begin:end]), random)
        body[begin:end] = payload
        block["crc"] = crc32(payload)
    else:
        footer = with_absurd(footer, random)
    text = json.dumps(footer).encode()
    return bytes(body) + text + TAIL.pack(len(text), crc32(text), magic)


def forge_container(raw: bytes, random: Random) -> bytes:
    """Change a tensor or the metadata of a model or checkpoint, and the digest with it."""
    length = int.from_bytes(raw[:8], "little")
    metadata = json.loads(json.loads(raw[8 : 8 + length])["__metadata__"]["thresher"])
    tensors = {name: tensor for name, tensor in load_tensors(raw).items() if name != "digest"}
    order = list(json.loads(raw[8 : 8 + length]))
    tensors = {name: tensors[name] for name in order if name in tensors}
    if random.random() < 0.4:
        name = str(random.choice([name for name, tensor in tensors.items() if tensor.nbytes]))
        tensor = tensors[name]
        spoiled = OF_BINARY[int(random.choice([0, 1, 4]))](tensor.tobytes(), random)
        tensors[name] = np.frombuffer(spoiled, tensor.dtype).reshape(tensor.shape)
        if random.random() < 0.2:
            tensors[name] = tensors[name][:-1]
    else:
        metadata = with_absurd(metadata, random)
    try:
        return b"".join(serialized(tensors, metadata))
    except ValueError:  # JSON has no such number
        return flip_bytes(raw, random)


def with_absurd(content: Any, random: Random) -> Any:
    """Return JSON with one value replaced by an absurd one, or removed."""
    places = list(_places(content))[1:]
    *path, last = places[int(random.integers(len(places)))]
    content = copy.deepcopy(content)
    into = content
    for key in path:
        into = into[key]
    if random.random() < 0.1:
        del into[last]
    else:
        into[last] = ABSURD[int(random.integers(len(ABSURD)))]
    return content


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*place, key))
