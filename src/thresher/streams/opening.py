"""`open_stream`: opens files, standard input or batches as a `Stream`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from thresher.parameters import OneOf, Whole, check
from thresher.streams import cache
from thresher.streams.columnar import ColumnarFormat, schema_names
from thresher.streams.delimited import DelimitedFormat, read_layout
from thresher.streams.files import FileRows, Format
from thresher.streams.iterables import stream_of
from thresher.streams.sources import Path_, Source, find
from thresher.streams.stream import DataError, Stream
from thresher.streams.tables import Columns, Roles
from thresher.streams.text import TextFormat
from thresher.threads import default_threads

ON_BAD_LINE = ("error", "skip")

Data: TypeAlias = Stream | Path_ | Iterable[Any]  # what `train`, `evaluate` and the like take


def open_stream(
    source: Path_ | Iterable[Any],
    format: str = "auto",
    *,
    label: str | None = None,
    weight: str | None = None,
    ignore: Sequence[str] = (),
    delimiter: str | None = None,
    on_bad_line: str = "error",
    zero_based: bool | None = None,
    labelled: bool = True,
    no_labels: bool = False,
    threads: int | None = None,
) -> Stream:
    r"""Open data as a stream of batches.

    Parameters
    ----------
    source : path, list of paths, glob, folder, "-", or iterable of (X, y) or (X, y, weights)
        "-" is standard input. A folder means the files in it, in order of name. Files may be compressed with gzip,
        bzip2, xz or zstd. X is a sparse or dense matrix; a single (X, y) works too.
    format : {"auto", "svmlight", "vw", "csv", "parquet", "arrow", "cache"}
        "auto" recognises the format by content and file name.
    label : str, optional
        The label's column in a table (CSV, Parquet, Arrow); "label" by default.
    weight : str, optional
        The column of a table that has the weights of the rows.
    ignore : sequence of str, optional
        Columns of a table that are not features, such as a row number.
    delimiter : str, optional
        The separator of a CSV; by default comma, semicolon or tab, whichever is most frequent in the header.
    on_bad_line : {"error", "skip"}
        What to do with a line of text, or a row of a table, that can't be read. Those skipped are listed in each
        batch's `skipped`.
    zero_based : bool, optional
        Whether ids count from 0 or from 1. By default they count from 0 if id 0 occurs, else from 1. A model that was
        trained before uses its own base.
    labelled : bool, default=True
        Whether rows must have labels. With False, for prediction, a table need not have a label column, and text has no
        labels if its first row starts with a feature (`3:0.5`, or `|` in VW). Labels are then NaN.
    no_labels : bool, default=False
        The data have no labels, whatever they look like: text starts with a feature, all columns of a table are
        features.
    threads : int, optional
        How many threads parse; by default one per core, and one for a cache. The result does not depend on it.

    Returns
    -------
    Stream

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import open_stream
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.svm"
    >>> _ = path.write_text("+1 1:0.5 7:2\n-1 3:1 # a comment\n")
    >>> for X, y in open_stream(path):
    ...     print(X.shape, X.nnz, y)
    (2, 8) 3 [ 1. -1.]
    """
    if on_bad_line not in ON_BAD_LINE:
        raise ValueError(f"on_bad_line must be one of {', '.join(ON_BAD_LINE)}. Got {on_bad_line!r} instead.")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise ValueError(f"delimiter must be a single character, such as ',' or '\\t'. Got {delimiter!r} instead.")
    check("threads", threads, Whole(1), OneOf((None,)))
    id_base = None if zero_based is None else 0 if zero_based else 1
    labelled = labelled and not no_labels
    if isinstance(source, Stream):
        return source
    paths, batches = _paths_or_batches(source)
    if batches is not None:
        return stream_of(batches, labelled, id_base)
    sources = find(paths, format)
    kinds = {item.format for item in sources}
    if len(kinds) > 1 and not kinds <= {"svmlight", "vw"}:
        raise DataError(
            f"the files have different formats ({', '.join(sorted(kinds))}): open them one format at a time."
        )
    ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    _refuse_table_options(
        sources[0], label=label, weight=weight, ignore=", ".join(ignored) or None, delimiter=delimiter
    )
    roles = Roles(label, weight, ignored, labelled, no_labels)
    names, formats = _formats(sources, roles, delimiter, on_bad_line == "skip")
    if names and id_base == 1:
        raise ValueError(f"{sources[0].name}: zero_based can't be False for a table: its columns have names.")
    n_threads = threads or (1 if kinds == {"cache"} else default_threads())
    return Stream(
        sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more",
        FileRows(list(zip(formats, sources, strict=True)), on_bad_line == "skip", n_threads),
        feature_names=names,
        id_base=0 if names else id_base,
        only_once=next((item.name for item in sources if item.flow is not None), None),
    )


def _refuse_table_options(source: Source, **options: str | None) -> None:
    """Refuse options that have no meaning for a file's format."""
    for name, value in options.items():
        tables = ("csv",) if name == "delimiter" else ("csv", "parquet", "arrow")
        if value is not None and source.format not in tables:
            raise ValueError(f"{source.name}: {name}={value!r} has no meaning for {source.format} data: leave it out.")


def as_stream(data: Data, **options: Any) -> Stream:
    """Return a stream unchanged; open anything else with `open_stream`."""
    return data if isinstance(data, Stream) else open_stream(data, **options)


def _paths_or_batches(source: Any) -> tuple[Any, Iterable[Any] | None]:
    """Return paths, or an iterable of batches."""
    if isinstance(source, str | os.PathLike):
        return source, None
    if isinstance(source, tuple) and source and len(getattr(source[0], "shape", ())) == 2:
        return None, [source]  # (X, y)
    if not isinstance(source, Iterable):
        raise TypeError(f"source must be a path, or an iterable of paths or batches. Got {source!r} instead.")
    if isinstance(source, list | tuple):
        are_paths = all(isinstance(item, str | os.PathLike) for item in source)
        return (source, None) if are_paths else (None, source)
    if iter(source) is not source:
        first = next(iter(source), "")
        return (source, None) if isinstance(first, str | os.PathLike) else (None, source)
    first = next(source, None)
    whole = source if first is None else itertools.chain([first], source)
    return (list(whole), None) if isinstance(first, str | os.PathLike) else (None, whole)


def _formats(
    sources: list[Source], roles: Roles, delimiter: str | None, skip_bad: bool
) -> tuple[list[str] | None, list[Format]]:
    """Return the names of the features, if there are any, and the format object of each file."""
    kind = sources[0].format
    if kind in ("svmlight", "vw"):
        without = [roles.no_labels or (not roles.labelled and source.starts_with_feature) for source in sources]
        return None, [TextFormat(skip_bad, labelled=not each) for each in without]
    if kind == "cache":
        footers = [cache.read_footer(source) for source in sources]
        return footers[0]["names"], [cache.CacheFormat(footer) for footer in footers]
    names = read_layout(sources[0], delimiter).names if kind == "csv" else schema_names(sources[0])
    columns = Columns.choose(sources[0].name, names, roles, pairs=kind != "csv")
    if kind == "csv":
        return columns.features, [DelimitedFormat(source, columns, skip_bad, delimiter) for source in sources]
    columnar = ColumnarFormat(columns, skip_bad)
    return columns.features, [columnar] * len(sources)
