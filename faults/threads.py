"""Threads that train, that predict with one model, and that read one stream: each has the result of one thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from faults import files
from faults.trial import Figures, Trial, demand
from thresher import ShadowSOFS, convert, datasets, open_stream, save, train

N_THREADS = 8


def run(trial: Trial) -> Figures:
    """Let several threads do the same at the same time."""
    path = trial.folder / "rows.svm"
    convert(datasets.make_x1(5_000, n_features=5_000, n_informative=50, n_noise=100), path)
    X, y = datasets.make_x1(2_000, n_features=5_000, n_informative=50, n_noise=100, start=5_000)
    model = ShadowSOFS(50)
    stream = open_stream(path)
    learning = ShadowSOFS(50).fit(X, y)
    train(model, stream)
    same: dict[str, Callable[[int], Any]] = {
        "training": lambda k: _trained(path, trial.folder / f"model{k}"),
        "training on one stream": lambda k: _trained(stream, trial.folder / f"model{k}"),
        "predicting": lambda _: model.predict_proba(X).tobytes(),
        "transforming": lambda _: model.transform(X).toarray().tobytes(),
        "reading one stream": lambda _: [files.digest(batch) for batch in stream.batches()],
        "a shard of one stream": lambda _: [files.digest(batch) for batch in stream.shard(1, 3).batches()],
    }
    turns = trial.size(20, 2)
    with ThreadPoolExecutor(N_THREADS) as pool:
        for what, work in same.items():
            expected = work(0)
            for answer in pool.map(work, range(N_THREADS * turns)):
                demand(answer == expected, f"{what} in {N_THREADS} threads: another result")
        # One model that all threads learn: no row is lost, whatever the order.
        before = learning.n_samples_seen_
        list(pool.map(lambda k: learning.partial_fit(X[k::N_THREADS], y[k::N_THREADS]), range(N_THREADS)))
        demand(learning.n_samples_seen_ == before + X.shape[0], "rows are lost where threads learn one model")
    n = len(same) * turns * N_THREADS + N_THREADS
    trial.say(f"{n} calls in {N_THREADS} threads")
    return {"threads": N_THREADS, "calls": n}


def _trained(source: Any, output: Path) -> bytes:
    model = ShadowSOFS(50)
    train(model, source, passes=2)
    save(model, output)
    return output.read_bytes()
