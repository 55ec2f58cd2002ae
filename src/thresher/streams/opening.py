"""`open_stream`: from whatever the user names to a `Stream`."""

from __future__ import annotations

from collections.abc import Iterable

from thresher.parameters import OneOf, Whole, check
from thresher.streams import cache, tables, text
from thresher.streams.pipeline import default_threads
from thresher.streams.sources import Path_, find
from thresher.streams.stream import DataError, Stream

ON_BAD_LINE = ("error", "skip")


def open_stream(
    source: Path_ | Iterable[Path_],
    format: str = "auto",
    *,
    label: str | None = None,
    on_bad_line: str = "error",
    zero_based: bool | None = None,
    labelled: bool = True,
    threads: int | None = None,
) -> Stream:
    r"""Open data as a stream of batches.

    Parameters
    ----------
    source : path, list of paths, glob, folder, or "-"
        "-" is standard input. A folder stands for the files in it, in order of name. Files may be compressed with gzip,
        bzip2, xz or zstd.
    format : {"auto", "svmlight", "vw", "csv", "parquet", "arrow", "cache"}
        "auto" looks at the content and the name.
    label : str, optional
        The label's column in a table (CSV, Parquet, Arrow); "label" by default.
    on_bad_line : {"error", "skip"}
        What to do with a line of text that can't be read. Those skipped are listed in each batch's `skipped`.
    zero_based : bool, optional
        Whether ids count from 0 or from 1. By default they count from 0 if id 0 occurs, else from 1. A model that was
        trained before keeps its own count.
    labelled : bool, default=True
        Whether rows must have labels. False lets a table have no label column, for prediction; labels are then NaN.
    threads : int, optional
        How many threads parse; by default one a core, and one for a cache. The result does not depend on it.

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
    check("threads", threads, Whole(1), OneOf((None,)))
    sources = find(source, format)
    kinds = {item.format for item in sources}
    if len(kinds) > 1 and not kinds <= {"svmlight", "vw"}:
        raise DataError(
            f"the files have different formats ({', '.join(sorted(kinds))}): open them one format at a time."
        )
    kind = sources[0].format
    sizes = [item.n_bytes for item in sources]
    n_bytes = None if None in sizes else sum(size or 0 for size in sizes)
    name = sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more"
    only_once = next((item.name for item in sources if item.flow is not None), None)
    n_threads = threads or default_threads()
    id_base = None if zero_based is None else 0 if zero_based else 1
    if kind in ("svmlight", "vw"):
        skip = on_bad_line == "skip"
        return Stream(
            name, lambda: text.batches(sources, skip, n_threads), n_bytes=n_bytes, id_base=id_base, only_once=only_once
        )
    if kind == "cache":
        footers = [cache.read_footer(item) for item in sources]
        names = footers[0]["names"]
        return Stream(
            name,
            lambda: cache.batches(sources, threads),
            n_bytes=n_bytes,
            n_rows=sum(footer["n_rows"] for footer in footers),
            feature_names=names,
            id_base=0 if names else id_base,
        )
    if only_once:
        raise DataError(f"{only_once} can't be a CSV: its header must be read twice. Write it to a file first.")
    label_column, names = tables.columns(sources[0], label, labelled)
    return Stream(
        name,
        lambda: tables.batches(sources, label_column, names),
        n_bytes=n_bytes,
        feature_names=names,
        id_base=0 if names else id_base,
    )
