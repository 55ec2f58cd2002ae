"""Writing files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that appears at `path` only when the block ends without an error: written beside it, then renamed."""
    target = Path(os.path.realpath(path))  # what a link points to is written, not the link
    if target.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder; name a file in it.")
    if target.exists() and not target.is_file():
        with target.open("wb") as device:  # a pipe or a device can't be replaced
            yield device
        return
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
        Path(beside).chmod(_mode(target))
        Path(beside).replace(target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise OSError(f"{path}: there is no space left on the disk.") from None
        raise
    _sync_folder(target.parent)


def _mode(target: Path) -> int:
    """Return the rights that a file is to have: those it had, or those of the user's other new files."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename last through a power cut, where the system lets us."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
