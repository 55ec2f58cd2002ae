"""Do faults, look whether every promise holds, and write the record and its page."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from faults import (
    changing_files,
    damage,
    forks,
    full_disk,
    kills,
    little_memory,
    malformed,
    pipes,
    read_errors,
    read_only,
    record,
    report,
    same_path,
    threads,
    unpacking,
)
from faults.trial import BrokenPromiseError, Figures, Trial

# The shortest first.
FAULTS = {
    "full disk": full_disk,
    "read-only folder": read_only,
    "changing files": changing_files,
    "read errors": read_errors,
    "slow pipes": pipes,
    "same path": same_path,
    "forks": forks,
    "threads": threads,
    "little memory": little_memory,
    "unpacking": unpacking,
    "damage": damage,
    "malformed": malformed,
    "kills": kills,
}

app = typer.Typer(add_completion=False, help=__doc__, no_args_is_help=True)

Only = Annotated[list[str] | None, typer.Argument(help=f"Some of them only: {', '.join(FAULTS)}.")]
Smallest = Annotated[bool, typer.Option("--smallest", help="Every fault once, in seconds; no record is written.")]


@app.command()
def run(only: Only = None, smallest: Smallest = False) -> None:
    """Do the faults; the exit code is 1 if a promise is broken."""
    unknown = next((name for name in only or () if name not in FAULTS), None)
    if unknown is not None:
        raise typer.BadParameter(f"{unknown!r} is none of {', '.join(FAULTS)}.")
    found: dict[str, Figures] = {}
    broken = []
    for name in only or FAULTS:
        print(f"{name}: {(FAULTS[name].__doc__ or '').splitlines()[0]}", file=sys.stderr, flush=True)
        started = time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix="thresher-faults-"))
        try:
            found[name] = FAULTS[name].run(Trial(folder, smallest))
        except BrokenPromiseError as error:
            broken.append(name)
            print(f"    BROKEN: {error}", file=sys.stderr, flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"    {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if broken:
        print(f"broken: {', '.join(broken)}", file=sys.stderr)
        sys.exit(1)
    if not smallest:
        record.note(found)
        report.write()


@app.command("report")
def report_() -> None:
    """Write docs/reliability.md from the record, with the fuzzers' figures if build/fuzz.json is there."""
    record.note_fuzzing()
    report.write()


app()
