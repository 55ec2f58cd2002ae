"""Files that are written completely or not at all, and never over a file that is being read.

Until it is complete, a file has a temporary name beside its own. The name identifies the process that writes it: its
number, when it started, and the machine since its last boot. So another process on the machine can find out whether
it is still running or was killed.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from thresher.io.file_errors import NamedOutput, name_file_in_errors, refuse_empty_path

_LONGEST_NAME = 255  # bytes, of most file systems
_PROCESS = re.compile(r"([1-9a-f][0-9a-f]{0,6})-([0-9a-f]{1,16})-([0-9a-f]{8})\.[0-9a-f]{8}\.part")


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that appears at `path` only if the block ends without an error: a temporary file is renamed.

    Temporary files of processes that were killed are removed.
    """
    target = target_of("output", path)
    if target.exists() and not target.is_file():
        # A pipe or a device can't be replaced.
        with io.BufferedWriter(NamedOutput(os.open(target, os.O_WRONLY), path)) as device:
            yield device
        return
    remove_orphans(target)
    temporary = temporary_path(target)
    with name_file_in_errors(path):
        number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # the umask applies
    try:
        with io.BufferedWriter(NamedOutput(number, path)) as file:
            yield file
            file.flush()
            with name_file_in_errors(path):
                os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def target_of(what: str, path: str | os.PathLike[str]) -> Path:
    """Return the file that an output replaces; raise an error if there can be none. `what` names the path."""
    refuse_empty_path(what, path)
    target = Path(os.path.realpath(path))  # a link stays; the file that it points to is replaced
    if target.is_dir():
        raise IsADirectoryError(f"{path}: this is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {Path(path).parent} does not exist.")
    if (target.is_file() or not target.exists()) and not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: permission denied.")
    return target


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power failure, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def refuse_inputs(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise ValueError if the output is one of the inputs, under any name; "-" is stdin."""
    refuse_empty_path("output", output)
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


def temporary_path(target: Path) -> Path:
    """Return a new temporary name for the file `target`."""
    pid = os.getpid()
    process = f"{pid:x}-{_start(pid) or 0:x}-{_machine()}"
    return target.with_name(f"{_prefix(target)}{process}.{secrets.token_hex(4)}.part")


def remove_orphans(target: Path) -> None:
    """Remove the temporary files of `target` whose processes ran on this machine and are gone."""
    prefix, machine = _prefix(target), _machine()
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            found = _PROCESS.fullmatch(entry.name.removeprefix(prefix)) if entry.name.startswith(prefix) else None
            if found is not None and found[3] == machine and not _is_alive(int(found[1], 16), int(found[2], 16)):
                with suppress(OSError):  # another process may have removed it
                    Path(entry.path).unlink()


def _prefix(target: Path) -> str:
    """Return the start of the names of a file's temporary files."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME - 60:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    return f".{name}."


def _is_alive(pid: int, start: int) -> bool:
    """Return whether the process with this number is the one that started then; a number can be used again."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is another user's
    return _start(pid) in (start, None)


def _start(pid: int) -> int | None:
    """Return when a process started, in ticks of the system's clock; -1 if it has ended, None if it is not known."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    state, *numbers = status.rpartition(b")")[2].split()  # the name before, in brackets, can have any characters
    return -1 if state in b"ZX" else int(numbers[18])


def _machine() -> str:
    """Return an id of the machine, its boot and its container: process ids mean nothing outside."""
    parts = [os.uname().nodename]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
