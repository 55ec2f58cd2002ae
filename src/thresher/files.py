"""Writing files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that appears at `path` only when the block ends without an error: written beside it, then renamed."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder; name a file in it.")
    try:
        number, beside = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}.") from None
    except PermissionError:
        raise PermissionError(f"{path}: may not be written.") from None
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp is strict; a file of the user's has the rights that the user's other files have.
        mask = os.umask(0)
        os.umask(mask)
        Path(beside).chmod(0o666 & ~mask)
        Path(beside).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename last through a power cut, where the system lets us."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
