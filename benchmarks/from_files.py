"""Training from files: text, our binary cache, and what a scikit-learn user does today."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from measure import PYTHON, THRESHER, process

ROUNDS = 3

# What a scikit-learn user does today, with the time since the imports are done.
PEER = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
started = time.perf_counter()
X, y = load_svmlight_file(sys.argv[1], dtype=np.float32)
X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # it gives int64, which SGD refuses
model = SGDClassifier(loss="hinge", penalty="l1", random_state=0).partial_fit(X, y, classes=np.array([-1, 1]))
seconds = time.perf_counter() - started
X_test, y_test = load_svmlight_file(sys.argv[2], dtype=np.float32, n_features=X.shape[1])
X_test.indices, X_test.indptr = X_test.indices.astype(np.int32), X_test.indptr.astype(np.int32)
kept = int(np.count_nonzero(model.coef_))
print(json.dumps({"seconds": seconds, "accuracy": model.score(X_test, y_test), "kept": kept}))
"""

# The floor: reading the bytes and looking for newlines, one thread.
FLOOR = """
import json, sys, time
started = time.perf_counter()
n = 0
with open(sys.argv[1], "rb", buffering=0) as file:
    block = bytearray(1 << 20)
    while size := file.readinto(block):
        n += block.count(b"\\n", 0, size)
print(json.dumps({"seconds": time.perf_counter() - started, "accuracy": None, "kept": None}))
"""


def section(rows: int = 100_000) -> list[str]:
    """Return the section of RESULTS.md."""
    with tempfile.TemporaryDirectory(prefix="thresher-bench-") as folder:
        text, cache, test = (str(Path(folder) / name) for name in ("x1.svm", "x1.thc", "test.svm"))
        process(THRESHER, "synth", "x1", "-o", text, "--rows", str(rows))
        process(THRESHER, "synth", "x1", "-o", test, "--rows", "10000", "--start", str(rows))
        process(THRESHER, "convert", text, cache)
        train = (THRESHER, "train", "-k", "200", "--method", "sofs", "--test", test, "--json")
        commands = {
            "read + count newlines (floor)": (PYTHON, "-c", FLOOR, text),
            "`thresher train` from text": (*train, text),
            "`thresher train --method shadow` from text": (*train, text, "--method", "shadow"),
            "`thresher train` from text, ten times as long": (*train, *[text] * 10),
            "`thresher train` from .thc cache": (*train, cache),
            "`load_svmlight_file` + SGD hinge l1": (PYTHON, "-c", PEER, text, test),
        }
        megabytes = Path(text).stat().st_size / 1e6
        runs = {
            name: [process(*command) for _ in range(1 if "ten" in name else ROUNDS)]
            for name, command in commands.items()
        }
    lines = [
        f"## From files: X1, {rows:,} rows, {megabytes:.0f} MB of text",
        "",
        f"Seconds leave out the start of the interpreter and the imports; {os.cpu_count()} cores.",
        "",
        "| | seconds | MB of text a second | peak memory, MB | accuracy, held out | features |",
        "|---|---|---|---|---|---|",
    ]
    least: dict[str, float] = {}
    for name, several in runs.items():
        reports = [json.loads(run.output) for run in several]
        seconds = least[name] = min(report["seconds"] for report in reports)
        read = megabytes * (10 if "ten" in name else 1)
        peak = max(run.peak_megabytes for run in several)
        accuracy = reports[0].get("accuracy_on_test", reports[0].get("accuracy"))
        kept = reports[0].get("n_selected", reports[0].get("kept"))
        told = f"{accuracy:.4f} | {kept}" if accuracy is not None else "– | –"
        lines.append(f"| {name} | {seconds:.2f} | {read / seconds:,.0f} | {peak:.0f} | {told} |")
    floor, ours, _, longer, cached, peer = least
    return [
        *lines,
        "",
        f"Text: **{megabytes / least[ours]:,.0f} MB/s** (bar: 650), **{least[peer] / least[ours]:.0f} ×** faster than "
        f"`load_svmlight_file` + SGD (bar: 25). Cache: {least[ours] / least[cached]:.1f} × faster than text (bar: 2). "
        f"The floor is {megabytes / least[floor]:,.0f} MB/s. "
        f"Ten times the length takes {least[longer] / least[ours]:.1f} × the time.",
        "",
    ]
