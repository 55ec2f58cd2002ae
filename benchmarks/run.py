"""Measure thresher beside its peers and floors, in one run, and write RESULTS.md and growth.svg.

Each figure is the least of several runs, interleaved, unless it says once. What to read is the ratios. With --quick all
that is slow is left out, and nothing is written.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import billion
import from_files
from measure import PYTHON, THRESHER, Bar, Section, least_process_costs

PACKAGES = ("thresher", "numpy", "scipy", "scikit-learn", "vowpalwabbit", "river")


def main() -> None:
    """Measure, print, and write what was asked for."""
    quick, load = "--quick" in sys.argv, os.getloadavg()[0]
    # First what runs as processes of its own, while this one is small: the peak memory of a child counts what it was
    # before it became itself. So in_memory and growth, which load much, are imported after.
    files, start = from_files.section(quick), start_up(quick)
    x2 = Section([], []) if quick else billion.section()
    import growth
    import in_memory

    by_threads = growth.threads(quick)
    sections = [
        in_memory.x1(False, quick),
        in_memory.x1(True, quick),
        in_memory.ccat(quick),
        files,
        x2,
        growth.section(quick, by_threads),
        start,
    ]
    text = "\n".join([*_head(quick, load), *_bars(sections), *(line for part in sections for line in part.lines)])
    print(text)
    if not quick:
        Path(__file__).with_name("RESULTS.md").write_text(text)


def start_up(quick: bool) -> Section:
    """Measure what a user waits for before anything happens."""
    commands = {
        "`python -c pass`": (PYTHON, "-c", "pass"),
        "`import numpy`": (PYTHON, "-c", "import numpy"),
        "`import numpy, thresher`": (PYTHON, "-c", "import numpy, thresher"),
        "`from thresher import SOFS`, with scikit-learn": (PYTHON, "-c", "from thresher import SOFS"),
        "`thresher --help`": (THRESHER, "--help"),
    }
    costs = least_process_costs(commands, 5 if quick else 10)
    lines = ["## Start-up", "", "| | seconds | CPU s | peak MB |", "|---|---|---|---|"]
    lines += [f"| {name} | {cost.wall:.3f} | {cost.cpu:.3f} | {cost.memory:.0f} |" for name, cost in costs.items()]
    added = costs["`import numpy, thresher`"].wall - costs["`import numpy`"].wall
    bars = [
        Bar("`import thresher`, beyond numpy", max(added, 0.0), 0.3, " s"),
        Bar("`thresher --help`", costs["`thresher --help`"].wall, 0.6, " s"),
    ]
    return Section([*lines, ""], bars)


def _head(quick: bool, load: float) -> list[str]:
    from thresher import _core

    # Others at work on the machine make every wall time longer, and not all alike.
    busy = f" **The machine was busy, with a load of {load:.1f}: read these as a rehearsal.**" if load > 0.5 else ""
    told = "A quick look; `make bench` measures in full." if quick else "Written by `make bench`; do not edit."
    return [
        "# Speed",
        "",
        f"{told} Least of several runs, interleaved, unless it says once; read the ratios. "
        f"[docs/performance.md](../docs/performance.md) tells where they come from.{busy}",
        "",
        f"{', '.join(f'{name} {version(name)}' for name in PACKAGES)}; SIMD path {_core.simd_in_use()}; "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}.",
        "",
    ]


def _bars(sections: list[Section]) -> list[str]:
    rows = [bar.row() for part in sections for bar in part.bars]
    return ["## The bars", "", "| | bar | measured | |", "|---|---|---|---|", *rows, ""]


if __name__ == "__main__":
    main()
