"""Work in a process of its own, forked or new, so that one that crashes or hangs is noticed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from faults.trial import BrokenPromiseError, Figures


def apart(work: Callable[[], Any], what: str, seconds: float = 120.0) -> Any:
    """Return what `work` returns, values for JSON, in a process that ends by itself and in time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(BaseException):
            os.close(reader)
            try:
                answer = json.dumps({"is": work()})
                code = 0
            except BaseException as error:
                answer = json.dumps({"raised": "".join(traceback.format_exception(error))[-2_000:]})
            with os.fdopen(writer, "w") as file:
                file.write(answer)
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as file:
        if not select.select([file], [], [], seconds)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise BrokenPromiseError(f"{what} hangs")
        answer = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _check_signal(code, what)
    found = json.loads(answer)
    if code != 0:
        raise BrokenPromiseError(f"{what}: {found['raised']}")
    return found["is"]


def of_module(
    module: str, *given: object, before: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> Figures:
    """Return the figures that `python -m module` prints as JSON, started by the command `before`."""
    command = [*before, sys.executable, "-m", module, *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    _check_signal(done.returncode, " ".join(command[len(before) + 2 :]))
    if done.returncode != 0:
        raise BrokenPromiseError(done.stderr.strip().rpartition("\n")[2])
    found: Figures = json.loads(done.stdout)
    return found


def _check_signal(code: int, what: str) -> None:
    if code == -signal.SIGALRM:
        raise BrokenPromiseError(f"{what} hangs")
    if code < 0:
        raise BrokenPromiseError(f"{what} ends with {signal.Signals(-code).name}")
