"""Signals that ask a run to stop: they are noted, and take effect between two batches.

Only there do the model and the position in the stream belong together, so that a checkpoint can be written.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Notes signals while it is entered; in other threads than the main one Python delivers none."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            # Signals that are ignored stay ignored: nohup ignores SIGHUP.
            heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._note) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def pass_on(self) -> None:
        """Do what the signal would have done at once; for Ctrl-C, raise KeyboardInterrupt."""
        number = self.received
        assert number is not None
        self.__exit__()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        signal.raise_signal(number)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None:  # the second time, at once
            self.pass_on()
        self.received = number
