"""A full disk: earlier models and checkpoints stay whole, and the message names the file and says what is missing."""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from faults import mounts
from faults.apart import of_module
from faults.commands import refused, shown, thresher, works
from faults.trial import Figures, Trial, demand
from thresher import ShadowSOFS, convert, datasets, train
from thresher.training import History

_SIZE = 4 << 20  # of the disk
# What can be left on it: too little for any file, or enough for the start of each.
_LEFT = (0, 4_096, 40_960)
_TRAIN = ("train", "rows.svm", "-k", "50", "--passes", "2", "--no-shuffle")
_RESUME = ("--checkpoint", "disk/run.ckpt", "--every", "300", "--resume")
_MODEL = ("--full", "-o", "disk/model.thresher")
_WRITES = (
    ("train", "rows.svm", "-k", "500", "--full", "--gamma", "2", "-o", "disk/model.thresher"),
    (*_TRAIN, *_RESUME),
    ("convert", "rows.svm", "disk/out.svm"),
    ("convert", "rows.svm", "disk/out.thc"),
    ("convert", "rows.svm", "disk/out.svm.gz"),
    ("convert", "rows.svm", "disk/out.svm.zst"),
    ("transform", "model", "rows.svm", "-o", "disk/small.svm"),
    ("predict", "model", "rows.svm", "--probabilities", "-o", "disk/labels.csv"),
    ("predict", "model", "rows.svm", "--probabilities", "-o", "disk/labels.parquet"),
)


def run(trial: Trial) -> Figures:
    """Write to a small tmpfs, or under a limit of file sizes where nothing can be mounted."""
    convert(datasets.make_x1(5_000, n_features=5_000, n_noise=100, random_state=3), trial.folder / "rows.svm")
    works("train", trial.folder / "rows.svm", "-k", "500", "--full", "-o", trial.folder / "model")
    (trial.folder / "disk").mkdir()
    step = trial.size(1, 3)
    why_not = mounts.reason_against()
    if why_not is None:
        found = of_module("faults.full_disk", trial.folder, step, before=mounts.APART)
    else:
        found = {"by": f"a limit of file sizes ({why_not})", "writes": _write_all(trial.folder, None, step)}
    trial.say(f"{found}")
    return found


def _write_all(folder: Path, left: int | None, step: int) -> int:
    """Try every write, or each `step`-th, with so much space on the disk, or none but a limit; return their number."""
    disk = folder / "disk"
    works(*_TRAIN, *_MODEL, cwd=folder)
    _stop_in_the_second_pass(folder / "rows.svm", disk / "run.ckpt")
    before = _content(disk)
    demand(set(before) == {"run.ckpt", "model.thresher"}, f"there are {set(before)}")
    why = "no space left on device"
    if left is not None:
        _fill(disk / "filler", left)
    else:
        why = "file too large"
    for command in _WRITES[::step]:
        done = thresher(*command, cwd=folder, limits={resource.RLIMIT_FSIZE: 4_096} if left is None else None)
        name = next(word for word in command if word.startswith("disk/"))
        refused(done, shown(command), name, why)
        (disk / "filler").unlink(missing_ok=True)
        demand(_content(disk) == before, f"{shown(command)} changes {[*_content(disk)]} on a full disk")
        if left is not None:
            _fill(disk / "filler", left)
    (disk / "filler").unlink(missing_ok=True)
    works(*_TRAIN, *_RESUME, *_MODEL, cwd=folder)
    demand(_content(disk)["model.thresher"] == before["model.thresher"], "the checkpoint can't be resumed")
    return len(_WRITES[::step])


def _stop_in_the_second_pass(rows: Path, checkpoint: Path) -> None:
    """Leave the checkpoint of a run that did not finish: of one that did, nothing is written again."""

    def stop(history: History) -> None:
        if history.n_passes == 2:
            raise InterruptedError

    model = ShadowSOFS(50, n_passes=2)
    with suppress(InterruptedError):
        train(model, rows, shuffle=False, checkpoint=checkpoint, every=300, callback=stop)


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _fill(path: Path, left: int) -> None:
    """Take all of the disk's space but a few bytes."""
    free = os.statvfs(path.parent)
    path.write_bytes(bytes(free.f_bavail * free.f_frsize - left))


def _on_a_disk(folder: Path, step: int) -> Figures:
    writes = 0
    for left in _LEFT[::step]:
        mounts.mount("-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", folder / "disk")
        writes += _write_all(folder, left, step)
    return {"by": "a tmpfs of 4 MB", "writes": writes, "bytes_left": list(_LEFT[::step])}


if __name__ == "__main__":
    print(json.dumps(_on_a_disk(Path(sys.argv[1]), int(sys.argv[2]))))
