"""Real data for tests, from THRESHER_DATA or ../shared/data; tests that need missing data are skipped."""

from __future__ import annotations

import json
import lzma
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

from thresher import datasets

# The package itself looks nowhere but in $THRESHER_DATA and in the user's cache.
BESIDE = Path(__file__).parents[2] / "shared" / "data"
if BESIDE.is_dir():
    os.environ.setdefault("THRESHER_DATA", str(BESIDE))


def path_of(file: str) -> Path:
    """Return the path of a file; skip the test if it is not there."""
    folder = Path(os.environ.get("THRESHER_DATA") or BESIDE)
    if not (folder / file).exists():
        pytest.skip(f"{file} is not in {folder} ($THRESHER_DATA)")
    return folder / file


@cache
def load(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """Return a data set; mail (enron1) as 1–2-grams, present or not."""
    path = path_of({"news20": "news20.binary.bz2", "enron1": "enron1.jsonl.xz"}.get(name, f"{name}.svm.xz"))
    if name == "news20":  # scikit-learn's reader would take too long
        return datasets.load(name)
    with lzma.open(path) as file:
        if name == "enron1":
            mails = [json.loads(line) for line in file]
            words = CountVectorizer(ngram_range=(1, 2), binary=True, dtype=np.float32)
            return words.fit_transform(mail["text"] for mail in mails), np.array([mail["label"] for mail in mails])
        X, y = load_svmlight_file(file, dtype=np.float32)
    return X, y


def split(name: str, n_train: int, repetition: int) -> tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix, np.ndarray]:
    """Return training rows and the rest, by a seeded permutation."""
    X, y = load(name)
    order = np.random.default_rng(1000 + repetition).permutation(X.shape[0])
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]
