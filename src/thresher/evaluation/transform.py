"""Data with only the selected features left, for another program to use.

One reading, in memory that does not grow with the stream.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import BatchNames
from thresher.evaluation.alignment import open_for_model
from thresher.evaluation.prediction import as_model, batches_of, keys_or_none
from thresher.messages import parameter
from thresher.model.labels import as_number, label_text
from thresher.model.model import Model
from thresher.model.names import distinct_names
from thresher.model.safe_names import column_names
from thresher.streams import Batch, Data, DataError, Stream
from thresher.streams.read_counts import ReadCounts
from thresher.streams.writing import open_output, table_format, write_stream, write_table

# Cells of a table that are in memory at a time.
_CELLS = 4_000_000


def write_selected(
    model: Any,
    data: Any,
    path: str | os.PathLike[str],
    *,
    keep_ids: bool = False,
    safe_names: bool = False,
    column_map: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> ReadCounts:
    """Write data with only the selected features left, as `transform` does for matrices.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    data : Stream, path, or anything else that `open_stream` takes
        Rows, with labels or without. A path is opened with `open_stream(path, labelled=False)`.
    path : path
        The file to write, whole or not at all. Its ending gives the format: .svm, svmlight text, and .thc, a binary
        cache, where rows without labels get the label 0; .csv and .parquet, tables with the columns `label`, `weight`
        if rows have weights, and one for each selected feature, with its name or else its id; before them the key, if
        the stream has one. Text and CSV are compressed if .gz, .bz2, .xz or .zst follows. "-" is standard output, as
        svmlight text.
    keep_ids : bool, default=False
        Keep the ids as they are; else the selected features get the ids 1 … B, in column order. For .svm and .thc.
    safe_names : bool, default=False
        In a table, name columns with ASCII letters, digits and _ only, as LightGBM and others want: `site=a.com` is
        `site_a_com`. `column_map` and `feature_table` have both names.
    column_map : path, optional
        A CSV file to write beside it, with a line for each selected feature: `column`, its new id, or its column of
        the table; `feature`, its name or else its id in the data; `id`; and `weight`, the model's, one for each class
        if there are more than two.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    ReadCounts
        How many rows were written, and what was skipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import ShadowSOFS, datasets, write_selected
    >>> model = ShadowSOFS(2).fit(*datasets.make_x1(2_000))
    >>> new = datasets.make_x2(3, n_features=20_000, n_informative=200, n_noise=400, start=2_000)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.csv"
    >>> write_selected(model, new, path).n_rows
    3
    >>> len(path.read_text().splitlines()[0].split(","))
    3
    """
    path, column_map = os.fspath(path), None if column_map is None else os.fspath(column_map)
    trained = as_model(model)
    is_table = table_format(path) in ("csv", "parquet")
    if is_table and keep_ids:
        raise ValueError(f"{path}: a table's columns have names, so {parameter('keep_ids')} can't be used with it.")
    if safe_names and not is_table:
        raise ValueError(f"{path}: {parameter('safe_names')} needs a table, a file that ends in .csv or .parquet.")
    if column_map is not None and (table_format(column_map) != "csv" or column_map == path):
        raise ValueError(
            f"{column_map}: {parameter('column_map')} must be another file, with a name that ends in .csv."
        )
    outputs = [path] if column_map is None else [path, column_map]
    stream, reading, batches = open_for_model(
        trained, data, "transforming", labelled=False, outputs=outputs, progress=progress
    )
    key = stream.key if is_table else None
    names = column_names(trained, safe_names, [] if key is None else [key]) if is_table else None
    columns = _Columns.of(trained, names, keep_ids)
    with nullcontext() if column_map is None else _column_map_file(column_map, columns.as_csv(trained)):
        if not is_table:
            naming = stream.naming if keep_ids else None
            write_stream(_select_batches(trained, batches, columns, keep_ids), path, naming=naming)
        else:
            write_rows = _write_csv if table_format(path) == "csv" else _write_parquet
            write_rows(_table_rows(trained, batches, columns, key), columns, path)
    return reading


def selected_rows(model: Model, data: Data) -> Any:
    """Return all rows of data with only the selected columns, in column order, in CSR."""
    columns = _Columns.of(model)
    picked = _select_batches(model, batches_of(model, data), columns, keep_ids=False)
    return Stream("the selected columns", lambda: picked, id_base=1, n_features=len(columns.ids)).to_csr()[0]


@contextmanager
def _column_map_file(path: str, text: str) -> Iterator[None]:
    """Write the map; it appears when the data are complete, or not at all."""
    with open_output(path) as write:
        write(text.encode())
        yield


@dataclass(frozen=True)
class _Columns:
    """The selected features, in column order: their ids and names in the data, and their new names."""

    ids: NDArray[np.int64]
    index: _core.ColumnIndex
    features: list[str]
    now: list[str]

    @classmethod
    def of(cls, model: Model, names: list[str] | None = None, keep_ids: bool = False) -> _Columns:
        members = np.sort(model.members()[0])
        ids = members + model.id_base
        features = [model.name_of(int(column)) for column in members]
        now = names or [str(id_) for id_ in (ids if keep_ids else range(1, len(ids) + 1))]
        return cls(ids, _core.ColumnIndex(ids), features, now)

    def as_csv(self, model: Model) -> str:
        assert model.target is not None
        members, weights = model.members()
        of_each = weights[np.argsort(members)].T
        rows = zip(self.now, self.features, self.ids.tolist(), *(each.astype(str) for each in of_each), strict=True)
        return _csv_lines([["column", "feature", "id", *model.target.headings("weight")], *rows])


def _select_batches(model: Model, batches: Iterator[Batch], columns: _Columns, keep_ids: bool) -> Iterator[Batch]:
    """Yield batches with the selected features only."""
    for batch in batches:
        starts, picked, places = columns.index.pick(model.known_rows(batch))
        ids = batch.indices[places] if keep_ids else picked + 1
        batch.data, batch.indices, batch.indptr = batch.data[places], ids, starts.astype(ids.dtype)
        batch.largest_id = int(ids.max(initial=-1))
        batch.names = batch.names.at(places) if keep_ids and isinstance(batch.names, BatchNames) else None
        batch.zero_seen = bool(len(ids)) and int(ids.min()) == 0
        if batch.labels.dtype.kind == "f":
            # A row of text without label and features would be an empty line, which readers skip.
            batch.labels = np.nan_to_num(batch.labels, nan=0.0)
        elif batch.labels.dtype.kind == "U":
            batch.labels = np.where(batch.labels == "", "0", batch.labels)
        yield batch


@dataclass(frozen=True)
class _TableRows:
    """Rows of a table: labels, None where there is none, what else comes before, and CSR whose ids are columns."""

    labels: NDArray[Any]
    weights: NDArray[np.float64] | None  # if rows have any
    keys: dict[str, NDArray[Any]]  # of one column, or of none
    starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32]

    def at(self, low: int, high: int) -> _TableRows:
        begin, end = int(self.starts[low]), int(self.starts[high])
        weights = None if self.weights is None else self.weights[low:high]
        starts = self.starts[low : high + 1] - begin
        keys = {name: each[low:high] for name, each in self.keys.items()}
        return _TableRows(self.labels[low:high], weights, keys, starts, self.ids[begin:end], self.values[begin:end])

    @property
    def heads(self) -> dict[str, NDArray[Any]]:
        """The columns before those of the features."""
        return {**self.keys, "label": self.labels, **({} if self.weights is None else {"weight": self.weights})}


def _table_rows(model: Model, batches: Iterator[Batch], columns: _Columns, key: str | None) -> Iterator[_TableRows]:
    """Yield the rows of a table, a limited number of cells at a time; first none: a table has columns even then."""
    assert model.target is not None
    kind = model.target.type_in_tables
    kind = kind if kind.kind in "iuf" else np.dtype(str)
    most = max(1, _CELLS // max(1, len(columns.ids)))
    is_weighted = None
    for batch in batches:
        starts, ids, places = columns.index.pick(model.known_rows(batch))
        keys = {} if key is None else {distinct_names([key], ["label", "weight"])[0]: keys_or_none(batch)}
        rows = _TableRows(_labels(batch, kind), batch.row_weights, keys, starts, ids, batch.data[places])
        if is_weighted is None:
            is_weighted = rows.weights is not None
            yield replace(rows.at(0, 0), labels=np.zeros(0, kind))
        if is_weighted and rows.weights is None:
            rows = replace(rows, weights=np.ones(batch.n_rows))
        if rows.weights is not None and not is_weighted:
            raise DataError(
                f"{batch.location(0)}: rows have weights here, but the first ones had none, so the table has no column "
                "for them: write a .thc cache instead."
            )
        for low in range(0, batch.n_rows, most):
            yield rows.at(low, min(low + most, batch.n_rows))
    if is_weighted is None:
        none = np.zeros(0, np.int32)
        yield _TableRows(np.zeros(0, kind), None, {}, np.zeros(1, np.int64), none, none.astype(np.float32))


def _labels(batch: Batch, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return the labels as a column of a table, of the kind of the model's classes."""
    if kind.kind == "U":
        words = [label_text(label) for label in batch.labels.tolist()]
        return np.array([None if word in ("", "nan") else word for word in words], dtype=object)
    column = np.array([_number(label, kind) for label in batch.labels.tolist()], dtype=object)
    strange = np.flatnonzero(column == "")
    if len(strange):
        row = int(strange[0])
        raise DataError(
            f"{batch.location(row)}: the label {label_text(batch.labels.tolist()[row])!r} can't be written to a column "
            f"of {'' if kind.kind == 'f' else 'whole '}numbers, as the model's classes are: write .svm text instead."
        )
    return column


