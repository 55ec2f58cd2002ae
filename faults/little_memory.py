"""Too little memory (ulimit -v): the command works, or one line says so; never a traceback or a signal."""

from __future__ import annotations

import resource
from collections import Counter
from pathlib import Path

from faults.commands import refused, shown, thresher
from faults.trial import Figures, Trial, demand

# With less, OpenBLAS ends or hangs the process while numpy, or for batch methods scipy, loads it.
_FROM, _FROM_OF_BATCH, _TO = 220, 800, 4_000  # MB


def run(trial: Trial) -> Figures:
    """Run commands with memory from what hardly loads the libraries to what is enough for all."""
    rows, wide, names = (trial.folder / name for name in ("rows.svm", "wide.svm", "names.jsonl"))
    rows.write_text("".join(f"{r % 2} {r % 9 + 1}:1 {r % 2 + 20}:1\n" for r in range(5_000)))
    wide.write_text("".join(f"{r % 2} {r * 1_000_003 % 400_000_000 + 1}:1 {r % 2 + 1}:1\n" for r in range(20_000)))
    names.write_text("".join(f'{{"label": {r % 2}, "t": "a{r} b{r % 7}"}}\n' for r in range(20_000)))
    commands: list[tuple[object, ...]] = [
        ("train", rows, "-k", "5"),
        ("train", wide, "-k", "5", "--memory", "dense"),
        ("train", wide, "-k", "5", "--shuffle"),
        ("train", rows, "-k", "5", "--gamma", "auto"),
        ("train", rows, "-k", "5", "--method", "mrmr"),
        ("train", names, "--text", "t", "-k", "5"),
        ("convert", wide, trial.folder / "out.thc"),
    ]
    steps = trial.size(12, 2)
    outcomes: Counter[str] = Counter()
    for command in commands[: trial.size(len(commands), 3)]:
        least = _FROM_OF_BATCH if "mrmr" in command else _FROM
        for step in range(steps):
            megabytes = round(least * (_TO / least) ** (step / (steps - 1)))
            done = thresher(*command, limits={resource.RLIMIT_AS: megabytes << 20})
            if done.returncode == 0:
                outcomes["works"] += 1
                continue
            what = f"{shown(command)} in {megabytes} MB"
            demand("not enough memory" in refused(done, what), f"{what}: {done.stderr}")
            demand(megabytes < _TO, f"{what}: too little")
            outcomes["not enough memory"] += 1
        _check_nothing_left(trial.folder)
    trial.say(f"{dict(outcomes)}")
    return {"commands": outcomes.total(), "outcomes": dict(outcomes), "from_megabytes": _FROM, "to_megabytes": _TO}


def _check_nothing_left(folder: Path) -> None:
    left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    demand(not left, f"{left} are left")
