"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thresher.streams.columns import arrow
from thresher.streams.formats.columnar import ColumnarReader
from thresher.streams.formats.format import OF_TABLES, Format
from thresher.streams.numbered_rows import blocks_with_rows
from thresher.streams.record_batches import rows_of_bytes
from thresher.streams.sources import Source


class ParquetReader(ColumnarReader):
    """Reads Parquet files, only the row groups that hold the rows asked for."""

    @staticmethod
    def _schema(source: Source, raw: Any) -> Any:
        return arrow().parquet.read_schema(raw)

    def _count_in(self, raw: Any) -> int:
        with arrow().parquet.ParquetFile(raw) as file:
            return int(file.metadata.num_rows)

    def _record_batches(self, raw: Any, first: int, end: int | None, most_rows: int) -> Iterator[tuple[Any, int, int]]:
        size = self.source.n_bytes or 0
        with arrow().parquet.ParquetFile(raw) as file:
            groups, row = _row_groups(file.metadata, first, end)
            n_rows = max(1, file.metadata.num_rows)
            n_bytes = sum(file.metadata.row_group(group).total_byte_size for group in groups)
            # Long texts: fewer rows, so that they fit into memory.
            most_rows = min(most_rows, 16 * rows_of_bytes(n_bytes, n_rows))
            for batch in file.iter_batches(batch_size=most_rows, row_groups=groups):
                if row + batch.num_rows > first and (end is None or row < end):
                    yield batch, row, size * (row + batch.num_rows) // n_rows
                row += batch.num_rows


def _row_groups(metadata: Any, first: int, end: int | None) -> tuple[list[int], int]:
    """Return the row groups that hold the rows asked for, and the number of rows before them."""
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    groups = [group for group, _, _ in blocks_with_rows(sizes, first, end)]
    return groups, sum(sizes[: groups[0]]) if groups else 0


FORMAT = Format(
    "parquet",
    (".parquet",),
    ParquetReader.open,
    options=OF_TABLES | {"ignore"},
    is_text=False,
    marks=(b"PAR1",),
)
