"""Files that commands write, besides rows: whether they can be written, before the work, and the report."""

from __future__ import annotations

import itertools
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.io.file_errors import refuse_empty

if TYPE_CHECKING:
    from thresher.streams import Stream

Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a web page on the run to this file: how it learned, how good it is, and what it selected.",
        show_default=False,
    ),
]
_WHAT = {"-o": "model", "--report": "report", "--checkpoint": "checkpoint"}


def check_place(option: str, output: str) -> None:
    """Raise an error if no file can be written there."""
    refuse_empty(option, output)
    if output == "-":
        raise ValueError(f"{option} -: a {_WHAT[option]} can't be written to standard output; name a file.")
    if Path(output).is_dir():
        raise IsADirectoryError(f"{output}: this is a folder; name a file in it.")
    if not Path(output).parent.is_dir():
        raise FileNotFoundError(f"{output}: the folder {Path(output).parent} does not exist.")
    if not os.access(Path(output).parent, os.W_OK):
        raise PermissionError(f"{output}: permission denied.")


def check_report(report: str) -> None:
    """Raise an error if no report can be written there."""
    from thresher.report import environment

    check_place("--report", report)
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
        if option == "--report":
            check_report(path)
        else:
            check_place(option, path)


def write_page(report: str, model: Any, stream: Stream, **parts: Any) -> None:
    """Write the report of a run on a stream, with the command as it was typed."""
    from thresher.report import write_report

    command = shlex.join(["thresher", *sys.argv[1:]])
    write_report(report, model, **parts, title=Path(stream.name).name, command=command)


def written(path: str) -> str:
    """Return a line on a file that was written."""
    return f"wrote {path}, {Path(path).stat().st_size:,} bytes"
