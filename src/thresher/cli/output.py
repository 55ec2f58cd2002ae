"""Output of commands other than rows: lines on stderr, reports, and the check that files can be written."""

from __future__ import annotations

import errno
import io
import itertools
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from thresher.io.atomic import target_of
from thresher.io.file_errors import FileError, NamedOutput
from thresher.messages import count_noun, join_some

if TYPE_CHECKING:
    from thresher.evaluation.base import Evaluation
    from thresher.streams import Stream
    from thresher.streams.read_counts import Skipped

_WHAT = {"-o": "model", "--report": "report", "--checkpoint": "checkpoint"}


def name_standard_streams() -> None:
    """Make errors of writing to standard output name it, also if it is closed."""
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
    """Standard output that was closed by the program that started the process."""

    def writable(self) -> bool:
        return True

    def write(self, _part: Any) -> NoReturn:
        raise FileError(errno.EBADF, "it is closed", "standard output")


def say(line: str) -> None:
    """Write one line to stderr."""
    print(f"thresher: {line}", file=sys.stderr)


def report_skipped(found: Skipped | Evaluation) -> None:
    """Report lines of data that were skipped."""
    n, first = found.n_skipped, "".join(found.skipped[:1])
    if n:
        say(f"1 line was skipped: {first}" if n == 1 else f"{n:,} lines were skipped; the first is {first}")


def report_written(n_rows: int, path: str, what: str = "") -> None:
    """Report rows that were written."""
    size = f", {Path(path).stat().st_size:,} bytes" if Path(path).is_file() else ""
    say(f"wrote {count_noun(n_rows, 'row')}{what} to {'standard output' if path == '-' else path}{size}")


def join_names(names: list[str]) -> str:
    """Return "a and b"; "a, b, c"; or "a, b, … (20 in all)" where there are many."""
    return " and ".join(names) if len(names) == 2 else join_some(names, 10)


def _check_writable(option: str, output: str) -> None:
    """Raise an error if no file can be written there."""
    if output == "-":
        raise ValueError(f"{option} -: a {_WHAT[option]} can't be written to standard output; name a file.")
    target_of(option, output)


def _check_report(report: str) -> None:
    """Raise an error if no report can be written: for its name, or because a package is missing."""
    from thresher.report import environment

    if Path(report).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--report {report}: a report is a web page; its name must end in .html or .htm.")
    try:
        environment()
    except ImportError as error:
        raise ValueError(f"--report: {error}") from None


def check_outputs(outputs: dict[str, str | None]) -> None:
    """Raise an error if two options name the same file, or one that can't be written."""
    given = [(option, path) for option, path in outputs.items() if path is not None]
    for (one, path), (other, same) in itertools.combinations(given, 2):
        if Path(path).absolute() == Path(same).absolute():
            raise ValueError(f"{one} and {other} name the same file, {same}: name two.")
    for option, path in given:
        _check_writable(option, path)
        if option == "--report":
            _check_report(path)


def write_page(report: str, model: Any, stream: Stream, **parts: Any) -> None:
    """Write the report of a run on a stream, with the command as it was typed."""
    from thresher.report import write_report

    command = shlex.join(["thresher", *sys.argv[1:]])
    write_report(report, model, **parts, title=Path(stream.name).name, command=command)


def written_line(path: str) -> str:
    """Return the line that reports a written file."""
    return f"wrote {path}, {Path(path).stat().st_size:,} bytes"
