"""Speed as a ratio to a peer in the same run; seconds mean nothing on a shared machine."""

from __future__ import annotations

import itertools
import json
import lzma
import time
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from real_data import path_of
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import normalize

from thresher import SOFS, ShadowSOFS, _core, cross_validate, datasets, open_stream, path, train
from thresher.streams.conversion import convert


@pytest.mark.timed
def test_half_the_time_of_sgd():
    """It is 0.39 with AVX-512 and 0.45 without on one machine, and 0.51 without it on one of slower memory."""
    X, y = datasets.make_x1(20_000)
    X = normalize(X)  # as both see it; on raw rows SGD is slower still. It shuffles rows, as its users have it do.
    seconds: dict[str, list[float]] = {"SOFS": [], "SGD": []}
    for _ in range(15):  # the best of many turns: a neighbour on the machine slows some of them, never all
        for name, work in (
            ("SOFS", lambda: SOFS(200, norm=None, shuffle=False).fit(X, y)),
            ("SGD", lambda: SGDClassifier(loss="hinge", penalty="l1").partial_fit(X, y, classes=np.array([-1, 1]))),
        ):
            seconds[name].append(timed(work))
    limit = 0.5 if "avx512" in _core.simd_paths() else 0.6
    assert min(seconds["SOFS"]) <= limit * min(seconds["SGD"]), seconds


@pytest.mark.timed
def test_a_race_takes_at_most_four_times_as_long():
    X, y = datasets.make_x1(20_000)
    seconds: dict[float | str, list[float]] = {0.5: [], "auto": []}
    for _ in range(5):
        for gamma, found in seconds.items():
            started = time.perf_counter()
            ShadowSOFS(200, gamma=gamma, shuffle=False).fit(X, y)
            found.append(time.perf_counter() - started)
    assert min(seconds["auto"]) <= 4 * min(seconds[0.5]), seconds


@pytest.mark.timed
def test_a_hash_table_takes_at_most_four_times_as_long():
    """On X1, where dense memory is at its best."""
    X, y = datasets.make_x1(20_000)
    seconds: dict[str, list[float]] = {"dense": [], "hash": []}
    for _ in range(7):
        for memory, found in seconds.items():
            started = time.perf_counter()
            SOFS(200, memory=memory, shuffle=False).fit(X, y)
            found.append(time.perf_counter() - started)
    assert min(seconds["hash"]) <= 4 * min(seconds["dense"]), seconds


@pytest.mark.timed
def test_five_times_as_fast_from_text_as_hashing_and_sgd(tmp_path):
    """Mail as 1–2-grams, from a file to a model."""
    with lzma.open(path_of("enron1.jsonl.xz"), "rt") as file:
        mails = file.readlines()
    mail = tmp_path / "mail.jsonl"
    mail.write_text("".join(mails * 3))

    def ours() -> None:
        model = ShadowSOFS(2_000, memory="sketch", memory_bytes=64 << 20)
        train(model, open_stream(mail, text="text", ngrams=(1, 2)), shuffle=False)

    def sklearn() -> None:
        hasher, model = HashingVectorizer(ngram_range=(1, 2), binary=True), SGDClassifier()
        with mail.open() as file:
            while rows := [json.loads(line) for line in itertools.islice(file, 1_000)]:
                labels = [row["label"] for row in rows]
                model.partial_fit(hasher.transform(row["text"] for row in rows), labels, classes=["ham", "spam"])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows are grouped by label
        seconds = {work: [timed(work) for _ in range(n)] for work, n in ((ours, 3), (sklearn, 1))}
    print(f"from text: {min(seconds[sklearn]) / min(seconds[ours]):.1f} times as fast as hashing and SGD")
    assert 5 * min(seconds[ours]) <= min(seconds[sklearn]), seconds


def timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@pytest.mark.timed
@pytest.mark.parametrize("where", ["memory", "text"])
def test_many_models_in_one_reading(tmp_path, where):
    """Ten budgets, and five folds beside a model on all rows, take at most six times as long as one model.

    From text it should be less, since the rows are parsed once for all; docs/performance.md has the figures.
    """
    data = datasets.make_x1(20_000)
    if where == "text":
        convert(data, str(tmp_path / "x1.svm"))
        data = tmp_path / "x1.svm"
    budgets = range(110, 301, 20)
    work = {
        "one": lambda: train(ShadowSOFS(200), data),
        "path": lambda: path(ShadowSOFS(), data, budgets),
        "folds": lambda: cross_validate(ShadowSOFS(200), data),
    }
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(7):
        for name, do in work.items():
            started = time.perf_counter()
            do()
            seconds[name].append(time.perf_counter() - started)
    least = {name: min(found) for name, found in seconds.items()}
    print(f"{where}: path {least['path'] / least['one']:.2f}, five folds {least['folds'] / least['one']:.2f}")
    assert least["path"] <= 6 * least["one"], seconds
    assert least["folds"] <= 6 * least["one"], seconds
