"""Work in a forked process, so that one that crashes or hangs is noticed."""

from __future__ import annotations

import json
import os
import select
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from faults.trial import BrokenPromiseError


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
    if code < 0:
        raise BrokenPromiseError(f"{what} ends with {signal.Signals(-code).name}")
    found = json.loads(answer)
    if code != 0:
        raise BrokenPromiseError(f"{what}: {found['raised']}")
    return found["is"]
