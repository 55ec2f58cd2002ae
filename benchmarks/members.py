"""What keeping the lowest member exact costs: run the program in cpp/bench and write MEMBERS.md.

Takes the path of the program. Rows of ccat and news20 are measured too, where they are at hand.
"""

from __future__ import annotations

import bz2
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

from thresher.datasets.registry import find

ROWS, ROUNDS = 100_000, 5
BUDGETS = {"ccat": (500, 5_000), "news20": (1_000, 10_000, 100_000)}

INTRODUCTION = """# Keeping the lowest member exact

Written by `make bench-members`; do not edit. ShadowSOFS learns with RankedSet, which ships, and with each way that was
tried beside it (`cpp/bench/member_sets.hpp`). All give the same members and weights, bit for bit, or the program fails.
Least CPU time of several runs, interleaved. "Looks" are ranks looked at, or places of a heap or tree visited.
[docs/performance.md](../docs/performance.md) tells what to make of it.

"""


def main() -> None:
    """Measure, print, and write MEMBERS.md beside this file."""
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        command = [sys.argv[1], str(ROWS), str(ROUNDS)]
        for name, budgets in BUDGETS.items():
            if packed := find(name):
                text = Path(folder) / f"{name}.svm"
                unpack = lzma.decompress if packed.suffix == ".xz" else bz2.decompress
                text.write_bytes(unpack(packed.read_bytes()))
                for budget in budgets:
                    command += [str(text), str(budget)]
        tables = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(tables)
    Path(__file__).with_name("MEMBERS.md").write_text(INTRODUCTION + tables.rstrip() + "\n")


if __name__ == "__main__":
    main()
