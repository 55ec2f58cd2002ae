"""Archives of every kind: unpacked block by block, whatever the ratio, and in time that grows with their content."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys

import pytest
from zstd_module import zstd

from thresher import open_stream
from thresher.streams import DataError
from thresher.streams.sources import Flow

LINE = b"1 1:0.5 7:2 9:1\n"
BLOCK = 1 << 20
# Of 10 MB, which archives may hold any number of times.
PART = LINE * 625_000
COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """200 MB of one line, in each kind of archive."""
    folder = tmp_path_factory.mktemp("archives")
    for ending, compress in COMPRESS.items():
        # zstd's is a single frame, so that the ratio is 10,000; a second of bzip2's or xz's time is enough.
        packed = compress(PART * 20) if ending == "zst" else compress(PART) * 20
        (folder / f"rows.svm.{ending}").write_bytes(packed)
    return folder


class Counted:
    """A decompressor that counts what it is asked for."""

    def __init__(self, inner):
        self.inner, self.n_calls, self.n_bytes = inner, 0, 0

    def read(self, size):
        part = self.inner.read(size)
        assert len(part) <= size
        self.n_calls += 1
        self.n_bytes += len(part)
        return part

    def close(self):
        self.inner.close()


@pytest.mark.parametrize("ending", COMPRESS)
def test_blocks_are_no_larger_than_asked_for(archives, ending):
    """So nothing is moved twice, and the time is in proportion to the content."""
    path = archives / f"rows.svm.{ending}"
    with path.open("rb") as raw, Flow(raw, str(path), ending) as flow:
        flow._file = counted = Counted(flow._file)
        n_blocks = 0
        while block := flow.read(BLOCK):
            n_blocks += 1
            assert len(block) <= BLOCK
    assert counted.n_bytes == 20 * len(PART)
    assert n_blocks == -(-20 * len(PART) // BLOCK)
    assert counted.n_calls <= 4 * n_blocks


@pytest.mark.memory
@pytest.mark.parametrize("ending", COMPRESS)
def test_memory_does_not_grow_with_the_ratio(archives, ending):
    code = (
        "import sys; from thresher import open_stream\n"
        "print(sum(batch.n_rows for batch in open_stream(sys.argv[1], threads=2).batches()))\n"
        "status = open('/proc/self/status').read()\n"
        "print(status.split('VmHWM:')[1].split()[0])"
    )
    command = [sys.executable, "-c", code, archives / f"rows.svm.{ending}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    n_rows, peak = map(int, done.stdout.split())
    assert n_rows == 20 * 625_000
    assert peak < 200_000, f"{peak} kB"


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("missing", [1, 5])
def test_the_end_of_the_last_frame_is_missed(tmp_path, ending, missing):
    frame = COMPRESS[ending](LINE * 1_000)
    path = tmp_path / f"rows.svm.{ending}"
    path.write_bytes(frame * 2)
    assert sum(batch.n_rows for batch in open_stream(path).batches()) == 2_000
    path.write_bytes((frame * 2)[:-missing])
    with pytest.raises(DataError, match=rf"rows.svm.{ending}: the {ending} archive is damaged or truncated"):
        list(open_stream(path).batches())
