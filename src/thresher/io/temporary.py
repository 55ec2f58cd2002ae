"""Temporary files beside the file that they become, and what is left of them by processes that were killed.

The name has the process that writes it: its number, when it started, and its machine since it was last started. So
another process of the machine can tell whether it is still at work.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

_LONGEST_NAME = 255  # bytes, of most file systems
_PROCESS = re.compile(r"([1-9a-f][0-9a-f]{0,6})-([0-9a-f]{1,16})-([0-9a-f]{8})\.[0-9a-f]{8}\.part")


def temporary_path(target: Path) -> Path:
    """Return a new name for what is to become the file `target`."""
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
