"""Bytes read forwards: from files, pipes and standard input, compressed or not."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import sys
from typing import IO, Any, Self

from thresher.streams.stream import DataError

# How much is decompressed at a time on the way to a position.
_SKIP = 1 << 20


class Flow:
    """The decompressed bytes of a file, read forwards."""

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
        """How far we are in the content, decompressed."""
        return self._n_read

    @property
    def position(self) -> int:
        """How far we are, in bytes as they lie on the disk."""
        return self._raw.tell() if self._raw.seekable() else self._n_read

    def go_to(self, byte: int) -> None:
        """Move forwards to a byte of the content: at once in a plain file, by decompressing what lies before else."""
        if self._compression is None and self._raw.seekable():
            self._raw.seek(byte)
            self._ahead, self._n_read = b"", byte
        while self._n_read < byte and self.read(min(byte - self._n_read, _SKIP)):
            pass

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
                f"{self.name}: the {self._compression} archive is damaged or truncated ({error})."
            ) from None
        return b"".join(parts)


class HeldFile:
    """An open file that closes when the last task that reads it is gone: tasks outlive the turn that makes them."""

    number = -1  # none, if it could not be opened

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)


class Pipe(io.RawIOBase):
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
        """Return the next bytes without moving on."""
        while len(self._head) < size and (part := self._raw.read(size - len(self._head))):
            self._head += part
        return self._head

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, room: Any) -> int:
        """Read what has come, at most as much as there is room for."""
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
    """A zstd archive of one or more frames; zstandard's own reader takes a truncated one for a whole one."""

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
