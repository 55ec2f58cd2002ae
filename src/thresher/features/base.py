"""The base of the transformers: rows of the core as one CSR matrix, and names of features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin

from thresher import _core
from thresher.batch import Batch
from thresher.csr import in_configured_type
from thresher.model.names import N_IDS
from thresher.streams.matrix import collect
from thresher.streams.pipeline import in_order
from thresher.streams.stream import Stream
from thresher.threads import default_threads

Reads: TypeAlias = "Iterator[Callable[[], _core.FoundRows]]"  # functions, each of which reads some of the rows


class Hasher(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A transformer whose columns are hashes of names."""

    @abstractmethod
    def _reads(self, X: Any) -> Reads:
        """Yield what reads the rows, in order."""

    def _batches(self, X: Any) -> Iterator[Batch]:
        n_before = 0
        for found in in_order(self._reads(X), default_threads()):
            if found.bad:
                row, why = found.bad[0]
                raise ValueError(f"row {n_before + row} of X: {why}.")
            n_before += found.n_lines
            yield Batch.of(found, found.labels)

    def _stream(self, X: Any) -> Stream:
        return Stream("X", partial(self._batches, X), id_base=0, n_features=N_IDS)

    def transform(self, X: Any) -> Any:
        """Return the rows in CSR, float32; a feature's column is the hash of its name, below 2^62."""
        matrix = collect(self._stream(X)).X
        # Without values scipy makes them narrow.
        matrix.indices, matrix.indptr = (part.astype(np.int64, copy=False) for part in (matrix.indices, matrix.indptr))
        return in_configured_type(matrix)

    def names(self, ids: ArrayLike, X: Any) -> list[str | None]:
        """Find the names of features by reading the data again.

        Parameters
        ----------
        ids : array of int
            Columns of the matrix that `transform` returns, such as a selector's `selected_`.
        X : as in `transform`
            Data in which the features occur.

        Returns
        -------
        list of str
            The names, in the order of `ids`; None for a feature that does not occur in X.
        """
        found = self._stream(X).names(ids)
        return [found.get(id_) for id_ in np.asarray(ids, np.int64).tolist()]
