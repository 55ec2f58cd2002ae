"""Sequential reading of bytes: from files, pipes and standard input, compressed or not."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import sys
from typing import IO, Any, Self

from thresher.streams.stream import DataError

# Bytes to decompress at a time when moving to a position.
_SKIP = 1 << 20


class Flow:
    """The decompressed bytes of a file, read sequentially."""

    def __init__(self, raw: Any, name: str, compression: str | None) -> None:
        self._raw, self.name, self._compression = raw, name, compression
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
    def byte(self) -> int:
        """The number of decompressed bytes read so far."""
        return self._n_read

    @property
    def position(self) -> int:
        """The number of bytes on disk read so far."""
        return self._raw.tell() if self._raw.seekable() else self._n_read

    def go_to(self, byte: int) -> None:
        """Move forward to a byte of the content: by a seek in a plain file, else by decompressing what is before it."""
        if self._compression is None and self._raw.seekable():
            self._raw.seek(byte)
            self._ahead, self._n_read = b"", byte
        while self._n_read < byte and self.read(min(byte - self._n_read, _SKIP)):
            pass

    def peek(self, size: int) -> bytes:
        """Return the next bytes without advancing."""
        self._ahead = self._take(size)
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer only at the end; a damaged archive raises an error that names the file."""
        whole = self._take(size)
        self._ahead = whole[size:]  # zstd can return more than was asked for
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
            # Each library raises other exceptions for a damaged archive.
            raise DataError(
                f"{self.name}: the {self._compression} archive is damaged or truncated ({error})."
            ) from None
        return b"".join(parts)


class HeldFile:
    """An open file that is closed with the last task that uses it; tasks can outlive the generator of tasks."""

    number = -1  # -1 if it could not be opened

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY)

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
        """Return True."""
        return True

    def readinto(self, room: Any) -> int:
        """Read the bytes that are available, at most as many as fit into `room`."""
        part = self._head[: len(room)] or self._raw.read(len(room)) or b""
        self._head = self._head[len(part) :] if self._head else b""
        room[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the pipe."""
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
    """A zstd archive of one or more frames; zstandard's own reader does not detect a truncated one."""

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
