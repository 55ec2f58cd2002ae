"""Measure thresher beside its peers and floors, in one run, and write RESULTS.md.

Each figure is the least of several runs, interleaved, unless it says once; read the ratios. --quick leaves out what is
slow. --smallest runs every section once on tiny data, in seconds, and judges no bar. Neither writes a file.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import billion
import from_files
import single_cells
import wide_tables
from measure import PYTHON, THRESHER, Bar, Effort, Section, least_process_costs, table

PACKAGES = ("thresher", "numpy", "scipy", "scikit-learn", "vowpalwabbit", "river")


def main() -> None:
    """Measure, print, and write what was asked for."""
    effort = Effort.QUICK if "--quick" in sys.argv else Effort.SMALLEST if "--smallest" in sys.argv else Effort.FULL
    load = os.getloadavg()[0]
    # Sections that run processes of their own come first, while this process is small: the peak memory of a child
    # includes that of its parent before exec. For the same reason in_memory and growth are imported after them.
    files, start, x2 = from_files.section(effort), start_up(effort), billion.section(effort)
    cells, wide = single_cells.section(effort), wide_tables.section(effort)
    import growth

    by_threads = growth.threads(effort)
    import in_memory

    sections = [
        in_memory.x1(False, effort),
        in_memory.x1(True, effort),
        in_memory.ccat(effort),
        files,
        wide,
        cells,
        x2,
        growth.section(effort, by_threads),
        start,
    ]
    judged = (bar.row(effort is not Effort.SMALLEST) for part in sections for bar in part.bars)
    bars = ["## The bars", "", *table(["", "bar", "measured", ""], judged)]
    text = "\n".join([*_head(effort, load), *bars, *(line for part in sections for line in part.lines)])
    print(text)
    if effort is Effort.FULL:
        Path(__file__).with_name("RESULTS.md").write_text(text)


def start_up(effort: Effort) -> Section:
    """Measure what a user waits for before anything happens."""
    commands = {
        "`python -c pass`": (PYTHON, "-c", "pass"),
        "`import numpy`": (PYTHON, "-c", "import numpy"),
        "`import numpy, thresher`": (PYTHON, "-c", "import numpy, thresher"),
        "`from thresher import SOFS`, with scikit-learn": (PYTHON, "-c", "from thresher import SOFS"),
        "`thresher --help`": (THRESHER, "--help"),
    }
    costs = least_process_costs(commands, effort.pick(10, 5, 1))
    rows = ([name, f"{of.wall:.3f}", f"{of.cpu:.3f}", f"{of.memory:.0f}"] for name, of in costs.items())
    added = costs["`import numpy, thresher`"].wall - costs["`import numpy`"].wall
    bars = [
        Bar("`import thresher`, beyond numpy", max(added, 0.0), 0.3, " s"),
        Bar("`thresher --help`", costs["`thresher --help`"].wall, 0.6, " s"),
    ]
    return Section(["## Start-up", "", *table(["", "seconds", "CPU s", "peak MB"], rows)], bars)


def _head(effort: Effort, load: float) -> list[str]:
    from thresher import _core

    # Other work on the machine makes wall times longer, and not all of them alike.
    busy = f" **The machine was busy, with a load of {load:.1f}: do not rely on these figures.**" if load > 0.5 else ""
    note = effort.pick(
        "Written by `make bench`; do not edit.",
        "A quick look; `make bench` measures in full.",
        "The smallest form, on tiny data: it shows that the benchmark runs, and measures nothing.",
    )
    return [
        "# Speed",
        "",
        f"{note} Least of several runs, interleaved, unless it says once; read the ratios. "
        f"[docs/performance.md](../docs/performance.md) explains where they come from.{busy}",
        "",
        f"{', '.join(f'{name} {version(name)}' for name in PACKAGES)}; SIMD path {_core.simd_in_use()}; "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}.",
        "",
    ]


if __name__ == "__main__":
    main()
