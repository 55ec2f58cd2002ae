"""What keeping the lowest member exact costs: run the program in cpp/bench and write MEMBERS.md.

Takes the path of the program. Rows of ccat are measured too, where `datasets.find` knows them.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

from thresher.datasets.registry import find

ROWS, ROUNDS = 100_000, 5

INTRODUCTION = """# Keeping the lowest member exact

Written by `make bench-members`; do not edit. ShadowSOFS learns with RankedSet, which ships, and with each way that was
tried beside it (`cpp/bench/member_sets.hpp`). All give the same members and weights, bit for bit, or the program fails.
Least of several runs, interleaved. "Looks" are ranks looked at, or places of a heap or tree visited.
[docs/performance.md](../docs/performance.md) tells what to make of it.

"""


def main() -> None:
    """Measure, print, and write MEMBERS.md beside this file."""
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        files = []
        if packed := find("ccat"):
            files = [str(Path(folder) / "ccat.svm")]
            Path(files[0]).write_bytes(lzma.decompress(packed.read_bytes()))
        command = [sys.argv[1], str(ROWS), str(ROUNDS), *files]
        tables = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(tables)
    Path(__file__).with_name("MEMBERS.md").write_text(INTRODUCTION + tables.rstrip() + "\n")


if __name__ == "__main__":
    main()
