"""Progress bars on stderr; shown only if it is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

_MOMENT = 0.1  # seconds


def speed(megabytes_per_second: float, seconds: float) -> str:
    """Return ", 12 MB/s", or "" if the time is too short or there are hardly any bytes."""
    is_worth_it = seconds >= _MOMENT and megabytes_per_second >= 0.5
    return f", {megabytes_per_second:,.0f} MB/s" if is_worth_it else ""


class Sized(Protocol):
    """A stream, or something else with a size."""

    n_bytes: int | None
    n_rows: int | None


class Steps:
    """A progress bar in steps; without a display it shows nothing."""

    def __init__(self, display: Any = None, task: Any = None) -> None:
        self._display, self._task = display, task

    def done(self, n_steps: int, text: str) -> None:
        """Set the number of steps done so far, and the text shown after the bar."""
        if self._display is not None:
            self._display.update(self._task, completed=n_steps, text=text)


class Bar:
    """A progress bar in bytes or rows; without a display it shows nothing."""

    def __init__(self, display: Any = None, task: Any = None, in_bytes: bool = False) -> None:
        self._display, self._task, self._in_bytes = display, task, in_bytes
        self._n_bytes = self._n_rows = 0
        self._started = time.perf_counter()

    def advance(self, n_bytes: int, n_rows: int, error: float | None) -> None:
        """Add bytes and rows; `error` is the error so far, if there is one."""
        if self._display is None:
            return
        self._n_bytes += n_bytes
        self._n_rows += n_rows
        seconds = max(1e-9, time.perf_counter() - self._started)
        text = f"{self._n_rows:,} rows, {self._n_rows / seconds:,.0f}/s{speed(self._n_bytes / seconds / 1e6, seconds)}"
        if error is not None:
            text += f", error {error:.2%}"
        self._display.update(self._task, advance=n_bytes if self._in_bytes else n_rows, text=text)


@contextmanager
def progress_bar(what: str, source: Sized, n_passes: int, wanted: bool) -> Iterator[Bar]:
    """Show rows and megabytes per second, the error so far and the time left, while the block runs."""
    in_bytes = source.n_bytes is not None
    size = source.n_bytes if in_bytes else source.n_rows
    with _show_bar(what, None if size is None else size * n_passes, wanted) as shown:
        yield Bar(*shown, in_bytes)


@contextmanager
def steps_bar(what: str, n_steps: int | None, wanted: bool) -> Iterator[Steps]:
    """Show how many steps of a job are done, and the time left, while the block runs."""
    with _show_bar(what, n_steps, wanted) as shown:
        yield Steps(*shown)


@contextmanager
def _show_bar(what: str, total: int | None, wanted: bool) -> Iterator[tuple[Any, Any]]:
    """Show a bar while the block runs; yield its display and its task, None and None without a terminal."""
    if not (wanted and sys.stderr.isatty()):
        yield None, None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    terminal: Any = _Terminal(sys.stderr)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeRemainingColumn(),
        console=Console(file=terminal), transient=True,
    ) as display:  # fmt: skip
        yield display, display.add_task(what, total=total, text="")


class _Terminal:
    """A terminal that may be closed: a bar that can't be drawn is not an error."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
