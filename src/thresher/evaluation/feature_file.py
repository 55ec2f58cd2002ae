"""The table of the selected features, as a file."""

from __future__ import annotations

import os
from typing import Any

from thresher.evaluation.prediction import as_model
from thresher.model.description import feature_table
from thresher.streams.writing import write_table


def write_features(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the table of the selected features, which `feature_table` of an estimator returns.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    path : path
        The file to write, whole or not at all. Its ending gives the format: .csv, .jsonl or .parquet; .gz, .bz2, .xz or
        .zst can follow the first two.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import ShadowSOFS, datasets, write_features
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "features.csv"
    >>> write_features(ShadowSOFS(50).fit(*datasets.make_x1(2_000)), path)
    >>> path.read_text().splitlines()[0]
    'name,column,weight,rank,n_rows'
    """
    write_table([feature_table(as_model(model))], os.fspath(path))
