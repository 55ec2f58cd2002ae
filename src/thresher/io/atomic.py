"""Files that are written completely or not at all, and never over a file that is being read."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that appears at `path` only if the block ends without an error: a temporary file is renamed."""
    target = Path(os.path.realpath(path))  # a link stays; the file that it points to is replaced
    if target.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder: give the name of a file in it.")
    if target.exists() and not target.is_file():
        with target.open("wb") as device:  # a pipe or a device can't be replaced
            yield device
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # the umask applies
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist.") from None
    except PermissionError:
        raise PermissionError(f"{path}: permission denied.") from None
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise OSError(f"{path}: no space left on the disk.") from None
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power failure, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refuse_inputs(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise ValueError if a file to be written is one of those to be read, under whatever name; "-" is stdin."""
    try:
        target = Path(output).stat()
    except OSError:
        return  # there is no such file yet
    if not stat.S_ISREG(target.st_mode):
        return  # a terminal or a device may be both
    for path in inputs:
        with suppress(OSError):
            if os.path.samestat(target, os.fstat(0) if path == "-" else Path(path).stat()):
                name = "standard input" if path == "-" else path
                raise ValueError(f"{output}: this file is also an input ({name}); write to another file.")
