"""Two processes that write one model at the same time: one of the two whole models, and nothing else, is left."""

from __future__ import annotations

import subprocess
from collections import Counter

from faults.commands import SECONDS, THRESHER, works
from faults.trial import Figures, Trial, demand
from thresher import convert, datasets


def run(trial: Trial) -> Figures:
    """Start two runs with different parameters again and again."""
    rows, here = trial.folder / "rows.svm", trial.folder / "here"
    here.mkdir()
    convert(datasets.make_x1(3_000, n_features=3_000, n_informative=50, n_noise=100), rows)
    models = {}
    for gamma in ("0.5", "2"):
        works("train", rows, "-k", "50", "--full", "--gamma", gamma, "-o", trial.folder / "alone")
        models[(trial.folder / "alone").read_bytes()] = gamma
    won: Counter[str] = Counter()
    for _ in range(trial.size(30, 2)):
        command = [*THRESHER, "train", str(rows), "-k", "50", "--full", "-o", str(here / "model")]
        pair = [
            subprocess.Popen(
                [*command, "--gamma", gamma], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            for gamma in models.values()
        ]  # fmt: skip
        for process in pair:
            _, err = process.communicate(timeout=SECONDS)
            demand(process.returncode == 0, f"of two writers one ended with {process.returncode}: {err}")
        demand([path.name for path in here.iterdir()] == ["model"], f"there are {[*here.iterdir()]}")
        left = (here / "model").read_bytes()
        demand(left in models, "of two writers neither's model is left")
        won[models[left]] += 1
        (here / "model").unlink()
    trial.say(f"{won.total()} pairs; the first was last {won['0.5']} times, the second {won['2']} times")
    return {"pairs": won.total()}
