"""Standard output and stderr, what the commands write to stderr, and words that several of them use."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from thresher.io.file_errors import FileError, NamedOutput
from thresher.messages import counted, some


def name_standard_streams() -> None:
    """Let errors of writing to standard output name it, also if it is closed."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 for the rest of the process
    if sys.stdout is not sys.__stdout__:
        return  # it is not the process's own
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), encoding="utf-8")
        return
    raw = NamedOutput(sys.stdout.fileno(), "standard output", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), sys.stdout.encoding, sys.stdout.errors,
        line_buffering=sys.stdout.line_buffering or sys.stdout.write_through,
    )  # fmt: skip


class _Closed(io.RawIOBase):
    """Standard output that was closed by whoever started the process."""

    def writable(self) -> bool:
        return True

    def write(self, _part: Any) -> NoReturn:
        raise FileError(errno.EBADF, "it is closed", "standard output")


def say(line: str) -> None:
    """Write one line to stderr."""
    print(f"thresher: {line}", file=sys.stderr)


def report_skipped(reasons: Sequence[str], n: int) -> None:
    """Report lines of data that were skipped."""
    if n:
        say("1 line was skipped: " + reasons[0] if n == 1 else f"{n:,} lines were skipped; the first is {reasons[0]}")


def report_written(n_rows: int, path: str, what: str = "") -> None:
    """Report rows that were written."""
    size = f", {Path(path).stat().st_size:,} bytes" if Path(path).is_file() else ""
    say(f"wrote {counted(n_rows, 'row')}{what} to {'standard output' if path == '-' else path}{size}")


def listed(names: list[str]) -> str:
    """Return "a and b"; "a, b, c"; or "a, b, … (20 in all)" where there are many."""
    return " and ".join(names) if len(names) == 2 else some(names, 10)
