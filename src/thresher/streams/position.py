"""Positions in a stream: each batch has one at its end, and reading can continue there, also in another process."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from thresher.io.file_errors import name_file_in_errors
from thresher.model.validators import checked_field, is_text, is_whole, optional, validators_of

_HEAD = 4096


@dataclass(frozen=True)
class Identity:
    """What distinguishes a file, generator or list of batches from another one, or from an earlier version of it.

    Attributes
    ----------
    size : int
        Bytes on disk; for a list of batches, its number of rows.
    modified : int or None
        When the file was last modified, in nanoseconds.
    digest : str
        A hash of the file's first 4 KiB, of a generator's parameters, or of the sizes of a list's batches.
    """

    size: int
    modified: int | None
    digest: str

    @classmethod
    def of_file(cls, path: str) -> Self:
        """Return the identity of a file."""
        with name_file_in_errors(path), Path(path).open("rb") as file:
            status = os.fstat(file.fileno())
            return cls(status.st_size, status.st_mtime_ns, digest_of(file.read(_HEAD)))


@dataclass(frozen=True)
class Position:
    """A point between two rows of a stream.

    Attributes
    ----------
    file : int
        The index of the file in the stream's files, from 0.
    name : str
        The name of the file.
    byte : int
        How many bytes of its uncompressed content are before. In plain text this can be inside the last line that was
        read, since a line belongs to the block that has its first byte. In formats read by rows it is an estimate.
    row : int or None
        How many lines (svmlight, VW) or rows (all other formats) of the file are before. None in a shard that starts
        inside a text file: there they are counted only if an error message needs the number.
    size, modified, digest
        The file's `Identity` when it was read.
    namespace : str or None
        The namespace of VW text, if it is known.
    """

    file: int = checked_field(is_whole)
    name: str = checked_field(is_text)
    byte: int = checked_field(is_whole)
    row: int | None = checked_field(optional(is_whole))
    size: int = checked_field(is_whole)
    modified: int | None = checked_field(optional(is_whole))
    digest: str = checked_field(is_text)
    namespace: str | None = checked_field(optional(is_text), default=None)

    @classmethod
    def at(cls, file: int, name: str, byte: int, row: int | None, what: Identity, namespace: str | None = None) -> Self:
        """Return a position in the file with this identity."""
        return cls(file, name, byte, row, what.size, what.modified, what.digest, namespace)

    def to_dict(self) -> dict[str, Any]:
        """Return the position as a dict of numbers and text, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the position that `to_dict` was called on."""
        validators = validators_of(cls)
        if not isinstance(values, dict) or values.keys() != validators.keys():
            raise ValueError(f"a position must have the keys {', '.join(validators)}.")
        for key, allowed in validators.items():
            if not allowed(values[key]):
                raise ValueError(f"a position's {key} can't be {values[key]!r}.")
        return cls(**values)

    def check(self, name: str, found: Identity) -> None:
        """Raise ValueError unless this is a position in the file found; the file can have been moved or renamed."""
        if found == Identity(self.size, self.modified, self.digest):
            return
        if Path(name).name != Path(self.name).name:
            raise ValueError(f"{name}: the position belongs to another file, {self.name}.")
        if found.modified is None:
            raise ValueError(f"{name}: the position belongs to other rows: their number, shape or seed differs.")
        if found.size != self.size:
            what = f"its size was {self.size:,} and is {found.size:,}"
        elif found.digest != self.digest:
            what = "its first bytes differ"
        else:
            what = f"it was modified at {_time(self.modified)} and again at {_time(found.modified)}"
        raise ValueError(f"{name}: the file has changed since the position was taken ({what}): read it from the start.")


def digest_of(content: bytes) -> str:
    """Return a short hash."""
    return hashlib.sha256(content).hexdigest()[:16]


def _time(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return "an unknown time"
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="microseconds")
