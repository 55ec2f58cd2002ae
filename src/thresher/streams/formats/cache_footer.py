"""The footer of a cache (.thc), checked in full against the file before any of it is used.

A right checksum does not make it valid: nothing is read, and no memory is taken, because a footer says so.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isal.isal_zlib import crc32

from thresher.batch import DataError
from thresher.io.file_errors import errors_of
from thresher.model.names import MOST_PREFIXES, Naming, are_texts
from thresher.streams.sources import Source

MAGIC = b"THRESHC1"
VERSION = 3
TAIL = struct.Struct("<QI8s")
PAD = 64
HEAD = MAGIC + bytes(PAD - len(MAGIC))
_LARGEST_ID = 2**63 - 2


@dataclass(frozen=True)
class Block:
    """Where the rows of a batch are, and their shape. The fields are those of the footer."""

    at: int
    n_bytes: int
    n_rows: int
    n_values: int
    id_bytes: int
    weighted: bool
    largest_id: int
    zero_seen: bool
    crc: int
    n_text: int | None  # None: its features have no names
    prefixes: list[str] | None

    def check(self, limit: int) -> None:
        """Raise ValueError unless the fields can describe a block within `limit` bytes."""
        for count in (self.at, self.n_bytes, self.n_rows, self.n_values, 0 if self.n_text is None else self.n_text):
            _demand(type(count) is int and 0 <= count <= limit)
        _demand(type(self.id_bytes) is int and self.id_bytes in (4, 8))
        _demand(type(self.weighted) is bool and type(self.zero_seen) is bool)
        most = 2**31 - 1 if self.id_bytes == 4 else _LARGEST_ID
        _demand(type(self.largest_id) is int and -1 <= self.largest_id <= most)
        _demand(type(self.crc) is int and 0 <= self.crc < 2**32)
        _demand((self.n_text is None) == (self.prefixes is None))
        if self.prefixes is not None:
            _demand(are_texts(self.prefixes) and len(self.prefixes) <= MOST_PREFIXES)
        _demand(self.n_bytes == sum(-(-size // PAD) * PAD for size in self.sizes()))

    def sizes(self) -> Iterator[int]:
        """Yield the bytes of its arrays, in their order, without what they are padded with."""
        yield 4 * (self.n_rows + 1)
        yield self.id_bytes * self.n_values
        yield 4 * self.n_values
        yield 4 * self.n_rows
        if self.weighted:
            yield 8 * self.n_rows
        if self.n_text is not None:
            yield 8 * self.n_values
            yield self.n_text


@dataclass(frozen=True)
class Footer:
    """The contents of a cache."""

    n_rows: int
    names: list[str] | None
    naming: Naming | None
    labels: list[Any]
    blocks: list[Block]
    file_size: int


def read_footer(source: Source) -> Footer:
    """Return the footer, which describes the rest of the file."""
    with errors_of(source.name), Path(source.path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < PAD + TAIL.size:
            raise DataError(f"{source.name}: the cache is truncated; recreate it with thresher convert.")
        if file.read(PAD) != HEAD:
            raise DataError(f"{source.name}: this is not a thresher cache, or it is damaged.")
        file.seek(size - TAIL.size)
        length, crc, magic = TAIL.unpack(file.read(TAIL.size))
        end = size - TAIL.size - length
        if magic != MAGIC or end < PAD:
            raise DataError(f"{source.name}: the cache is truncated; recreate it with thresher convert.")
        file.seek(end)
        text = file.read(length)
    try:
        _demand(crc32(text) == crc)
        return _checked(source, json.loads(text), end, size)
    except DataError:
        raise
    except (ValueError, TypeError, RecursionError):
        raise damaged(source) from None


def damaged(source: Source, block: int | None = None) -> DataError:
    """Return the error for a cache that can't be used."""
    place = source.name if block is None else f"{source.name}, block {block}"
    return DataError(f"{place}: the cache is damaged; recreate it with thresher convert.")


def _checked(source: Source, found: Any, end: int, size: int) -> Footer:
    """Return what the footer says, if the blocks that it describes fill the file up to `end`, where it begins."""
    _demand(isinstance(found, dict))
    version = found.get("version")
    if type(version) is int and version != VERSION:
        raise DataError(
            f"{source.name}: cache version {version} can't be read; this version of thresher reads "
            f"version {VERSION}: recreate it with thresher convert."
        )
    _demand(found.keys() == {"version", "n_rows", "n_values", "names", "naming", "blocks", "labels"})
    _demand(type(version) is int and isinstance(found["blocks"], list) and isinstance(found["labels"], list))
    blocks, at = [], PAD
    for entry in found["blocks"]:
        _demand(isinstance(entry, dict))
        block = Block(**entry)
        block.check(end)
        _demand(block.at == at)
        blocks.append(block)
        at += block.n_bytes
    _demand(at == end)
    for name in ("n_rows", "n_values"):
        _demand(type(found[name]) is int and found[name] == sum(getattr(block, name) for block in blocks))
    names = found["names"]
    if names is not None:
        _demand(are_texts(names) and max((block.largest_id for block in blocks), default=-1) < len(names))
    _demand(all(_is_label(label) for label in found["labels"]))
    naming = None if found["naming"] is None else Naming.from_dict(found["naming"])
    return Footer(found["n_rows"], names, naming, found["labels"], blocks, size)


def _is_label(label: object) -> bool:
    if isinstance(label, str):
        return are_texts([label])
    return type(label) is float or (isinstance(label, int) and -(2**63) <= label < 2**64)


def _demand(condition: bool) -> None:
    if not condition:
        raise ValueError
