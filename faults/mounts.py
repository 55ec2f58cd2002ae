"""File systems that only one process and its children see, so that nothing is left of them when it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from faults.trial import BrokenPromiseError, Figures

# Who is not root is root there, if the system allows that.
_APART = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--mount", "--map-root-user")


def reason_against() -> str | None:
    """Return why nothing can be mounted here; None if it can."""
    try:
        done = subprocess.run(
            [*_APART, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False
        )  # fmt: skip
    except FileNotFoundError:
        return "there is no unshare (util-linux)"
    return None if done.returncode == 0 else "no file system can be mounted: " + " ".join(done.stderr.split())


def apart(module: str, folder: Path, step: int) -> Figures:
    """Return what `python -m module FOLDER STEP`, which can mount, prints: figures as JSON."""
    done = subprocess.run(
        [*_APART, sys.executable, "-m", module, str(folder), str(step)], capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode != 0:
        raise BrokenPromiseError(done.stderr.strip().rpartition("\n")[2])
    found: Figures = json.loads(done.stdout)
    return found


def mount(*arguments: object) -> None:
    """Mount something, in a process that was started by `apart`."""
    subprocess.run(["mount", *map(str, arguments)], check=True)
