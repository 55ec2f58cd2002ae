"""CSR matrices of the user: checked with clear errors, and passed to the core without a copy where possible."""

from __future__ import annotations

import sys
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.messages import parameter


class Csr(Protocol):
    """The part of a sparse matrix that a model needs, as in scipy's csr_matrix and csr_array."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def copy(self) -> Csr:
        """Return a copy."""

    def sum_duplicates(self) -> None:
        """Sort the ids of each row and sum repeated ones, in place."""


class NotCanonicalError(Exception):
    """The ids of a row are unsorted or repeated; a sorted copy of the matrix can be learned."""


def as_batch(X: Csr, id_base: int) -> _core.CsrBatch:
    """Return X as a batch of the core, without a copy if the core can read its arrays and id_base is 0."""
    if X.indices.dtype.kind not in "iu" or X.indptr.dtype.kind not in "iu":
        raise ValueError(f"X.indices and X.indptr must contain integers. Got {X.indices.dtype} and {X.indptr.dtype}.")
    if len(X.indptr) != X.shape[0] + 1:
        raise ValueError(
            f"X.indptr must have {X.shape[0] + 1} entries, one more than there are rows. Got {len(X.indptr)}."
        )
    if X.indices.dtype == np.uint64 and len(beyond := np.flatnonzero(X.indices >= np.uint64(2**63))):
        # As int64 it would be negative, or with id_base become a valid column.
        row = int(np.searchsorted(X.indptr, beyond[0], "right")) - 1
        raise _too_large_error(row, int(X.indices[beyond[0]]), X)
    values = X.data if X.data.dtype in (np.float32, np.float64) else X.data.astype(np.float32)
    ids = X.indices if X.indices.dtype in (np.int32, np.int64) else X.indices.astype(np.int64)
    if id_base or len(X.data) >= 2**31:
        ids = ids.astype(np.int64, copy=False) + id_base
    return _core.CsrBatch(
        np.ascontiguousarray(X.indptr, dtype=ids.dtype),
        np.ascontiguousarray(ids),
        np.ascontiguousarray(values),
        X.shape[1] + id_base,
    )


def check_rows(X: Csr, norm: str, id_base: int) -> tuple[Csr, _core.CsrBatch]:
    """Return X, or a sorted copy of it, and the same rows as a batch; every row is checked."""
    batch = as_batch(X, id_base)
    fault = batch.check(norm)
    if fault is None:
        return X, batch
    try:
        raise_fault(fault, X, id_base)
    except NotCanonicalError:
        return check_rows(to_canonical(X), norm, id_base)


def to_canonical(X: Csr) -> Csr:
    """Return a copy with ids in ascending order, repeated ones summed."""
    sorted_copy = X.copy()
    # scipy caches these flags, and they are wrong if the caller has written to the arrays since.
    sorted_copy.has_sorted_indices = False  # type: ignore[attr-defined]  # of scipy alone
    sorted_copy.has_canonical_format = False  # type: ignore[attr-defined]  # of scipy alone
    sorted_copy.sum_duplicates()
    return sorted_copy


def scale_to_unit_length(values: NDArray[Any], row_of: NDArray[np.intp], n_rows: int) -> NDArray[np.float64]:
    """Return values, each with the row that it is in, scaled so that rows have length 1; an empty or zero row stays."""
    exact = values.astype(np.float64)
    lengths = np.sqrt(np.bincount(row_of, exact * exact, n_rows))
    return np.asarray(exact / np.where(lengths > 0, lengths, 1.0)[row_of])


def _too_large_error(row: int, column: int, X: Csr) -> ValueError:
    return ValueError(f"Row {row} of X has column id {column}, but X has {X.shape[1]} columns: ids start at 0.")


def raise_fault(fault: _core.Fault, X: Csr, id_base: int = 0) -> NoReturn:
    """Raise the error for a fault that the core found."""
    kind, row, id_, value = fault
    column = id_ - id_base
    if kind == "unsorted":
        raise NotCanonicalError
    if kind == "negative_id":
        raise ValueError(f"Row {row} of X has column id {column}: ids must not be negative.")
    if kind == "id_too_large":
        raise _too_large_error(row, column, X)
    if kind == "not_finite":
        shown = "NaN" if np.isnan(value) else "infinity" if value > 0 else "-infinity"
        raise ValueError(f"X[{row}, {column}] is {shown}: values must be finite. Drop the entry or fill it in.")
    limit = f"1e18 with {parameter('norm', None)}" if abs(value) < 3.4e38 else "3.4e38, the largest float32"
    raise ValueError(f"X[{row}, {column}] is {value:g}: the absolute value must not be above {limit}. Scale the data.")


def in_configured_type(X: Any) -> Any:
    """Return a CSR matrix or array as what `sklearn.set_config(sparse_interface=…)` asks for, without a copy.

    Before scikit-learn 1.9 there is no such setting, and X is returned as it is.
    """
    # A program that has not imported scikit-learn has not set it: training alone should not take the memory of that
    # import.
    sklearn = sys.modules.get("sklearn")
    if sklearn is None or "sparse_interface" not in (settings := sklearn.get_config()):
        return X
    import scipy.sparse as sp

    kind = sp.csr_array if settings["sparse_interface"] == "sparray" else sp.csr_matrix
    if isinstance(X, kind):
        return X
    converted = kind(X)
    converted.has_canonical_format = X.has_canonical_format
    return converted
