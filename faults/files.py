"""The same rows in a file of every format; if they are many, something can happen while they are read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from thresher import convert, open_stream

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lambda raw: lzma.compress(raw, preset=0), "zst": zstd.compress
}  # fmt: skip
Options: TypeAlias = dict[str, Any]


def make(folder: Path, n_rows: int, svmlight: bytes = b"", vw: bytes = b"") -> dict[Path, Options]:
    """Write the files, or other rows than these as text; return how each is opened."""
    # Numbers that hardly compress, so that archives are longer than what is read first.
    numbers = np.random.default_rng(5).integers(10**8, 10**9, size=n_rows).tolist()
    rows = list(enumerate(numbers))
    svmlight = svmlight or b"".join(b"%d %d:0.%d %d:2\n" % (r % 2, r % 7 + 1, x, r % 90 + 9) for r, x in rows)
    vw = vw or b"".join(b"%d |f %d:0.%d %d:2\n" % (r % 2, r % 7 + 1, x, r % 90 + 9) for r, x in rows)
    made: dict[Path, Options] = {}

    def file(name: str, content: bytes | None = None, **options: Any) -> Path:
        path = folder / name
        if content is not None:
            path.write_bytes(content)
        made[path] = options
        return path

    file("rows.svm", svmlight)
    file("rows.vw", vw)
    file("rows.jsonl", b"".join(b'{"label": %d, "x": 0.%d}\n' % (r % 2, x) for r, x in rows), numeric="x")
    file("rows.csv", b"label,x\n" + b"".join(b"%d,0.%d\n" % (r % 2, x) for r, x in rows))
    for ending, compress in COMPRESS.items():
        file(f"rows.svm.{ending}", compress(svmlight))
    convert(folder / "rows.svm", file("rows.thc"))
    table = pa.table({"label": [r % 2 for r in range(n_rows)], "x": numbers, "y": [x / 7 for x in numbers]})
    pa.parquet.write_table(table, file("rows.parquet"), row_group_size=n_rows // 20)
    for name, new in (("rows.arrow", pa.ipc.new_file), ("stream.arrow", pa.ipc.new_stream)):
        with new(file(name), table.schema) as sink:
            sink.write_table(table, max_chunksize=n_rows // 20)
    pa.feather.write_feather(table, file("rows.feather"), chunksize=n_rows // 20)
    return made


def rows_of(path: Path, options: Options) -> list[bytes]:
    """Return the batches of a file as bytes, to compare them."""
    return [b"".join(_arrays(batch)) for batch in open_stream(path, threads=1, **options).batches()]


def _arrays(batch: Any) -> list[bytes]:
    return [array.tobytes() for array in (batch.indptr, batch.indices, batch.data, batch.labels)]


def digest(batch: Any) -> int:
    """Return a number for what is in a batch."""
    return hash(b"".join(_arrays(batch)))
