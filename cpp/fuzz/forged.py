"""What the fuzz targets in Python share: files in memory, and mutations of JSON with any value in any place."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

warnings.simplefilter("ignore")

# Values that a careless check lets through.
VALUES: list[Any] = [
    -1, 0, 1, 2, 3, 63, 65, 2**31, 2**32 - 1, 2**53 + 1, 2**60, 2**63 - 1, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e300,
    1e-320, float("nan"), float("inf"), True, False, None, "", "x", "\ud800", "auto", "balanced", "hash", "dense",
    "sketch", "l2", "hinge", [], {}, [[]], [None], ["x"], [0], [0, 1], ["a", "b"], {"x": 1}, [[0, 1]], [["a", 1.0]],
]  # fmt: skip

# In memory where there is such a folder: what is written here is flushed to the disk each time.
ROOM = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


@contextmanager
def file_of(data: bytes) -> Iterator[str]:
    """Yield the path of a file in memory with this content."""
    number = os.memfd_create("input")
    try:
        os.write(number, data)
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


def check_refusal(error: Exception, path: str) -> None:
    """Raise an error that is no proper refusal: one line that names the file."""
    message = str(error)
    if not message.startswith(path) or "\n" in message:
        raise error


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
