"""The command line, run as a user would."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from thresher.cli import main

THRESHER = str(Path(sys.executable).with_name("thresher"))


@dataclass(frozen=True)
class Done:
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


def thresher(*arguments: object) -> Done:
    """Run a command in this process, which saves the second that a new one takes to start."""
    command = ["thresher", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    at_sigterm = signal.getsignal(signal.SIGTERM)
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
            signal.signal(signal.SIGTERM, at_sigterm)
    assert isinstance(code, int)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def in_a_process(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [THRESHER, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, input=stdin)
