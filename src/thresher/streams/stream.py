"""Streams: they yield batches of rows, have positions, and can be cut into shards."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher.batch import Batch, DataError
from thresher.csr import in_configured_type
from thresher.messages import parameter
from thresher.model.names import N_IDS, MemberNames, Naming
from thresher.parameters import Whole, check
from thresher.streams.position import Position
from thresher.streams.roles import TableRoles


class Content(ABC):
    """Rows that can be read: files, a generator, a list of batches. Where they can be cut, they have positions too."""

    can_be_cut = True
    needs_ray = False  # whether only a process that is connected to Ray can read them
    _n_threads = 0  # which parse, if it needs any

    @property
    def paths(self) -> Sequence[str]:
        """Where the files lie, if it has files; "-" is standard input."""
        return ()

    @property
    def n_bytes(self) -> int | None:
        """Bytes on the disk, if that is known."""
        return None

    @property
    def n_rows(self) -> int | None:
        """Rows, if their number is known in advance."""
        return None

    def with_threads(self, n: int) -> Content:
        """Return the same rows, parsed by n threads; 0 is the caller's own, which also reads."""
        other = copy.copy(self)
        other._n_threads = n
        return other

    def check(self, start: Position) -> None:
        """Raise ValueError unless a position is in these rows."""
        raise NotImplementedError

    def shard(self, k: int, n: int) -> Content:
        """Return the k-th of n parts."""
        raise NotImplementedError

    @abstractmethod
    def batches(self, start: Position | None) -> Iterator[Batch]:
        """Read from the start, or from a position that passed the check."""


@dataclass
class _FromFunction(Content):
    """All rows, which a function returns an iterator of."""

    read: Callable[[], Iterator[Batch]]
    n_bytes: int | None = None
    n_rows: int | None = None
    can_be_cut = False

    def batches(self, start: Position | None) -> Iterator[Batch]:
        return self.read()


