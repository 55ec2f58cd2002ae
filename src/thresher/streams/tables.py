"""CSV, Parquet and Arrow, by way of pyarrow.

A table has a label column and either a pair of columns `ids` (list of int) and `values` (list of float), or one numeric
column a feature, whose names become the feature names.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.streams.sources import Flow, Source, opened
from thresher.streams.stream import Batch, DataError

DEFAULT_LABEL = "label"
# A batch of one column a feature is made dense for a moment: so many cells at a time.
_BATCH_CELLS = 1 << 20


def columns(source: Source, label: str | None, labelled: bool) -> tuple[str | None, list[str] | None]:
    """Return the label's column, if there is one, and the names of the features; None for a pair of ids and values."""
    names, types = _schema(source)
    wanted: str | None = label or DEFAULT_LABEL
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise DataError(f"{source.name}: there are two columns {twice!r}.")
    if wanted not in names:
        if labelled or label:
            hint = "" if label else " Name the label's column with label= (--label)."
            raise DataError(f"{source.name}: there is no column {wanted!r}; there are {_some(names)}.{hint}")
        wanted = None
    rest = [name for name in names if name != wanted]
    if set(rest) == {"ids", "values"}:
        return wanted, None
    for name in rest:
        if not _is_numeric(types[name]):
            raise DataError(f"{source.name}: column {name!r} has type {types[name]}; features must be numbers.")
    if not rest:
        raise DataError(f"{source.name}: there is no column but the label.")
    return wanted, rest


def batches(sources: list[Source], label: str | None, names: list[str] | None) -> Iterator[Batch]:
    """Yield the rows of tables in order."""
    for source in sources:
        row, done = 1, 0
        for table, n_bytes in _record_batches(source):
            wanted = (*(names or ("ids", "values")), *([] if label is None else [label]))
            missing = [name for name in wanted if name not in table.schema.names]
            if missing:
                raise DataError(
                    f"{source.name}: there is no column {missing[0]!r}; there are {_some(table.schema.names)}."
                )
            make = _from_columns if names else _from_lists
            batch = make(table, names or [], f"{source.name}, row", row)
            batch.labels = (
                np.full(batch.n_rows, np.nan)
                if label is None
                else _labels(table.column(label), f"{source.name}, row", row)
            )
            batch.file, batch.first_number, batch.counted_in, batch.n_bytes = source.name, row, "row", n_bytes - done
            done = n_bytes
            row += batch.n_rows
            yield batch


def _arrow() -> Any:
    try:
        for part in ("csv", "parquet", "ipc"):
            importlib.import_module(f"pyarrow.{part}")
    except ImportError:
        raise DataError(
            "CSV, Parquet and Arrow files are read with pyarrow: install it with pip install 'thresher[arrow]'."
        ) from None
    return importlib.import_module("pyarrow")


def _schema(source: Source) -> tuple[list[str], dict[str, Any]]:
    for table, _ in _record_batches(source):
        return table.schema.names, dict(zip(table.schema.names, table.schema.types, strict=True))
    raise DataError(f"{source.name}: the table has no rows.")


def _record_batches(source: Source) -> Iterator[tuple[Any, int]]:
    """Yield record batches, and how far into the file each one is."""
    pa = _arrow()
    try:
        if source.format == "parquet":
            with pa.parquet.ParquetFile(source.path) as file:
                n_rows = max(1, file.metadata.num_rows)
                done = 0
                size = max(64, _BATCH_CELLS // max(1, len(file.schema_arrow.names)))
                for batch in file.iter_batches(batch_size=min(size, 16_384)):
                    done += batch.num_rows
                    yield batch, (source.n_bytes or 0) * done // n_rows
        elif source.format == "arrow":
            yield from _arrow_batches(source, pa)
        else:
            yield from _csv_batches(source, pa)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{source.name}: {' '.join(str(error).split())}.") from None


def _csv_batches(source: Source, pa: Any) -> Iterator[tuple[Any, int]]:
    """Read a CSV; what looks like whole numbers, or is empty, in the first rows may turn out to be any number."""
    with opened(source) as flow:
        head = flow.peek(1 << 20)
        first_rows = head[: head.rfind(b"\n") + 1] or head
        schema = pa.csv.read_csv(pa.BufferReader(first_rows)).schema
        numbers = [name for name, kind in zip(schema.names, schema.types, strict=True) if _may_be_number(kind)]
        reader = pa.csv.open_csv(
            _Readable(flow),
            read_options=pa.csv.ReadOptions(block_size=1 << 20),
            convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(numbers, pa.float64())),
        )
        for batch in reader:
            yield batch, flow.position


def _may_be_number(kind: Any) -> bool:
    types = _arrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind))


def _arrow_batches(source: Source, pa: Any) -> Iterator[tuple[Any, int]]:
    with Path(source.path).open("rb") as file, pa.memory_map(source.path) as mapped:
        whole = file.read(6) == b"ARROW1"
        reader = pa.ipc.open_file(mapped) if whole else pa.ipc.open_stream(mapped)
        count: int = reader.num_record_batches if whole else 0
        each = (reader.get_batch(k) for k in range(count)) if whole else iter(reader)
        for k, batch in enumerate(each, start=1):
            yield batch, (source.n_bytes or 0) * k // (count or k)


