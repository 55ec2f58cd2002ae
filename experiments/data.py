"""Rows of a data set, and how they are divided: the test rows of a permutation are never among its training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.config import Config
from thresher import datasets, open_stream
from thresher.datasets.registry import search_folders
from thresher.streams import Batch, Stream

# Rows in a batch: it should stay in the cache while all models of a grid learn it.
_BATCH = 500


@dataclass(frozen=True)
class Rows:
    """A CSR matrix and its labels."""

    X: Any
    y: NDArray[Any]

    def take(self, places: Any) -> Rows:
        """Return some of the rows, in the order given."""
        return Rows(self.X[places], self.y[places])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    def stream(self) -> Stream:
        """Return the rows as a stream of batches."""
        X, n_rows = self.X, len(self.y)

        def batches() -> Iterator[Batch]:
            for begin in range(0, n_rows, _BATCH):
                end = min(begin + _BATCH, n_rows)
                low, high = X.indptr[begin], X.indptr[end]
                starts, ids = X.indptr[begin : end + 1] - low, X.indices[low:high]
                largest = int(ids.max()) if len(ids) else -1
                yield Batch(starts, ids, X.data[low:high], self.y[begin:end], largest, zero_seen=True)

        return Stream("rows", batches, n_rows=n_rows, id_base=0, n_features=self.n_features)


class MissingDataError(Exception):
    """Data that an experiment needs are not present; the message says where to get them."""


def load(config: Config) -> Rows:
    """Return all rows; raise MissingDataError where they are not present."""
    if config.generate:
        return Rows(*datasets.make_x1(config.n_train + config.n_test, random_state=0, **config.generate))
    if config.known is not None:
        try:
            return Rows(*datasets.load(config.known))
        except OSError:
            raise MissingDataError(
                f"{config.name}: data not present; put {config.known} into the folder that THRESHER_DATA names "
                "(see `thresher data list`)."
            ) from None
    X, y, _ = open_stream(find(config.file or "", config.home), "svmlight", zero_based=False).to_csr()
    return Rows(X, y)


def find(file: str, home: str | None = None) -> Path:
    """Return the path of a file of data, which can be had from its home; raise MissingDataError if it is not there."""
    for folder in search_folders():
        if (folder / file).is_file():
            return folder / file
    get = f"get {file} from {home} and put it" if home else f"put {file}"
    raise MissingDataError(f"{file}: data not present; {get} into the folder that THRESHER_DATA names.")


def split(rows: Rows, config: Config, permutation: int) -> tuple[Rows, Rows]:
    """Return the training rows and the test rows of a permutation."""
    random = np.random.default_rng(1000 + permutation)
    n_train, n_test = config.n_train, config.n_test
    if len(rows.y) < n_train + n_test:
        raise ValueError(f"{config.name} has {len(rows.y):,} rows; its config asks for {n_train:,} + {n_test:,}.")
    if config.split == "first":
        return rows.take(random.permutation(n_train)), rows.take(slice(n_train, n_train + n_test))
    if config.split == "last":
        return rows.take(n_test + random.permutation(n_train)), rows.take(slice(n_test))
    order = random.permutation(len(rows.y))
    return rows.take(order[:n_train]), rows.take(order[n_train : n_train + n_test])


def folds(rows: Rows, n_folds: int = 5) -> list[tuple[Rows, Rows]]:
    """Return (rows to learn, rows to test) for each fold; rows are in random order already."""
    fold = np.arange(len(rows.y)) % n_folds
    return [
        (rows.take(np.flatnonzero(fold != k)), rows.take(np.flatnonzero(fold == k)))
        for k in range(min(n_folds, len(rows.y)))
    ]
