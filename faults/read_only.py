"""A folder that can't be written to: one line, and nothing is lost."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from faults import mounts
from faults.apart import of_module
from faults.commands import refused, shown, thresher, works
from faults.trial import Figures, Trial, demand

_WRITES = (
    ("train", "rows.svm", "-k", "5", "-o", "here/model.thresher"),
    ("train", "rows.svm", "-k", "5", "-o", "here/new.thresher"),
    ("train", "rows.svm", "-k", "5", "--checkpoint", "here/run.ckpt", "--every", "10"),
    ("convert", "rows.svm", "here/out.svm"),
    ("convert", "rows.svm", "here/out.thc"),
    ("predict", "here/model.thresher", "rows.svm", "-o", "here/labels.csv"),
    ("transform", "here/model.thresher", "rows.svm", "-o", "here/small.svm"),
)


def run(trial: Trial) -> Figures:
    """Write to a folder that is mounted read-only, where something can be mounted; root ignores permissions."""
    here = trial.folder / "here"
    here.mkdir()
    (trial.folder / "rows.svm").write_text("".join(f"{r % 2} {r % 9 + 1}:1 {r % 2 + 20}:1\n" for r in range(500)))
    works("train", trial.folder / "rows.svm", "-k", "5", "-o", here / "model.thresher")
    before = (here / "model.thresher").read_bytes()
    step = trial.size(1, 2)
    why_not = mounts.reason_against()
    if why_not is None:
        found = of_module("faults.read_only", trial.folder, step, before=mounts.APART)
    elif os.geteuid() != 0:
        here.chmod(0o555)
        found = {"by": "its permissions", "writes": _write_all(trial.folder, step)}
        here.chmod(0o755)
    else:
        found = {"skipped": f"root ignores permissions, and {why_not}"}
    demand((here / "model.thresher").read_bytes() == before, "the model has changed")
    demand(len([*here.iterdir()]) == 1, f"{[*here.iterdir()]} are there")
    trial.say(f"{found}")
    return found


def _write_all(folder: Path, step: int) -> int:
    """Try every write, or each `step`-th; return how many there were."""
    for command in _WRITES[::step]:
        name = next(word for word in command[2:] if word.startswith("here/"))
        refused(thresher(*command, cwd=folder), shown(command), name)
    return len(_WRITES[::step])


def _mounted(folder: Path, step: int) -> Figures:
    mounts.mount("--bind", folder / "here", folder / "here")
    mounts.mount("-o", "remount,ro,bind", folder / "here")
    return {"by": "a read-only mount", "writes": _write_all(folder, step)}


if __name__ == "__main__":
    print(json.dumps(_mounted(Path(sys.argv[1]), int(sys.argv[2]))))
