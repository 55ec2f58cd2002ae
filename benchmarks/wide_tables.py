"""Tables of many columns or many rows, beside pyarrow, which reads the same file and converts nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import PYTHON, Bar, Effort, Section, least_process_costs, table

PYARROW = {
    "csv": "pyarrow.csv.read_csv(path, read_options=pyarrow.csv.ReadOptions(block_size=block))",
    "parquet": "pyarrow.parquet.read_table(path)",
}
OURS = "collections.deque(open_stream(path).batches(), 1)"
# Prints the CPU seconds; imports are left out. A header must fit into a block of pyarrow's.
TIMED = """
import collections, sys, time
import pyarrow.compute, pyarrow.csv, pyarrow.ipc, pyarrow.parquet
from thresher import open_stream
path, block = sys.argv[1], int(sys.argv[2])
started = time.process_time()
{}
print(time.process_time() - started)
"""
LIMITS = {"few rows": 4.0, "wide": 1.5, "long": 1.5}  # CPU seconds, as a multiple of pyarrow's


def section(effort: Effort) -> Section:
    """Measure CSV and Parquet, each reading in a process of its own: memory is touched once."""
    shapes = effort.pick(
        [("few rows", 4, 20_000), ("few rows", 4, 200_000), ("wide", 1_167, 18_125), ("long", 1_000_000, 40)],
        [("few rows", 4, 20_000), ("wide", 200, 18_125), ("long", 200_000, 40)],
        [("few rows", 4, 200), ("long", 200, 4)],
    )
    rows, bars = [], []
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        for kind, n_rows, width in shapes:
            for ending, path in _files(Path(folder), n_rows, width).items():
                programs = {"pyarrow": PYARROW[ending], "ours": OURS}
                block = str(1 << 20 if kind == "long" else 1 << 30)
                commands = {name: (PYTHON, "-c", TIMED.format(of), str(path), block) for name, of in programs.items()}
                costs = least_process_costs(commands, effort.pick(3, 3, 1))
                theirs, ours = (float(costs[name].output) for name in ("pyarrow", "ours"))
                ratio, what = ours / theirs, f"{ending}, {n_rows:,} × {width:,}"
                rows.append([what, f"{theirs:.2f}", f"{ours:.2f}", f"{ratio:.2f}"])
                bars.append(Bar(f"`open_stream` / pyarrow, {what}, CPU", ratio, LIMITS[kind]))
                path.unlink()
    head = ["rows × columns", "pyarrow, CPU s", "`open_stream`", "ratio"]
    return Section(["## Tables of numbers", "", *table(head, rows)], bars)


def _files(folder: Path, n_rows: int, width: int) -> dict[str, Path]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    cells = (
        rng.integers(0, 9, (width, n_rows)).astype(float) if n_rows == 4 else rng.normal(size=(width, n_rows)).round(4)
    )
    table = pa.table({"label": np.arange(n_rows) % 2, **{f"c{k}": column for k, column in enumerate(cells)}})
    paths = {ending: folder / f"{n_rows}x{width}.{ending}" for ending in PYARROW}
    pa.csv.write_csv(table, paths["csv"])
    pa.parquet.write_table(table, paths["parquet"])
    return paths


if __name__ == "__main__":
    found = section(Effort.FULL)
    print("\n".join([*found.lines, *(" | ".join(bar.row(True)) for bar in found.bars)]))
