"""Single cells: .h5ad files of AnnData, read with h5py. Rows are cells, and columns genes.

`obs` has a column of labels, `var` the names of the genes. X, or a layer, is stored by rows (CSR) or dense, and is read
a few rows at a time. Files of AnnData before 0.8 keep categories in other places.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch, DataError
from thresher.messages import join_and_suggest, parameter
from thresher.model.class_weights import are_weights
from thresher.model.labels import label_text, labels_from_values
from thresher.streams.columns import key_clashes, refuse
from thresher.streams.formats.format import Format, OpenFiles, Options, RowReader, Span
from thresher.streams.pipeline import ReadBlock
from thresher.streams.position import Position
from thresher.streams.record_batches import in_ascending_order, one_line, rows_of_cells
from thresher.streams.sources import Source

_ROWS_OF_OFFSETS = 1 << 16


@dataclass(frozen=True)
class _Columns:
    """The columns of `obs` that are read, and the matrix."""

    label: str | None
    weight: str | None
    key: str | None
    needs_labels: bool
    layer: str | None
    genes: list[str]


class H5adReader(RowReader):
    """Reads such a file."""

    def __init__(self, source: Source, columns: _Columns, skip_bad: bool) -> None:
        super().__init__(source)
        self._columns, self._skip_bad = columns, skip_bad

    def _count(self) -> int:
        with _opened(self.source) as file:
            return int(_matrix(file, self.source.name, self._columns.layer)[1][0])

    def reads(self, span: Span, start: Position | None) -> Iterator[ReadBlock]:
        """Cut the rows of a span, or the rest of them, into blocks."""
        name, wanted = self.source.name, self._columns
        with _opened(self.source) as file:
            matrix, (n_rows, n_columns), var = _matrix(file, name, wanted.layer)
            genes = _index(file[var])
            if genes != wanted.genes or n_columns != len(genes):
                raise DataError(f"{name}: its genes (var) are not those of the first file, in the same order.")
            first, end = self._rows(span, start)
            end = n_rows if end is None else end
            of_obs = {role: _ObsColumn.of(file, name, column) for role, column in _roles(wanted).items()}
            done = size = self.source.n_bytes or 0
            done = size * first // max(1, n_rows)
            cut = _cut_dense if hasattr(matrix, "ndim") else _cut_sparse
            for low, high, content in cut(matrix, n_columns, first, end):
                obs = {role: column.read(low, high) for role, column in of_obs.items()}
                byte = size * high // max(1, n_rows)
                yield partial(self._batch, content, obs, byte, byte - done)
                done = byte

    def _batch(self, content: Any, obs: dict[str, list[Any]], byte: int, n_bytes: int) -> Batch:
        starts, ids, values = _as_csr(content)
        n_rows, n_genes = len(starts) - 1, len(self._columns.genes)
        if len(ids) != len(values) or (len(ids) and not (ids.min() >= 0 and ids.max() < n_genes)):
            raise DataError(f"{self.source.name}: the data are damaged (an index of X is out of range): recreate them.")
        starts, ids, values = in_ascending_order(starts, ids, values)
        bad: dict[int, str] = {}
        labels = np.full(n_rows, np.nan)
        if "label" in obs:
            labels = _labels(obs["label"], bad, self._columns.needs_labels)
        weights = None
        if "weight" in obs:
            weights = np.array([np.nan if each is None else each for each in obs["weight"]], np.float64)
            for row in np.flatnonzero(~are_weights(weights)).tolist():
                bad.setdefault(row, f"the weight is {obs['weight'][row]}; it must be finite and not negative")
        for at in np.flatnonzero(~np.isfinite(values)).tolist():
            row, gene = int(np.searchsorted(starts, at, "right")) - 1, self._columns.genes[int(ids[at])]
            bad.setdefault(row, f"gene {gene!r} is {values[at]}; values must be finite")
        rows = np.setdiff1d(np.arange(n_rows), list(bad))
        if bad:
            stays = np.repeat(np.isin(np.arange(n_rows), rows), np.diff(starts))
            starts = np.concatenate([[0], np.cumsum(np.diff(starts)[rows])])
            ids, values = ids[stays], values[stays]
        starts, ids = starts.astype(np.int32), ids.astype(np.int32, copy=False)
        batch = Batch(starts, ids, values, labels[rows], n_genes - 1, zero_seen=True, n_bytes=n_bytes)
        batch.row_weights = None if weights is None else weights[rows]
        batch.keys = np.array([*obs["key"], None], dtype=object)[:-1][rows] if "key" in obs else None
        batch.numbers, batch.bad = (rows if bad else None), sorted(bad.items())
        batch.n_lines, batch.end_byte = n_rows, byte
        return batch


def _open(sources: list[Source], options: Options) -> OpenFiles:
    """Choose the columns by the first file."""
    name, roles = sources[0].name, options.roles
    with _opened(sources[0]) as file:
        _, _, var = _matrix(file, name, options.layer)
        there, genes = _obs_names(file), _index(file[var])
        label = None if roles.no_labels else roles.label or "label"
        if not roles.labelled and not roles.label and label not in there:
            label = None
        weight = roles.weight if roles.labelled or roles.weight in there else None
        for role, column in (("label", label), ("weight", weight), ("key", roles.key)):
            if column is not None and column not in (there if role != "key" else {*there, "index"}):
                hint = f" Name the label's with {parameter('label', ...)}." if column == "label" else ""
                raise DataError(
                    f"{name}: there is no column {column!r} of obs, as the {role}; there are "
                    f"{join_and_suggest(sorted(there), column)}{hint}"
                )
        refuse(name, key_clashes(label, weight, roles.key))
    columns = _Columns(label, weight, roles.key, roles.labelled, options.layer, genes)
    readers = [H5adReader(source, columns, options.skip_bad) for source in sources]
    return OpenFiles(readers, genes, key=roles.key)


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    try:
        h5py: Any = importlib.import_module("h5py")
    except ImportError:
        raise DataError("h5ad files need h5py: install it with pip install 'thresher[h5ad]'.") from None
    try:
        with h5py.File(source.path, "r") as file:
            yield file
    except DataError:
        raise
    except (OSError, KeyError, IndexError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{source.name}: it can't be read as h5ad ({one_line(error)}).") from None


def _matrix(file: Any, name: str, layer: str | None) -> tuple[Any, tuple[int, int], str]:
    """Return X or a layer, its shape, and where its columns are described."""
    layers = list(file["layers"]) if "layers" in file else []
    place, var = ("X", "var") if layer is None else (f"layers/{layer}", "var")
    if layer == "raw" and layer not in layers:
        place, var = ("raw/X", "raw/var") if "raw" in file else ("raw.X", "raw.var")
    if "obs" not in file or "var" not in file:
        raise DataError(f"{name}: it has no obs and var, so it is not an h5ad file: write it with AnnData.")
    if place not in file:
        if layer is None:
            there = f"name a layer with {parameter('layer', ...)}: {', '.join(layers)}" if layers else "write it again"
            raise DataError(f"{name}: there is no X in the file: {there}.")
        there = f"there are {join_and_suggest(layers, layer)}" if layers else "it has none."
        raise DataError(f"{name}: there is no layer {layer!r}; {there}")
    matrix = file[place]
    if hasattr(matrix, "ndim"):
        shape = matrix.shape
    else:
        kind = _text(matrix.attrs.get("encoding-type", matrix.attrs.get("h5sparse_format")))
        if kind not in ("csr_matrix", "csr"):
            raise DataError(
                f"{name}: {place} is stored as {kind}, which can't be read row by row: write the file again after "
                "adata.X = adata.X.tocsr()."
            )
        shape = matrix.attrs.get("shape", matrix.attrs.get("h5sparse_shape"))
    if len(shape) != 2 or _length(file["obs"]) != shape[0] or _length(file[var]) != shape[1]:
        raise DataError(f"{name}: the data are damaged (the shape of {place} is not that of obs and var).")
    return matrix, (int(shape[0]), int(shape[1])), var


def _cut_dense(matrix: Any, n_columns: int, first: int, end: int) -> Iterator[tuple[int, int, Any]]:
    step = rows_of_cells(n_columns)
    for low in range(first, end, step):
        high = min(low + step, end)
        yield low, high, matrix[low:high]


def _cut_sparse(matrix: Any, n_columns: int, first: int, end: int) -> Iterator[tuple[int, int, Any]]:
    offsets, ids, values = matrix["indptr"], matrix["indices"], matrix["data"]
    step = rows_of_cells(len(ids) // max(1, len(offsets) - 1))
    for begin in range(first, end, _ROWS_OF_OFFSETS):
        of_rows = offsets[begin : min(begin + _ROWS_OF_OFFSETS, end) + 1].astype(np.int64)
        if (np.diff(of_rows) < 0).any() or of_rows[0] < 0 or of_rows[-1] > len(ids):
            raise ValueError("the offsets of X do not rise")
        for low in range(0, len(of_rows) - 1, step):
            starts = of_rows[low : low + step + 1]
            part = slice(int(starts[0]), int(starts[-1]))
            yield begin + low, begin + low + len(starts) - 1, (starts - starts[0], ids[part], values[part])


def _as_csr(content: Any) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]:
    with np.errstate(over="ignore"):  # what is too large for float32 is found as not finite
        if not isinstance(content, tuple):
            at, ids = np.nonzero(content)
            starts = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(content)))])
            return starts, ids.astype(np.int32), content[at, ids].astype(np.float32)
        starts, ids, values = content
        values = values.astype(np.float32, copy=False)
    if len(values) == len(ids) and not values.all():  # 0 is no feature, as in a dense matrix
        stays = values != 0
        starts = np.concatenate([[0], np.cumsum(stays)])[starts]
        ids, values = ids[stays], values[stays]
    return starts, ids, values


@dataclass(frozen=True)
class _ObsColumn:
    """A column of `obs`: its values, or codes of categories."""

    values: Any
    categories: list[Any] | None = None
    mask: Any = None

    @classmethod
    def of(cls, file: Any, name: str, column: str) -> _ObsColumn:
        obs = file["obs"]
        if hasattr(obs, "dtype"):  # a single array of records, before AnnData 0.7
            values = obs.fields(_index_name(obs) if column not in obs.dtype.names else column)
            categories = file.get(f"uns/{column}_categories")
        else:
            values = obs[column if column in obs else _index_name(obs)]
            categories = values.attrs.get("categories")  # a reference, before AnnData 0.8
            categories = None if categories is None else file[categories]
            if not hasattr(values, "dtype"):
                if "codes" in values:
                    return cls(values["codes"], _values(values["categories"][:]))
                return cls(values["values"], mask=values["mask"])
        return cls(values, None if categories is None else _values(categories[:]))

    def read(self, low: int, high: int) -> list[Any]:
        """Return the values of some rows, None for a missing one."""
        values = _values(self.values[low:high])
        if self.categories is not None:
            return [None if code is None or code < 0 else self.categories[code] for code in values]
        if self.mask is not None:
            return [None if no else value for value, no in zip(values, self.mask[low:high].tolist(), strict=True)]
        return values


def _values(stored: NDArray[Any]) -> list[Any]:
    """Return text and numbers, None for NaN; true and false are 1 and 0."""
    if stored.dtype.kind == "b":
        stored = stored.astype(np.int64)
    if stored.dtype.kind == "f":
        return [None if value != value else value for value in stored.tolist()]
    return [_text(value) for value in stored.tolist()]


def _labels(values: list[Any], bad: dict[int, str], are_needed: bool) -> NDArray[Any]:
    is_lost = [value is None or (isinstance(value, str) and not value.strip()) for value in values]
    for row in np.flatnonzero(is_lost).tolist() if are_needed else ():
        bad[row] = "the label is missing"
    known = labels_from_values([value for value, lost in zip(values, is_lost, strict=True) if not lost])
    if known.dtype.kind == "U":
        return np.array(["" if lost else label_text(value) for value, lost in zip(values, is_lost, strict=True)], "U")
    labels = np.full(len(values), np.nan)
    labels[~np.array(is_lost, bool)] = known
    for row in np.flatnonzero(np.isinf(labels)).tolist():
        bad[row] = f"the label is {labels[row]}; it must be a finite number, or text"
    return labels


def _roles(columns: _Columns) -> dict[str, str]:
    roles = {"label": columns.label, "weight": columns.weight, "key": columns.key}
    return {role: column for role, column in roles.items() if column is not None}


def _obs_names(file: Any) -> set[str]:
    obs = file["obs"]
    return set(obs.dtype.names if hasattr(obs, "dtype") else obs) - {"__categories", "_index"}


def _index_name(frame: Any) -> str:
    if hasattr(frame, "dtype"):
        return "index" if "index" in frame.dtype.names else str(frame.dtype.names[0])
    return str(_text(frame.attrs.get("_index", "_index")))


def _index(frame: Any) -> list[str]:
    """Return the names of the rows of `obs` or `var`."""
    name = _index_name(frame)
    return [str(each) for each in _values(frame.fields(name)[:] if hasattr(frame, "dtype") else frame[name][:])]


def _length(frame: Any) -> int:
    return len(frame if hasattr(frame, "dtype") else frame[_index_name(frame)])


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


FORMAT = Format(
    "h5ad",
    (".h5ad",),
    _open,
    options=frozenset({"label", "weight", "key", "layer"}),
    is_text=False,
    marks=(b"\x89HDF\r\n\x1a\n",),
)
