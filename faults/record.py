"""The record: figures of the last full run of each fault, and of the fuzzers, without dates."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any

from faults.trial import SEED, Figures

RECORD = Path(__file__).with_name("record.json")
FUZZING = Path(__file__).parents[1] / "build" / "fuzz.json"
_LIBRARIES = ("thresher", "numpy", "pyarrow", "typer")


def read() -> dict[str, Any]:
    """Return the record."""
    found: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {"faults": {}, "versions": {}}
    return found


def note(found: dict[str, Figures]) -> None:
    """Replace the figures of the faults that were done."""
    before = read()
    versions = {name: importlib.metadata.version(name) for name in _LIBRARIES}
    versions |= {"python": platform.python_version(), "system": platform.system()}
    _write(
        {
            **before,
            "seed": SEED,
            "versions": before["versions"] | dict.fromkeys(found, versions),
            "faults": before["faults"] | found,
        }
    )


def note_fuzzing() -> None:
    """Take over what the fuzzers have written: target, executions, seconds and findings of each."""
    if FUZZING.exists():
        found = [
            {**{name: each[name] for name in ("target", "executions", "findings")}, "seconds": round(each["seconds"])}
            for each in json.loads(FUZZING.read_text())
        ]
        _write({**read(), "fuzz": found})


def _write(content: dict[str, Any]) -> None:
    RECORD.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
