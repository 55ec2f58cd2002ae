"""Commands of thresher, in this process or one of their own, and what their errors must look like."""

from __future__ import annotations

import contextlib
import io
import re
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

from faults.trial import BrokenPromiseError, demand
from thresher.cli import main

THRESHER = (sys.executable, "-m", "thresher")
SECONDS = 300  # a command that takes longer hangs


@dataclass(frozen=True)
class Done:
    """The outcome of a command."""

    returncode: int
    stdout: str
    stderr: str


def in_this_process(*arguments: object) -> Done:
    """Run a command in this process, which saves the second that a new one takes to start."""
    command = ["thresher", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    code: object = 0
    with (
        mock.patch.object(sys, "argv", command),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    assert isinstance(code, int)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def thresher(
    *arguments: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limits: Mapping[int, int] | None = None,
) -> Done:
    """Run a command; `limits` are resources that its process may use."""
    command = [*THRESHER, *map(str, arguments)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=cwd, env=env,
            preexec_fn=None if limits is None else partial(_limit, limits),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BrokenPromiseError(f"{shown(arguments)} hangs") from None
    return Done(done.returncode, done.stdout, done.stderr)


def works(*arguments: object, cwd: Path | None = None) -> Done:
    """Run a command that must succeed."""
    done = thresher(*arguments, cwd=cwd)
    demand(done.returncode == 0, f"{shown(arguments)} ended with {done.returncode}: {done.stderr[-2_000:]}")
    return done


def refused(done: Done, what: str, *must: object) -> str:
    """Return the error of a command, which must be one line, exit code 2, and have all of `must` in it."""
    lines = error_lines(done)
    is_one = len(lines) == 1 and lines[0].startswith("thresher: ")
    demand(done.returncode == 2 and is_one, f"{what} ended with {done.returncode}: {done.stderr[-2_000:]}")
    for part in must:
        demand(str(part) in lines[0], f"{what}: the message does not have {part}: {lines[0]}")
    return lines[0]


def error_lines(done: Done) -> list[str]:
    """Return what a command wrote to stderr, without warnings and where it was resumed."""
    notes = re.compile(r"thresher: (warning: |.*: resumed at row [\d,]+(, in pass \d+)?\.$)")
    return [line for line in done.stderr.splitlines() if not notes.match(line)]


def one_line(error: Exception, what: str, path: Path) -> None:
    """Check the error of a function: one line that names the file."""
    text = str(error)
    demand("\n" not in text and str(path) in text, f"{what}: {error!r}")


def shown(arguments: tuple[object, ...]) -> str:
    """Return a command as it is typed, with the names of files only."""
    return "thresher " + re.sub(r"/\S*/", "", " ".join(map(str, arguments)))


def _limit(limits: Mapping[int, int]) -> None:
    for kind, most in limits.items():
        resource.setrlimit(kind, (most, most))
