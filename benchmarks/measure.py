"""How the benchmarks measure: least of several interleaved runs, so that a busy neighbour slows all alike."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PYTHON = sys.executable
THRESHER = str(Path(PYTHON).with_name("thresher"))


def least_seconds(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Run all contenders in turn, several times, and return each one's least wall time."""
    least = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - started)
    return least


@dataclass
class Run:
    """What a process took."""

    seconds: float
    peak_megabytes: float
    output: str


def process(*command: str) -> Run:
    """Run a command and measure its wall time and peak memory."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return Run(time.perf_counter() - started, usage.ru_maxrss / 1024, output)
