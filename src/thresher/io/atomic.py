"""Files that are written completely or not at all, and never over a file that is being read."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from thresher.io.file_errors import FileError, NamedOutput, errors_of, refuse_empty
from thresher.io.temporary import remove_orphans, temporary_path


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that appears at `path` only if the block ends without an error: a temporary file is renamed.

    What is left of it by a process that was killed is removed.
    """
    refuse_empty("output", path)
    target = Path(os.path.realpath(path))  # a link stays; the file that it points to is replaced
    if target.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder: give the name of a file in it.")
    if target.exists() and not target.is_file():
        # A pipe or a device can't be replaced.
        with io.BufferedWriter(NamedOutput(os.open(target, os.O_WRONLY), path)) as device:
            yield device
        return
    remove_orphans(target)
    temporary = temporary_path(target)
    try:
        number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # the umask applies
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist.") from None
    except PermissionError:
        raise PermissionError(f"{path}: permission denied.") from None
    except OSError as error:
        raise FileError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with io.BufferedWriter(NamedOutput(number, path)) as file:
            yield file
            file.flush()
            with errors_of(path):
                os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
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
    refuse_empty("output", output)
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
