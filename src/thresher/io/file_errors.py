"""Errors of the operating system, with the name of their file.

Python names a file that can't be opened, but not one that can't be read or written: the disk may be full, or fail.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# What is wrong with a file that can't be opened; these stay what they are, others become a FileError.
_WORDS: dict[type[OSError], str] = {
    FileNotFoundError: "no such file", IsADirectoryError: "this is a folder, not a file",
    PermissionError: "permission denied",
}  # fmt: skip


class FileError(OSError):
    """An error of the operating system; its message starts with the name of the file."""

    def __str__(self) -> str:
        return error_text(self)


def error_text(error: Exception) -> str:
    """Return an error's message; for an error of the operating system, the file and what is wrong with it."""
    if not isinstance(error, OSError) or error.filename is None or not error.strerror:
        return str(error)
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    return f"{name}: {error.strerror[0].lower()}{error.strerror[1:]}."


@contextmanager
def name_file_in_errors(name: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error of the operating system into one line that names the file as the user does.

    A pipe that its reader has closed stays a BrokenPipeError: that is not an error of the user.
    """
    try:
        yield
    except (BrokenPipeError, FileError):
        raise
    except OSError as error:
        if error.errno is None:  # it has a message of its own
            raise
        if type(error) in _WORDS:
            raise type(error)(f"{os.fspath(name)}: {_WORDS[type(error)]}.") from None
        raise FileError(error.errno, error.strerror, os.fspath(name)) from None


def refuse_empty_path(what: str, path: str | os.PathLike[str]) -> None:
    """Raise ValueError for the path "", which Python takes for the current folder; `what` names the path."""
    if not os.fspath(path):
        raise ValueError(f"{what}: the path is empty; name a file.")


class NamedOutput(io.FileIO):
    """A file to write to, by its number, whose errors name it as the user does: not by a temporary name."""

    def __init__(self, number: int, name: str | os.PathLike[str], closefd: bool = True) -> None:
        super().__init__(number, "wb", closefd)
        self._shown = name

    def write(self, part: Any) -> int:
        """Write a part of it, as much as possible."""
        with name_file_in_errors(self._shown):
            return super().write(part)
