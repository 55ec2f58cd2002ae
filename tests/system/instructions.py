"""Instructions per nonzero, counted by callgrind, and the most that each learner and reader may take.

The limits are some 15 % above what was counted when they were set: room for another compiler, not for a slower loop.
That of ShadowSOFS is 1.35 times the 113.66 that it took when it had one layer; with two it took 138.9.
Usage: instructions.py PROGRAM (cpp/bench/instructions.cpp, built).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile

LIMITS = {
    "sofs": 58, "shadow_sofs": 153, "arow": 52, "pet": 87, "fofs": 169, "ogd": 37, "sofs_hash": 101, "sofs_sketch": 160,
    "shadow_sketch": 270, "svmlight": 171, "vw": 177, "json_2grams": 800, "vw_names": 535,
}  # fmt: skip
INTERCEPT = 1.08  # the most that ShadowSOFS may take with an intercept, times what it takes without …
ROWS = "20000"  # … on so many rows: the first ones say nothing, since a member set has little to do in them


def count(program: str, *arguments: str) -> int:
    """Return the instructions of a run."""
    with tempfile.NamedTemporaryFile() as profile:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile.name}", program, *arguments]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = re.search(r"Collected : (\d+)", output)
    assert found is not None, output
    return int(found[1])


def main() -> None:
    """Count, print, and fail if a limit is passed."""
    program = sys.argv[1]
    n_nonzeros = int(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    start = count(program, "nothing")
    slow = []
    for what, limit in LIMITS.items():
        each = (count(program, what) - start) / n_nonzeros
        print(f"{what:13} {each:7.2f} instructions per nonzero, at most {limit}")
        if each > limit:
            slow.append(what)
    start, without, with_one = (count(program, what, ROWS) for what in ("nothing", "shadow_sofs", "shadow_intercept"))
    ratio = (with_one - start) / (without - start)
    print(f"shadow_sofs with an intercept {ratio:.3f} times without, at most {INTERCEPT}")
    if ratio > INTERCEPT:
        slow.append("shadow_intercept")
    if slow:
        sys.exit(f"more instructions than the limit: {', '.join(slow)}")


if __name__ == "__main__":
    main()
