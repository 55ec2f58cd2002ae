"""Every flipped bit and every truncation of a model, a checkpoint and a cache: refused with one line, or equal.

Memory is measured by a library that is loaded before all others and counts every allocation. Python's own allocator is
switched off, since it takes memory from the system in large pieces.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from faults import files, preload
from faults.apart import of_module
from faults.commands import one_line
from faults.trial import Figures, Trial, demand
from thresher import ShadowSOFS, convert, datasets, train
from thresher.io.checkpoints import read_checkpoint
from thresher.io.model_files import load_model, save_model

_SECONDS = 30  # that one file may take to be loaded


def run(trial: Trial) -> Figures:
    """Damage a file of each kind, in processes of their own."""
    _make(trial.folder)
    built = preload.compiled(preload.COUNTED_MEMORY, trial.folder)
    env = {**os.environ, "PYTHONMALLOC": "malloc"} | ({} if built is None else {"LD_PRELOAD": str(built)})

    def damaged(kind: str) -> Figures:
        found = of_module("faults.damage", trial.folder, kind, trial.size(1, 199), env=env)
        trial.say(f"{kind}: {found}")
        return found

    with ThreadPoolExecutor() as pool:
        return dict(zip(_LOADERS, pool.map(damaged, _LOADERS), strict=True))


def _make(folder: Path) -> None:
    """Write a model, a checkpoint and a cache of about 4 KB each."""
    X, y = datasets.make_x1(60, n_features=240, n_informative=5, n_noise=10, random_state=1)
    convert((X[:30], y[:30]), folder / "rows.svm")
    model = ShadowSOFS(40)
    train(model, folder / "rows.svm", shuffle=False, checkpoint=folder / "checkpoint")
    save_model(model._fitted_model(), folder / "model")
    convert(folder / "rows.svm", folder / "cache.thc")
    (folder / "cache.thc").rename(folder / "cache")


def _equal_model(path: Path) -> bytes:
    save_model(load_model(path), path.with_name("again"))
    return path.with_name("again").read_bytes()


def _equal_checkpoint(path: Path) -> Any:
    saved = read_checkpoint(path)
    assert saved is not None
    learned: Any = saved.state["learned"]
    known = {name: value for name, value in saved.state.items() if name != "learned"}
    return repr((saved.about, known)), [learned[name].tobytes() for name in ("ids", "cells", "intercept")]


def _equal_rows(path: Path) -> Any:
    return files.rows_of(path, {"format": "cache"})


# What is loaded, as something that can be compared.
_LOADERS: dict[str, Callable[[Path], Any]] = {
    "model": _equal_model, "checkpoint": _equal_checkpoint, "cache": _equal_rows
}  # fmt: skip


class _Memory:
    """Time and memory of loading."""

    def __init__(self) -> None:
        self._library: Any = ctypes.CDLL(None) if os.environ.get("LD_PRELOAD") else None
        self.largest = self.growth = 0

    def __enter__(self) -> None:
        if self._library is not None:
            self._library.reset_memory()

    def __exit__(self, *_: object) -> None:
        if self._library is not None:
            self.largest = max(self.largest, self._library.largest_allocation())
            self.growth = max(self.growth, self._library.growth())


def _damage(folder: Path, kind: str, step: int) -> Figures:
    """Load every variant of a file, or each `step`-th."""
    load, raw = _LOADERS[kind], (folder / kind).read_bytes()
    (folder / f"of {kind}").mkdir()
    bad = folder / f"of {kind}" / "bad"
    memory = _Memory()
    for _ in range(2):  # the first time, modules are imported
        bad.write_bytes(raw)
        expected = load(bad)
    counts = {"flips": 0, "truncations": 0, "equal": 0}
    for what, variant in _variants(raw, step):
        bad.write_bytes(variant)
        signal.alarm(_SECONDS)
        counts[what] += 1
        try:
            with memory:
                found = load(bad)
        except (ValueError, OSError) as error:
            one_line(error, f"{kind}, {what} {counts[what]}", bad)
            continue
        demand(found == expected, f"{kind}, {what} {counts[what]}: it is loaded, and differs")
        counts["equal"] += 1
    largest = memory.largest
    demand(largest <= 2 * len(raw), f"{kind}: an allocation of {largest:,} bytes for a file of {len(raw):,}")
    return {
        "bytes": len(raw), **counts,
        "largest_allocation": memory.largest or None, "growth": memory.growth or None,
    }  # fmt: skip


def _variants(raw: bytes, step: int) -> Iterator[tuple[str, bytes]]:
    for bit in range(0, 8 * len(raw), step):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        yield "flips", bytes(flipped)
    for length in range(0, len(raw), step):
        yield "truncations", raw[:length]


if __name__ == "__main__":
    print(json.dumps(_damage(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
