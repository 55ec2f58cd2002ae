"""Training from files, beside peers and the floor: text and binary caches, as whole processes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import PYTHON, THRESHER, Bar, Cost, Effort, Section, least_process_costs, process, table

BUDGET = 200

FLOOR = "read + look for newlines (floor)"
OURS = "`thresher train --method sofs`, text"
OURS_CACHED = "`thresher train --method sofs`, cache"
VW = "Vowpal Wabbit hinge l1, text"
VW_CACHED = "Vowpal Wabbit hinge l1, cache"

# l1 is such that Vowpal Wabbit keeps about as many features as we do.
VW_COMMAND = (PYTHON, "-m", "vowpalwabbit", "--quiet", "--loss_function", "hinge", "--l1", "3e-6")

VW_CONSTANT = "116060"  # the id of its intercept

# The floor: reading the bytes and looking for newlines with memchr, one thread.
READ = """
import sys
with open(sys.argv[1], "rb", buffering=0) as file:
    block = bytearray(1 << 20)
    while size := file.readinto(block):
        at = block.find(b"\\n", 0, size)
        while at >= 0:
            at = block.find(b"\\n", at + 1, size)
"""

# What a scikit-learn user does today, with rows of unit length as ours. Prints the time of loading and learning, with
# imports and the test left out.
SKLEARN = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize
def load(path, width=None):
    X, y = load_svmlight_file(path, dtype=np.float32, n_features=width)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # it gives int64, which SGD refuses
    return normalize(X, copy=False), y
started = time.perf_counter()
X, y = load(sys.argv[1])
model = SGDClassifier(loss="hinge", penalty="l1", random_state=0).partial_fit(X, y, classes=np.array([-1, 1]))
seconds = time.perf_counter() - started
accuracy = model.score(*load(sys.argv[2], X.shape[1]))
print(json.dumps({"seconds": seconds, "accuracy_on_test": accuracy, "n_selected": int(np.count_nonzero(model.coef_))}))
"""
SKLEARN_NAME = "`load_svmlight_file` + SGD hinge l1, once"


def section(effort: Effort) -> Section:
    """Measure on X1 as text."""
    n_rows, n_test = effort.pick((100_000, 10_000), (100_000, 10_000), (1_000, 200))
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        files = Files(Path(folder), n_rows, n_test)
        costs = least_process_costs(files.commands(files.train), effort.pick(5, 2, 1))
        starts = least_process_costs(files.commands(files.tiny), effort.pick(5, 3, 1))
        quality = files.quality()
        megabytes = Path(files.train["svm"]).stat().st_size / 1e6
        # On tiny data one start can take longer than another with its work: no time is not a speed.
        net = {name: max(costs[name].wall - starts[name].wall, 1e-6) for name in costs}
        if effort is not Effort.QUICK:
            costs[SKLEARN_NAME] = process(PYTHON, "-c", SKLEARN, files.train["svm"], files.test["svm"])
            report = json.loads(costs[SKLEARN_NAME].output)
            net[SKLEARN_NAME] = report["seconds"]
            quality[SKLEARN_NAME] = _quality(report)
    lines = [
        f"## From files: X1, {n_rows:,} rows, {megabytes:.0f} MB of text, B = {BUDGET}",
        "",
        f"Whole processes, {os.cpu_count()} cores. Start-up is the same command on a file of ten rows.",
        "",
    ]
    head = ["", "s, start-up apart", "with it", "MB of text per second", "CPU s", "peak MB"]
    rows = []
    for name, cost in costs.items():
        speed = f"{net[name]:.2f}", f"{cost.wall:.2f}", f"{megabytes / net[name]:,.0f}"
        rows.append([name, *speed, f"{cost.cpu:.2f}", f"{cost.memory:.0f}", *quality.get(name, "––")])
    return Section([*lines, *table([*head, "accuracy, held out", "features"], rows)], _bars(costs, net, megabytes))


