"""Ctrl-C for calls that can't hear it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


def interruptible(call: Callable[..., _Answer], *arguments: Any) -> _Answer:
    """Return what the call returns, and hear Ctrl-C while it runs.

    scikit-learn's solvers give the interpreter free but look at no signal until they end. So they run in a thread of
    their own; on Ctrl-C that thread is left to itself, and what it finds is thrown away.
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
