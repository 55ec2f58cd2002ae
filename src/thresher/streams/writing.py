"""Writes streams as svmlight text or binary cache, and tables as CSV or Parquet."""

from __future__ import annotations

import csv
import errno
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from thresher import _core
from thresher.batch import Batch, DataError, trusted_batch
from thresher.io.atomic import written_whole
from thresher.io.file_errors import FileError, refuse_empty
from thresher.model.labels import shown
from thresher.model.names import Naming
from thresher.streams.archives import ENDINGS, open_archive
from thresher.streams.columns import arrow
from thresher.streams.formats import cache

Write = Callable[[bytes], Any]


def write_stream(
    batches: Iterator[Batch],
    path: str,
    *,
    shift: int = 0,
    feature_names: list[str] | None = None,
    naming: Naming | None = None,
) -> int:
    """Write batches to `path` ("-" is standard output); return the number of rows.

    The ending of the name gives the format. A file is written completely or not at all. `shift` is added to every id.
    """
    refuse_empty("output", path)
    batches = _labelled(batches)
    if path.endswith(".thc"):
        return cache.write(_shifted(batches, shift) if shift else batches, path, feature_names, naming)
    if path != "-" and not _is_text(path):
        raise ValueError(
            f"{path}: the name must end in .thc (binary cache) or .svm (text; .gz, .bz2, .xz, .zst may follow)."
        )
    n_rows = 0
    with open_output(path) as write:
        for batch in batches:
            labels = _writable_labels(batch)
            write(_core.write_svmlight(trusted_batch(batch), shift, labels))
            n_rows += batch.n_rows
    return n_rows


def write_table(parts: Iterable[Mapping[str, Any]], path: str) -> int:
    """Write a table of named columns to `path`; return the number of rows.

    The name ends in .csv (.gz, .bz2, .xz, .zst may follow) or .parquet. Each part maps names to arrays or lists of one
    length; all parts have the same names. A file is written completely or not at all.
    """
    refuse_empty("output", path)
    kind = table_format(path)
    if kind is None:
        raise ValueError(f"{path}: the name must end in .csv (.gz, .bz2, .xz, .zst may follow) or .parquet.")
    return _write_parquet(parts, path) if kind == "parquet" else _write_csv(parts, path)


def table_format(path: str) -> str | None:
    """Return the format of a table by its file name: "csv", "parquet", or None."""
    endings = _endings(path)
    if endings[-1:] == [".csv"]:
        return "csv"
    return "parquet" if Path(path).suffix == ".parquet" else None


def _write_csv(parts: Iterable[Mapping[str, Any]], path: str) -> int:
    n_rows, names = 0, None
    with open_output(path) as write:
        for part in parts:
            text = io.StringIO(newline="")
            writer = csv.writer(text, lineterminator="\n")
            if names is None:
                names = list(part)
                writer.writerow(names)
            columns = [np.asarray(part[name]).tolist() for name in names]
            rows = list(zip(*columns, strict=True))
            writer.writerows(rows)
            write(text.getvalue().encode())
            n_rows += len(rows)
    return n_rows


def _write_parquet(parts: Iterable[Mapping[str, Any]], path: str) -> int:
    pa = arrow()
    n_rows, writer = 0, None
    with written_whole(path) as file:
        try:
            for part in parts:
                kinds = repeat(None) if writer is None else writer.schema.types
                columns = [pa.array(np.asarray(each), kind) for each, kind in zip(part.values(), kinds, strict=False)]
                table = pa.table(columns, list(part))
                if writer is None:
                    writer = pa.parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
                n_rows += table.num_rows
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise DataError(f"{path}: there is nothing to write: a Parquet file needs at least one row.")
    return n_rows


def _labelled(batches: Iterator[Batch]) -> Iterator[Batch]:
    for batch in batches:
        batch.refuse_unlabelled("it can't be written: give it one, or write a table with thresher transform")
        yield batch


def _shifted(batches: Iterator[Batch], shift: int) -> Iterator[Batch]:
    for batch in batches:
        kind = batch.indices.dtype if batch.largest_id + shift < 2**31 else np.dtype(np.int64)
        batch.indices = batch.indices.astype(kind) + kind.type(shift)
        batch.largest_id += shift
        batch.zero_seen = False
        yield batch


def _writable_labels(batch: Batch) -> list[str]:
    if batch.row_weights is not None:
        raise DataError(
            f"{batch.file}: its rows have weights, which svmlight text can't hold; write a .thc cache instead."
        )
    labels = [shown(label) for label in batch.labels.tolist()]
    for row, label in enumerate(labels):
        if not label or any(c in ":#" or c.isspace() for c in label):
            raise DataError(f"{batch.place(row)}: the label {label!r} can't be written as svmlight text.")
    return labels


def _is_text(path: str) -> bool:
    return _endings(path)[-1:] in [[".svm"], [".svmlight"], [".libsvm"], [".txt"]]


def _endings(path: str) -> list[str]:
    """Return the endings of a name, without a compression ending."""
    return [ending for ending in Path(path).suffixes if ending not in ENDINGS]


@contextmanager
def open_output(path: str) -> Iterator[Write]:
    """Open a file that appears, whole, when the block ends without an error; "-" is standard output."""
    if path == "-":
        if sys.stdout is None:
            raise FileError(errno.EBADF, "it is closed", "standard output")
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    ending = Path(path).suffix
    with written_whole(path) as raw:
        if ending not in ENDINGS:
            yield raw.write
            return
        with open_archive(raw, ending.removeprefix("."), "wb") as file:
            yield file.write
