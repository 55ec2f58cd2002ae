"""Finds the files for paths, folders, globs and standard input, and recognises their formats."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.batch import DataError
from thresher.io.file_errors import errors_of, refuse_empty
from thresher.model.names import id_of
from thresher.streams.archives import ENDINGS
from thresher.streams.flows import Flow, Pipe

Path_ = str | os.PathLike[str]

BOM = b"\xef\xbb\xbf"
_COMPRESSIONS = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_CONTAINERS = {b"THRESHC1": "cache", b"PAR1": "parquet", b"ARROW1\x00\x00": "arrow", b"\xff\xff\xff\xff": "arrow"}
_ENDINGS = {
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".vw": "vw", ".csv": "csv", ".tsv": "csv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".thc": "cache",
}  # fmt: skip
_HIDDEN = (".", "_")  # how the names of other files start, such as _SUCCESS
FORMATS = ("svmlight", "vw", "jsonl", "csv", "parquet", "arrow", "cache")


@dataclass(frozen=True)
class VwNames:
    """The names in the first rows of VW text."""

    spaces: frozenset[bytes]  # namespaces that have numbers
    has_others: bool  # names that are not numbers


@dataclass(frozen=True)
class Source:
    """A file, or something that can be read only once: standard input or a pipe."""

    path: str  # "-" is standard input
    format: str
    compression: str | None
    n_bytes: int | None
    flow: Flow | None = None  # for a pipe or standard input, which is open already
    starts_with_feature: bool = False  # svmlight text whose first row has no label
    vw_names: VwNames | None = None  # of VW text

    @property
    def name(self) -> str:
        """The name for messages."""
        return "standard input" if self.path == "-" else self.path

    @property
    def ending(self) -> str:
        """The ending of its name in lower case, without that of a compression."""
        return _ending(self.path, self.compression)

    @property
    def is_plain(self) -> bool:
        """Whether it can be read from any byte, without decompressing."""
        return self.flow is None and self.compression is None

    def opened(self) -> Flow:
        """Open it for reading; for a pipe or standard input, return the flow that is open already."""
        if self.flow is not None:
            return self.flow
        return Flow(Path(self.path).open("rb"), self.name, self.compression)


def find(source: Path_ | Iterable[Path_], format: str) -> list[Source]:
    """Return the files for a path, list, glob or folder, in order, each with its compression and format."""
    if format not in ("auto", *FORMATS):
        raise ValueError(f"format must be one of auto, {', '.join(FORMATS)}. Got {format!r} instead.")
    names = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not names:
        raise ValueError("source is an empty list: name at least one file.")
    found = [path for name in names for path in _expand(os.fspath(name))]
    return [_look(path, format) for path in found]


def _expand(name: str) -> list[str]:
    if name == "-":
        return ["-"]
    refuse_empty("source", name)
    path = Path(name)
    if path.is_dir():
        files = sorted(str(p) for p in path.iterdir() if p.is_file() and not p.name.startswith(_HIDDEN))
        if not files:
            raise DataError(f"{name}: the folder has no files in it{_deeper(path)}.")
        return files
    if path.exists():
        return [name]
    if glob.has_magic(name):
        matches = sorted(p for p in glob.glob(name, recursive=True) if Path(p).is_file())
        if matches:
            return matches
        raise DataError(f"{name}: no file matches.")
    raise FileNotFoundError(f"{name}: no such file.")


def _deeper(folder: Path) -> str:
    """Return how to name the files that only folders in this folder have, if there are any."""
    for first in folder.rglob("*"):
        if first.is_file() and not any(part.startswith(_HIDDEN) for part in first.relative_to(folder).parts):
            break
    else:
        return ""
    ending = "".join(first.suffixes[-2:] if first.suffix in ENDINGS else first.suffixes[-1:])
    return f", only folders: name what is in these with {str(Path(glob.escape(str(folder)), '**', f'*{ending}'))!r}"


def _look(path: str, format: str) -> Source:
    name = "standard input" if path == "-" else path
    regular = path != "-" and Path(path).is_file()
    try:
        raw: Any = Path(path).open("rb") if regular else Pipe(path)  # noqa: SIM115 closed by the flow
    except PermissionError:
        raise DataError(f"{path}: permission denied.") from None
    try:
        with errors_of(name):
            magic = raw.peek(8)[:8]
    except OSError:
        raw.close()
        raise
    compression = next((kind for mark, kind in _COMPRESSIONS.items() if magic.startswith(mark)), None)
    flow = Flow(raw, name, compression)
    n_bytes = os.fstat(raw.fileno()).st_size if regular else None
    try:
        if format == "auto":
            format = _format(path, flow.peek(4096), name, compression)
        if format in ("parquet", "arrow", "cache") and (compression is not None or not regular):
            raise DataError(f"{name}: {format} data must be an uncompressed file on disk.")
        starts_with_feature = format == "svmlight" and _starts_with_feature(flow.peek(4096))
        # A pipe can be slow, and should not be waited for.
        vw_names = _vw_names(flow.peek(1 << 16 if regular else 4096)) if format == "vw" else None
    except BaseException:
        flow.close()
        raise
    if regular:
        flow.close()
    return Source(path, format, compression, n_bytes, None if regular else flow, starts_with_feature, vw_names)


def _format(path: str, head: bytes, name: str, compression: str | None) -> str:
    for magic, kind in _CONTAINERS.items():
        if head.startswith(magic):
            return kind
    if head[8:9] == b"{" and b'"__metadata__"' in head:
        raise DataError(f"{name}: this is a model, not data.")
    ending = _ending(path, compression)
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    line = _first_row(head)
    if line.lstrip().startswith(b"{"):
        return "jsonl"
    if b"|" in line:
        return "vw"
    # A row of svmlight has a colon, unless it has no features; then it is a single word.
    if b":" not in line and re.search(rb"[^,;\t][,;\t]+[^,;\t]", line.strip()):
        return "csv"
    return "svmlight"


def _ending(path: str, compression: str | None) -> str:
    return os.path.splitext(path.removesuffix(f".{compression}"))[1].lower()  # noqa: PTH122 a Path takes longer


def _first_row(head: bytes) -> bytes:
    lines = io.BytesIO(head.removeprefix(BOM))
    return next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), b"")


def _starts_with_feature(head: bytes) -> bool:
    first = next(iter(_first_row(head).split()), b"")
    return b":" in first.split(b"#")[0]


def _vw_names(head: bytes) -> VwNames:
    spaces, has_others = set(), False
    lines = head.removeprefix(BOM).split(b"\n")
    for line in lines[:-1] or lines:  # the last one can be cut off
        for part in line.split(b"|")[1:]:
            space, *names = part.split() if part[:1].strip() else [b"", *part.split()]
            for name in names:
                if id_of(name.split(b":")[0].decode("ascii", "replace")) is not None:
                    spaces.add(space.split(b":")[0])
                else:
                    has_others = True
    return VwNames(frozenset(spaces), has_others)
