"""Columns that the names of folders give, as `dt=2024-01-01/shop=7/`: partitions of Hive, Spark and DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from thresher.batch import DataError
from thresher.streams.arrow_values import arrow, plain_values, with_column
from thresher.streams.columns import Roles

_MISSING = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")


@dataclass(frozen=True)
class Partition:
    """A column that has one value in a file: whole numbers, if those of all files are, else text."""

    name: str
    value: str | None
    is_whole: bool = False
    is_inside: bool = True  # the folder that was asked for; a folder around it counts only if its name has a role

    def values(self, n_rows: int) -> Any:
        """Return the column."""
        pa = arrow()
        kind = pa.int64() if self.is_whole else pa.string()
        value = int(self.value) if self.is_whole and self.value is not None else self.value
        return pa.repeat(pa.scalar(value, kind), n_rows)


def partitions_of(paths: Sequence[tuple[str, str]]) -> list[tuple[Partition, ...]]:
    """Return the partitions of each path, which comes with the folder that was asked for."""
    found = [_in_names(path, root) for path, root in paths]
    kinds: dict[str, bool] = {}
    for each in (each for of_path in found for each in of_path if each.value is not None):
        kinds[each.name] = kinds.get(each.name, True) and _WHOLE.fullmatch(each.value or "") is not None
    return [
        tuple(Partition(each.name, each.value, kinds.get(each.name, False), each.is_inside) for each in of_path)
        for of_path in found
    ]


def _in_names(path: str, root: str) -> list[Partition]:
    if "=" not in path:
        return []
    parts, n_outside = Path(path).parent.parts, len(Path(root).parts)
    found = {}
    for place, part in enumerate(parts):
        name, is_one, value = part.partition("=")
        if name and is_one:
            text = None if value == _MISSING else unquote(value)
            found[name] = Partition(name, text, is_inside=place >= n_outside)
    return list(found.values())


def partitions_to_read(names: Iterable[str], partitions: tuple[Partition, ...], roles: Roles) -> list[Partition]:
    """Return those that are columns of a file, beside its own with these names."""
    there = frozenset(names)
    named = {roles.label_name, roles.weight, roles.key, *roles.ignore}
    named |= {name for name, _ in roles.of_columns.columns} if roles.of_columns is not None else set()
    return [each for each in partitions if each.is_inside or (each.name in named and each.name not in there)]


def names_with(names: list[str], partitions: Iterable[Partition]) -> list[str]:
    """Return the names of columns with those of partitions behind them, each once."""
    return list(dict.fromkeys([*names, *(each.name for each in partitions)]))


def with_partitions(batch: Any, partitions: Iterable[Partition], file: str) -> Any:
    """Return a record batch, or a schema, with these columns behind the others.

    The file can have one of them itself, as polars writes it. Raise DataError if it has other values there.
    """
    pa = arrow()
    for each in partitions:
        if isinstance(batch, pa.Schema):
            batch = batch if each.name in batch.names else batch.append(pa.field(each.name, each.values(0).type))
        elif each.name in batch.schema.names:
            own = plain_values(batch.column(each.name)).cast(pa.large_string()).unique().to_pylist()
            other = next((value for value in own if value != each.value), each.value)
            if other != each.value:
                raise DataError(
                    f"{file}: column {each.name!r} is {other!r} in the file, and {each.value!r} in the name of its "
                    "folder: rename one of them."
                )
        else:
            batch = with_column(batch, each.name, each.values(batch.num_rows))
    return batch
