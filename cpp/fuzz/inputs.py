"""What the fuzz targets in Python share: inputs as files in memory, and what a refusal must look like."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

warnings.simplefilter("ignore")

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
