"""`kill -9` at random moments of training runs: resumed until done, they end in the bytes of an undisturbed run."""

from __future__ import annotations

import gzip
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from faults.commands import SECONDS, THRESHER, works
from faults.trial import BrokenPromiseError, Figures, Trial, demand
from thresher import convert, datasets

# What is read and how; the last one starts again on shuffled rows after its first pass.
RUNS = {
    "plain": ("rows.svm", ["--no-shuffle"]),
    "shuffled, two passes": ("rows.svm", ["--shuffle", "--passes", "2"]),
    "several files, two passes": ("parts", ["--no-shuffle", "--passes", "2"]),
    "compressed": ("rows.svm.gz", ["--no-shuffle"]),
    'gamma="auto", two passes': ("rows.svm", ["--no-shuffle", "--gamma", "auto", "--passes", "2"]),
    "grouped by label": ("sorted.svm", []),
}
N_PARTS = 3
_AT_ONCE = 3  # runs: the beginning of a process is mostly waiting


def run(trial: Trial) -> Figures:
    """Kill runs of every kind."""
    make(trial.folder, trial.size(60_000, 20_000))
    n_kills = trial.size(200, 10)
    shares = [n_kills // len(RUNS) + (k < n_kills % len(RUNS)) for k in range(len(RUNS))]

    def killed(name: str, n: int) -> Figures:
        data, options = RUNS[name]
        place = trial.folder / f"{list(RUNS).index(name)}"
        place.mkdir()
        command = [str(trial.folder / data), "-k", "50", "--full", *options]
        found = _Killed(place, command, trial.random(f"kills {name}")).times(n)
        trial.say(f"{name}: {found}")
        return found

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return {"kills": n_kills, "runs": dict(zip(RUNS, pool.map(killed, RUNS, shares), strict=True))}


def make(folder: Path, n_rows: int) -> None:
    """Write the same rows as one file, as several, compressed, and sorted by label."""
    rows = datasets.make_x1(n_rows, n_features=3_000, n_informative=50, n_noise=100, random_state=7)
    convert(rows, folder / "rows.svm")
    lines = (folder / "rows.svm").read_bytes().splitlines(keepends=True)
    (folder / "parts").mkdir()
    for part in range(N_PARTS):
        of_part = lines[part * n_rows // N_PARTS : (part + 1) * n_rows // N_PARTS]
        (folder / "parts" / f"{part}.svm").write_bytes(b"".join(of_part))
    (folder / "rows.svm.gz").write_bytes(gzip.compress(b"".join(lines), compresslevel=1))
    (folder / "sorted.svm").write_bytes(b"".join(sorted(lines)))


class _Killed:
    """A run that is killed again and again."""

    def __init__(self, folder: Path, command: list[str], random: np.random.Generator) -> None:
        self._folder, self._random = folder, random
        self._model, self._checkpoint = folder / "model.thresher", folder / "run.ckpt"
        saving = ["--checkpoint", str(self._checkpoint), "--every", "500", "--resume", "-o", str(self._model)]
        self._command = ["train", *command, *saving]
        works("train", *command, "-o", folder / "expected")
        self._expected = (folder / "expected").read_bytes()
        (folder / "expected").unlink()
        self._to_first, self._whole = self._undisturbed()
        self._check()
        self._figures = dict.fromkeys(("kills", "at_start", "between", "while_writing", "finished"), 0)

    def times(self, n: int) -> Figures:
        """Kill it n times; whenever it comes to its end in between, look at the model and begin again."""
        for turn in range(n):
            while not self._is_killed(("between", "start", "between", "write")[(turn + n) % 4]):
                self._check()
        works(*self._command)
        self._check()
        return self._figures

    def _undisturbed(self) -> tuple[float, float]:
        """Return the seconds until the first checkpoint, and until the end."""
        started = time.monotonic()
        process = self._started()
        while process.poll() is None and self._written() is None:
            time.sleep(0.001)
        to_first = time.monotonic() - started
        _, err = process.communicate(timeout=SECONDS)
        demand(process.returncode == 0, f"{self._command} ended with {process.returncode}: {err.decode()[-2_000:]}")
        return to_first, time.monotonic() - started

    def _is_killed(self, aim: str) -> bool:
        """Kill the process at a random moment; return whether it was still at work then.

        The moment is before its first checkpoint, after it, or after it when a file is being written.
        """
        before, draw = self._written(), self._random.uniform(0, 1)
        process = self._started()
        if aim == "start":
            self._wait(process, draw * self._to_first, lambda: True)
        else:
            self._wait(process, 0, lambda: self._written() != before)
            seconds = draw * 0.7 * (self._whole - self._to_first)
            self._wait(process, seconds, lambda: aim == "between" or bool(self._parts()))
        process.kill()
        try:
            _, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise BrokenPromiseError(f"{self._command} does not end") from None
        if process.returncode == 0:
            return False
        demand(process.returncode == -9, f"{self._command} ended with {process.returncode}: {err.decode()[-2_000:]}")
        self._figures["kills"] += 1
        self._figures["while_writing" if self._parts() else "at_start" if self._written() == before else "between"] += 1
        return True

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*THRESHER, *self._command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def _wait(self, process: subprocess.Popen[bytes], seconds: float, until: Callable[[], bool]) -> None:
        """Wait for a time, and then until something holds, unless the process ends before."""
        end = time.monotonic() + seconds
        while process.poll() is None and (time.monotonic() < end or not until()):
            time.sleep(0.0003)

    def _check(self) -> None:
        """Look at the model of a run that has ended, and at what else is left; then remove both."""
        demand(self._model.read_bytes() == self._expected, f"{self._command}: the model differs")
        left = sorted(path.name for path in self._folder.iterdir())
        demand(left == ["model.thresher", "run.ckpt"], f"{self._command}: {left} are left")
        if hasattr(self, "_figures"):
            self._figures["finished"] += 1
        self._model.unlink()
        self._checkpoint.unlink()

    def _parts(self) -> list[str]:
        return [name for name in os.listdir(self._folder) if name.endswith(".part")]  # noqa: PTH208 it must be fast

    def _written(self) -> tuple[int, int] | None:
        """Return what distinguishes a checkpoint from the one before."""
        try:
            status = self._checkpoint.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns
