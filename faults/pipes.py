"""A writer that is slow on a pipe: the same model as from a file; one that waits for ever can be interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from faults.commands import SECONDS, THRESHER, works
from faults.files import COMPRESS
from faults.trial import BrokenPromiseError, Figures, Trial, demand
from thresher import convert, datasets

# A pipe can be read once, so the file is read as often.
_OPTIONS = ("-k", "10", "--full", "--passes", "1", "--no-refit")


def run(trial: Trial) -> Figures:
    """Write rows to standard input and to a named pipe, a few bytes at a time."""
    convert(datasets.make_x1(300, n_features=500, n_informative=20, n_noise=30), trial.folder / "rows.svm")
    content = (trial.folder / "rows.svm").read_bytes()
    works("train", trial.folder / "rows.svm", *_OPTIONS, "-o", trial.folder / "expected")
    expected = (trial.folder / "expected").read_bytes()
    random = trial.random("pipes")
    sent = [("-", content), *(("-", compress(content)) for compress in COMPRESS.values()), ("named", content)]
    sent = sent[:: trial.size(1, 5)]
    for source, rows in sent:
        output = trial.folder / "model"
        process = _started(trial.folder, source, output)
        into = process.stdin if source == "-" else (trial.folder / source).open("wb", buffering=0)
        assert into is not None
        at = 0
        while at < len(rows):
            n = int(random.integers(1, max(2, len(rows) // 20)))
            into.write(rows[at : at + n])
            into.flush()
            at += n
            time.sleep(float(random.uniform(0, 0.05)))
        into.close()
        code = _ended(process, "a slow writer")
        demand(code == 0, f"a slow writer: the run ended with {code}")
        demand(output.read_bytes() == expected, "a slow writer: the model differs")
        output.unlink()
    longest = max(
        _interrupted(trial.folder, content, number)
        for number in trial.size((signal.SIGTERM, signal.SIGINT), (signal.SIGTERM,))
    )
    trial.say(f"{len(sent)} pipes; a run that waits ends within {longest:.1f} s of a signal")
    return {"pipes": len(sent), "seconds_to_end_after_a_signal": round(longest, 1)}


def _started(folder: Path, source: str, output: Path) -> subprocess.Popen[bytes]:
    path = source
    if source != "-":
        path = str(folder / source)
        os.mkfifo(path)
    command = [*THRESHER, "train", path, *_OPTIONS, "--format", "svmlight", "-o", str(output)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0,
        # A shell lets what it starts in the background ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def _ended(process: subprocess.Popen[bytes], what: str) -> int:
    """Return the exit code of a process that must end."""
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise BrokenPromiseError(f"{what}: the run does not end") from None


def _interrupted(folder: Path, content: bytes, number: signal.Signals) -> float:
    """Stop a run that waits for the next row; return how long that takes."""
    process = _started(folder, "-", folder / "never")
    assert process.stdin is not None
    process.stdin.write(content[: len(content) // 2])
    time.sleep(3)
    demand(process.poll() is None, "a run does not wait for its rows")
    started = time.monotonic()
    process.send_signal(number)
    code = _ended(process, number.name)
    # Ctrl-C ends the stream early: what was learned is kept beside the model that is not there.
    demand(code == 128 + number, f"{number.name} ends a run with {code}")
    demand(not (folder / "never").exists(), f"{number.name} leaves a model")
    process.stdin.close()
    seconds = time.monotonic() - started
    demand(seconds < 20, f"{number.name} takes {seconds:.0f} s")
    return seconds
