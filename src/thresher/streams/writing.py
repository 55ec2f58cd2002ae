"""`convert` and the files that it writes, svmlight text or a binary cache; tables of results, as CSV or Parquet."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from thresher import _core
from thresher.batch import Batch, DataError, core_rows
from thresher.io.atomic import atomic_file, refuse_inputs
from thresher.io.file_errors import FileError, refuse_empty_path
from thresher.messages import warn
from thresher.model.labels import label_text
from thresher.model.names import Naming
from thresher.streams.arrow_values import arrow
from thresher.streams.formats import cache
from thresher.streams.opening import as_stream
from thresher.streams.read_counts import ReadCounts
from thresher.streams.sources import ENDINGS, open_archive

Write = Callable[[bytes], Any]


def convert(data: Any, path: str | os.PathLike[str], *, progress: bool = False) -> ReadCounts:
    """Write data in the format of the ending of `path`: .thc, a binary cache, or .svm, svmlight text.

    Parameters
    ----------
    data : Stream, path, or anything else that `open_stream` takes
        A path is opened with `open_stream`.
    path : path
        The file to write, whole or not at all; "-" is standard output, as text. .gz, .bz2, .xz or .zst can follow .svm.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    ReadCounts
        How many rows were written, and what was skipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import convert, datasets, open_stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x1.thc"
    >>> convert(datasets.make_x2(100, n_features=20_000, n_informative=200, n_noise=400), path).n_rows
    100
    >>> X, y, _ = open_stream(path).to_csr()
    >>> X.shape[0], sorted(set(y.tolist()))
    (100, [-1, 1])
    """
    path = os.fspath(path)
    stream = as_stream(data)
    refuse_inputs(path, stream.files)
    # Columns of a table count from 0, rows of text from 1 unless id 0 occurs, which it need not.
    shift = 1 if stream.id_base == 0 and stream.naming is None and not path.endswith(".thc") else 0
    reading = ReadCounts()
    batches = reading.count_batches(stream, "converting", stream.batches(), progress)
    write_stream(batches, path, shift=shift, feature_names=stream.feature_names, naming=stream.naming)
    if stream.naming is not None and not path.endswith(".thc"):
        warn(f"{path}: svmlight text has no names, only their ids: a .thc cache keeps both.", UserWarning)
    return reading


def write_stream(
    batches: Iterator[Batch],
    path: str,
    *,
    shift: int = 0,
    feature_names: list[str] | None = None,
    naming: Naming | None = None,
) -> None:
    """Write batches to `path`; "-" is standard output.

    The ending of the name gives the format. A file is written completely or not at all. `shift` is added to every id.
    """
    refuse_empty_path("output", path)
    batches = _require_labels(batches)
    if path.endswith(".thc"):
        cache.write(_shift_ids(batches, shift) if shift else batches, path, feature_names, naming)
        return
    if path != "-" and _endings(path)[-1:] not in [[".svm"], [".svmlight"], [".libsvm"], [".txt"]]:
        raise ValueError(
            f"{path}: the name must end in .thc (binary cache) or .svm (text; .gz, .bz2, .xz, .zst may follow)."
        )
    with open_output(path) as write:
        for batch in batches:
            labels = _writable_labels(batch)
            write(_core.write_svmlight(core_rows(batch), shift, labels))


def write_table(parts: Iterable[Mapping[str, Any]], path: str) -> None:
    """Write a table of named columns to `path`.

    The name ends in .csv or .jsonl (.gz, .bz2, .xz, .zst may follow) or .parquet. Each part maps names to arrays or
    lists of one length; all parts have the same names. A file is written completely or not at all.
    """
    refuse_empty_path("output", path)
    kind = table_format(path)
    if kind is None:
        raise ValueError(f"{path}: the name must end in .csv or .jsonl (.gz, .bz2, .xz, .zst may follow) or .parquet.")
    {"csv": _write_csv, "jsonl": _write_json_lines, "parquet": _write_parquet}[kind](parts, path)


def table_format(path: str) -> str | None:
    """Return the format of a table by its file name: "csv", "jsonl", "parquet", or None."""
    ending = "".join(_endings(path)[-1:])
    if ending in (".csv", ".jsonl"):
        return ending.removeprefix(".")
    return "parquet" if Path(path).suffix == ".parquet" else None


def _write_csv(parts: Iterable[Mapping[str, Any]], path: str) -> None:
    names: list[str] = []
    with open_output(path) as write:
        for part in parts:
            text = io.StringIO(newline="")
            writer = csv.writer(text, lineterminator="\n")
            if not names:
                names = list(part)
                writer.writerow(names)
            writer.writerows(zip(*(_values(part[name]) for name in names), strict=True))
            write(text.getvalue().encode())


def _write_json_lines(parts: Iterable[Mapping[str, Any]], path: str) -> None:
    with open_output(path) as write:
        for part in parts:
            columns = [_values(each) for each in part.values()]
            rows = (dict(zip(part, row, strict=True)) for row in zip(*columns, strict=True))
            write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def _values(column: Any) -> list[Any]:
    """Return the values of a column, None for a number that is missing."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return [value if math.isfinite(value) else None for value in column.tolist()]
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _write_parquet(parts: Iterable[Mapping[str, Any]], path: str) -> None:
    pa = arrow()
    writer, empty, kinds = None, None, dict[str, Any]()
    with atomic_file(path) as file:
        try:
            for part in parts:
                table = pa.table({name: _arrow_column(path, name, part[name], kinds.get(name)) for name in part})
                kinds = {field.name: field.type for field in table.schema if not pa.types.is_null(field.type)}
                if writer is None and table.num_rows == 0:
                    empty = table  # it says which columns there are, and the types of most
                    continue
                if writer is None:
                    writer = pa.parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
            if writer is None and empty is not None:
                writer = pa.parquet.ParquetWriter(file, empty.schema)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise DataError(f"{path}: there is nothing to write: a Parquet file needs at least one row.")


def _arrow_column(path: str, name: str, values: Any, kind: Any) -> Any:
    """Return the values of a column, in the type of those before, if there are any."""
    pa = arrow()
    try:
        column = pa.array(np.asarray(values), kind, from_pandas=True)  # NaN is a missing number
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        what = "text" if kind is None else f"{kind} as in the first rows"
        raise DataError(f"{path}: not all values of column {name!r} are {what}: write a .csv or .jsonl file.") from None
    return pa.nulls(len(column), pa.string()) if len(column) and pa.types.is_null(column.type) else column


def _require_labels(batches: Iterator[Batch]) -> Iterator[Batch]:
    for batch in batches:
        batch.refuse_unlabelled("it can't be written: give it one, or write a table with thresher transform")
        yield batch


def _shift_ids(batches: Iterator[Batch], shift: int) -> Iterator[Batch]:
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
    labels = [label_text(label) for label in batch.labels.tolist()]
    for row, label in enumerate(labels):
        if not label or any(c in ":#" or c.isspace() for c in label):
            raise DataError(f"{batch.location(row)}: the label {label!r} can't be written as svmlight text.")
    return labels


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
    with atomic_file(path) as raw:
        if ending not in ENDINGS:
            yield raw.write
            return
        with open_archive(raw, ending.removeprefix("."), "wb") as file:
            yield file.write
