"""JSON lines: one object per line, with some keys as features."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from thresher import _core
from thresher.batch import DataError
from thresher.messages import join_and_suggest, join_some, parameter
from thresher.model.names import Naming
from thresher.streams.arrow_values import arrow, column_of_values
from thresher.streams.columns import clashes, key_clashes, refuse, roles_text, unknown_crosses
from thresher.streams.formats.format import OF_TABLES, Format, OpenFiles, Options
from thresher.streams.formats.text import LineReader
from thresher.streams.sources import BOM, Flow, Source

_HEAD = 1 << 20
_HEAD_OF_PIPE = 1 << 16  # a slow one should not be waited for


class JsonReader(LineReader):
    """Reads JSON lines.

    Parameters
    ----------
    source, options : of `LineReader`
    naming : Naming
        The keys that are features.
    label, weight : str
        Other keys; "": none.
    """

    _large_blocks = False  # n-grams take several times the memory of their text

    def __init__(self, source: Source, options: Options, naming: Naming, label: str, weight: str) -> None:
        super().__init__(source, options, options.roles.label_demand)
        self._naming = naming  # not its object in the core, which another process could not be sent
        self._roles = (label, weight, self._labels)
        if options.roles.key is not None:
            self._keys = partial(_key_in, options.roles.key)

    def _parse_range(self, file: _core.TextFile, begin: int, end: int) -> _core.FoundRows:
        return self._naming.core.read_json_range(file, begin, end, self._skip_bad, *self._roles)

    def _parse_block(self, text: bytes, first: bool) -> _core.FoundRows:
        return self._naming.core.read_json(text, self._skip_bad, first, *self._roles)


def _open(sources: list[Source], options: Options) -> OpenFiles:
    readers = [_reader(source, options) for source in sources]
    return OpenFiles(readers, naming=options.roles.of_columns, key=options.roles.key)


def _key_in(key: str, line: bytes) -> Any:
    value = json.loads(line).get(key)
    return value if isinstance(value, int | str) or value is None else json.dumps(value, ensure_ascii=False)


def _reader(source: Source, options: Options) -> JsonReader:
    """Return the reader of a file, whose first rows must have the keys."""
    roles, keys = options.roles, list(source.hint)
    naming = roles.of_columns
    known = frozenset(keys)
    if naming is None:
        found = f"; the first rows have {join_some(keys)}" if keys else ""
        raise DataError(f"{source.name}: say which keys are features, with {roles_text('or')}{found}.")
    label = "" if roles.no_labels else roles.label_name
    features = [name for name, _ in naming.columns]
    problems = [*clashes(naming, label, roles.weight, roles.key), *unknown_crosses(naming)]
    problems += key_clashes(label, roles.weight, roles.key)
    can_lack_some = not roles.labelled and not known.isdisjoint(features)  # rows to predict
    wanted = [] if can_lack_some else [("a feature", name) for name in features]
    wanted += [("the label", label)] if roles.labelled else []
    wanted += [("the weight", roles.weight)] if roles.weight and roles.labelled else []
    wanted += [("the key", roles.key)] if roles.key else []
    for role, name in (each for each in wanted if keys and each[1] not in known):
        hint = f" Name the label with {parameter('label', ...)}." if role == "the label" and not roles.label else ""
        problems.append(f"no key {name!r}, {role}, in the first rows; there are {join_and_suggest(keys, name)}{hint}")
    refuse(source.name, problems)
    return JsonReader(source, options, naming, label, roles.weight or "")


def _first_keys(flow: Flow, is_pipe: bool) -> tuple[str, ...]:
    """Return the keys of the first rows, in order of appearance; none, if these can't be read."""
    head = flow.peek(size := _HEAD_OF_PIPE if is_pipe else _HEAD)
    lines = head.removeprefix(BOM).splitlines()
    keys: dict[str, None] = {}
    # The last line can be cut off, unless it is the only one.
    for line in lines[:-1] if len(head) == size and len(lines) > 1 else lines:
        try:
            row: Any = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            continue  # the parser reports it, with its line
        keys.update(dict.fromkeys(row) if isinstance(row, dict) else {})
    return tuple(keys)


def _first_rows(source: Source, options: Options, n: int) -> Any:
    """Return up to n rows as a table with a column per key; a pipe is not advanced."""
    flow, size, longest = source.open(), _HEAD, options.longest_line
    try:
        while len(head := flow.peek(size)) == size and head.count(b"\n") <= n and size <= longest:
            size *= 2
    finally:
        if source.flow is None:
            flow.close()
    rows: list[dict[str, Any]] = []
    for line in head.removeprefix(BOM).splitlines()[: None if len(head) < size else -1]:
        try:
            row: Any = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            continue
        rows += [row] if isinstance(row, dict) and len(rows) < n else []
    keys = dict.fromkeys(key for row in rows for key in row) if n else dict.fromkeys(source.hint)
    return arrow().table({key: column_of_values([row.get(key) for row in rows]) for key in keys})


def _is_row(line: bytes) -> bool:
    return line.lstrip().startswith(b"{")


FORMAT = Format(
    "jsonl",
    (".jsonl", ".ndjson", ".json"),
    _open,
    options=OF_TABLES | {"longest_line"},
    is_row=_is_row,
    inspect=_first_keys,
    first_rows=_first_rows,
)
