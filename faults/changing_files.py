"""Files that are truncated or replaced while they are read: all of the old rows, or one line that names the file."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from faults import files
from faults.apart import apart
from faults.commands import one_line
from faults.trial import BrokenPromiseError, Figures, Trial, demand
from thresher import open_stream


def run(trial: Trial) -> Figures:
    """Read a file of every format, and change it after the first batch."""
    made = files.make(trial.folder, trial.size(1_000_000, 200_000))
    outcomes: Counter[str] = Counter()
    for path, options in made.items():
        whole = path.read_bytes()
        expected = [files.digest(batch) for batch in open_stream(path, threads=1, **options).batches()]
        for what, change in _CHANGES.items():
            outcome = apart(partial(_read, path, options, change, expected), f"reading {path.name}, {what}")
            demand(what != "replaced" or outcome == "old rows", f"{path.name}, {what}: {outcome}")
            outcomes[f"{what}: {outcome}"] += 1
            path.write_bytes(whole)
    trial.say(f"{dict(outcomes)}")
    return {"files": len(made), "outcomes": dict(outcomes)}


def _read(path: Path, options: files.Options, change: Callable[[Path], None], expected: list[int]) -> str:
    batches = open_stream(path, threads=1, **options).batches()
    found = [files.digest(next(batches))]
    change(path)
    try:
        found += [files.digest(batch) for batch in batches]
    except (ValueError, OSError) as error:
        one_line(error, f"{path.name} has changed", path)
        return "refused"
    if found != expected:
        raise BrokenPromiseError(f"{path.name} has other rows: {len(found)} batches, not {len(expected)}")
    return "old rows"


def _halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _cut_end(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _replace(path: Path) -> None:
    other = path.with_name("other")
    shutil.copy(path, other)
    with other.open("r+b") as file:
        file.truncate(1_000)
    other.rename(path)


_CHANGES = {"cut in half": _halve, "emptied": _empty, "without its last byte": _cut_end, "replaced": _replace}
