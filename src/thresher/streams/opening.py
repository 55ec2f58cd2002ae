"""`open_stream`: opens files, standard input or batches as a `Stream`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from thresher.batch import DataError
from thresher.messages import parameter, size_text
from thresher.model.names import Naming, NGrams
from thresher.parameters import OneOf, Whole, check
from thresher.streams.arrow_values import joined
from thresher.streams.columns import Roles
from thresher.streams.files import FileRows
from thresher.streams.finding import StrPath, find, other_encoding
from thresher.streams.formats import FORMATS
from thresher.streams.formats.format import (
    ALLOWED_LONGEST_LINE,
    LONGEST_LINE,
    OF_TEXT,
    Format,
    OpenFiles,
    Options,
)
from thresher.streams.iterables import stream_of
from thresher.streams.roles import settle_roles
from thresher.streams.sources import Source
from thresher.streams.stream import Stream
from thresher.streams.tables import is_table, stream_of_table
from thresher.threads import default_threads

_FOR_ALL = frozenset(
    {"zero_based", "labelled", "no_labels", "threads", "naming", "roles"}
)  # options, whatever the source

Data: TypeAlias = Stream | StrPath | Iterable[Any]  # what `train`, `evaluate` and the like take


def open_stream(
    source: StrPath | Iterable[Any],
    format: str = "auto",
    *,
    label: str | None = None,
    weight: str | None = None,
    ignore: str | Sequence[str] = (),
    key: str | None = None,
    roles: str | None = None,
    text: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    numeric: str | Sequence[str] = (),
    scale: bool = True,
    crosses: Sequence[str | Sequence[str]] = (),
    ngrams: NGrams = 1,
    analyzer: str = "word",
    counts: bool = False,
    lowercase: bool | None = None,
    hash: str = "strings",
    delimiter: str | None = None,
    decimal: str = ".",
    columns: Sequence[str] = (),
    null: Sequence[str] | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    on_bad_line: str = "error",
    longest_line: int = LONGEST_LINE,
    zero_based: bool | None = None,
    labelled: bool = True,
    no_labels: bool = False,
    threads: int | None = None,
    naming: Naming | None = None,
) -> Stream:
    r"""Open data as a stream of batches.

    Parameters
    ----------
    source : path, list of paths, glob, folder, "-", table, or iterable of (X, y) or (X, y, weights)
        "-" is standard input. A folder means the files in it, in order of name, or in the folders in it, whose names
        can be columns: `dt=2024-01-01`. Files may be compressed with gzip, bzip2, xz or zstd. A table is anything with
        `__arrow_c_stream__`, such as tables of DuckDB, polars, pyarrow and pandas, a LazyFrame of polars, or a Ray
        Dataset. X is a sparse or dense matrix; a single (X, y) works too.
    format : {formats}
        "auto" recognises the format by content and file name.
    label : str, optional
        The label's column in a table (JSON lines, CSV, Parquet, Arrow); "label" by default.
    weight : str, optional
        The column of a table that has the weights of the rows.
    ignore : str or sequence of str, optional
        Columns of a table that are not features, such as a row number. Here, and wherever columns are named, "P*" is a
        pattern.
    key : str, optional
        The column of a table that identifies the rows. It is no feature; `write_predictions` and `write_selected` copy
        it to their tables. VW text has tags instead, which are read with `labelled=False`.
    roles : {"auto"}, optional
        "auto" decides by the first 10,000 rows of a table what the columns are that are not named in `text` and the
        like; the result is the stream's `roles`. By default columns without a role are not read, and without any role
        all columns must be numbers, which are features as they are.
    text, categorical, numeric : str or sequence of str, optional
        Columns of a table that are features, by what is in them. Text becomes n-grams, named `column^n-gram`, or just
        the n-gram if there is one text column; a category becomes `column=value`, a number `column`, and each number
        of a dictionary or list `column=key` or `column=0` …. Names are hashed to 62 bits, so there can be any number of
        them.
    scale : bool, default=True
        Whether numeric columns are scaled by the mean and the standard deviation of the first 10,000 rows, unless they
        are 0 and 1. Missing numbers stay out of a row; where more than one row in a hundred lacks one, such rows have
        the feature `column=missing`. It needs `numeric` or `roles`.
    crosses : sequence of (str, str) or of "a,b", optional
        Pairs of columns whose features are also features in pairs, such as `app=3 & channel=5`.
    ngrams : int, (int, int) or str, default=1
        The lengths of n-grams, such as 2, (1, 3) or "1-3".
    analyzer : {"word", "char"}
        What n-grams consist of: words (runs of letters, marks, numbers and underscores), or characters.
    counts : bool, default=False
        Whether a feature of text counts how often it occurs; else it is 1.
    lowercase : bool, optional
        Whether text is converted to lower case. By default words are, characters are not.
    hash : {"strings", "all"}
        Of VW text: whether names that are numbers are ids, or are hashed like all others. If numbers occur in more than
        one namespace in the first rows, they are hashed in any case.
    delimiter : str, optional
        The separator of a CSV; by default tab in a .tsv, else comma, semicolon or tab, whichever is most frequent in
        the header.
    decimal : str, default="."
        The decimal point in the numbers of a CSV, such as ",".
    columns : sequence of str, optional
        The names of the columns of a CSV without a header.
    null : sequence of str, optional
        What stands for a missing value in a CSV, besides the empty text; by default NA, NULL, \N, and others that
        pandas knows, such as nan and N/A.
    encoding : str, optional
        The encoding of text, CSV and JSON lines, such as "latin-1"; by default UTF-8, or UTF-16 if the file starts with
        its byte order mark.
    layer : str, optional
        The layer of an h5ad file to read instead of its X, such as "counts"; "raw" is the X of its raw part.
    on_bad_line : {"error", "skip"}
        What to do with a line of text, or a row of a table, that can't be read. Those skipped are listed in each
        batch's `skipped`.
    longest_line : int, default=2**28
        How many bytes a line of text, or a row of a CSV, can have, so that one that never ends does not take all of the
        memory; at least 2**22. A longer line is one that can't be read; a longer row of a CSV is always an error.
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
    naming : Naming, optional
        How another stream, or the data of a model, name and scale their features (`stream.naming`); it replaces `text`
        and the like. It is used where the data have such columns.

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
    values, defaults = locals(), {"format": "auto", **(open_stream.__kwdefaults__ or {})}
    given = {name: values[name] for name, default in defaults.items() if not _is_default(values[name], default)}
    if isinstance(source, Stream):
        for name in given:
            raise ValueError(
                f"{parameter(name)} can't be changed for a stream that is open: open its source with "
                f"{parameter(name, ...)}."
            )
        return source
    if on_bad_line not in ("error", "skip"):
        raise ValueError(f"{parameter('on_bad_line')} must be one of error, skip. Got {on_bad_line!r} instead.")
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise ValueError(
            f"{parameter('delimiter')} must be a single character, such as ',' or a tab. Got {delimiter!r} instead."
        )
    if len(decimal) != 1 or decimal.isalnum() or decimal.isspace() or decimal in '"+-':
        raise ValueError(f"{parameter('decimal')} must be a single character, such as ','. Got {decimal!r} instead.")
    check("threads", threads, Whole(1), OneOf((None,)))
    check("longest_line", longest_line, ALLOWED_LONGEST_LINE)
    check("roles", roles, OneOf(("auto", None)))
    id_base = None if zero_based is None else 0 if zero_based else 1
    labelled = labelled and not no_labels
    asked = Naming.of(
        text, categorical, numeric, ngrams=ngrams, analyzer=analyzer, counts=counts, lowercase=lowercase, hash=hash,
        label=label, weight=weight, key=key, crosses=crosses,
    )  # fmt: skip
    is_asked = bool(asked.columns) or hash != "strings"
    if asked.crosses and not (is_asked or roles or naming):
        raise ValueError(f"{parameter('crosses')} needs the roles of columns: use {parameter('roles', 'auto')}.")
    ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    known = naming and replace(naming, types=())
    of_columns = Roles(
        label, weight, ignored, labelled, no_labels, asked if is_asked or (roles and not known) else known,
        key=key, decide=roles == "auto", scale=bool(scale), known=known if known and known.columns else None,
    )  # fmt: skip
    features = {name for name, _ in asked.columns}
    clash = next((name for name in ignored if name in features), None)
    if clash is not None:
        raise ValueError(f"column {clash!r} can't be both ignored and a feature: give it one role.")
    skip_bad = on_bad_line == "skip"
    if is_table(source):
        allowed = FORMATS["arrow"].options | {"on_bad_line"}
        _refuse_options(given, f"the {type(source).__name__}", "a table", allowed)
        stream = stream_of_table(source, of_columns, id_base, skip_bad, threads or default_threads())
        return _refuse_without_text(given, stream)
    paths, batches = _paths_or_batches(source)
    if batches is not None:
        _refuse_options(given, f"the {type(source).__name__}", "batches of rows", frozenset())
        return stream_of(batches, labelled, id_base)
    sources = find(paths, format, other_encoding(encoding))
    formats = [FORMATS[name] for name in dict.fromkeys(item.format for item in sources)]
    if len(formats) > 1 and not all(each.is_mixable for each in formats):
        raise DataError(
            f"the files have different formats ({', '.join(sorted(each.name for each in formats))}): open them one "
            "format at a time."
        )
    allowed = formats[0].options | {"format", "on_bad_line"} | ({"encoding"} if formats[0].is_text else frozenset())
    _refuse_options(given, sources[0].name, f"{formats[0].name} data", allowed)
    options = Options(
        of_columns, skip_bad, delimiter, int(longest_line), decimal, tuple(columns),
        None if null is None else tuple(null), layer,
    )  # fmt: skip
    decided = None
    if (read_first := formats[0].first_rows) is not None:
        of_columns, decided = settle_roles(
            sources[0].name, of_columns, partial(_first_rows, read_first, sources, options)
        )
        options = replace(options, roles=of_columns)
    opened = _open_files(formats, sources, options)
    n_threads = threads or (default_threads() if any(each.is_parsed for each in formats) else 1)
    stream = Stream(
        sources[0].name if len(sources) == 1 else f"{sources[0].name} and {len(sources) - 1} more",
        FileRows(opened.readers, skip_bad, n_threads),
        feature_names=opened.feature_names,
        id_base=id_base,
        only_once=next((item.name for item in sources if item.flow is not None), None),
        naming=opened.naming,
        key=opened.key,
        roles=decided,
    )
    return _refuse_without_text(given, stream)


