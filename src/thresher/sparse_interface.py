"""Whether results are sparse matrices or sparse arrays of scipy: as scikit-learn's `sparse_interface` is set."""

from __future__ import annotations

import sys
from typing import Any


def as_configured(X: Any) -> Any:
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
