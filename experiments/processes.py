"""Time, and memory, which alone a process of its own can tell."""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Name = TypeVar("Name")


def least_seconds(works: Mapping[Name, Callable[[], object]], n_times: int) -> dict[Name, float]:
    """Return the least time of each, done in turn so that other work on the machine disturbs all of them alike."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(n_times):
        for name, work in works.items():
            started = time.perf_counter()
            work()
            least[name] = min(least[name], time.perf_counter() - started)
    return least


def cost(work: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of some work, and the most memory that this process had until its end."""
    started = time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - started, "mb": peak_megabytes()}


def apart(work: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of a module returns, called in a process of its own."""
    command = [sys.executable, "-m", "experiments.processes"]
    done = subprocess.run(command, input=pickle.dumps((work, given)), stdout=subprocess.PIPE, check=True)
    return pickle.loads(done.stdout)


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


if __name__ == "__main__":
    asked, arguments = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(asked(*arguments)))