def _bars(costs: dict[str, Cost], net: dict[str, float], megabytes: float) -> list[Bar]:
    floor, ours = megabytes / net[FLOOR], megabytes / net[OURS]
    # The bar is for a machine whose floor is 2,500 MB/s or more; on a slower one it is that share of the floor.
    wanted = 1_000 if floor >= 2_500 else 1_000 / 2_500 * floor
    return [
        Bar("`thresher train` / VW, X1 text, start-up apart", net[OURS] / net[VW], 0.25),
        Bar("`thresher train` / VW, X1 text, start-up included", costs[OURS].wall / costs[VW].wall, 0.4),
        Bar("`thresher train` from X1 text", ours, wanted, " MB/s", at_least=True, note=f"floor {floor:,.0f} MB/s"),
        Bar("`thresher train` / VW, cache, start-up apart", net[OURS_CACHED] / net[VW_CACHED], 0.5),
        Bar(
            "`thresher train` / VW, cache, start-up included",
            costs[OURS_CACHED].wall / costs[VW_CACHED].wall,
            0.5,
            why="Two thirds of it is starting Python with numpy and typer, some four times what starting VW takes.",
        ),
    ]


def _quality(report: dict[str, Any]) -> Sequence[str]:
    return f"{report['accuracy_on_test']:.4f}", f"{report['n_selected']:,}"


class Files:
    """X1 in every form that a contender reads: to train, to test, and ten rows that show the time of starting."""

    def __init__(self, folder: Path, n_rows: int, n_test: int) -> None:
        self.folder = folder
        self.train = self._make("train", n_rows, 0)
        self.test = self._make("test", n_test, n_rows)
        self.tiny = self._make("tiny", 10, 0)

    def _make(self, name: str, rows: int, start: int) -> dict[str, str]:
        paths = {ending: str(self.folder / f"{name}.{ending}") for ending in ("svm", "thc", "vw", "vw.cache")}
        process(THRESHER, "synth", "x1", "-o", paths["svm"], "--rows", str(rows), "--start", str(start))
        process(THRESHER, "convert", paths["svm"], paths["thc"])
        with Path(paths["svm"]).open("rb") as lines, Path(paths["vw"]).open("wb") as out:
            out.writelines(line.replace(b" ", b" | ", 1) for line in lines)
        process(*VW_COMMAND, "-d", paths["vw"], "--cache_file", paths["vw.cache"], "-k")
        return paths

    def commands(self, data: dict[str, str]) -> dict[str, tuple[str, ...]]:
        """Return what to run on the data."""
        train = (THRESHER, "train", "-k", str(BUDGET), "--json", "--method")
        # VW reads a fresh cache in place of the text that it was made from, which must be named all the same.
        return {
            FLOOR: (PYTHON, "-c", READ, data["svm"]),
            OURS: (*train, "sofs", data["svm"]),
            "`thresher train --method shadow`, text": (*train, "shadow", data["svm"]),
            OURS_CACHED: (*train, "sofs", data["thc"]),
            VW: (*VW_COMMAND, "-d", data["vw"]),
            VW_CACHED: (*VW_COMMAND, "-d", data["vw"], "--cache_file", data["vw.cache"]),
        }

    def quality(self) -> dict[str, Sequence[str]]:
        """Return accuracy on held-out rows and the number of features, from runs of their own."""
        found = {}
        for name, command in self.commands(self.train).items():
            if "thresher" in name:
                found[name] = _quality(json.loads(process(*command, "--test", self.test["svm"]).output))
            elif "Wabbit" in name:
                found[name] = self._vw_quality(command)
        return found

    def _vw_quality(self, command: tuple[str, ...]) -> Sequence[str]:
        model, weights, predicted = (str(self.folder / name) for name in ("vw.model", "vw.txt", "vw.predicted"))
        process(*command, "-f", model)
        # Weights that l1 has driven to 0 are still written after training; they are gone once the model was read back.
        testing = (PYTHON, "-m", "vowpalwabbit", "--quiet", "-t", "-i", model, "-d", self.test["vw"])
        process(*testing, "-p", predicted, "--readable_model", weights)
        with Path(self.test["vw"]).open() as rows, Path(predicted).open() as margins:
            pairs = zip(rows, margins, strict=True)
            right = [(float(row.split(None, 1)[0]) > 0) == (float(margin) > 0) for row, margin in pairs]
        # Weights come last, as id:weight; the intercept is not a feature.
        lines = Path(weights).read_text().splitlines()
        kept = sum(line.split(":")[0].isdigit() and line.split(":")[0] != VW_CONSTANT for line in lines)
        return f"{sum(right) / len(right):.4f}", f"{kept:,}"
