"""Ray Datasets: their blocks are Arrow tables in Ray's object store, fetched one at a time and cut by rows.

A block is fetched by the process that reads it, so a stream in a Ray task reads the blocks where the task runs.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from thresher.batch import DataError
from thresher.streams.columns import with_types
from thresher.streams.numbered_rows import NumberedRows, blocks_with_rows, identity_of
from thresher.streams.pipeline import Task
from thresher.streams.record_batches import tables_of, to_batch
from thresher.streams.stream import Stream
from thresher.streams.tables import Columns, Roles

_NAME = "the Ray Dataset"


def is_ray_dataset(source: Any) -> bool:
    """Return whether this is a Dataset of Ray, without importing it."""
    return type(source).__module__.startswith("ray.data") and hasattr(source, "to_arrow_refs")


def stream_of_dataset(dataset: Any, roles: Roles, id_base: int | None, skip_bad: bool, n_threads: int) -> Stream:
    """Run the Dataset's plan, in order, and return its rows as a stream; the blocks stay in the object store."""
    ray: Any = importlib.import_module("ray")
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        blocks = dataset.to_arrow_refs()
    except Exception as error:  # what the functions of the plan raise
        why = " ".join(str(error).split())
        raise DataError(f"{_NAME} can't be computed: {why[:300]}{' …' if len(why) > 300 else ''}") from None
    finally:
        options.preserve_order = before
    about = ray.remote(num_cpus=1)(_describe_block)  # a share of a core would start ten workers per core
    sizes, schemas = zip(*ray.get([about.remote(block) for block in blocks]), strict=True) if blocks else ((), ())
    schema = next((each for size, each in zip(sizes, schemas, strict=True) if size), None)
    if schema is None:
        raise DataError(f"{_NAME} has no rows.")
    columns = Columns.choose(_NAME, schema.names, roles)
    columns.check_types(_NAME, schema)
    return Stream(
        _NAME,
        BlockRows(blocks, list(sizes), columns, skip_bad, n_threads),
        feature_names=columns.names,
        id_base=id_base,
        naming=with_types(roles.of_columns, schema),
    )


def _describe_block(block: Any) -> tuple[int, Any]:
    return block.num_rows, block.schema


class BlockRows(NumberedRows):
    """Rows of Arrow tables in Ray's object store."""

    needs_ray = True  # only a process that is connected can read them

    def __init__(self, blocks: list[Any], sizes: list[int], columns: Columns, skip_bad: bool, n_threads: int) -> None:
        super().__init__(_NAME, 0, sum(sizes), identity_of(sizes))
        self._blocks, self._sizes, self._columns = blocks, sizes, columns
        self._skip_bad, self._n_threads = skip_bad, n_threads

    def with_threads(self, n: int) -> BlockRows:
        """Return the same rows, converted by n threads; 0 is the caller's own."""
        other = copy.copy(self)
        other._n_threads = n
        return other

    def _tasks(self, first: int, end: int) -> Iterator[Task]:
        ray: Any = importlib.import_module("ray")
        for number, low, high in blocks_with_rows(self._sizes, first, end):
            rows = ray.get(self._blocks[number]).slice(low, high - low).combine_chunks().to_reader()
            for table in tables_of(rows, self._columns, _NAME, sum(self._sizes[:number]) + low):
                yield partial(to_batch, _NAME, table, self._columns, self._skip_bad)