class Stream:
    """Batches of rows from files, a generator, an iterable, or standard input.

    Iterating gives (X, y), or (X, y, weights) where rows have weights: a scipy CSR matrix with ids as they are written,
    the labels, and one weight per row. Unless the number of columns is known, a matrix is as wide as its own largest
    id, so `partial_fit` can't learn them one after the other; `train` can. `batches()` gives the same rows as `Batch`
    objects, without scipy.

    Parameters
    ----------
    name : str
        The name for messages.
    content : Content or callable
        The source of the rows. A callable returns an iterator of all batches; such a stream has no positions and no
        shards.
    n_bytes, n_rows : int, optional
        The size of what a callable returns, for progress bars and checks of memory; content knows its own.
    feature_names : list of str, optional
        The names of the columns.
    id_base : int, optional
        The id of the first column, 0 or 1; columns with names count from 0.
    n_features : int, optional
        The number of columns; of columns with names, their number.
    only_once : str, optional
        The name of the part that can be read only once, if there is one.
    naming : Naming, optional
        How features are named, if columns are hashes of names.
    key : str, optional
        The name of what identifies the rows, if batches have it.
    roles : TableRoles, optional
        What the columns of a table are for, if that was decided by its first rows.

    Attributes
    ----------
    n_bytes, n_rows : int or None
        Its size on disk and its number of rows, if they are known in advance.
    feature_names : list of str or None
        The names of the columns, if the source has names.
    id_base : int or None
        The id of the first column, 0 or 1. None: 0 if id 0 occurs, else 1.
    n_features : int or None
        The number of columns, if it is known.
    naming : Naming or None
        How features are named, if they have names instead of numbers: columns are then hashes of names.
    key : str or None
        The name of what identifies the rows, the `keys` of a batch: a column, or "tag" of VW text.
    roles : TableRoles or None
        What the columns of a table are for, if that was decided by its first rows; printed, it is a table.
    is_shard : bool
        Whether it is a shard of another stream.
    """

    def __init__(
        self,
        name: str,
        content: Content | Callable[[], Iterator[Batch]],
        *,
        n_bytes: int | None = None,
        n_rows: int | None = None,
        feature_names: list[str] | None = None,
        id_base: int | None = None,
        n_features: int | None = None,
        only_once: str | None = None,
        naming: Naming | None = None,
        key: str | None = None,
        roles: TableRoles | None = None,
    ) -> None:
        has_names = bool(feature_names) or naming is not None
        if has_names and id_base == 1:
            raise ValueError(f"{name}: {parameter('zero_based', False)} can't be used where features have names.")
        self.name = name
        self.feature_names = feature_names
        self.naming = naming
        self.key = key
        self.roles = roles
        self.id_base = 0 if has_names else id_base
        self.n_features = N_IDS if naming is not None else len(feature_names) if feature_names else n_features
        self.is_shard = False
        self._only_once = only_once
        self._was_read = False
        self._take(_FromFunction(content, n_bytes, n_rows) if callable(content) else content)

    def _take(self, content: Content) -> None:
        self._content = content
        self.n_bytes, self.n_rows = content.n_bytes, content.n_rows

    @property
    def files(self) -> list[str]:
        """The paths of the files that it reads, if any; "-" is standard input."""
        return list(self._content.paths)

    @property
    def can_be_read_again(self) -> bool:
        """Whether a second pass is possible."""
        return self._only_once is None

    @property
    def has_positions(self) -> bool:
        """Whether batches have an end position, so that reading can continue there, and shards are possible."""
        return self._content.can_be_cut and self._only_once is None

    @property
    def needs_ray(self) -> bool:
        """Whether only a process that is connected to Ray can read it."""
        return self._content.needs_ray

    def batches(self, start: Position | None = None) -> Iterator[Batch]:
        """Read from the start, or continue from the end of a batch.

        Parameters
        ----------
        start : Position, optional
            The `end` of a batch of this stream, or of another stream of the same files. The remaining rows are read,
            with the same line numbers in messages.

        Returns
        -------
        iterator of Batch
        """
        if start is not None:
            if not isinstance(start, Position):
                raise ValueError(f"start must be a Position, such as a batch's end. Got {start!r} instead.")
            content = self._divisible("positions")
            content.check(start)
            return content.batches(start)
        if self._only_once is not None:
            if self._was_read:
                raise DataError(f"{self._only_once} can be read only once: write it to a file first.")
            self._was_read = True
        whole = self._content.batches(None)
        return whole if self.is_shard else _check_not_all_skipped(self.name, whole)

    def shard(self, k: int, n: int) -> Self:
        """Return the k-th of n parts, k from 0. The shards in order give exactly the rows of the whole stream.

        Files are cut by bytes on disk, at the ends of rows, so that shards take about the same time to read; generators
        and lists are cut by rows. A compressed file is not cut: it belongs to the shard that has its first byte. Shards
        can be empty.

        Parameters
        ----------
        k, n : int

        Returns
        -------
        Stream
        """
        check(f"n of shard({k}, {n}) of {self.name}", n, Whole(1))
        check(f"k of shard({k}, {n}) of {self.name}", k, Whole(0, n - 1))
        shard = copy.copy(self)
        shard._take(self._divisible("shards").shard(int(k), int(n)))
        shard.name = f"shard {k} of {n} of {self.name}"
        shard.is_shard = True
        return shard

    def with_base(self, id_base: int) -> Self:
        """Return the same stream, whose ids count from 0 or from 1."""
        other = copy.copy(self)
        other.id_base = id_base
        return other

    def with_threads(self, n: int) -> Self:
        """Return the same stream, parsed by n threads; 0 is the caller's own, which also reads."""
        other = copy.copy(self)
        other._take(self._content.with_threads(n))
        return other

    def to_csr(self) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
        """Read all rows into one matrix.

        Columns are ids minus `id_base`; if that is None, it is 0 if id 0 occurs, else 1. This needs at most twice the
        memory of the matrix.

        Returns
        -------
        X : csr_matrix of float32, canonical, or csr_array if scikit-learn's `sparse_interface` is "sparray"
        y : array
        weights : array of float64, or None if no row has a weight
        """
        from thresher.streams.matrix import collect

        X, y, weights, _ = collect(self)
        return in_configured_type(X), y, weights

    def names(self, ids: ArrayLike) -> dict[int, str]:
        """Find the names of features by reading the stream; those that do not occur in it are left out.

        Parameters
        ----------
        ids : array of int
            Ids of features, such as a model's `selected_`.

        Returns
        -------
        dict of int to str
        """
        wanted, found = np.unique(np.asarray(ids, np.int64)), MemberNames()
        for batch in self.batches():
            if batch.names is not None:
                found.read(wanted, batch.indices, batch.names)
        return found.by_id

    def __iter__(self) -> Iterator[Any]:
        import scipy.sparse as sp

        for batch in self.batches():
            width = batch.largest_id + 1 if self.n_features is None else self.n_features + (self.id_base or 0)
            shape = (batch.n_rows, width)
            X = in_configured_type(sp.csr_matrix((batch.data, batch.indices, batch.indptr), shape=shape))
            yield (X, batch.labels) if batch.row_weights is None else (X, batch.labels, batch.row_weights)
            del X, batch  # not kept while the next one is made

    def check_base(self) -> None:
        """Raise DataError for a shard whose rows alone would decide whether ids count from 0 or from 1.

        Id 0 may occur in one shard and not in another, and the same feature would have two columns.
        """
        if self.is_shard and self.id_base is None:
            raise DataError(
                f"{self.name}: a shard needs to know whether ids count from 0 or 1: set {parameter('zero_based', ...)}."
            )

    def __repr__(self) -> str:
        sizes = [f"{self.n_rows:,} rows"] if self.n_rows is not None else []
        sizes += [f"{self.n_bytes:,} bytes"] if self.n_bytes is not None else []
        return f"<{type(self).__name__} {self.name}{': ' if sizes else ''}{', '.join(sizes)}>"

    def _divisible(self, what: str) -> Content:
        if self._only_once is not None:
            raise DataError(
                f"{self._only_once} has no {what}, since it can be read only once: write it to a file first."
            )
        if not self._content.can_be_cut:
            raise DataError(f"{self.name} has no {what}.")
        return self._content


def _check_not_all_skipped(name: str, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches; raise an error at the end if all rows were skipped."""
    n_rows, first, n_skipped = 0, "", 0
    for batch in batches:
        n_rows += batch.n_rows
        first = first or next(iter(batch.skipped), "")
        n_skipped += len(batch.skipped)
        yield batch
        del batch  # not kept while the next one is made
    if n_rows == 0 and n_skipped:
        raise DataError(f"{name}: there are no rows, since all {n_skipped:,} were skipped; the first is {first}")
