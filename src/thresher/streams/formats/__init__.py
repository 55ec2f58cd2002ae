"""The formats of files that can be read, each in a file of its own, and which of them a file has."""

from __future__ import annotations

from thresher.batch import DataError
from thresher.streams.formats import cache, columnar, delimited, json_lines, svmlight, vw
from thresher.streams.formats.format import Format
from thresher.streams.formats.text import first_row

_ALL = (
    svmlight.FORMAT,
    vw.FORMAT,
    json_lines.FORMAT,
    delimited.FORMAT,
    columnar.PARQUET,
    columnar.ARROW,
    cache.FORMAT,
)
FORMATS = {each.name: each for each in _ALL}


def recognise(head: bytes, ending: str, name: str) -> Format:
    """Return the format of a file by its first bytes, the ending of its name, or its first row."""
    for each in _ALL:
        if head.startswith(each.marks):
            return each
    if head[8:9] == b"{" and b'"__metadata__"' in head:
        raise DataError(f"{name}: this is a model, not data.")
    for each in _ALL:
        if ending in each.endings:
            return each
    row = first_row(head)
    return next((each for each in _ALL if each.is_row is not None and each.is_row(row)), svmlight.FORMAT)
