"""Measurements in a process of their own, which alone can tell how much memory they take."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments.store import Found


def apart(module: str, **order: Any) -> Found:
    """Return what `python -m module ORDER` prints; both are JSON."""
    command = [sys.executable, "-m", module, json.dumps(order)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Found = json.loads(done.stdout)
    return found


def peak_megabytes() -> float:
    """Return the most memory that this process ever had."""
    # getrusage may still report the parent's peak, from before exec.
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def megabytes() -> float | None:
    """Return the memory that this process has now, where the system reports it."""
    return _status("VmRSS")


def _status(name: str) -> float | None:
    try:
        return float(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0]) / 1024
    except OSError:  # not Linux
        return None
