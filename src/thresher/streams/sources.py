"""Sources: files, and what can be read only once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.streams.flows import Flow

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Source:
    """A file, or something that can be read only once: standard input or a pipe."""

    path: str  # "-" is standard input
    format: str  # its name
    compression: str | None
    n_bytes: int | None
    flow: Flow | None = None  # for a pipe or standard input, which is open already
    noted: Any = None  # what its format needs to know of the first bytes

    @property
    def name(self) -> str:
        """The name for messages."""
        return "standard input" if self.path == "-" else self.path

    @property
    def ending(self) -> str:
        """The ending of its name in lower case, without that of a compression."""
        return ending(self.path, self.compression)

    @property
    def is_plain(self) -> bool:
        """Whether it can be read from any byte, without decompressing."""
        return self.flow is None and self.compression is None

    def opened(self) -> Flow:
        """Open it for reading; for a pipe or standard input, return the flow that is open already."""
        if self.flow is not None:
            return self.flow
        return Flow(Path(self.path).open("rb"), self.name, self.compression)


def ending(path: str, compression: str | None) -> str:
    """Return the ending of a path in lower case, without that of a compression."""
    return os.path.splitext(path.removesuffix(f".{compression}"))[1].lower()  # noqa: PTH122 a Path takes longer
