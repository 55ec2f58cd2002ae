"""Where bytes come from: paths, folders, globs, standard input; compressed or not; and what they look like."""

from __future__ import annotations

import bz2
import glob
import io
import lzma
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from thresher.streams.stream import DataError

Path_ = str | os.PathLike[str]

_COMPRESSIONS = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_CONTAINERS = {b"THRESHC1": "cache", b"PAR1": "parquet", b"ARROW1\x00\x00": "arrow", b"\xff\xff\xff\xff": "arrow"}
_ENDINGS = {
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".vw": "vw", ".csv": "csv",
    ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".thc": "cache",
}  # fmt: skip
FORMATS = ("svmlight", "vw", "csv", "parquet", "arrow", "cache")


@dataclass(frozen=True)
class Source:
    """One file, or something that can only be read once: standard input, a pipe."""

    path: str  # "-" is standard input
    format: str
    compression: str | None
    n_bytes: int | None
    flow: Flow | None = None  # of what can be read only once: opened when we looked at it

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return "standard input" if self.path == "-" else self.path


def find(source: Path_ | Iterable[Path_], format: str) -> list[Source]:
    """Turn what the user named into files, in order; look into each to learn its compression and format."""
    if format not in ("auto", *FORMATS):
        raise ValueError(f"format must be one of auto, {', '.join(FORMATS)}. Got {format!r} instead.")
    names = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not names:
        raise ValueError("source is an empty list: name at least one file.")
    found = [path for name in names for path in _expand(os.fspath(name))]
    return [_look(path, format) for path in found]


class Flow:
    """The decompressed bytes of a file, read forwards."""

    def __init__(self, raw: Any, name: str, compression: str | None) -> None:
        self._raw, self._name, self._compression = raw, name, compression
        self._file = _decompressed(raw, compression)
        self._n_read = 0
        self._ahead = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened."""
        self._file.close()
        self._raw.close()

    @property
    def position(self) -> int:
        """How far we are, in bytes as they lie on the disk."""
        return self._raw.tell() if self._raw.seekable() else self._n_read

    def peek(self, size: int) -> bytes:
        """Return the next bytes without moving on."""
        self._ahead = self._take(size)
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer only at the end; a broken archive is an error that names the file."""
        whole = self._take(size)
        self._ahead = whole[size:]  # a zstd frame comes in steps of its own
        self._n_read += min(len(whole), size)
        return whole[:size]

    def _take(self, size: int) -> bytes:
        parts, n = [self._ahead], len(self._ahead)
        try:
            while n < size and (part := self._file.read(size - n)):
                parts.append(part)
                n += len(part)
        except Exception as error:
            if self._compression is None:
                raise
            # Each library has its own idea of what a broken archive raises.
            raise DataError(
                f"{self._name}: the {self._compression} archive is broken or cut short ({error})."
            ) from None
        return b"".join(parts)


def opened(source: Source) -> Flow:
    """Return the source's bytes; of what can be read only once, the flow that is open already."""
    if source.flow is not None:
        return source.flow
    return Flow(Path(source.path).open("rb"), source.name, source.compression)


class HeldFile:
    """An open file that closes when the last task that reads it is gone: tasks outlive the turn that makes them."""

    number = -1  # none, if it could not be opened

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)


class _Pipe(io.RawIOBase):
    """Standard input or a pipe, with the bytes that were looked at put back in front.

    Read without a buffer of Python's: a thread that waits in such a buffer can't be left behind when we stop.
    """

    def __init__(self, path: str) -> None:
        if path == "-":
            if sys.stdin is None:
                raise DataError("standard input is closed.")
            self._raw = io.FileIO(sys.stdin.fileno(), closefd=False)
        else:
            self._raw = io.FileIO(path)
        self._head = b""

    def peek(self, size: int) -> bytes:
        while len(self._head) < size and (part := self._raw.read(size - len(self._head))):
            self._head += part
        return self._head

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        part = self._head[: len(room)] or self._raw.read(len(room)) or b""
        self._head = self._head[len(part) :] if self._head else b""
        room[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _decompressed(raw: IO[bytes], compression: str | None) -> Any:
    if compression == "gz":
        from isal import igzip

        return igzip.open(raw, "rb")  # type: ignore[no-untyped-call]
    if compression == "zst":
        return _ZstdFile(raw)
    if compression == "bz2":
        return bz2.BZ2File(raw)
    if compression == "xz":
        return lzma.LZMAFile(raw)
    return raw


class _ZstdFile:
    """A zstd archive of one or more frames; zstandard's own reader takes one that was cut short for a whole one."""

    def __init__(self, raw: IO[bytes]) -> None:
        import zstandard

        self._raw = raw
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame: Any = None
        self._left = b""

    def read(self, _size: int) -> bytes:
        """Return the next bytes, any number of them; none at the end."""
        while True:
            packed = self._left or self._raw.read(1 << 17)
            self._left = b""
            if not packed:
                if self._frame is not None:
                    raise EOFError("the last frame has no end")
                return b""
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            unpacked: bytes = self._frame.decompress(packed)
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = None
            if unpacked:
                return unpacked

    def close(self) -> None:
        """Do nothing; the raw file is closed by its owner."""


def _expand(name: str) -> list[str]:
    if name == "-":
        return ["-"]
    path = Path(name)
    if path.is_dir():
        files = sorted(str(p) for p in path.iterdir() if p.is_file() and not p.name.startswith((".", "_")))
        if not files:
            raise DataError(f"{name}: the folder has no files in it.")
        return files
    if path.exists():
        return [name]
    if glob.has_magic(name):
        matches = sorted(p for p in glob.glob(name, recursive=True) if Path(p).is_file())
        if matches:
            return matches
        raise DataError(f"{name}: no file matches.")
    raise FileNotFoundError(f"{name}: there is no such file.")


def _look(path: str, format: str) -> Source:
    name = "standard input" if path == "-" else path
    regular = path != "-" and Path(path).is_file()
    try:
        raw: Any = Path(path).open("rb") if regular else _Pipe(path)  # noqa: SIM115 closed by the flow
    except PermissionError:
        raise DataError(f"{path}: may not be read.") from None
    magic = raw.peek(8)[:8]
    compression = next((kind for mark, kind in _COMPRESSIONS.items() if magic.startswith(mark)), None)
    flow = Flow(raw, name, compression)
    n_bytes = os.fstat(raw.fileno()).st_size if regular else None
    try:
        if format == "auto":
            format = _format(path, flow.peek(4096), name, compression)
        if format in ("parquet", "arrow", "cache") and (compression is not None or not regular):
            raise DataError(f"{name}: {format} files are read from the disk, uncompressed.")
    except BaseException:
        flow.close()
        raise
    if regular:
        flow.close()
    return Source(path, format, compression, n_bytes, None if regular else flow)


def _format(path: str, head: bytes, name: str, compression: str | None) -> str:
    for magic, kind in _CONTAINERS.items():
        if head.startswith(magic):
            return kind
    if head[8:9] == b"{" and b'"__metadata__"' in head:
        raise DataError(f"{name}: this is a model, not data.")
    ending = Path(path.removesuffix(f".{compression}")).suffix.lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    line = next((line for line in io.BytesIO(head) if line.strip() and not line.startswith(b"#")), b"")
    if b"|" in line:
        return "vw"
    if b"," in line and b":" not in line:
        return "csv"
    return "svmlight"
