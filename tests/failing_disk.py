"""A disk that fails: a library, loaded before all others, that lets reads of one file end in EIO."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.preload import FAILING_DISK, compiled, failing

environment = failing


def library(folder: Path) -> Path:
    """Compile the library; skip the test where there is no C compiler."""
    built = compiled(FAILING_DISK, folder)
    if built is None:
        pytest.skip("no C compiler")
    return built
