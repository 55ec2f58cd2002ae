"""Messages of `thresher train` about checkpoints: one that is in the way, where a run was resumed, how to resume it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.cli.output import say
from thresher.messages import counted

if TYPE_CHECKING:
    from thresher.streams import Stream
    from thresher.training import History


def refuse_to_overwrite(checkpoint: str) -> None:
    """Raise ValueError if the file is there already and is no checkpoint, or one of a run that has not finished."""
    from thresher.io.checkpoints import read_checkpoint

    try:
        saved = read_checkpoint(checkpoint) if _has_content(checkpoint) else None
    except ValueError as error:
        raise ValueError(f"{str(error).rstrip('.')}: remove the file, or name another.") from None
    if saved is not None and not saved.about["finished"]:
        raise ValueError(
            f"{checkpoint}: this is the checkpoint of a run that has not finished: use --resume to continue it. To "
            "start from the beginning, remove it, or name another file."
        )


def train_saving(
    learner: Any, stream: Stream, checkpoint: str | None, every: str | None, resume: bool, options: dict[str, Any]
) -> History:
    """Train, and say where the run was resumed from its checkpoint, if it was."""
    from thresher.training import train

    resumed_at: int | None = None

    def say_once(history: History) -> None:
        nonlocal resumed_at
        if resumed_at is None and history.resumed_at is not None:
            resumed_at = history.resumed_at
            in_pass = f", in pass {history.n_passes}" if history.n_passes > 1 else ""
            with suppress(OSError):  # the run is worth more than the line
                say(f"{checkpoint}: resumed at row {resumed_at:,}{in_pass}.")

    options |= {"checkpoint": checkpoint, "every": every or "60s", "resume": resume, "callback": say_once}
    history = train(learner, stream, **options)
    if resumed_at is None and history.resumed_at is not None:  # there were no more points
        n_rows = counted(history.resumed_at, "row")
        say(f"{checkpoint}: this run had finished, after {n_rows}; nothing is learned again.")
    return history


@contextmanager
def how_to_resume(checkpoint: str | None, resume: bool) -> Iterator[None]:
    """Say how to continue if a signal ends the block and there is a checkpoint, which is this run's."""
    before = None if resume else _version(checkpoint)
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stopped:
        if checkpoint is not None and _has_content(checkpoint) and _version(checkpoint) != before:
            by = _STOPPED_BY.get(getattr(stopped, "code", None), "")  # Ctrl-C is reported elsewhere
            with suppress(OSError):  # the terminal may be what was closed
                say(f"{by}the run is saved in {checkpoint}; the same command with --resume continues there.")
        raise


_STOPPED_BY: dict[Any, str] = {
    128 + number: f"stopped by {number.name}: " for number in (signal.SIGTERM, signal.SIGHUP)
}


def _version(checkpoint: str | None) -> tuple[int, int] | None:
    """Return what changes when the file is written."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None
    found = Path(checkpoint).stat()
    return found.st_ino, found.st_mtime_ns


def _has_content(checkpoint: str) -> bool:
    return Path(checkpoint).is_file() and Path(checkpoint).stat().st_size > 0
