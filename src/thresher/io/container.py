"""Files of tensors with metadata, in the safetensors format, whose last tensor is a digest of all bytes before it.

Layout: 8 bytes with the length of the header; the header, JSON with the offsets of each tensor and our own metadata;
the tensors; the digest, SHA-256. Writing and reading go through the file once, in blocks, so that neither needs memory
beyond the tensors themselves. The header is written here and not by the safetensors library, which writes it in random
order: the same content always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from thresher.io.atomic import atomic_file
from thresher.io.file_errors import name_file_in_errors, refuse_empty_path

Tensors = dict[str, NDArray[Any]]

_DIGEST = "digest"
_KINDS: dict[np.dtype[Any], str] = {np.dtype(np.int64): "I64", np.dtype(np.float32): "F32", np.dtype(np.uint8): "U8"}
_DTYPES = {kind: dtype for dtype, kind in _KINDS.items()}
_BLOCK = 1 << 22  # bytes
_LONGEST_HEADER = 100_000_000  # what safetensors allows


def write_content(path: str | os.PathLike[str], tensors: Tensors, metadata: dict[str, Any], version: int) -> None:
    """Write a file, completely or not at all; the metadata are values for JSON."""
    from thresher import __version__

    metadata = {"format_version": version, "library_version": __version__, **metadata}
    with atomic_file(path) as file:
        for block in serialize(tensors, metadata):
            file.write(block)


def serialize(tensors: Tensors, metadata: dict[str, Any]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file, block by block."""
    text = json.dumps(metadata, sort_keys=True, allow_nan=False)
    header: dict[str, Any] = {"__metadata__": {"thresher": text}}
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    at = 0
    for name, array in [*arrays.items(), (_DIGEST, np.empty(hashlib.sha256().digest_size, np.uint8))]:
        header[name] = {
            "dtype": _KINDS[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]
        }  # fmt: skip
        at += array.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    digest = hashlib.sha256()
    start: list[bytes | memoryview] = [len(head).to_bytes(8, "little"), head]
    for block in itertools.chain(start, *map(blocks_of, arrays.values())):
        digest.update(block)
        yield block
    yield digest.digest()


@contextmanager
def read_content(
    path: str | os.PathLike[str], kind: str, version: int, remedy: str
) -> Iterator[tuple[Tensors, dict[str, Any]]]:
    """Read tensors and metadata, to be checked and used in the block; any error becomes one line that names the file.

    `kind` names the kind of file in messages; `remedy` is what to do if it has another version.
    """
    refuse_empty_path(kind, path)
    wrong = ""
    try:
        with name_file_in_errors(path), Path(path).open("rb") as file:
            content = _read_verified(file, kind, version, remedy)
        wrong = f"the {kind} is not valid: "
        yield content
    except ValueError as error:
        raise ValueError(f"{path}: {wrong}{str(error).removesuffix('.')}.") from None
    except (KeyError, TypeError, AttributeError, OverflowError, IndexError):
        raise ValueError(f"{path}: the {kind} is not valid: a part of it is missing or has the wrong type.") from None


def _read_verified(file: IO[bytes], kind: str, version: int, remedy: str) -> tuple[Tensors, dict[str, Any]]:
    """Return tensors and metadata, after a check of the digest over all bytes."""
    status = os.fstat(file.fileno())
    size = status.st_size
    if not stat.S_ISREG(status.st_mode):
        content = file.read()  # a pipe: its size is not known before its end
        file, size = io.BytesIO(content), len(content)
    length_bytes = file.read(8)
    length = int.from_bytes(length_bytes, "little")
    if len(length_bytes) < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise ValueError(f"this is not a thresher {kind}, or it is truncated.")
    head = file.read(length)
    try:
        header = json.loads(head)
        metadata = json.loads(header.pop("__metadata__")["thresher"], parse_float=_finite, parse_constant=_finite)
        if metadata.get("kind", "model") != kind:
            raise ValueError
        found = metadata["format_version"]
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
        raise ValueError(f"this is not a thresher {kind}, or it is damaged.") from None
    if found != version:
        raise ValueError(
            f"{kind} format {found} can't be read; this version of thresher reads format {version} only "
            f"(older ones were never released): {remedy}."
        )
    try:
        shapes = _shapes(header, size - 8 - length)
    except ValueError as error:
        raise ValueError(f"the {kind} is not valid: {error}.") from None
    digest = hashlib.sha256(length_bytes)
    digest.update(head)
    tensors = {}
    for name, (dtype, shape) in shapes.items():
        array = np.empty(shape, dtype)
        for block in blocks_of(array):
            if file.readinto(block) != len(block):  # type: ignore[attr-defined]  # BinaryIO lacks what all files have
                raise ValueError(f"the {kind} is truncated.")
            if name != _DIGEST:
                digest.update(block)
        tensors[name] = array
    if tensors.pop(_DIGEST).tobytes() != digest.digest():
        raise ValueError(f"the {kind} is damaged: its digest does not match.")
    return tensors, metadata


def _shapes(header: dict[str, Any], n_bytes: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Return the type and shape of each tensor, in order; raise unless they fill the rest of the file exactly."""
    shapes, at = {}, 0
    for name, entry in header.items():
        dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
        valid = isinstance(shape, list) and all(type(n) is int and 0 <= n <= n_bytes for n in shape)
        end = at + dtype.itemsize * math.prod(shape) if valid and len(shape) <= 2 else -1
        require(entry["data_offsets"] == [at, end], f"the tensor {name!r} has wrong offsets")
        shapes[name], at = (dtype, tuple(shape)), end
    last = next(reversed(shapes), None)
    require(last == _DIGEST and shapes[last] == (np.dtype(np.uint8), (32,)), "there is no digest at its end")
    require(at == n_bytes, "the file is truncated, or has extra bytes")
    return shapes


def _finite(text: str) -> float:
    """Return a number of the metadata, which `serialize` writes only if it is finite."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def blocks_of(array: NDArray[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array, in blocks of a few megabytes."""
    if array.size:
        raw = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]  # an array is a buffer
        for begin in range(0, len(raw), _BLOCK):
            yield raw[begin : begin + _BLOCK]


def is_ascending(ids: NDArray[np.int64]) -> bool:
    """Return whether each id is above the one before; a block at a time, without a copy of all."""
    step = _BLOCK // 8
    return all(
        bool((ids[begin + 1 : begin + step + 1] > ids[begin : begin + step][: len(ids) - begin - 1]).all())
        for begin in range(0, len(ids), step)
    )


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether all numbers are finite; a block at a time."""
    return all(
        bool(np.isfinite(np.frombuffer(block, array.dtype)).all()) for block in blocks_of(np.ascontiguousarray(array))
    )


def require(holds: bool, message: str) -> None:
    """Raise ValueError unless a condition holds that every valid file meets."""
    if not holds:
        raise ValueError(message)
