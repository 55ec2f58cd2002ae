"""Ctrl-C during calls that do not check for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


def interruptible(call: Callable[..., _Answer], *arguments: Any) -> _Answer:
    """Return what the call returns; Ctrl-C interrupts it.

    scikit-learn's solvers release the GIL but check for no signal until they end. So they run in a thread of their own;
    after Ctrl-C that thread runs on in the background, and its result is discarded.
    """
    answers: list[_Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(call(*arguments))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]
    return answers[0]
