"""A process that forks while another of its threads is at work: the child can use the same objects."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Forks again and again; a child that does not end within seconds is one that waits for a thread that it does not have.
FORKS = """
import os, signal, sys, threading, time
import numpy as np
from thresher import ShadowSOFS, SOFS, datasets, open_stream
{setup}
stop = threading.Event()
def at_work():
    while not stop.is_set():
        {work}
threads = [threading.Thread(target=at_work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for turn in range({n_forks}):
    time.sleep(turn % 7 / 1000)
    child = os.fork()
    if child == 0:
        {in_child}
        os._exit(0)
    end = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            sys.exit(f"child {{turn}} hangs")
        time.sleep(0.001)
    if ended[1] != 0:
        sys.exit(f"child {{turn}} ended with {{ended[1]}}")
stop.set()
for thread in threads:
    thread.join()
print("done")
"""
ROWS = "X, y = datasets.make_x1(3_000, n_features=5_000, n_informative=50, n_noise=250)"


def forks(setup, work, in_child, n_forks=12):
    code = FORKS.format(setup=setup, work=work, in_child=in_child, n_forks=n_forks)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("memory", ["dense", "hash"])
def test_a_child_predicts_with_a_model_that_learns(memory):
    """Without the fork's waiting for the core, memory that was being moved would be read half-way."""
    forks(
        f"{ROWS}\nmodel = ShadowSOFS(100, memory='{memory}').fit(X, y)",
        "model.partial_fit(X, y)",
        "assert len(set(model.predict(X[:50]).tolist())) <= 2; model.selected_; model.coef_",
    )


def test_a_child_continues_to_learn():
    """The estimator's and the model's own locks are free in the child, too."""
    forks(
        f"{ROWS}\nmodel = SOFS(100).fit(X, y)",
        "model.partial_fit(X, y)",
        "before = model.n_samples_seen_; model.partial_fit(X[:50], y[:50]); "
        "assert model.n_samples_seen_ == before + 50; model.fit(X[:90], y[:90])",
    )


def test_a_child_of_the_thread_that_holds_the_lock():
    """A lock that the forking thread itself holds is still its own in the child, and is given back there."""
    code = (
        "import os; from thresher import SOFS\n"
        "model = SOFS()\n"
        "with model._lock:\n"
        "    child = os.fork()\n"
        "assert model._lock.acquire(blocking=False)\n"
        "if child == 0: os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_child_reads_files_while_its_parent_does(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:0.5 7:2\n-1 3:1\n" * 2_000)
    read = f"sum(batch.n_rows for batch in open_stream({str(tmp_path / 'rows.svm')!r}).batches())"
    forks("", read, f"assert {read} == 4_000", n_forks=30)
