"""Tables of other libraries: those that give an Arrow stream (DuckDB, polars, pyarrow, pandas), and Ray Datasets.

The blocks of a Dataset are Arrow tables in Ray's object store, fetched one at a time and cut by rows. The process
that reads a block fetches it, so a stream in a Ray task reads the blocks where that runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

from thresher.batch import Batch, DataError
from thresher.messages import shorten
from thresher.streams.arrow_values import arrow, joined
from thresher.streams.columns import Columns, Roles
from thresher.streams.numbered_rows import NumberedRows, blocks_with_rows, identity_of, number_rows
from thresher.streams.pipeline import ReadBlock, in_order
from thresher.streams.record_batches import TableReader, name_table_in_errors, one_line
from thresher.streams.roles import settle_roles
from thresher.streams.stream import Stream

_DATASET = "the Ray Dataset"


def is_table(source: Any) -> bool:
    """Return whether an object is a table of another library: a data frame, an Arrow table, a relation, a Dataset."""
    return _is_frame(source) or _is_dataset(source)


def is_pandas(frame: Any) -> bool:
    """Return whether this is a data frame of pandas."""
    return type(frame).__module__.startswith("pandas") and hasattr(frame, "columns")


def _is_frame(source: Any) -> bool:
    """Return whether an object offers its rows as an Arrow stream, or is a table of a version that does not yet."""
    is_stream = hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_arrow")
    return is_stream or is_pandas(source) or _is_lazy(source)


def _is_lazy(source: Any) -> bool:
    """Return whether this is a LazyFrame of polars, without importing it."""
    return type(source).__module__.startswith("polars") and hasattr(source, "collect")


def _is_dataset(source: Any) -> bool:
    """Return whether this is a Dataset of Ray, without importing it."""
    return type(source).__module__.startswith("ray.data") and hasattr(source, "to_arrow_refs")


def stream_of_table(table: Any, roles: Roles, id_base: int | None, skip_bad: bool, n_threads: int) -> Stream:
    """Return the rows of a table as a stream; a reader that pyarrow opened can be read only once."""
    if _is_dataset(table):
        blocks = _BlockRows(table, roles, skip_bad, n_threads)
        columns = blocks.reader.columns
        return Stream(
            _DATASET,
            blocks,
            feature_names=columns.names,
            id_base=id_base,
            naming=columns.naming,
            key=columns.key,
            roles=blocks.decided,
        )
    rows = _FrameRows(table, roles, skip_bad, n_threads)
    name, columns = rows.reader.name, rows.reader.columns
    return Stream(
        name,
        rows.batches,
        feature_names=columns.names,
        id_base=id_base,
        n_rows=_n_rows(table),
        only_once=name if isinstance(table, arrow().RecordBatchReader) else None,
        naming=columns.naming,
        key=columns.key,
        roles=rows.decided,
    )


class _FrameRows:
    def __init__(self, frame: Any, roles: Roles, skip_bad: bool, n_threads: int) -> None:
        name = f"the {type(frame).__name__}"

        def first_rows(n: int) -> Any:
            nonlocal frame
            found, frame = first_rows_of(frame, name, n)
            return found

        roles, self.decided = settle_roles(name, roles, first_rows)
        if is_pandas(frame):
            columns = Columns.choose(name, [str(column) for column in frame.columns], roles)
            frame = frame[columns.all]  # others may hold what Arrow has no type for
        opened = reader_of(frame, name)
        with name_table_in_errors(name):
            if not is_pandas(frame):
                columns = Columns.choose(name, opened.schema.names, roles, schema=opened.schema)
            columns.check_types(name, opened.schema)
            self.reader = TableReader(name, columns.with_types(opened.schema), skip_bad)
        self._frame, self._n_threads, self._n_rows = frame, n_threads, 0
        # A database may have one open result at a time, so it is opened again when it is read.
        self._first: Any = opened if isinstance(frame, arrow().RecordBatchReader) else None
        if self._first is None:
            opened.close()

    def batches(self) -> Iterator[Batch]:
        """Read from the start."""
        opened, self._first = self._first or self._reopen(), None
        name, n_rows = self.reader.name, 0
        reads = (partial(self.reader.batch, table) for table in self.reader.tables(opened))
        for batch in number_rows(name, in_order(reads, self._n_threads), self.reader.skip_bad):
            n_rows += batch.n_lines
            yield batch
            del batch  # not kept while the next one is made
        if n_rows < self._n_rows:
            raise DataError(
                f"{name} gave {self._n_rows:,} rows the first time and {n_rows:,} now: a table that changes can be "
                "read only once."
            )
        self._n_rows = n_rows

    def _reopen(self) -> Any:
        name = self.reader.name
        opened = reader_of(self._frame, name)
        try:
            with name_table_in_errors(name):
                self.reader.columns.check_names(name, opened.schema.names)
        except DataError as error:
            opened.close()
            raise DataError(f"{error} The table had other columns when it was opened: open it again.") from None
        return opened


def reader_of(frame: Any, name: str) -> Any:
    """Return Arrow's reader of the rows of a table; raise DataError, a ValueError, if it is not a table."""
    pa = arrow()
    if is_pandas(frame):
        try:
            return pa.Table.from_pandas(frame, preserve_index=False).to_reader()  # an index is not a feature
        except (pa.ArrowException, TypeError) as error:
            raise DataError(f"{name} can't be read as an Arrow table ({one_line(error)}).") from None
    if not _is_frame(frame):
        raise DataError(f"{name} must be a table with named columns. Got {type(frame).__name__} instead.")
    try:
        if _is_lazy(frame):
            schema = frame.limit(0).collect().to_arrow().schema
            return pa.RecordBatchReader.from_batches(schema, _computed_in_parts(frame))
        if not hasattr(frame, "__arrow_c_stream__"):
            return frame.to_arrow().to_reader()
        return pa.RecordBatchReader.from_stream(frame)
    except Exception as error:  # each library raises its own
        raise DataError(f"{name} can't be read as an Arrow stream ({one_line(error)}).") from None


