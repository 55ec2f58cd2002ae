"""A disk that fails and a file that changes while it is read: one line that names the file, never a shorter file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys

import failing_disk
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from command_line import thresher
from zstd_module import zstd

from thresher import open_stream
from thresher.streams import DataError

N_ROWS = 60_000
# Rows that hardly compress, so that archives are longer than what is read first.
NUMBERS = [r * 2_654_435_761 % 10**9 for r in range(N_ROWS)]
TEXT = b"".join(b"%d %d:0.%d2 %d:2\n" % (r % 2, r % 7 + 1, x, r % 90 + 9) for r, x in enumerate(NUMBERS))
CSV = b"label,x\n" + b"".join(b"%d,0.%d\n" % (r % 2, x) for r, x in enumerate(NUMBERS))
JSON = b"".join(b'{"label": %d, "x": 0.%d}\n' % (r % 2, x) for r, x in enumerate(NUMBERS))
COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("data")
    (here / "rows.svm").write_bytes(TEXT)
    (here / "rows.vw").write_bytes(TEXT.replace(b"0 ", b"0 | ").replace(b"1 ", b"1 | "))
    (here / "rows.csv").write_bytes(CSV)
    (here / "rows.jsonl").write_bytes(JSON)
    for ending, compress in COMPRESS.items():
        (here / f"rows.svm.{ending}").write_bytes(compress(TEXT))
    assert thresher("convert", here / "rows.svm", here / "rows.thc").returncode == 0
    table = pa.table({"label": [r % 2 for r in range(N_ROWS)], "x": NUMBERS})
    pa.parquet.write_table(table, here / "rows.parquet", row_group_size=10_000)
    with pa.ipc.new_file(here / "rows.arrow", table.schema) as sink:
        sink.write_table(table, max_chunksize=10_000)
    saving = ["--checkpoint", here / "run.ckpt", "-o", here / "model"]
    assert thresher("train", here / "rows.svm", "-k", 5, "--full", *saving).returncode == 0
    return here


def test_a_read_error_is_reported_as_such(folder, tmp_path):
    """Of data at their start and in their middle, of models and of checkpoints."""
    data = {name: [] for name in ("rows.svm", "rows.vw", "rows.csv", "rows.thc", "rows.parquet", "rows.arrow")}
    data |= {"rows.jsonl": ["--numeric", "x"], **{f"rows.svm.{ending}": [] for ending in COMPRESS}}
    reads = [
        (folder / name, byte, ["train", folder / name, *options])
        for name, options in data.items()
        for byte in (0, (folder / name).stat().st_size // 2)
    ]
    model, checkpoint, rows = folder / "model", folder / "run.ckpt", folder / "rows.svm"
    reads += [(model, 0, ["show", model]), (model, 100, ["predict", model, rows])]
    resuming = ["train", rows, "-k", 5, "--checkpoint", checkpoint, "--resume"]
    reads += [(checkpoint, byte, resuming) for byte in (0, 100)]
    for (path, byte, arguments), done in zip(reads, failing_disk.commands(reads, tmp_path), strict=True):
        what = (arguments, byte, done)
        assert done.returncode == 2, what
        assert done.stderr.startswith(f"thresher: {path}: "), what
        assert done.stderr.count("\n") == 1, what
        assert "input/output error" in done.stderr.lower(), what
        assert "damaged" not in done.stderr, what


def test_memory_that_is_not_there():
    """The start of /proc/self/mem is a read error that needs no library."""
    done = thresher("train", "/proc/self/mem")
    assert done.returncode == 2
    assert done.stderr == "thresher: /proc/self/mem: input/output error.\n"


class TestShrinking:
    """A file that is cut while it is read does not end there."""

    @pytest.mark.parametrize(
        ("line", "name", "options"),
        [
            (b"1 1:0.5 7:2\n", "rows.svm", {}),
            (b"1 |f 1:0.5 7:2\n", "rows.vw", {}),
            (b'{"label": 1, "x": 2}\n', "rows.jsonl", {"numeric": "x"}),
            (b"1,0.5\n", "rows.csv", {}),
        ],
    )
    @pytest.mark.parametrize("n_left", [9_000_000, 9_000_001])
    def test_is_noticed(self, tmp_path, line, name, options, n_left):
        path = tmp_path / name
        content = (b"label,x\n" if name.endswith("csv") else b"") + line * (20_000_000 // len(line))
        path.write_bytes(content)
        batches = open_stream(path, threads=1, **options).batches()
        next(batches)
        os.truncate(path, n_left)
        with pytest.raises(DataError) as error:
            list(batches)
        assert str(error.value) == (
            f"{path}: the file was {len(content)} bytes long when it was opened and ends at byte {n_left} now: "
            "it changed while it was read."
        )

    def test_growing_is_no_error(self, tmp_path):
        path = tmp_path / "rows.svm"
        path.write_bytes(b"1 1:0.5 7:2\n" * 1_000_000)
        batches = open_stream(path, threads=1).batches()
        n_rows = next(batches).n_rows
        with path.open("ab") as file:
            file.write(b"1 1:0.5 7:2\n" * 1_000)
        assert n_rows + sum(batch.n_rows for batch in batches) == 1_000_000

    @pytest.mark.parametrize("kind", ["file", "stream", "feather"])
    def test_arrow(self, tmp_path, kind):
        """A file that is mapped would end the process with SIGBUS, and a stream would just end earlier."""
        path, table = tmp_path / "rows.arrow", pa.table({"label": np.arange(400_000) % 2, "x": np.arange(400_000.0)})
        if kind == "feather":
            pa.feather.write_feather(table, path, compression="uncompressed", chunksize=20_000)
        else:
            with getattr(pa.ipc, f"new_{kind}")(path, table.schema) as sink:
                sink.write_table(table, max_chunksize=20_000)
        size = path.stat().st_size
        code = (
            "import os, sys; from thresher import open_stream\n"
            "batches = open_stream(sys.argv[1], threads=1).batches(); next(batches)\n"
            "os.truncate(sys.argv[1], int(sys.argv[2]))\n"
            "try: print(sum(batch.n_rows for batch in batches))\n"
            "except ValueError as error: print(error)\n"
        )
        command = [sys.executable, "-c", code, path, str(size // 2)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout == (
            f"{path}: the file was {size} bytes long when it was opened and ends at byte {size // 2} now: "
            "it changed while it was read.\n"
        )
