"""The command line, run as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from faults.commands import Done
from faults.commands import in_this_process as thresher

__all__ = ["THRESHER", "Done", "in_a_process", "thresher"]

THRESHER = str(Path(sys.executable).with_name("thresher"))


def in_a_process(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [THRESHER, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, input=stdin)
