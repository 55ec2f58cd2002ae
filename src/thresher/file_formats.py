"""The table of file formats: their names, and what reads them.

It needs nothing else, so that the command line's help is fast. What a format can do is said where it is read.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FileFormat:
    """A row of the table."""

    name: str  # what `format=` calls it
    words: str  # what people call it
    home: str  # its `Format`, in a module of thresher.streams.formats

    def load(self) -> Any:
        """Return its `Format`; numpy and the readers are imported only now."""
        module, _, name = self.home.partition(".")
        return getattr(importlib.import_module(f"thresher.streams.formats.{module}"), name)


# In the order in which a file is compared with them.
FILE_FORMATS = (
    FileFormat("svmlight", "svmlight", "svmlight.FORMAT"),
    FileFormat("vw", "VW", "vw.FORMAT"),
    FileFormat("jsonl", "JSON lines", "json_lines.FORMAT"),
    FileFormat("csv", "CSV", "delimited.FORMAT"),
    FileFormat("parquet", "Parquet", "columnar.PARQUET"),
    FileFormat("arrow", "Arrow", "columnar.ARROW"),
    FileFormat("h5ad", "h5ad", "h5ad.FORMAT"),
    FileFormat("cache", ".thc", "cache.FORMAT"),
)


def one_of(words: Iterable[str]) -> str:
    """Return "a, b or c"."""
    *others, last = words
    return f"{', '.join(others)} or {last}"
