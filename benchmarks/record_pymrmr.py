"""Print the first 20 features that pymrmr takes on relathe: what tests/estimators/test_mrmr.py expects.

pymrmr needs Cython and numpy to build, so it is not among the tests' dependencies:

    pip install cython numpy setuptools && pip install --no-build-isolation pymrmr
    python benchmarks/record_pymrmr.py

It copies the whole matrix for each pair of columns, which takes hours here; letting `calMutualInfo` in its mrmr.cpp
take the matrix by reference makes that a minute or two.
"""

from __future__ import annotations

import sys

import pandas as pd
import pymrmr

from thresher import datasets


def main() -> None:
    """Run both schemes, on presence."""
    X, y = datasets.load("relathe")
    frame = pd.DataFrame((X.toarray() != 0).astype(int), columns=[str(column) for column in range(X.shape[1])])
    frame.insert(0, "class", (y > 0).astype(int))
    for scheme in ("MID", "MIQ"):
        # pymrmr talks on stdout.
        print(scheme, [int(name) for name in pymrmr.mRMR(frame, scheme, 20)], file=sys.stderr)


if __name__ == "__main__":
    main()
