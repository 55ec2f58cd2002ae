"""How the benchmarks measure: the least of several interleaved runs, since other work only makes a run slower."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

PYTHON = sys.executable
THRESHER = str(Path(PYTHON).with_name("thresher"))

Value = TypeVar("Value")


class Effort(Enum):
    """How much is measured; only the full run is written to RESULTS.md."""

    FULL = "full"
    QUICK = "quick"  # two minutes, without what is slow
    SMALLEST = "smallest"  # seconds: every section once, on tiny generated data; bars mean nothing

    def pick(self, full: Value, quick: Value, smallest: Value) -> Value:
        """Return the value for this effort."""
        return {Effort.FULL: full, Effort.QUICK: quick, Effort.SMALLEST: smallest}[self]


@dataclass
class Cost:
    """Cost of a run, at the least: wall and CPU seconds, and peak memory in MB, NaN where it is not known."""

    wall: float = float("inf")
    cpu: float = float("inf")
    memory: float = float("inf")
    output: str = ""

    def or_less(self, other: Cost) -> Cost:
        """Return the least of both, figure by figure, and the output of the faster one."""
        output = self.output if self.wall < other.wall else other.output
        # The other comes first: min keeps a NaN that it meets first.
        return Cost(min(self.wall, other.wall), min(self.cpu, other.cpu), min(other.memory, self.memory), output)


@dataclass
class Bar:
    """A figure with a limit that we aim for."""

    what: str
    value: float
    limit: float
    unit: str = ""
    at_least: bool = False
    note: str = ""
    why: str = ""  # what stands in the way, where it is missed

    def row(self, judged: bool) -> tuple[str, ...]:
        """Return the line of the table of bars."""
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        missed = f"**missed by {100 * abs(self.value / self.limit - 1):.1f} %** {self.why}".rstrip()
        verdict = "not judged" if not judged else "met" if met else missed
        what = f"{self.what} ({self.note})" if self.note else self.what
        limit = f"{'≥' if self.at_least else '≤'} {_shown(self.limit)}{self.unit}"
        return what, limit, f"{_shown(self.value)}{self.unit}", verdict


@dataclass
class Section:
    """A part of RESULTS.md, and the bars that it measured."""

    lines: list[str]
    bars: list[Bar]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, and an empty one after it."""
    first, *others = ("".join(f"| {cell} " if cell else "| " for cell in line) + "|" for line in (head, *rows))
    return [first, "|---" * len(head) + "|", *others, ""]


def least_costs(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, Cost]:
    """Run all contenders in turn in this process, several times; memory is what a run adds to what was there."""
    least = {name: Cost() for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            before = _reset_peak()
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            cost = Cost(time.perf_counter() - wall, time.process_time() - cpu)
            cost.memory = _status_megabytes("VmHWM") - before
            least[name] = least[name].or_less(cost)
    return least


def least_process_costs(commands: dict[str, tuple[str, ...]], rounds: int) -> dict[str, Cost]:
    """Run all commands in turn, several times."""
    least = {name: Cost() for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            least[name] = least[name].or_less(process(*command))
    return least


def process(*command: str) -> Cost:
    """Run a command; what it takes includes its start."""
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def online_estimators() -> dict[str, Any]:
    """Return the online estimators of the library, by name."""
    from thresher import methods

    return {method.estimator: method.load_estimator() for method in methods.ONLINE}


def same_work(estimator: Any, budget: int) -> dict[str, Any]:
    """Return what to give an online estimator, so that all of them and their peers do the same work.

    Rows have unit length already and are learned in their order, without an intercept, with the same γ.
    """
    wanted = {"n_features_to_select": budget, "gamma": 1.0, "norm": None, "fit_intercept": False, "shuffle": False}
    return {name: value for name, value in wanted.items() if name in estimator().get_params()}


def unit_rows(X: Any, y: Any) -> tuple[Any, Any]:
    """Scale rows to unit length, in place; what all contenders learn."""
    from sklearn.preprocessing import normalize  # imported late: sections that measure processes must stay small

    return normalize(X, copy=False), y


def _reset_peak() -> float:
    """Reset the peak to what is in use now, and return that in MB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return float("nan")  # not Linux: the table has nan
    return _status_megabytes("VmRSS")


def _status_megabytes(name: str) -> float:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    return float(status.split(f"{name}:")[1].split()[0]) / 1024


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
