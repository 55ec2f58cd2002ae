"""Tables of other libraries, which hand over their rows as an Arrow stream: DuckDB, polars, pyarrow, pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from thresher.batch import Batch, DataError
from thresher.streams.columns import arrow, with_types
from thresher.streams.pipeline import in_order
from thresher.streams.record_batches import named_errors, rows_at_a_time, to_batch, validated
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
        with named_errors(name):
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
        reader, self._first = self._first or self._opened_again(), None
        n_rows = 0
        batches = in_order(self._tasks(reader), self._n_threads)
        for batch, end in numbered(self._name, batches, self._skip_bad):
            n_rows = end
            yield batch
            del batch  # not kept while the next one is made
        if n_rows < self._n_rows:
            raise DataError(
                f"{self._name} gave {self._n_rows:,} rows the first time and {n_rows:,} now: a table that changes "
                "can be read only once."
            )
        self._n_rows = n_rows

    def _tasks(self, reader: Any) -> Iterator[Callable[[], Batch]]:
        for part in parts(reader, self.columns, self._name):
            yield partial(self._batch, part)

    def _batch(self, part: Any) -> Batch:
        with named_errors(self._name):
            return to_batch(part, self.columns, self._skip_bad)

    def _opened_again(self) -> Any:
        reader = reader_of(self._frame, self._name)
        try:
            with named_errors(self._name):
                self.columns.check_names(self._name, reader.schema.names)
        except DataError as error:
            reader.close()
            raise DataError(f"{error} The table had other columns when it was opened: open it again.") from None
        return reader


def numbered(name: str, batches: Iterable[Batch], skip_bad: bool, number: int = 0) -> Iterator[tuple[Batch, int]]:
    """Yield batches, whose rows are counted from `number` on, and how many rows there are up to their ends."""
    for batch in batches:
        batch.file, batch.counted_in, batch.first_number = name, "row", number + 1
        batch.settle_bad(skip_bad)
        number += batch.n_lines
        yield batch, number
        del batch  # not kept while the next one is made


def reader_of(frame: Any, name: str) -> Any:
    """Return a reader of the rows of a table; raise DataError, a ValueError, for what is none."""
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


def parts(reader: Any, columns: Columns, name: str) -> Iterator[Any]:
    """Yield the rows, as many as are converted at a time, and only the columns that are read.

    What a query raises in the middle gets the name of the table.
    """
    row = 0
    try:
        for batch in reader:
            if row == 0 < batch.num_rows:  # a table without rows has no types
                columns.check_types(name, batch.schema)
            table = validated(batch, columns, name, row)
            step = rows_at_a_time(table, columns)
            yield from (table.slice(begin, step) for begin in range(0, table.num_rows, step))
            row += table.num_rows
    except DataError:
        raise
    except Exception as error:  # each library raises its own
        raise DataError(f"{name}: {' '.join(str(error).split())}.") from None
    finally:
        reader.close()


def _n_rows(frame: Any) -> int | None:
    """Return the number of rows where the table knows it; a database would have to count."""
    if is_pandas(frame):
        return len(frame)
    sizes = (getattr(frame, name, None) for name in ("num_rows", "height"))  # of pyarrow and polars
    return next((size for size in sizes if isinstance(size, int)), None)


def is_pandas(frame: Any) -> bool:
    """Return whether this is a data frame of pandas."""
    return type(frame).__module__.startswith("pandas") and hasattr(frame, "columns")
