"""The formats of files that can be read, from the table of their names, and which of them a file has."""

from __future__ import annotations

from thresher.batch import DataError
from thresher.file_formats import FILE_FORMATS
from thresher.streams.formats.format import Format
from thresher.streams.formats.text import first_row

_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")

FORMATS: dict[str, Format] = {row.name: row.load() for row in FILE_FORMATS}


def recognise(head: bytes, ending: str, name: str) -> Format:
    """Return the format of a file by its first bytes, the ending of its name, or its first row."""
    for each in FORMATS.values():
        if head.startswith(each.marks):
            return each
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        what = "a spreadsheet: save it as CSV" if ending in _SPREADSHEETS else "a zip archive: unpack it"
        raise DataError(f"{name}: this is {what}.")
    if head[8:9] == b"{" and b'"__metadata__"' in head:
        raise DataError(f"{name}: this is a model, not data.")
    for each in FORMATS.values():
        if ending in each.endings:
            return each
    row = first_row(head)
    rows = (each for each in FORMATS.values() if each.is_row is not None and each.is_row(row))
    return next(rows, FORMATS["svmlight"])