def _computed_in_parts(frame: Any) -> Iterator[Any]:
    """Yield the rows of a LazyFrame as polars computes them; before 1.34 it computes them all first."""
    whole = not hasattr(frame, "collect_batches")
    for part in [frame.collect(engine="streaming")] if whole else frame.collect_batches(maintain_order=True):
        yield from part.to_arrow().to_batches()


def first_rows_of(frame: Any, name: str, n: int) -> tuple[Any, Any]:
    """Return up to n rows of a table, with all columns, and the table with all its rows."""
    pa = arrow()
    if is_pandas(frame):
        head, names = frame.iloc[:n], [str(label) for label in frame.columns]
        columns = [_column_of_pandas(head.iloc[:, k]) for k in range(len(names))]
        return pa.Table.from_arrays(columns, names), frame
    opened, first, n_rows = reader_of(frame, name), [], 0
    schema = opened.schema
    try:
        while n_rows < n and (batch := next(iter(opened), None)) is not None:
            first.append(batch)
            n_rows += batch.num_rows
    except Exception as error:  # each library raises its own
        raise DataError(f"{name}: {one_line(error)}.") from None
    found = pa.Table.from_batches(first, schema).slice(0, n)
    if isinstance(frame, pa.RecordBatchReader):
        return found, pa.RecordBatchReader.from_batches(schema, chain(first, opened))
    opened.close()
    return found, frame


def _column_of_pandas(column: Any) -> Any:
    """Return a column of a data frame; Arrow has no type for what some hold."""
    try:
        found = arrow().array(column, from_pandas=True)
        return found.combine_chunks() if isinstance(found, arrow().ChunkedArray) else found
    except (arrow().ArrowException, TypeError):
        return arrow().array([{}] * len(column), arrow().struct([]))


def _n_rows(frame: Any) -> int | None:
    """Return the number of rows where the table knows it; a database would have to count."""
    if is_pandas(frame):
        return len(frame)
    sizes = (getattr(frame, name, None) for name in ("num_rows", "height"))  # of pyarrow and polars
    return next((size for size in sizes if isinstance(size, int)), None)


class _BlockRows(NumberedRows):
    """Rows of the blocks of a Ray Dataset, whose plan is run, in order, and stays in the object store."""

    needs_ray = True  # only a process that is connected can read them

    def __init__(self, dataset: Any, roles: Roles, skip_bad: bool, n_threads: int) -> None:
        ray: Any = importlib.import_module("ray")
        self._blocks = _computed(dataset)
        about = ray.remote(num_cpus=1)(_describe_block)  # a share of a core would start ten workers per core
        found = ray.get([about.remote(block) for block in self._blocks])
        self._sizes = [size for size, _ in found]
        schema = next((schema for size, schema in found if size), None)
        if schema is None:
            raise DataError(f"{_DATASET} has no rows.")
        roles, self.decided = settle_roles(_DATASET, roles, partial(self._first_rows, ray, schema))
        columns = Columns.choose(_DATASET, schema.names, roles, schema=schema)
        super().__init__(_DATASET, 0, sum(self._sizes), identity_of(self._sizes))
        self.reader = TableReader(_DATASET, columns.with_types(schema), skip_bad)
        self._skip_bad, self._n_threads = skip_bad, n_threads

    def _first_rows(self, ray: Any, schema: Any, n: int) -> Any:
        tables = [
            ray.get(self._blocks[number]).slice(low, high - low)
            for number, low, high in blocks_with_rows(self._sizes, 0, min(n, sum(self._sizes)))
        ]
        return joined(tables) if tables else schema.empty_table()

    def _reads(self, first: int, end: int) -> Iterator[ReadBlock]:
        ray: Any = importlib.import_module("ray")
        for number, low, high in blocks_with_rows(self._sizes, first, end):
            rows = ray.get(self._blocks[number]).slice(low, high - low).combine_chunks().to_reader()
            for table in self.reader.tables(rows, sum(self._sizes[:number]) + low):
                yield partial(self.reader.batch, table)


def _computed(dataset: Any) -> list[Any]:
    """Run the Dataset's plan, in order, and return its blocks."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        blocks: list[Any] = dataset.to_arrow_refs()
    except Exception as error:  # what the functions of the plan raise
        raise DataError(f"{_DATASET} can't be computed: {shorten(one_line(error), 300)}") from None
    finally:
        options.preserve_order = before
    return blocks


def _describe_block(block: Any) -> tuple[int, Any]:
    return block.num_rows, block.schema
