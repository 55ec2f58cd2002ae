"""File systems that only one process and its children see, so that nothing is left of them when it ends."""

from __future__ import annotations

import os
import subprocess

# Starts a process that can mount. Who is not root is root there, if the system allows that.
APART = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--mount", "--map-root-user")


def reason_against() -> str | None:
    """Return why nothing can be mounted here; None if it can."""
    try:
        done = subprocess.run(
            [*APART, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False
        )  # fmt: skip
    except FileNotFoundError:
        return "there is no unshare (util-linux)"
    return None if done.returncode == 0 else "no file system can be mounted: " + " ".join(done.stderr.split())


def mount(*arguments: object) -> None:
    """Mount something, in a process that was started by APART."""
    subprocess.run(["mount", *map(str, arguments)], check=True)
