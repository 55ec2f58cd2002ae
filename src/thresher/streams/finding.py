"""Finds the files for paths, folders, globs and standard input, and looks at the first bytes of each."""

from __future__ import annotations

import codecs
import glob
import os
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from typing import Any

from thresher.batch import DataError
from thresher.io.file_errors import name_file_in_errors, refuse_empty_path
from thresher.messages import parameter
from thresher.streams.formats import FORMATS, recognise
from thresher.streams.partitions import Partition, partitions_of
from thresher.streams.sources import Flow, Pipe, Source, ending

StrPath = str | os.PathLike[str]

_COMPRESSIONS = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_HIDDEN = (".", "_")  # how the names of other files start, such as _SUCCESS


def find(source: StrPath | Iterable[StrPath], format: str, encoding: str | None = None) -> list[Source]:
    """Return the files for a path, list, glob or folder, in order, each with its compression, encoding and format."""
    if format not in ("auto", *FORMATS):
        raise ValueError(f"{parameter('format')} must be one of auto, {', '.join(FORMATS)}. Got {format!r} instead.")
    names = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not names:
        raise ValueError("source is an empty list: name at least one file.")
    found = [each for name in names for each in _expand(os.fspath(name))]
    partitions = partitions_of(found)
    return [_source_of(path, format, encoding, of) for (path, _), of in zip(found, partitions, strict=True)]


def other_encoding(name: str | None) -> str | None:
    """Return the encoding that text must be decoded from: none for UTF-8; raise ValueError if it is unknown."""
    if name is None:
        return None
    try:
        "".encode(name)  # some codecs are not of text
        known = codecs.lookup(name).name
    except LookupError:
        raise ValueError(
            f"{parameter('encoding')} must be an encoding of text, such as 'latin-1' or 'utf-16'. Got {name!r} instead."
        ) from None
    return None if known in ("utf-8", "utf-8-sig", "ascii") else name


def _expand(name: str) -> list[tuple[str, str]]:
    """Return the files that a name stands for, each with the folder in which they were looked for."""
    if name == "-":
        return [("-", "")]
    refuse_empty_path("source", name)
    path = Path(name)
    if path.is_dir():
        # Folders in it, as those of partitions, count where it has no files of its own.
        files = _files_in(path.iterdir(), path) or _files_in(path.rglob("*"), path)
        if not files:
            raise DataError(f"{name}: the folder has no files in it.")
        return [(file, name) for file in files]
    if path.exists() or not glob.has_magic(name):
        return [(name, str(path.parent))]
    matches = sorted(p for p in glob.glob(name, recursive=True) if Path(p).is_file())
    if not matches:
        raise DataError(f"{name}: no file matches.")
    root = str(Path(*takewhile(lambda part: not glob.has_magic(part), path.parts)))
    return [(file, root) for file in matches]


def _files_in(paths: Iterable[Path], folder: Path) -> list[str]:
    """Return those that are files, in order, but no hidden ones, nor any in a hidden folder."""
    shown = (p for p in paths if not any(part.startswith(_HIDDEN) for part in p.relative_to(folder).parts))
    return sorted(str(p) for p in shown if p.is_file())


def _source_of(path: str, format: str, encoding: str | None, partitions: tuple[Partition, ...]) -> Source:
    name = "standard input" if path == "-" else path
    regular = path != "-" and Path(path).is_file()
    with name_file_in_errors(name):
        raw: Any = Path(path).open("rb") if regular else Pipe(path)  # noqa: SIM115 closed by the flow
    try:
        with name_file_in_errors(name):
            magic = raw.peek(8)[:8]
    except OSError:
        raw.close()
        raise
    compression = next((kind for mark, kind in _COMPRESSIONS.items() if magic.startswith(mark)), None)
    flow = Flow(raw, name, compression)
    n_bytes = os.fstat(raw.fileno()).st_size if regular else None
    try:
        if encoding is None and flow.peek(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            encoding = "utf-16"
        flow.decode_from(encoding)
        found = FORMATS.get(format) or recognise(flow.peek(4096), ending(path, compression), name)
        if not found.is_text and (compression is not None or not regular):
            raise DataError(f"{name}: {found.name} data must be an uncompressed file on disk.")
        hint = None if found.inspect is None else found.inspect(flow, not regular)
    except BaseException:
        flow.close()
        raise
    if regular:
        flow.close()
    return Source(path, found.name, compression, n_bytes, None if regular else flow, hint, encoding, partitions)
