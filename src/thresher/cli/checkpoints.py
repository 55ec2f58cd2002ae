"""Checkpoints of `thresher train`: their options, and messages on existing checkpoints and on how to resume."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thresher.cli.options import Group, option
from thresher.cli.output import say
from thresher.messages import count_noun

if TYPE_CHECKING:
    from thresher.model.model import Model
    from thresher.model.names import Naming
    from thresher.streams import Stream
    from thresher.training import History

_saving = partial(option, panel="Checkpoints")
SAVING = Group("saving", {
    "checkpoint": (
        _saving(
            str | None,
            help="Save the run to this file at intervals, so that it can be resumed. Without --resume, the checkpoint "
            "of a run that has not finished is not overwritten.",
        ),
        None,
    ),
    "every": (
        _saving(
            str | None, metavar="60s|ROWS", show_default="60s",
            help="With --checkpoint: how often to save: a time, as 60s, 5m or 1h, or a number of rows.",
        ),
        None,
    ),
    "resume": (
        _saving(
            bool, "--resume", help="Resume from the checkpoint; if there is none yet, start from the beginning."
        ),
        False,
    ),
})  # fmt: skip


def refuse_to_overwrite(checkpoint: str | None, resume: bool, **_: Any) -> None:
    """Raise ValueError if the file exists and is not a checkpoint, or is that of a run that has not finished."""
    from thresher.io.checkpoints import read_checkpoint

    if checkpoint is None or resume:
        return
    try:
        saved = read_checkpoint(checkpoint) if _has_content(checkpoint) else None
    except ValueError as error:
        raise ValueError(f"{str(error).rstrip('.')}: remove the file, or name another.") from None
    if saved is not None and not saved.about["finished"]:
        raise ValueError(
            f"{checkpoint}: this is the checkpoint of a run that has not finished: use --resume to continue it. To "
            "start from the beginning, remove it, or name another file."
        )


def naming_of_checkpoint(checkpoint: str | None, resume: bool, **_: Any) -> Naming | None:
    """Return how the data of a run that is resumed were read, if they are a table."""
    from thresher.io.checkpoints import read_checkpoint
    from thresher.model.names import Naming

    saved = read_checkpoint(checkpoint) if resume and checkpoint is not None else None
    naming = None if saved is None else saved.about["reading"]["runs"][0]["session"]["naming"]
    return None if naming is None else Naming.from_dict(naming)


def train_with_checkpoint(model: Model, stream: Stream, saving: dict[str, Any], options: dict[str, Any]) -> History:
    """Train, and say where the run was resumed from its checkpoint, if it was."""
    from thresher.training import train

    resumed_at: int | None = None

    def say_once(history: History) -> None:
        nonlocal resumed_at
        if resumed_at is None and history.resumed_at is not None:
            resumed_at = history.resumed_at
            in_pass = f", in pass {history.n_passes}" if history.n_passes > 1 else ""
            in_pass = ", in the closing pass" if history.refitted else in_pass
            with suppress(OSError):  # the run is worth more than the line
                say(f"{saving['checkpoint']}: resumed at row {resumed_at:,}{in_pass}.")

    saving = {**saving, "every": saving["every"] or "60s"}
    history = train(model, stream, **options, **saving, callback=say_once)
    if resumed_at is None and history.resumed_at is not None:  # there were no more points
        n_rows = count_noun(history.resumed_at, "row")
        say(f"{saving['checkpoint']}: this run had finished, after {n_rows}; nothing is learned again.")
    return history


@contextmanager
def explain_how_to_resume(checkpoint: str | None, resume: bool, **_: Any) -> Iterator[None]:
    """Say how to continue if a signal ends the block and this run has written a checkpoint."""
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
    """Return values that change when the file is written."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None
    found = Path(checkpoint).stat()
    return found.st_ino, found.st_mtime_ns


def _has_content(checkpoint: str) -> bool:
    return Path(checkpoint).is_file() and Path(checkpoint).stat().st_size > 0
