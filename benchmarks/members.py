"""What keeping the lowest member exact costs: run the program in cpp/bench and write MEMBERS.md.

Usage: members.py PROGRAM [--smallest]. The rows of ccat and news20 are measured too if the files are there. With
--smallest a few thousand rows of X1 alone show that all ways still agree, in seconds, and nothing is written.
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
SMALLEST_ROWS, SMALLEST_ROUNDS = 2_000, 1
BUDGETS = {"ccat": (500, 5_000), "news20": (1_000, 10_000, 100_000)}

INTRODUCTION = """# Keeping the lowest member exact

Written by `make bench-members`; do not edit. ShadowSOFS learns with WatchedPool, which ships, and with each alternative
in `cpp/bench/member_sets.hpp`; learner and selector are the library's own. All give the same members and weights, bit
for bit, or the program fails. Least CPU time of several runs, interleaved. "Looks" are ranks that were read, or places
of a heap or tree that were visited. [docs/performance.md](../docs/performance.md) discusses the results.

"""


def main() -> None:
    """Measure and print; unless it is the smallest form, write MEMBERS.md beside this file."""
    program, *options = sys.argv[1:]
    if options == ["--smallest"]:
        print(tables([program, str(SMALLEST_ROWS), str(SMALLEST_ROUNDS)]))
        return
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        command = [program, str(ROWS), str(ROUNDS)]
        for name, budgets in BUDGETS.items():
            if packed := find(name):
                text = Path(folder) / f"{name}.svm"
                unpack = lzma.decompress if packed.suffix == ".xz" else bz2.decompress
                text.write_bytes(unpack(packed.read_bytes()))
                for budget in budgets:
                    command += [str(text), str(budget)]
        measured = tables(command)
    print(measured)
    Path(__file__).with_name("MEMBERS.md").write_text(INTRODUCTION + measured.rstrip() + "\n")


def tables(command: list[str]) -> str:
    """Return what the program prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