_NAMES = ", ".join(f'"{name}"' for name in ("auto", *FORMATS))
open_stream.__doc__ = (open_stream.__doc__ or "").replace("{formats}", f"{{{_NAMES}}}")


def _open_files(formats: list[Format], sources: list[Source], options: Options) -> OpenFiles:
    """Open files of one format, or of several that can be mixed."""
    if len(formats) == 1:
        return formats[0].open(sources, options)
    each = {kind.name: kind.open([item for item in sources if item.format == kind.name], options) for kind in formats}
    readers = {name: iter(opened.readers) for name, opened in each.items()}
    naming = next((opened.naming for opened in each.values() if opened.naming is not None), None)
    key = next((opened.key for opened in each.values() if opened.key is not None), None)
    return OpenFiles([next(readers[item.format]) for item in sources], naming=naming, key=key)


def _first_rows(read: Callable[[Source, Options, int], Any], sources: list[Source], options: Options, n: int) -> Any:
    """Return the first n rows of files, or fewer if they are all."""
    tables, n_rows = [], 0
    for source in sources:
        tables.append(read(source, options, n - n_rows))
        n_rows += len(tables[-1])
        if n_rows >= n:
            break
    return joined(tables)


def _is_default(value: Any, default: Any) -> bool:
    return len(value) == 0 if default == () else bool(value is default or value == default)


def _refuse_options(given: dict[str, Any], name: str, what: str, known: frozenset[str]) -> None:
    """Raise ValueError for an option that has no meaning for such data, or without an option that was not given."""
    for option, value in given.items():
        shown = parameter(option, size_text(value) if option == "longest_line" else value)
        if option not in known | _FOR_ALL:
            raise ValueError(f"{name}: {shown} has no meaning for {what}: leave it out.")


def _refuse_without_text(given: dict[str, Any], stream: Stream) -> Stream:
    """Return a stream; raise ValueError if an option says how text is read and no column is text."""
    for option in OF_TEXT & given.keys():
        if stream.naming is None or not stream.naming.text:
            shown = parameter(option, given[option])
            raise ValueError(f"{stream.name}: {shown} needs {parameter('text', ...)}, since it says how text is read.")
    return stream


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
