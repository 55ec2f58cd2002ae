"""Sources of bytes: files, pipes and standard input, compressed or not, which are read sequentially."""

from __future__ import annotations

import codecs
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from thresher import _core
from thresher.batch import DataError
from thresher.io.file_errors import FileError, name_file_in_errors
from thresher.messages import parameter

if TYPE_CHECKING:
    from thresher.streams.partitions import Partition

BOM = b"\xef\xbb\xbf"
ENDINGS = (".gz", ".bz2", ".xz", ".zst")  # of compressed files
# Bytes to decompress at a time when moving to a position.
_SKIP = 1 << 20


@dataclass(frozen=True)
class Source:
    """A file, or something that can be read only once: standard input or a pipe."""

    path: str  # "-" is standard input
    format: str  # its name
    compression: str | None
    n_bytes: int | None
    flow: Flow | None = None  # for a pipe or standard input, which is open already
    hint: Any = None  # what its format needs to know of the first bytes
    encoding: str | None = None  # of text that is not UTF-8
    partitions: tuple[Partition, ...] = ()  # columns that the names of its folders give

    @property
    def name(self) -> str:
        """The name for messages."""
        return "standard input" if self.path == "-" else self.path

    @property
    def ending(self) -> str:
        """The ending of its name in lower case, without the ending of a compression."""
        return ending(self.path, self.compression)

    @property
    def is_plain(self) -> bool:
        """Whether it can be read from any byte, without decompressing or decoding."""
        return self.flow is None and self.compression is None and self.encoding is None

    def open(self) -> Flow:
        """Open it for reading; for a pipe or standard input, return the flow that is already open."""
        if self.flow is not None:
            return self.flow
        flow = Flow(Path(self.path).open("rb"), self.name, self.compression)  # noqa: SIM115 closed by the flow
        flow.decode_from(self.encoding)
        return flow


def ending(path: str, compression: str | None) -> str:
    """Return the ending of a path in lower case, without the ending of a compression."""
    return os.path.splitext(path.removesuffix(f".{compression}"))[1].lower()  # noqa: PTH122 a Path takes longer


class Flow:
    """The decompressed bytes of a file, text as UTF-8, read sequentially."""

    def __init__(self, raw: Any, name: str, compression: str | None) -> None:
        self._raw, self.name, self._compression = raw, name, compression
        self._file = raw if compression is None else open_archive(raw, compression, "rb")
        self._is_plain = compression is None
        self._size = os.fstat(raw.fileno()).st_size if raw.seekable() else 0
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

    def decode_from(self, encoding: str | None) -> None:
        """Give what follows as UTF-8, if it is in another encoding; at the start."""
        if encoding is not None:
            self._file = _Decoded(self._file, encoding, self._ahead, self.name)
            self._ahead, self._is_plain = b"", False

    @property
    def byte(self) -> int:
        """The number of bytes of the content read so far."""
        return self._n_read

    @property
    def bytes_read(self) -> int:
        """The number of bytes on disk read so far."""
        return self._raw.tell() if self._raw.seekable() else self._n_read

    def go_to(self, byte: int) -> None:
        """Move forward to a byte of the content: by a seek in a plain file, else by decompressing what is before it."""
        if self._is_plain and self._raw.seekable():
            self._raw.seek(byte)
            self._ahead, self._n_read = b"", byte
        while self._n_read < byte and self.read(min(byte - self._n_read, _SKIP)):
            pass

    def peek(self, size: int) -> bytes:
        """Return the next bytes without advancing."""
        self._ahead = self._take(size)
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer only at the end; an error names the file."""
        whole = self._take(size)
        self._ahead = whole[size:]
        self._n_read += min(len(whole), size)
        return whole[:size]

    def _take(self, size: int) -> bytes:
        parts, n = [self._ahead], len(self._ahead)
        while n < size and (part := self._next(size - n)):
            parts.append(part)
            n += len(part)
        return b"".join(parts)

    def _next(self, size: int) -> bytes:
        """Return up to `size` bytes; none at the end."""
        try:
            with name_file_in_errors(self.name):
                part: bytes = self._file.read(size)
        except (FileError, MemoryError, DataError):
            raise  # the disk fails, or the encoding does not fit: not the archive
        except Exception as error:
            if self._compression is None:
                raise
            # Each library raises other exceptions for a damaged archive.
            raise DataError(
                f"{self.name}: the {self._compression} archive is damaged or truncated ({error})."
            ) from None
        if not part:
            self._check_end()
        return part

    def _check_end(self) -> None:
        """Raise DataError if the file is shorter than when it was opened."""
        if self._size == 0:
            return
        refuse_shorter(self.name, self._raw, self._size, self._raw.tell() if self._compression is None else None)


def refuse_shorter(name: str, file: Any, size: int, n_read: int | None = None) -> None:
    """Raise DataError if an open file, or what was read of it up to its end, is shorter than it was."""
    now = os.fstat(file.fileno()).st_size
    now = now if n_read is None else min(now, n_read)
    if now < size:
        raise DataError(f"{name}: {_core.shrank(size, now)}")


def open_archive(raw: Any, kind: str, mode: Any) -> Any:
    """Open an archive of a kind ("gz", "bz2", "xz", "zst") in a raw file, which stays open when it is closed.

    `mode` is "rb" or "wb". Its `read(size)` returns at most `size` bytes, whatever the ratio, and it detects that its
    end is missing.
    """
    if kind == "gz":
        from isal import igzip

        return igzip.open(raw, mode)  # type: ignore[no-untyped-call]  # isal has no types there
    if kind == "bz2":
        import bz2

        return bz2.BZ2File(raw, mode)
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(raw, mode)
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(raw, mode)


class _Decoded:
    """Text in another encoding, as UTF-8."""

    def __init__(self, file: Any, encoding: str, head: bytes, name: str) -> None:
        self._file, self._encoding, self._head, self._name = file, encoding, head, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._n_read = 0

    def read(self, size: int) -> bytes:
        """Return about so many bytes, none at the end."""
        is_end, text = False, ""
        while not text and not is_end:
            part, self._head = self._head or self._file.read(size), b""
            is_end = not part
            waiting = len(self._decoder.getstate()[0])
            try:
                text = self._decoder.decode(part, is_end)
            except UnicodeError as error:  # that of a missing byte order mark has no place
                byte = self._n_read - waiting + getattr(error, "start", 0) + 1
                why = getattr(error, "reason", error)
                raise DataError(
                    f"{self._name}, byte {byte}: the text is not {self._encoding} ({why}): name its encoding "
                    f"with {parameter('encoding', ...)}."
                ) from None
            self._n_read += len(part)
        return text.encode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class SharedFile:
    """An open file, closed when nothing refers to it: what reads its blocks can outlive the generator of these."""

    number = -1  # -1 if it could not be opened

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.number).st_size

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)


class Pipe(io.RawIOBase):
    """Standard input or a pipe; bytes that were peeked at are returned again by the next read.

    It does not use Python's buffered reader: the process can't exit cleanly while a thread waits in it.
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
        """Return the next bytes without advancing."""
        while len(self._head) < size and (part := self._raw.read(size - len(self._head))):
            self._head += part
        return self._head

    def readable(self) -> bool:
        """Tell `io` that it is no output."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the bytes that are available, at most as many as fit into the buffer."""
        part = self._head[: len(buffer)] or self._raw.read(len(buffer)) or b""
        self._head = self._head[len(part) :] if self._head else b""
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the pipe."""
        self._raw.close()
        super().close()
