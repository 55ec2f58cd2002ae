"""The number of threads to use, and a lock for what they share."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Self


def default_threads() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ForkSafeLock:
    """A reentrant lock that is free in a forked child, unless it is held by the thread that forked.

    No other thread of the parent exists in the child, so what one of them holds would never be released there.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock; return whether that was possible."""
        return self._lock.acquire(blocking)

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _renew(self) -> None:
        if self._lock.acquire(blocking=False):  # free, or this thread's own
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _renew_locks() -> None:
    for lock in list(_locks):
        lock._renew()


os.register_at_fork(after_in_child=_renew_locks)
