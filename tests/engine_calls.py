"""Functions for engines of distributed training, imported by worker processes: so nothing that takes long to import."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def power(base, exponent):
    return base**exponent


def summed(numbers):
    return sum(numbers)


def killed_once(mark, k):
    if k == 3 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return k


def killed(_):
    os.kill(os.getpid(), signal.SIGKILL)
