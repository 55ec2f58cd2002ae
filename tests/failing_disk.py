"""A disk that fails: a library, loaded before all others, that lets reads of one file end in EIO."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import pytest

from faults.commands import Done, in_this_process
from faults.preload import FAILING_DISK, compiled, failing


def commands(reads: Sequence[tuple[Path, int, Sequence[object]]], folder: Path) -> list[Done]:
    """Run commands of thresher in one process, each with a file that can't be read from some byte on."""
    built = compiled(FAILING_DISK, folder)
    if built is None:
        pytest.skip("no C compiler")
    plain = [(str(path.resolve()), byte, [*map(str, arguments)]) for path, byte, arguments in reads]
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(plain), capture_output=True, text=True, timeout=300, check=True,
        env={**failing(built, Path("nothing"), 0), "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    return [Done(*each) for each in json.loads(done.stdout)]


if __name__ == "__main__":
    found = []
    for path, byte, arguments in json.load(sys.stdin):
        os.environ |= {"BAD_FILE": path, "BAD_FROM": str(byte)}  # the library asks for them at every read
        found.append(astuple(in_this_process(*arguments)))
    json.dump(found, sys.stdout)
