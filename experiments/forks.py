"""Tasks in processes of their own: one thread each, CPU time measured, stopped when they take too long."""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

Key = TypeVar("Key")

_PATIENCE = 10  # how much longer than its CPU time a task may take on a busy machine
_LOOK = 0.05  # seconds between two looks at the time of tasks


class Stopped:
    """The result of a task that took too long."""


class Forks(Generic[Key]):
    """Runs tasks in forks of this process, which see its data without a copy.

    Every method is measured in such a process, with one thread; at most `n_at_once` run at the same time. A task may
    take `seconds` of CPU time, so that a busy machine stops no more of them than an idle one; the wall clock limits
    only those that sleep.
    """

    def __init__(self, seconds: float, n_at_once: int) -> None:
        self._seconds = seconds
        self._n_at_once = n_at_once

    def run(self, tasks: Iterable[tuple[Key, Callable[[], Any]]]) -> Iterator[tuple[Key, Any]]:
        """Yield each task's key and result as it is done. A task is taken from the iterable only when it can start."""
        waiting = iter(tasks)
        working: dict[Connection, tuple[Key, Any, float]] = {}  # and when it was started
        try:
            while True:
                while len(working) < self._n_at_once and (task := next(waiting, None)) is not None:
                    end, process = _start(task[1])
                    working[end] = (task[0], process, time.monotonic())
                if not working:
                    return
                ready = wait(list(working), _LOOK)
                for end, (key, process, started) in list(working.items()):
                    if end in ready:
                        del working[end]
                        yield key, _result(end, process)
                    elif self._is_over(process.pid, time.monotonic() - started):
                        del working[end]
                        _stop(process)
                        yield key, Stopped()
        finally:
            for _, process, _ in working.values():
                _stop(process)

    def _is_over(self, pid: int, wall: float) -> bool:
        cpu = _cpu_seconds(pid) if self._seconds <= wall < _PATIENCE * self._seconds else wall
        return cpu >= self._seconds


def _start(work: Callable[[], Any]) -> tuple[Connection, Any]:
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_child, args=(work, theirs), daemon=True)
    with warnings.catch_warnings():
        # Python warns of forks of processes with threads; those that we start have ended by now.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    return ours, process


def _child(work: Callable[[], Any], end: Connection) -> None:
    try:
        with threadpool_limits(1):
            end.send((work(), None))
    except BaseException:
        end.send((None, traceback.format_exc()))


def _result(end: Connection, process: Any) -> Any:
    try:
        answer, error = end.recv()
    except EOFError:
        answer, error = None, "the process died, perhaps because it ran out of memory"
    process.join()
    if error is not None:
        raise RuntimeError(f"a cell failed:\n{error}")
    return answer


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process. A limit set in the process itself would make its own clock coarse."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:  # not Linux: the wall clock decides
        return float("inf")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _stop(process: Any) -> None:
    process.kill()
    process.join()
