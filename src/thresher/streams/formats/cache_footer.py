"""The footer of a cache (.thc), checked in full against the file before any of it is used.

A matching checksum does not make it valid: no read and no allocation relies on an unchecked footer.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isal.isal_zlib import crc32

from thresher.batch import DataError
from thresher.io.file_errors import name_file_in_errors
from thresher.model.names import MOST_PREFIXES, Naming, are_texts
from thresher.model.validators import anything, count, dict_of, flag, list_of, number, optional, whole
from thresher.streams.sources import Source

MAGIC = b"THRESHC1"
VERSION = 3
TAIL = struct.Struct("<QI8s")
PAD = 64
HEAD = MAGIC + bytes(PAD - len(MAGIC))
_FOOTER = dict_of(
    version=lambda version: version == VERSION,
    n_rows=count,
    n_values=count,
    names=optional(are_texts),
    naming=optional(anything),  # `Naming.from_dict` checks it
    labels=list_of(lambda label: number(label) or flag(label) or are_texts([label])),
    blocks=list_of(
        dict_of(
            at=whole, n_bytes=whole, n_rows=whole, n_values=whole, crc=whole, weighted=flag, zero_seen=flag,
            id_bytes=lambda size: type(size) is int and size in (4, 8),
            largest_id=lambda id_: type(id_) is int and -1 <= id_ < 2**63 - 1,
            n_text=optional(whole),
            prefixes=optional(lambda prefixes: are_texts(prefixes) and len(prefixes) <= MOST_PREFIXES),
        )
    ),
)  # fmt: skip


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

    @property
    def is_possible(self) -> bool:
        """Whether the fields fit each other. Its arrays have all of its bytes, so no count is larger than the file."""
        sizes = [4 * (self.n_rows + 1), self.id_bytes * self.n_values, 4 * self.n_values, 4 * self.n_rows]
        sizes += [8 * self.n_rows] if self.weighted else []
        sizes += [] if self.n_text is None else [8 * self.n_values, self.n_text]
        return (
            self.n_bytes == sum(-(-size // PAD) * PAD for size in sizes)
            and (self.n_text is None) == (self.prefixes is None)
            and (self.id_bytes == 8 or self.largest_id < 2**31)
        )


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
    with name_file_in_errors(source.name), Path(source.path).open("rb") as file:
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
        _require(crc32(text) == crc)
        return _check_footer(source, json.loads(text), end, size)
    except DataError:
        raise
    except (ValueError, TypeError, RecursionError):
        raise damaged_error(source) from None


def damaged_error(source: Source, block: int | None = None) -> DataError:
    """Return the error for a cache that can't be used."""
    location = source.name if block is None else f"{source.name}, block {block}"
    return DataError(f"{location}: the cache is damaged; recreate it with thresher convert.")


def _check_footer(source: Source, found: Any, end: int, size: int) -> Footer:
    """Return what the footer says, if the blocks that it describes fill the file up to `end`, where it begins."""
    version = found.get("version") if isinstance(found, dict) else None
    if type(version) is int and version != VERSION:
        raise DataError(
            f"{source.name}: cache version {version} can't be read; this version of thresher reads "
            f"version {VERSION}: recreate it with thresher convert."
        )
    _require(_FOOTER(found))
    blocks, at = [Block(**block) for block in found["blocks"]], PAD
    for block in blocks:
        _require(block.is_possible and block.at == at)
        at += block.n_bytes
    names = found["names"]
    _require(at == end)
    _require(all(found[name] == sum(getattr(block, name) for block in blocks) for name in ("n_rows", "n_values")))
    _require(names is None or all(block.largest_id < len(names) for block in blocks))
    naming = None if found["naming"] is None else Naming.from_dict(found["naming"])
    return Footer(found["n_rows"], names, naming, found["labels"], blocks, size)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError
