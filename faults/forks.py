"""A process that forks while its threads train and read: the children can predict, train and read, and end."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from faults.apart import apart
from faults.trial import Figures, Trial, demand
from thresher import ShadowSOFS, convert, datasets, open_stream, train


def run(trial: Trial) -> Figures:
    """Fork at random moments, while two threads are at work."""
    path, random = trial.folder / "rows.svm", trial.random("forks")
    convert(datasets.make_x1(3_000, n_features=3_000, n_informative=50, n_noise=100, random_state=2), path)
    X, y = datasets.make_x1(500, n_features=3_000, n_informative=50, n_noise=100, random_state=2)
    shared, alone = ShadowSOFS(50), ShadowSOFS(50)
    train(shared, path)
    train(alone, path)
    expected = alone.predict(X).tolist()
    works: list[Callable[[], object]] = [
        lambda: train(shared, path, shuffle=False),
        lambda: sum(batch.n_rows for batch in open_stream(path, threads=2).batches()),
    ]
    children: list[Callable[[], bool]] = [
        lambda: alone.predict(X).tolist() == expected,
        lambda: len(shared.predict(X)) == 500,
        lambda: _trained(path).predict(X).tolist() == expected,
        lambda: ShadowSOFS(50).fit(X, y).score(X, y) > 0.5,
    ]
    stop, failed = threading.Event(), []

    def at_work(work: Callable[[], object]) -> None:
        while not stop.is_set():
            try:
                work()
            except Exception as error:
                failed.append(error)
                return

    threads = [threading.Thread(target=at_work, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    n_forks = trial.size(400, 16)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads
            for turn in range(n_forks):
                time.sleep(float(random.uniform(0, 0.02)))
                child = children[turn % len(children)]
                demand(apart(child, f"child {turn}", 60), f"child {turn} has another result")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    demand(not failed, f"a thread of the parent failed: {failed}")
    trial.say(f"{n_forks} forks")
    return {"forks": n_forks}


def _trained(path: Path) -> ShadowSOFS:
    model = ShadowSOFS(50)
    train(model, path)
    return model
