"""Measure thresher beside its peers and floors, in one run, and write RESULTS.md.

Each figure is the least of several runs, interleaved where they are short. What to read is the ratios.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import from_files
from measure import PYTHON, THRESHER, least_seconds


def start_up() -> list[str]:
    """Return the table of what a user waits for before anything happens."""
    least = least_seconds(
        {
            "`python -c pass`": lambda: subprocess.run([PYTHON, "-c", "pass"], check=True),
            "`import numpy`": lambda: subprocess.run([PYTHON, "-c", "import numpy"], check=True),
            "`import numpy, thresher`": lambda: subprocess.run([PYTHON, "-c", "import numpy, thresher"], check=True),
            "`thresher --help`": lambda: subprocess.run([THRESHER, "--help"], check=True, stdout=subprocess.DEVNULL),
        },
        rounds=7,
    )
    added = least["`import numpy, thresher`"] - least["`import numpy`"]
    lines = ["## Start-up", "", "| | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.3f} |" for name, seconds in least.items()]
    return [*lines, "", f"`import thresher` adds {added:.3f} s to numpy's (bar: 0.3); `--help` has a bar of 0.6.", ""]


def main() -> None:
    """Measure, print, and write RESULTS.md beside this file."""
    # First, while this process is small: the peak memory of a child counts what it was before it became itself.
    files = from_files.section()
    import in_memory
    import numpy as np
    import scipy
    import sklearn

    import thresher
    from thresher import _core

    lines = [
        "# Speed",
        "",
        "Written by `make bench`; do not edit. Least of several runs; read the ratios.",
        "",
        f"thresher {thresher.__version__}, SIMD path {_core.simd_in_use()}; numpy {np.__version__}, "
        f"scipy {scipy.__version__}, scikit-learn {sklearn.__version__}; "
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}.",
        "",
        *in_memory.section(permute=False),
        *in_memory.section(permute=True),
        *files,
        *start_up(),
    ]
    text = "\n".join(lines)
    print(text)
    Path(__file__).with_name("RESULTS.md").write_text(text)


if __name__ == "__main__":
    main()
