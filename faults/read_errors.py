"""A disk that fails (EIO): one line that names the file, and never rows that are missing."""

from __future__ import annotations

from pathlib import Path

from faults import files, preload
from faults.commands import refused, shown, thresher, works
from faults.trial import Figures, Trial


def run(trial: Trial) -> Figures:
    """Fail at the start and in the middle of files of every format, of a model and of a checkpoint."""
    built = preload.compiled(preload.FAILING_DISK, trial.folder)
    if built is None:
        return {"skipped": "there is no C compiler"}
    made = files.make(trial.folder, trial.size(200_000, 60_000))
    rows, model, checkpoint = (trial.folder / name for name in ("rows.svm", "model", "run.ckpt"))
    works("train", rows, "-k", "5", "--full", "--checkpoint", checkpoint, "-o", model)
    commands: list[tuple[Path, list[object]]] = [
        (path, ["train", path, *(word for name in options for word in (f"--{name}", options[name]))])
        for path, options in made.items()
    ]
    commands.append((model, ["predict", model, rows]))
    commands.append((checkpoint, ["train", rows, "-k", "5", "--full", "--checkpoint", checkpoint, "--resume"]))
    n = 0
    for path, command in commands[:: trial.size(1, 3)]:
        size = path.stat().st_size
        for byte in trial.size([0, 1, size // 3, size // 2], [size // 2]):
            done = thresher(*command, env=preload.failing(built, path, byte))
            refused(done, f"{shown(tuple(command))} with a bad byte {byte}", path, "nput/output error")
            n += 1
    trial.say(f"{n} reads failed")
    return {"reads": n}
