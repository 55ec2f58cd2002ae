"""What a stream is: something that yields batches of rows, and can be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


class DataError(ValueError):
    """Something in the data can't be read; the message names the file and the line or row."""


@dataclass(slots=True)
class Batch:
    """Rows in CSR with their labels, ids as written. It has what `Model` needs of a matrix."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[np.float32]
    labels: NDArray[Any]  # float64, or str
    largest_id: int
    zero_seen: bool
    importances: NDArray[np.float64] | None = None
    n_bytes: int = 0  # of the source, as it lies on the disk
    file: str = ""
    numbers: NDArray[np.int32] | None = None  # of the rows' lines, from `first_number`; None: one a row
    first_number: int = 1
    counted_in: str = "line"
    skipped: list[str] = field(default_factory=list)  # why lines were passed over

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and the least number of columns that holds all ids."""
        return self.n_rows, self.largest_id + 1

    def place(self, row: int) -> str:
        """Say where a row of this batch came from."""
        number = self.first_number + int(row if self.numbers is None else self.numbers[row])
        return f"{self.file}, {self.counted_in} {number}"


class Stream:
    """Batches of rows from files, a generator, or standard input.

    Iterating gives (X, y): a scipy CSR matrix with ids as they are written, and the labels. Unless the number of
    columns is known, a matrix is as wide as its own largest id, so that `partial_fit` can't take one after the other:
    `train` can. `batches()` gives the same as `Batch` objects, without scipy.

    Attributes
    ----------
    name : str
        What to call it.
    n_bytes, n_rows : int or None
        Its size on the disk and its number of rows, where they are known up front.
    feature_names : list of str or None
        The names of the columns, where the source has names.
    id_base : int or None
        The id of the first column, 0 or 1, where it is known; else the data decide.
    n_features : int or None
        The number of columns, where it is known.
    """

    def __init__(
        self,
        name: str,
        make_batches: Callable[[], Iterator[Batch]],
        *,
        n_bytes: int | None = None,
        n_rows: int | None = None,
        feature_names: list[str] | None = None,
        id_base: int | None = None,
        n_features: int | None = None,
        only_once: str | None = None,
    ) -> None:
        self.name = name
        self.n_bytes = n_bytes
        self.n_rows = n_rows
        self.feature_names = feature_names
        self.id_base = id_base
        self.n_features = n_features
        self._make_batches = make_batches
        self._only_once = only_once
        self._was_read = False

    @property
    def can_be_read_again(self) -> bool:
        """Whether a second pass is possible."""
        return self._only_once is None

    def batches(self) -> Iterator[Batch]:
        """Read from the start."""
        if self._only_once is not None:
            if self._was_read:
                raise DataError(f"{self._only_once} can be read only once: write it to a file first.")
            self._was_read = True
        return self._make_batches()

    def __iter__(self) -> Iterator[tuple[Any, NDArray[Any]]]:
        import scipy.sparse as sp

        for batch in self.batches():
            shape = (batch.n_rows, batch.largest_id + 1 if self.n_features is None else self.n_features)
            yield sp.csr_matrix((batch.data, batch.indices, batch.indptr), shape=shape), batch.labels
