"""The binary cache (.thc): batches as they are in memory, so that reading needs only a copy and a checksum.

Layout, little-endian:

    magic        8 bytes, THRESHC1
    blocks       each an indptr, ids, values, label codes, weights of rows (where weighted), marks and text of the names
                 (where features have names), every array padded to 64 bytes, so that a mapped file can be used as it is
    footer       JSON: version, totals, the labels, how features are named, and for each block its offset, shape, id
                 width, prefixes of names and CRC-32
    tail         8 bytes length and 4 bytes CRC-32 of the footer, then 8 bytes of magic

A truncated file has no tail; any flipped bit changes a checksum.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
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
from thresher.model.names import Naming
from thresher.streams.formats.cache_footer import (
    HEAD,
    MAGIC,
    PAD,
    TAIL,
    VERSION,
    Block,
    Footer,
    damaged_error,
    read_footer,
)
from thresher.streams.formats.format import Format, OpenFiles, Options, RowReader, Span
from thresher.streams.numbered_rows import blocks_with_rows
from thresher.streams.pipeline import Task
from thresher.streams.position import Position
from thresher.streams.sources import SharedFile, Source

# Bytes that the labels of a block may take in memory, where that is more than twice the file.
_MOST_LABEL_BYTES = 1 << 26


def write(
    batches: Iterator[Batch], path: str, feature_names: list[str] | None = None, naming: Naming | None = None
) -> None:
    """Write batches to a cache. Nothing appears at `path` before all is written."""
    footer: dict[str, Any] = {
        "version": VERSION, "n_rows": 0, "n_values": 0, "names": feature_names,
        "naming": None if naming is None else naming.to_dict(), "blocks": [],
    }  # fmt: skip
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
                footer["naming"] = footer["naming"] or Naming().to_dict()  # VW text whose first rows have numbers only
                arrays += [names.marks, names.text]
            payload = b"".join(_pad(array) for array in arrays)
            footer["blocks"].append(
                {
                    "at": file.tell(), "n_bytes": len(payload), "n_rows": batch.n_rows, "n_values": len(batch.data),
                    "id_bytes": batch.indices.itemsize, "weighted": batch.row_weights is not None,
                    "largest_id": batch.largest_id, "zero_seen": batch.zero_seen, "crc": crc32(payload),
                    "n_text": None if names is None else len(names.text),
                    "prefixes": None if names is None else names.prefixes,
                }
            )  # fmt: skip
            footer["n_rows"] += batch.n_rows
            footer["n_values"] += len(batch.data)
            file.write(payload)
        footer["labels"] = list(labels)
        text = json.dumps(footer).encode()
        file.write(text + TAIL.pack(len(text), crc32(text), MAGIC))


class CacheReader(RowReader):
    """Reads a cache."""

    def __init__(self, source: Source, footer: Footer) -> None:
        super().__init__(source)
        self.n_rows = footer.n_rows

    def tasks(self, span: Span, start: Position | None) -> Iterator[Task]:
        """Read the blocks that hold a span, or the rest of it."""
        source, footer, file = self.source, read_footer(self.source), SharedFile(self.source.path)
        first, end = self._rows(span, start)
        labels = _Labels(footer)
        for number, low, high in blocks_with_rows((block.n_rows for block in footer.blocks), first, end):
            yield partial(_read, source, file, number + 1, footer.blocks[number], labels, low, high)


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


def _pad(array: NDArray[Any]) -> bytes:
    raw = np.ascontiguousarray(array).tobytes()
    return raw + bytes(-len(raw) % PAD)


def _open(sources: list[Source], options: Options) -> OpenFiles:
    footers = [read_footer(source) for source in sources]
    names, naming = footers[0].names, footers[0].naming
    for source, footer in zip(sources, footers, strict=True):
        if (footer.names, footer.naming) != (names, naming):
            raise DataError(
                f"{source.name}: its features are named differently from those of {sources[0].name}: convert both with "
                "the same options."
            )
    return OpenFiles([CacheReader(*each) for each in zip(sources, footers, strict=True)], names, naming)


FORMAT = Format("cache", (".thc",), _open, options=frozenset(), is_text=False, is_parsed=False, marks=(MAGIC,))
