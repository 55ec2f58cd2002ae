"""`convert`: a stream, written in another format."""

from __future__ import annotations

import os
from typing import Any

from thresher.io.atomic import refuse_inputs
from thresher.messages import warn
from thresher.streams.opening import as_stream
from thresher.streams.reading import Reading
from thresher.streams.writing import write_stream


def convert(data: Any, path: str | os.PathLike[str], *, progress: bool = False) -> Reading:
    """Write data in the format of the ending of `path`: .thc, a binary cache, or .svm, svmlight text.

    Parameters
    ----------
    data : Stream, path, or anything else that `open_stream` takes
        A path is opened with `open_stream`.
    path : path
        The file to write, whole or not at all; "-" is standard output, as text. .gz, .bz2, .xz or .zst can follow .svm.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    Reading
        How many rows were written, and what was skipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import convert, datasets, open_stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x1.thc"
    >>> convert(datasets.make_x2(100, n_features=20_000, n_informative=200, n_noise=400), path).n_rows
    100
    >>> X, y, _ = open_stream(path).to_csr()
    >>> X.shape[0], sorted(set(y.tolist()))
    (100, [-1, 1])
    """
    path = os.fspath(path)
    stream = as_stream(data)
    refuse_inputs(path, stream.files)
    # Columns of a table count from 0, rows of text from 1 unless id 0 occurs, which it need not.
    shift = 1 if stream.id_base == 0 and stream.naming is None and not path.endswith(".thc") else 0
    reading = Reading()
    batches = reading.watch(stream, "converting", stream.batches(), progress)
    write_stream(batches, path, shift=shift, feature_names=stream.feature_names, naming=stream.naming)
    if stream.naming is not None and not path.endswith(".thc"):
        warn(f"{path}: svmlight text has no names, only their ids: a .thc cache keeps both.", UserWarning)
    return reading
