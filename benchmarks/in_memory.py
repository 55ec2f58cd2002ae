"""Time SOFS in memory beside its peers and floors, in one run, and write RESULTS.md.

Each cell is the least of several runs, and the runs of all contenders are interleaved, so that a busy neighbour on the
machine slows all of them alike. What to read is the ratio.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
import sklearn
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize

import thresher
from thresher import SOFS, _core, datasets

ROUNDS = 7


def least_seconds(contenders: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Run all contenders in turn, several times, and return each one's least wall time."""
    least = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            started = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - started)
    return least


def in_memory(permute: bool) -> list[str]:
    """Return the table's rows for X1: unit rows, norm=None, so that all do the same work."""
    X, y = datasets.make_x1(100_000, permute=permute)
    X = normalize(X, copy=False)
    X_test, y_test = datasets.make_x1(10_000, permute=permute, start=100_000)
    X_test = normalize(X_test, copy=False)
    w = np.zeros(X.shape[1], dtype=np.float32)
    sofs = SOFS(200, norm=None)
    sgd = SGDClassifier(loss="hinge", penalty="l1", random_state=0)

    def sgd_one_pass() -> None:
        nonlocal sgd
        sgd = SGDClassifier(loss="hinge", penalty="l1", random_state=0)
        sgd.partial_fit(X, y, classes=np.array([-1, 1]))

    least = least_seconds(
        {
            "scipy `X @ w` (floor)": lambda: X @ w,
            "thresher SOFS `fit`, B = 200": lambda: sofs.fit(X, y),
            "scikit-learn SGD hinge l1, one `partial_fit`": sgd_one_pass,
        }
    )
    floor, ours, peer = least.values()
    quality = {
        "thresher SOFS `fit`, B = 200": (sofs.score(X_test, y_test), len(sofs.selected_)),
        "scikit-learn SGD hinge l1, one `partial_fit`": (sgd.score(X_test, y_test), int(np.count_nonzero(sgd.coef_))),
    }
    lines = [
        f"## X1{', ids permuted' if permute else ''}: 100,000 rows, {X.nnz / 1e6:.0f}M nonzeros",
        "",
        "| | ns a nonzero | × floor | accuracy, held out | features |",
        "|---|---|---|---|---|",
    ]
    for name, seconds in least.items():
        accuracy, features = quality.get(name, (None, None))
        told = f"{accuracy:.4f} | {features:,}" if accuracy is not None else "– | –"
        lines.append(f"| {name} | {seconds / X.nnz * 1e9:.2f} | {seconds / floor:.2f} | {told} |")
    return [*lines, "", f"SOFS / SGD: **{ours / peer:.2f}** (bar: 0.5). SOFS / floor: **{ours / floor:.2f}**.", ""]


def start_up() -> list[str]:
    """Return the table of what a user waits for before anything happens."""
    python = sys.executable
    least = least_seconds(
        {
            "`python -c pass`": lambda: subprocess.run([python, "-c", "pass"], check=True),
            "`import numpy`": lambda: subprocess.run([python, "-c", "import numpy"], check=True),
            "`import numpy, thresher`": lambda: subprocess.run([python, "-c", "import numpy, thresher"], check=True),
            "`thresher --help`": lambda: subprocess.run(
                [Path(python).with_name("thresher"), "--help"], check=True, stdout=subprocess.DEVNULL
            ),
        }
    )
    added = least["`import numpy, thresher`"] - least["`import numpy`"]
    lines = ["## Start-up", "", "| | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds:.3f} |" for name, seconds in least.items()]
    return [*lines, "", f"`import thresher` adds {added:.3f} s to numpy's (bar: 0.3); `--help` has a bar of 0.6.", ""]


def main() -> None:
    """Measure, print, and write RESULTS.md beside this file."""
    lines = [
        "# Speed",
        "",
        "Written by `make bench`; do not edit. Least of several interleaved runs, one thread; read the ratios.",
        "",
        f"thresher {thresher.__version__}, SIMD path {_core.simd_in_use()}; numpy {np.__version__}, "
        f"scipy {scipy.__version__}, scikit-learn {sklearn.__version__}; "
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}.",
        "",
        *in_memory(permute=False),
        *in_memory(permute=True),
        *start_up(),
    ]
    text = "\n".join(lines)
    print(text)
    Path(__file__).with_name("RESULTS.md").write_text(text)


if __name__ == "__main__":
    main()
