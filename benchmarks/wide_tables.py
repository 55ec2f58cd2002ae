"""Tables of many columns, beside pyarrow, which reads the same file and converts nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import PYTHON, Bar, Effort, Section, least_process_costs, table

PYARROW = {
    "csv": "pyarrow.csv.read_csv(path, read_options=pyarrow.csv.ReadOptions(block_size=1 << 30))",
    "parquet": "pyarrow.parquet.read_table(path)",
}
OURS = "collections.deque(open_stream(path).batches(), 1)"
# Prints the CPU seconds; imports are left out.
TIMED = """
import collections, sys, time
import pyarrow.compute, pyarrow.csv, pyarrow.ipc, pyarrow.parquet
from thresher import open_stream
path = sys.argv[1]
started = time.process_time()
{}
print(time.process_time() - started)
"""


def section(effort: Effort) -> Section:
    """Measure CSV and Parquet of four rows, each reading in a process of its own: memory is touched once."""
    widths = effort.pick((20_000, 200_000), (20_000,), (200,))
    rows, bars = [], []
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        for width in widths:
            for ending, path in _files(Path(folder), width).items():
                programs = {"pyarrow": PYARROW[ending], "ours": OURS}
                commands = {name: (PYTHON, "-c", TIMED.format(of), str(path)) for name, of in programs.items()}
                costs = least_process_costs(commands, effort.pick(3, 3, 1))
                theirs, ours = (float(costs[name].output) for name in ("pyarrow", "ours"))
                ratio = ours / theirs
                rows.append([f"{ending}, {width:,} columns", f"{theirs:.2f}", f"{ours:.2f}", f"{ratio:.2f}"])
                bars.append(Bar(f"`open_stream` / pyarrow, {ending} of {width:,} columns, CPU", ratio, 4.0))
    head = ["CPU s", "pyarrow", "`open_stream`", "ratio"]
    return Section(["## Wide tables: four rows", "", *table(head, rows)], bars)


def _files(folder: Path, width: int) -> dict[str, Path]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    cells = np.random.default_rng(0).integers(0, 9, (width, 4)).astype(float)
    table = pa.table({"label": [0, 1, 0, 1], **{f"c{k}": column for k, column in enumerate(cells)}})
    paths = {ending: folder / f"{width}.{ending}" for ending in PYARROW}
    pa.csv.write_csv(table, paths["csv"])
    pa.parquet.write_table(table, paths["parquet"])
    return paths
