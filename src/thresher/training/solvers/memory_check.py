"""The check that a batch method has enough memory, before its work begins."""

from __future__ import annotations

import os
from pathlib import Path


def check_memory(method: str, n_bytes: float, what: str) -> None:
    """Raise ValueError if a method needs more bytes than are available."""
    available = available_bytes()
    if n_bytes > available:
        raise ValueError(
            f"{method} needs about {n_bytes / 1e9:.2g} GB in addition to {what}, "
            f"but {available / 1e9:.2g} GB are available: use fewer rows, or an online method such as ShadowSOFS."
        )


def available_bytes() -> float:
    """Return the memory that this process may still use: the machine's, or its container's if that is less."""
    return min(_of_machine(), _of_container())


def _of_machine() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except OSError:  # not Linux
        pass
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _of_container() -> float:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
        # The kernel gives back the pages of files when they are needed.
        files = sum(
            int(line.split()[1])
            for line in (folder / "memory.stat").read_text().splitlines()
            if line.startswith("inactive_file ")
        )
    except (OSError, ValueError):
        return float("inf")
    return float("inf") if limit == "max" else float(int(limit) - used + files)
