"""The paper's synthetic data, X1 and X2 (§4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import Batch
from thresher.csr import in_configured_type
from thresher.messages import parameter
from thresher.parameters import Whole, check
from thresher.streams.numbered_rows import NumberedRows
from thresher.streams.pipeline import ReadBlock
from thresher.streams.position import Identity, digest_of
from thresher.streams.stream import Stream

Ids: TypeAlias = NDArray[np.int64]


class SyntheticStream(Stream):
    """Batches of generated rows. The next batch is generated while one is learned; the matrix is never in memory.

    Row i depends only on the parameters and i. So the stream has positions and shards, which are row numbers.

    Attributes
    ----------
    informative : array of int64
        The ids of the informative columns.
    """

    def __init__(self, rows: GeneratedRows, n_features: int) -> None:
        super().__init__(rows.name, rows, id_base=0, n_features=n_features)
        self.informative: Ids = rows.synth.informative


class GeneratedRows(NumberedRows):
    """Rows `first` to `end` of a generator with these parameters."""

    _number_of_first = 0
    _n_threads = 1

    def __init__(self, parameters: tuple[int, ...], first: int, end: int, batch_size: int) -> None:
        super().__init__("generated rows", first, end, Identity(0, None, digest_of(str(parameters).encode())))
        self._parameters, self._batch_size = parameters, batch_size

    @cached_property
    def synth(self) -> _core.Synth:
        """The generator."""
        return _generator(self._parameters)

    def __getstate__(self) -> dict[str, Any]:
        # Without its object in the core, which another process could not be sent.
        return {name: value for name, value in vars(self).items() if name != "synth"}

    def _reads(self, first: int, end: int) -> Iterator[ReadBlock]:
        return (partial(self._batch, at, min(self._batch_size, end - at)) for at in range(first, end, self._batch_size))

    def _batch(self, first: int, n: int) -> Batch:
        starts, ids, values, labels = _arrays(self.synth, first, n)
        return Batch(starts, ids, values, labels, int(ids.max()), zero_seen=True, n_lines=n)


def make_x1(
    n_samples: int = 110_000,
    *,
    n_features: int = 20_000,
    n_informative: int = 200,
    n_noise: int = 400,
    random_state: int | None = 0,
    permute: bool = False,
    dense_noise: int = 0,
    start: int = 0,
    return_informative: bool = False,
) -> Any:
    """Generate the paper's X1: a few informative columns in every row, and noise in random other columns.

    Row i depends only on random_state and i, so that `start` gives more rows of the same kind, for example for a
    test set. Values are N(0, 1), rounded to 5 decimals; the label is the sign of w*·x over the informative columns,
    with w* ~ U(0, 1).

    Parameters
    ----------
    n_samples : int, default=110_000
        Number of rows; the paper trains on 100,000 and tests on 10,000.
    n_features, n_informative, n_noise : int, default=20_000, 200, 400
        Columns; informative columns, present in every row; noise entries per row.
    random_state : int or None, default=0
        The seed; None chooses one at random.
    permute : bool, default=False
        Put the informative columns at random positions instead of first.
    dense_noise : int, default=0
        How many of the noise entries lie in columns that are present in every row, as often as the informative ones.
    start : int, default=0
        The number of the first row.
    return_informative : bool, default=False
        Return the ids of the informative columns too.

    Returns
    -------
    X : csr_matrix of float32, canonical, int32 ids, or csr_array if scikit-learn's `sparse_interface` is "sparray"
    y : array of −1 and +1
    ids : array of int64
        Only with `return_informative`.

    Examples
    --------
    >>> from thresher import datasets
    >>> X, y = datasets.make_x1(n_samples=1_000)
    >>> X.shape, X.nnz
    ((1000, 20000), 600000)
    """
    parameters = _check_parameters(n_features, n_informative, n_noise, dense_noise, permute, random_state)
    _check_rows(n_samples, start)
    synth = _generator(parameters)
    starts, ids, values, y = _arrays(synth, start, n_samples)
    X = sp.csr_matrix((values, ids, starts), shape=(n_samples, n_features))
    X.has_canonical_format = True
    return (in_configured_type(X), y, synth.informative) if return_informative else (in_configured_type(X), y)


def make_x2(
    n_samples: int = 1_000_000,
    *,
    n_features: int = 1_000_000_000,
    n_informative: int = 500,
    n_noise: int = 500,
    random_state: int | None = 0,
    permute: bool = False,
    dense_noise: int = 0,
    start: int = 0,
    batch_size: int = 1_000,
    return_informative: bool = False,
) -> Any:
    """Generate the paper's X2, a billion columns, as a stream of batches; the matrix is never in memory.

    Parameters
    ----------
    n_samples : int, default=1_000_000
        Number of rows.
    n_features, n_informative, n_noise : int, default=1_000_000_000, 500, 500
        Columns; informative columns, present in every row; noise entries per row.
    random_state, permute, dense_noise, start, return_informative
        As in `make_x1`.
    batch_size : int, default=1_000
        Rows per batch.

    Returns
    -------
    stream : SyntheticStream
        Iterate over it to get (X, y) batches; it can be read any number of times.
    ids : array of int64
        Only with `return_informative`.

    Examples
    --------
    >>> from thresher import SOFS, datasets
    >>> model = SOFS(n_features_to_select=500)
    >>> for X, y in datasets.make_x2(n_samples=100):
    ...     model = model.partial_fit(X, y, classes=[-1, 1])
    >>> model.n_samples_seen_, model.n_features_in_
    (100, 1000000000)
    """
    parameters = _check_parameters(n_features, n_informative, n_noise, dense_noise, permute, random_state)
    _check_rows(n_samples, start)
    check("batch_size", batch_size, Whole(1))
    rows = GeneratedRows(parameters, int(start), int(start + n_samples), int(batch_size))
    stream = SyntheticStream(rows, n_features)
    return (stream, stream.informative) if return_informative else stream


def _check_parameters(
    n_features: int, n_informative: int, n_noise: int, dense_noise: int, permute: bool, random_state: int | None
) -> tuple[int, ...]:
    """Return the parameters of a generator; without a seed, a random one is chosen."""
    check("n_features", n_features, Whole(1))
    check("n_informative", n_informative, Whole(1))
    check("n_noise", n_noise, Whole(0))
    check("dense_noise", dense_noise, Whole(0))
    if n_features >= 2**31:
        raise ValueError(f"n_features must be below 2^31, since ids are int32. Got {n_features} instead.")
    if n_informative + n_noise > n_features:
        raise ValueError(
            f"n_informative + n_noise must not be above n_features. Got {n_informative} + {n_noise} > {n_features}."
        )
    if dense_noise > n_noise:
        raise ValueError(f"dense_noise must not be above n_noise. Got {dense_noise} > {n_noise}.")
    if random_state is None:
        random_state = int(np.random.SeedSequence().generate_state(1)[0])
    check("random_state", random_state, Whole(0))
    if random_state >= 2**64:
        raise ValueError(f"{parameter('random_state')} must be below 2^64. Got {random_state} instead.")
    return tuple(int(each) for each in (n_features, n_informative, n_noise, dense_noise, permute, random_state))


def _generator(parameters: tuple[int, ...]) -> _core.Synth:
    n_features, n_informative, n_noise, dense_noise, permute, seed = parameters
    return _core.Synth(n_features, n_informative, n_noise, dense_noise, bool(permute), seed)


def _check_rows(n_samples: int, start: int) -> None:
    check("n_samples", n_samples, Whole(1))
    check("start", start, Whole(0))
    if start + n_samples > 2**63:
        raise ValueError(f"start + n_samples must not be above 2^63. Got {start} + {n_samples}.")


def _arrays(
    synth: _core.Synth, first: int, n: int
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    n = int(n)
    ids = np.empty(n * synth.row_size, dtype=np.int32)
    values = np.empty(n * synth.row_size, dtype=np.float32)
    labels = np.empty(n, dtype=np.int64)
    synth.rows(first, ids, values, labels)
    starts = np.arange(n + 1, dtype=np.int64) * synth.row_size
    return starts.astype(np.int32) if starts[-1] < 2**31 else starts, ids, values, labels
