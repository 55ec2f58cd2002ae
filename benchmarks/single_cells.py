"""An .h5ad file of many cells, far larger than the memory that reading it takes: `python benchmarks/single_cells.py`.

Each of 50 types of cells has marker genes, which its cells express more often than others do.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import THRESHER, Bar, Effort, Section, process, table

N_TYPES, N_MARKERS = 50, 40
BUDGET = 500
MOST_MB = 1500.0


def section(effort: Effort) -> Section:
    """Train on a file, once, and evaluate on other cells."""
    n_cells, n_genes, n_expressed = effort.pick((200_000, 30_000, 2_000), (10_000, 30_000, 2_000), (400, 300, 20))
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        train, test, model = (str(Path(folder, name)) for name in ("train.h5ad", "test.h5ad", "model.thresher"))
        write_cells(train, n_cells, n_genes, n_expressed, seed=0)
        write_cells(test, n_cells // 20, n_genes, n_expressed, seed=1)
        size = Path(train).stat().st_size / 1e9
        how = ("--label", "cell_type", "--multiclass", "-k", str(min(BUDGET, n_genes // 2)), "-o", model)
        learned = process(THRESHER, "train", train, *how)
        rated = process(THRESHER, "evaluate", model, test, "--label", "cell_type", "--json")
    accuracy = json.loads(rated.output)["accuracy"]
    rows = [[f"{learned.wall:.0f}", f"{learned.cpu:.0f}", f"{learned.memory:,.0f}", f"{accuracy:.3f}"]]
    head = ["seconds", "CPU s", "peak MB", "accuracy on other cells"]
    title = f"## Single cells: {n_cells:,} × {n_genes:,}, {N_TYPES} types, {size:.1f} GB of .h5ad, B = {BUDGET}, once"
    bar = Bar("peak memory on .h5ad, MB", learned.memory, MOST_MB)
    return Section([title, "", *table(head, rows)], [bar])


def write_cells(path: str, n_cells: int, n_genes: int, n_expressed: int, seed: int) -> None:
    """Write cells as AnnData does, some at a time. Which genes are markers does not depend on the seed."""
    import h5py

    groups = np.random.default_rng(0).permuted(np.tile(np.arange(n_expressed), (N_TYPES, 1)), axis=1)[:, :N_MARKERS]
    width = n_genes // n_expressed  # a cell expresses one gene of each group
    rng = np.random.default_rng(seed)
    types = rng.integers(0, N_TYPES, n_cells)
    with h5py.File(path, "w") as file:
        X = file.create_group("X")
        X.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": (n_cells, n_genes)})
        X["indptr"] = np.arange(n_cells + 1, dtype=np.int64) * n_expressed
        chunks = {"shape": (n_cells * n_expressed,), "chunks": (1 << 18,) if n_cells > 1_000 else None}
        indices, data = (
            X.create_dataset("indices", dtype="i4", **chunks),
            X.create_dataset("data", dtype="f4", **chunks),
        )
        for low in range(0, n_cells, 1_000):
            of_cells = types[low : low + 1_000]
            genes = rng.integers(0, width, (len(of_cells), n_expressed))
            markers = groups[of_cells]
            hits = rng.random(markers.shape) < 0.3
            rows = np.repeat(np.arange(len(of_cells)), hits.sum(axis=1))
            genes[rows, markers[hits]] = of_cells[rows] % width
            genes += np.arange(n_expressed) * width
            counts = rng.geometric(0.4, genes.shape)
            part = slice(low * n_expressed, (low + len(of_cells)) * n_expressed)
            indices[part], data[part] = genes.ravel(), np.log1p(counts).ravel()
        _write_frame(file.create_group("obs"), [f"cell{k}" for k in range(n_cells)], ["cell_type"])
        _write_frame(file.create_group("var"), [f"gene{k}" for k in range(n_genes)], [])
        of_types = file["obs"].create_group("cell_type")
        of_types.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
        of_types["codes"] = types.astype(np.int8)
        of_types["categories"] = [f"type {k}" for k in range(N_TYPES)]


def _write_frame(group: object, names: list[str], columns: list[str]) -> None:
    group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
    group.attrs["column-order"] = columns
    group["_index"] = names


if __name__ == "__main__":
    found = section(Effort.SMALLEST if "--smallest" in sys.argv else Effort.FULL)
    print("\n".join(found.lines))