class _Readable:
    """A Flow as the file object that pyarrow wants."""

    closed = False

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def read(self, size: int = -1) -> bytes:
        return self._flow.read(size if size >= 0 else 1 << 62)

    def close(self) -> None: ...

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _labels(column: Any, where: str, first_row: int) -> NDArray[Any]:
    if column.null_count:
        raise DataError(f"{where} {first_row + _first_null(column)}: the label is missing.")
    if not (_is_numeric(column.type) or _is_text(column.type)):
        raise DataError(f"{where} {first_row}: the label has type {column.type}; it must be a number or text.")
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if not _is_numeric(column.type):
        return values.astype(np.str_)
    labels = values.astype(np.float64)
    bad = ~np.isfinite(labels)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(f"{where} {first_row + row}: the label is {labels[row]}; it must be a finite number, or text.")
    return labels


def _from_columns(table: Any, names: list[str], where: str, first_row: int) -> Batch:
    n = table.num_rows
    dense = np.empty((n, len(names)), dtype=np.float32)
    for k, name in enumerate(names):
        column = table.column(name)
        if not _is_numeric(column.type):
            raise DataError(f"{where} {first_row}: column {name!r} has type {column.type}; features must be numbers.")
        if column.null_count:
            raise DataError(f"{where} {first_row + _first_null(column)}: column {name!r} is empty; fill it in.")
        with np.errstate(over="ignore"):  # what is too large for float32 is found below
            dense[:, k] = column.to_numpy(zero_copy_only=False)
    bad = np.argwhere(~np.isfinite(dense))
    if len(bad):
        r, k = bad[0]
        raise DataError(f"{where} {first_row + r}: column {names[k]!r} is {dense[r, k]}; values must be finite.")
    rows, ids = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Batch(
        starts.astype(np.int32), ids.astype(np.int32), dense[rows, ids], np.empty(0), len(names) - 1, zero_seen=True
    )


def _from_lists(table: Any, _names: list[str], where: str, first_row: int) -> Batch:
    ids, values = table.column("ids"), table.column("values")
    for name, column in (("ids", ids), ("values", values)):
        if not _arrow().types.is_list(column.type) and not _arrow().types.is_large_list(column.type):
            raise DataError(f"{where} {first_row}: column {name!r} has type {column.type}; it must hold lists.")
        if column.null_count or column.flatten().null_count:
            raise DataError(f"{where} {first_row} or later: {name} has a null in it.")
    if not _arrow().types.is_integer(ids.type.value_type) or not _is_numeric(values.type.value_type):
        raise DataError(f"{where} {first_row}: ids must be lists of whole numbers, and values lists of numbers.")
    starts = ids.offsets.to_numpy() - ids.offsets[0].as_py()
    lengths = np.diff(values.offsets.to_numpy())
    unequal = np.flatnonzero(np.diff(starts) != lengths)
    if len(unequal):
        raise DataError(f"{where} {first_row + unequal[0]}: ids and values differ in length.")
    flat_ids = ids.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    flat_values = values.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(flat_values) | (flat_ids < 0) | (flat_ids >= 2**63 - 1))
    if len(bad):
        row = first_row + int(np.searchsorted(starts, bad[0], side="right")) - 1
        raise DataError(
            f"{where} {row}: {flat_ids[bad[0]]}:{flat_values[bad[0]]:g}; "
            "ids must be from 0 to 2^63 - 2, and values must be finite."
        )
    starts, flat_ids, flat_values = _sorted(starts.astype(np.int64), flat_ids, flat_values)
    if not np.isfinite(flat_values).all():
        raise DataError(f"{where} {first_row} or later: a repeated id adds up to more than a float32 can hold.")
    largest = int(flat_ids.max(initial=-1))
    return Batch(starts, flat_ids, flat_values, np.empty(0), largest, bool(np.any(flat_ids == 0)))


def _sorted(
    starts: NDArray[np.int64], ids: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Bring ids into ascending order within each row, repeated ones summed."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    if np.all((np.diff(ids) > 0) | (np.diff(rows) > 0)):
        return starts, ids, values
    order = np.lexsort((ids, rows))
    rows, ids, values = rows[order], ids[order], values[order]
    first = np.concatenate([[True], (np.diff(ids) != 0) | (np.diff(rows) != 0)])
    sums = np.add.reduceat(values.astype(np.float64), np.flatnonzero(first)).astype(np.float32)
    counts = np.bincount(rows[first], minlength=len(starts) - 1)
    return np.concatenate([[0], np.cumsum(counts)]), ids[first], sums


def _is_text(type_: Any) -> bool:
    types = _arrow().types
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_dictionary(type_))


def _is_numeric(type_: Any) -> bool:
    types = _arrow().types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_))


def _first_null(column: Any) -> int:
    return int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")
