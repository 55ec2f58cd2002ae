"""The command line, run as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO

from faults.commands import Done
from faults.commands import in_this_process as thresher

__all__ = ["THRESHER", "Done", "in_a_process", "thresher"]

THRESHER = str(Path(sys.executable).with_name("thresher"))


def in_a_process(*arguments: object, stdin: str | IO[str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own; a file as its standard input is that very file, not a pipe."""
    command = [THRESHER, *map(str, arguments)]
    given = {"input": stdin} if stdin is None or isinstance(stdin, str) else {"stdin": stdin}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **given)
