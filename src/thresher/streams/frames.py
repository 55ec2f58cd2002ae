"""Tables of other libraries, which give their rows as an Arrow stream: DuckDB, polars, pyarrow, pandas."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from thresher.batch import Batch, DataError
from thresher.streams.columns import arrow, with_types
from thresher.streams.numbered_rows import number_rows
from thresher.streams.pipeline import in_order
from thresher.streams.record_batches import name_table_in_errors, tables_of, to_batch
from thresher.streams.stream import Stream
from thresher.streams.tables import Columns, Roles


def is_frame(source: Any) -> bool:
    """Return whether an object offers its rows as an Arrow stream, or is a table of a version that does not yet."""
    return hasattr(source, "__arrow_c_stream__") or is_pandas(source) or hasattr(source, "to_arrow")


def stream_of_frame(frame: Any, roles: Roles, id_base: int | None, skip_bad: bool, n_threads: int) -> Stream:
    """Return the rows of a table as a stream; a reader that pyarrow opened can be read only once."""
    name = f"the {type(frame).__name__}"
    rows = _FrameRows(name, frame, roles, skip_bad, n_threads)
    once = isinstance(frame, arrow().RecordBatchReader)
    return Stream(
        name,
        rows.batches,
        feature_names=rows.columns.names,
        id_base=id_base,
        n_rows=_n_rows(frame),
        only_once=name if once else None,
        naming=rows.naming,
    )


class _FrameRows:
    def __init__(self, name: str, frame: Any, roles: Roles, skip_bad: bool, n_threads: int) -> None:
        self._name, self._skip_bad, self._n_threads = name, skip_bad, n_threads
        if is_pandas(frame):
            self.columns = Columns.choose(name, [str(column) for column in frame.columns], roles)
            frame = frame[self.columns.all]  # others may hold what Arrow has no type for
        self._frame, self._n_rows = frame, 0
        reader = reader_of(frame, name)
        with name_table_in_errors(name):
            if not is_pandas(frame):
                self.columns = Columns.choose(name, reader.schema.names, roles)
            self.columns.check_types(name, reader.schema)
            self.naming = with_types(roles.of_columns, reader.schema)
        # A database may have one open result at a time, so it is opened again when it is read.
        self._first: Any = reader if isinstance(frame, arrow().RecordBatchReader) else None
        if self._first is None:
            reader.close()

    def batches(self) -> Iterator[Batch]:
        """Read from the start."""
        reader, self._first = self._first or self._reopen(), None
        tables, n_rows = tables_of(reader, self.columns, self._name), 0
        tasks = (partial(to_batch, self._name, table, self.columns, self._skip_bad) for table in tables)
        for batch in number_rows(self._name, in_order(tasks, self._n_threads), self._skip_bad):
            n_rows += batch.n_lines
            yield batch
            del batch  # not kept while the next one is made
        if n_rows < self._n_rows:
            raise DataError(
                f"{self._name} gave {self._n_rows:,} rows the first time and {n_rows:,} now: a table that changes "
                "can be read only once."
            )
        self._n_rows = n_rows

    def _reopen(self) -> Any:
        reader = reader_of(self._frame, self._name)
        try:
            with name_table_in_errors(self._name):
                self.columns.check_names(self._name, reader.schema.names)
        except DataError as error:
            reader.close()
            raise DataError(f"{error} The table had other columns when it was opened: open it again.") from None
        return reader


def reader_of(frame: Any, name: str) -> Any:
    """Return a reader of the rows of a table; raise DataError, a ValueError, if it is not a table."""
    pa = arrow()
    if is_pandas(frame):
        try:
            return pa.Table.from_pandas(frame, preserve_index=False).to_reader()  # an index is not a feature
        except (pa.ArrowException, TypeError) as error:
            raise DataError(f"{name} can't be read as an Arrow table ({' '.join(str(error).split())}).") from None
    if not is_frame(frame):
        raise DataError(f"{name} must be a table with named columns. Got {type(frame).__name__} instead.")
    try:
        if not hasattr(frame, "__arrow_c_stream__"):
            return frame.to_arrow().to_reader()
        return pa.RecordBatchReader.from_stream(frame)
    except Exception as error:  # each library raises its own
        raise DataError(f"{name} can't be read as an Arrow stream ({' '.join(str(error).split())}).") from None


def _n_rows(frame: Any) -> int | None:
    """Return the number of rows where the table knows it; a database would have to count."""
    if is_pandas(frame):
        return len(frame)
    sizes = (getattr(frame, name, None) for name in ("num_rows", "height"))  # of pyarrow and polars
    return next((size for size in sizes if isinstance(size, int)), None)


def is_pandas(frame: Any) -> bool:
    """Return whether this is a data frame of pandas."""
    return type(frame).__module__.startswith("pandas") and hasattr(frame, "columns")