def _number(label: Any, kind: np.dtype[Any]) -> float | int | str | None:
    """Return a label as a number, None if it is missing, or "" if it is not a number of that kind."""
    if label in ("", None) or label != label:
        return None
    label = as_number(label)
    if isinstance(label, str):
        return ""
    number = float(label) if kind.kind == "f" else int(label)
    fits = kind.kind == "f" or np.iinfo(kind).min <= number <= np.iinfo(kind).max
    return number if fits and number == label else ""


def _write_csv(tables: Iterator[_TableRows], columns: _Columns, path: str) -> None:
    n_columns = len(columns.ids)
    with open_output(path) as write:
        for number, rows in enumerate(tables):
            if number == 0:
                write(_csv_lines([[*rows.heads, *columns.now]]).encode())
            cells = [map(_cell, column.tolist()) for column in rows.heads.values()]
            before = [",".join(row) for row in zip(*cells, strict=True)]
            csr = _core.CsrBatch(rows.starts, rows.ids.astype(np.int64), rows.values, n_columns)
            write(_core.write_csv(csr, n_columns, before))


def _write_parquet(tables: Iterator[_TableRows], columns: _Columns, path: str) -> None:
    def table(rows: _TableRows) -> dict[str, NDArray[Any]]:
        cells = np.zeros((len(columns.ids), len(rows.labels)), np.float32)
        cells[rows.ids, np.repeat(np.arange(len(rows.labels)), np.diff(rows.starts))] = rows.values
        return rows.heads | dict(zip(columns.now, cells, strict=True))

    write_table(map(table, tables), path)


@lru_cache(1 << 10, typed=True)  # labels repeat
def _cell(value: Any) -> str:
    """Return a value as it is written in a CSV."""
    return "" if value is None else _csv_lines([[value]])[:-1]


def _csv_lines(rows: list[Any]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
