"""Writing a stream to a file: svmlight text, compressed or not, or our binary cache."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from thresher import _core
from thresher.csr import trusted_batch
from thresher.io.atomic import written_whole
from thresher.labels import shown
from thresher.streams import cache
from thresher.streams.stream import Batch, DataError

Write = Callable[[bytes], Any]


def write_stream(batches: Iterator[Batch], path: str, *, shift: int = 0, feature_names: list[str] | None = None) -> int:
    """Write batches to `path` ("-" is standard output) in the format of its ending; return the number of rows.

    A file is there whole or not at all. `shift` is added to every id.
    """
    if path.endswith(".thc"):
        return cache.write(_shifted(batches, shift) if shift else batches, path, feature_names)
    if path != "-" and not _is_text(path):
        raise ValueError(
            f"{path}: the name must end in .thc (binary cache) or .svm (text; .gz, .bz2, .xz, .zst may follow)."
        )
    n_rows = 0
    with _opened(path) as write:
        for batch in batches:
            labels = _writable_labels(batch)
            write(_core.write_svmlight(trusted_batch(batch), shift, labels))
            n_rows += batch.n_rows
    return n_rows


def _shifted(batches: Iterator[Batch], shift: int) -> Iterator[Batch]:
    for batch in batches:
        kind = batch.indices.dtype if batch.largest_id + shift < 2**31 else np.dtype(np.int64)
        batch.indices = batch.indices.astype(kind) + kind.type(shift)
        batch.largest_id += shift
        batch.zero_seen = False
        yield batch


def _writable_labels(batch: Batch) -> list[str]:
    if batch.importances is not None:
        raise DataError(
            f"{batch.file}: its rows have weights, which svmlight text can't hold; write a .thc cache instead."
        )
    labels = [shown(label) for label in batch.labels.tolist()]
    for row, label in enumerate(labels):
        if not label or any(c in ":#" or c.isspace() for c in label):
            raise DataError(f"{batch.place(row)}: the label {label!r} can't be written as svmlight text.")
    return labels


def _is_text(path: str) -> bool:
    endings = [ending for ending in Path(path).suffixes if ending not in (".gz", ".bz2", ".xz", ".zst")]
    return bool(endings) and endings[-1] in (".svm", ".svmlight", ".libsvm", ".txt")


@contextmanager
def _opened(path: str) -> Iterator[Write]:
    if path == "-":
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as raw, _compressed(raw, Path(path).suffix) as file:
        yield file.write


@contextmanager
def _compressed(raw: IO[bytes], ending: str) -> Iterator[Any]:
    if ending == ".gz":
        from isal import igzip

        file: Any = igzip.open(raw, "wb")  # type: ignore[no-untyped-call]
    elif ending == ".zst":
        import zstandard

        file = zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
    elif ending == ".bz2":
        import bz2

        file = bz2.BZ2File(raw, "wb")
    elif ending == ".xz":
        import lzma

        file = lzma.LZMAFile(raw, "wb")  # noqa: SIM115 closed below
    else:
        yield raw
        return
    with file:
        yield file
