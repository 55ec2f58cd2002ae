"""The binary cache (.thc): batches as they are in memory, so that reading needs only a copy and a checksum.

Layout, little-endian:

    magic        8 bytes, THRESHC1
    blocks       each an indptr, ids, values, label codes, weights of rows (where weighted), marks and text of the names
                 (where features have names), every array padded to 64 bytes, so that a mapped file can be used as it is
    footer       JSON: version, totals, the labels, how features are named, and for each block its offset, shape, id
                 width, prefixes of names and CRC-32
    tail         8 bytes length and 4 bytes CRC-32 of the footer, then 8 bytes of magic

A truncated file has no tail; any flipped bit changes a checksum. A matching checksum does not make a file valid: the
footer is checked in full against the file, and no read and no allocation relies on an unchecked one.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import Batch, BatchNames, DataError
from thresher.io.atomic import atomic_file
from thresher.io.file_errors import name_file_in_errors
from thresher.messages import count_noun
from thresher.model.class_weights import are_weights
from thresher.model.labels import label_text, labels_from_values
from thresher.model.names import MOST_PREFIXES, Naming, are_texts
from thresher.model.validators import (
    anything,
    checked_field,
    dict_of,
    is_count,
    is_flag,
    is_number,
    is_whole,
    list_of,
    optional,
    validators_of,
)
from thresher.streams.formats.format import Format, OpenFiles, Options, RowReader, Span
from thresher.streams.numbered_rows import blocks_with_rows
from thresher.streams.pipeline import ReadBlock
from thresher.streams.position import Position
from thresher.streams.sources import SharedFile, Source

MAGIC = b"THRESHC1"
VERSION = 4
TAIL = struct.Struct("<QI8s")
PAD = 64
HEAD = MAGIC + bytes(PAD - len(MAGIC))
# Bytes that the labels of a block may take in memory, where that is more than twice the file.
_MOST_LABEL_BYTES = 1 << 26


@dataclass(frozen=True)
class Block:
    """Where the rows of a batch are, and their shape, as the footer has it."""

    at: int = checked_field(is_whole)
    n_bytes: int = checked_field(is_whole)
    n_rows: int = checked_field(is_whole)
    n_values: int = checked_field(is_whole)
    id_bytes: int = checked_field(lambda size: type(size) is int and size in (4, 8))
    weighted: bool = checked_field(is_flag)
    largest_id: int = checked_field(lambda id_: type(id_) is int and -1 <= id_ < 2**63 - 1)
    zero_seen: bool = checked_field(is_flag)
    crc: int = checked_field(is_whole)
    n_text: int | None = checked_field(optional(is_whole))  # None: its features have no names
    prefixes: list[str] | None = checked_field(  # noqa: RUF009 it is a field, and no default
        optional(lambda them: are_texts(them) and len(them) <= MOST_PREFIXES)
    )

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


_FOOTER = dict_of(
    version=lambda version: version == VERSION,
    n_rows=is_count,
    n_values=is_count,
    names=optional(are_texts),
    naming=optional(anything),  # `Naming.from_dict` checks it
    blocks=list_of(dict_of(**validators_of(Block))),
    labels=list_of(lambda label: is_number(label) or is_flag(label) or are_texts([label])),
)


def write(
    batches: Iterator[Batch], path: str, feature_names: list[str] | None = None, naming: Naming | None = None
) -> None:
    """Write batches to a cache. Nothing appears at `path` before all is written."""
    blocks: list[Block] = []
    labels: dict[Any, int] = {}
    with atomic_file(path) as file:
        file.write(HEAD)
        for batch in batches:
            codes = np.array([labels.setdefault(label, len(labels)) for label in batch.labels.tolist()], dtype=np.int32)
            arrays = [batch.indptr.astype(np.int32), batch.indices, batch.data, codes]
            if batch.row_weights is not None:
                arrays.append(batch.row_weights)
            names = batch.names if isinstance(batch.names, BatchNames) else None
            if names is not None:
                naming = naming or Naming()  # VW text whose first rows have numbers only
                arrays += [names.marks, names.text]
            payload = b"".join(_pad(array) for array in arrays)
            block = Block(
                file.tell(), len(payload), batch.n_rows, len(batch.data), batch.indices.itemsize,
                weighted=batch.row_weights is not None, largest_id=batch.largest_id, zero_seen=batch.zero_seen,
                crc=crc32(payload), n_text=None if names is None else len(names.text),
                prefixes=None if names is None else names.prefixes,
            )  # fmt: skip
            blocks.append(block)
            file.write(payload)
        footer = {
            "version": VERSION, "n_rows": sum(block.n_rows for block in blocks),
            "n_values": sum(block.n_values for block in blocks), "names": feature_names,
            "naming": None if naming is None else naming.to_dict(), "blocks": list(map(vars, blocks)),
            "labels": list(labels),
        }  # fmt: skip
        text = json.dumps(footer).encode()
        file.write(text + TAIL.pack(len(text), crc32(text), MAGIC))


def _pad(array: NDArray[Any]) -> bytes:
    raw = np.ascontiguousarray(array).tobytes()
    return raw + bytes(-len(raw) % PAD)


class CacheReader(RowReader):
    """Reads a cache."""

    def __init__(self, source: Source, footer: Footer) -> None:
        super().__init__(source)
        self.n_rows = footer.n_rows

    def reads(self, span: Span, start: Position | None) -> Iterator[ReadBlock]:
        """Read the blocks that hold a span, or the rest of it."""
        source, footer, file = self.source, read_footer(self.source), SharedFile(self.source.path)
        first, end = self._rows(span, start)
        labels = _Labels(footer)
        for place, low, high in blocks_with_rows((block.n_rows for block in footer.blocks), first, end):
            yield partial(_read, source, file, place + 1, footer.blocks[place], labels, low, high)


class _Labels:
    """The labels of a cache, by their codes."""

    def __init__(self, footer: Footer) -> None:
        self._most_bytes = max(2 * footer.file_size, _MOST_LABEL_BYTES)
        self._n = len(footer.labels)
        self._words: list[str] | None = None
        if any(isinstance(label, str) for label in footer.labels):
            self._words = [label_text(label) for label in footer.labels]
        else:
            self._numbers = labels_from_values(footer.labels)

    def of(self, codes: NDArray[np.int32], location: str) -> NDArray[Any]:
        """Return the labels of the rows of a block, which is at `location`."""
        if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < self._n:
            raise ValueError
        if self._words is None:
            return self._numbers[codes]
        # In an array of numpy each string takes as much memory as the longest: only those that occur are taken.
        used = np.flatnonzero(np.bincount(codes, minlength=self._n))
        longest = max((len(self._words[code]) for code in used), default=0)
        if 4 * longest * len(codes) > self._most_bytes:
            raise DataError(
                f"{location}: a label has {longest:,} characters, and {count_noun(len(codes), 'row')} would take as "
                "much memory each: use shorter labels."
            )
        places = np.zeros(self._n, np.intp)
        places[used] = np.arange(len(used))
        return np.array([self._words[code] for code in used], np.str_)[places[codes]]


def _read(source: Source, file: SharedFile, number: int, block: Block, labels: _Labels, low: int, high: int) -> Batch:
    with name_file_in_errors(source.name):
        payload = _core.read_bytes(file.number, block.at, block.n_bytes)
    if len(payload) != block.n_bytes or crc32(payload) != block.crc:
        raise damaged_error(source, number)
    try:
        batch = _batch(block, payload, labels, f"{source.name}, block {number}").part(low, high)
    except DataError:
        raise
    except (IndexError, TypeError, ValueError):
        raise damaged_error(source, number) from None
    batch.end_byte = block.at + block.n_bytes * high // block.n_rows
    return batch


def _batch(block: Block, payload: NDArray[np.uint8], labels: _Labels, location: str) -> Batch:
    """Build a batch from a block; its content is checked, since a matching checksum does not make it valid."""
    at = 0

    def take(dtype: Any, count: int) -> NDArray[Any]:
        nonlocal at
        array = np.frombuffer(payload, dtype, count, at)
        at += -(-array.nbytes // PAD) * PAD
        return array

    ids_type = np.int32 if block.id_bytes == 4 else np.int64
    starts = take(np.int32, block.n_rows + 1).astype(ids_type, copy=False)
    ids = take(ids_type, block.n_values)
    values = take(np.float32, block.n_values)
    codes = take(np.int32, block.n_rows)
    row_weights = take(np.float64, block.n_rows) if block.weighted else None
    names = None
    if block.n_text is not None and block.prefixes is not None:
        marks = take(np.uint64, block.n_values)
        names = BatchNames(marks, take(np.uint8, block.n_text), block.prefixes)
        names.check()
    rows = _core.CsrBatch(starts, ids, values, block.largest_id + 1)
    # Only what is in a row is checked, so nothing may be outside.
    if rows.check("l2") is not None or int(starts[0]) != 0 or int(starts[-1]) != len(ids):
        raise ValueError
    if row_weights is not None and not are_weights(row_weights).all():
        raise ValueError
    return Batch(
        starts, ids, values, labels.of(codes, location), block.largest_id, block.zero_seen, row_weights, block.n_bytes,
        names=names, n_lines=block.n_rows,
    )  # fmt: skip


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
    blocks, names, at = [Block(**block) for block in found["blocks"]], found["names"], PAD
    for block in blocks:
        _require(block.is_possible and block.at == at and (names is None or block.largest_id < len(names)))
        at += block.n_bytes
    sums = {name: sum(getattr(block, name) for block in blocks) for name in ("n_rows", "n_values")}
    _require(at == end and all(found[name] == n for name, n in sums.items()))
    naming = None if found["naming"] is None else Naming.from_dict(found["naming"])
    return Footer(found["n_rows"], names, naming, found["labels"], blocks, size)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def _open(sources: list[Source], options: Options) -> OpenFiles:
    footers = [read_footer(source) for source in sources]
    names, naming = footers[0].names, footers[0].naming
    for source, footer in zip(sources, footers, strict=True):
        if (footer.names, footer.naming) != (names, naming):
            raise DataError(
                f"{source.name}: its features have other names than in {sources[0].name}: convert both with "
                "the same options."
            )
    return OpenFiles([CacheReader(*each) for each in zip(sources, footers, strict=True)], names, naming)


FORMAT = Format("cache", (".thc",), _open, options=frozenset(), is_text=False, is_parsed=False, marks=(MAGIC,))
