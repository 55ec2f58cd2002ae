"""The base of the transformers: rows of the core as one CSR matrix, and names of features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin

from thresher import _core
from thresher.batch import Batch
from thresher.csr import in_configured_type
from thresher.model.names import N_IDS, MemberNames
from thresher.streams.pipeline import in_order
from thresher.threads import default_threads

Tasks: TypeAlias = "Iterator[Callable[[], _core.FoundRows]]"


class Hasher(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A transformer whose columns are hashes of names."""

    @abstractmethod
    def _tasks(self, X: Any) -> Tasks:
        """Yield what reads the rows, part by part."""

    def _batches(self, X: Any) -> Iterator[Batch]:
        n_before = 0
        for found in in_order(self._tasks(X), default_threads()):
            if found.bad:
                row, why = found.bad[0]
                raise ValueError(f"row {n_before + row} of X: {why}.")
            n_before += found.n_lines
            yield Batch.of(found, found.labels)

    def transform(self, X: Any) -> Any:
        """Return the rows in CSR, float32; a feature's column is the hash of its name, below 2^62."""
        starts, ids, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        for batch in self._batches(X):
            starts.append(batch.indptr[1:] + starts[-1][-1])
            ids.append(batch.indices)
            values.append(batch.data)
        offsets = np.concatenate(starts)
        shape = (len(offsets) - 1, N_IDS)
        matrix = sp.csr_matrix((np.concatenate(values), np.concatenate(ids), offsets), shape=shape)
        # Without values scipy makes them narrow.
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), offsets
        matrix.has_canonical_format = True
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
        given = np.asarray(ids, np.int64)
        wanted, found = np.unique(given), MemberNames()
        for batch in self._batches(X):
            assert batch.names is not None
            found.read(wanted, batch.indices, batch.names)
        return [found.by_id.get(id_) for id_ in given.tolist()]
