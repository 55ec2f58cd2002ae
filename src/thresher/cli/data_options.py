"""The options for reading data, and the stream that they describe."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from thresher.cli.options import SIZE, WHOLE, Group, option
from thresher.file_formats import FILE_FORMATS, one_of
from thresher.io.file_errors import refuse_empty_path
from thresher.parameters import OneOf, Whole, check

if TYPE_CHECKING:
    from thresher.model.names import Naming
    from thresher.streams import Stream

_COLUMNS = "COL[,COL…]"
_COMMAS = """; can be repeated. 'P*' is a pattern; a name with a comma is put in double quotes, as '"a,b",c'."""
_file = partial(option, panel="How to read the data")
_named = partial(option, panel="Features with names")

READING = Group("reading", {
    "label": (_file(str | None, help="The label's column in a table.", show_default="label"), None),
    "weight": (_file(str | None, help="The column of a table with the rows' weights."), None),
    "ignore": (
        _file(list[str] | None, metavar=_COLUMNS, help=f"Columns of a table that are not features{_COMMAS}"), None
    ),
    "delimiter": (
        _file(
            str | None, help="What separates the values of a CSV, such as ';' or tab.",
            show_default="the one of comma, semicolon and tab that the header has most of",
        ),
        None,
    ),
    "decimal": (
        _file(str, metavar="CHAR", help="The decimal point in the numbers of a CSV, such as a comma."), "."
    ),
    "columns": (
        _file(list[str] | None, metavar=_COLUMNS, help=f"Names for the columns of a CSV without a header{_COMMAS}"),
        None,
    ),
    "null": (
        _file(
            list[str] | None, metavar="TEXT[,TEXT…]",
            help="What stands for a missing value in a CSV, besides nothing at all.", show_default=r"NA,NULL,\N, nan …",
        ),
        None,
    ),
    "encoding": (
        _file(
            str | None, help="The encoding of text, such as latin-1.",
            show_default="UTF-8, or UTF-16 with a byte order mark",
        ),
        None,
    ),
    "layer": (_file(str | None, help="The layer of an h5ad file.", show_default="X"), None),
    "format": (
        _file(str, help=f"{one_of(each.name for each in FILE_FORMATS)}; auto looks at content and name."), "auto"
    ),
    "zero_based": (
        _file(
            bool | None, "--zero-based/--one-based", help="Whether ids count from 0 or from 1.",
            show_default="from 0 if id 0 occurs, else from 1; a model keeps its own",
        ),
        None,
    ),
    "on_bad_line": (
        _file(
            str, help="error stops at a line that can't be read; skip continues, and reports how many were skipped."
        ),
        "error",
    ),
    "longest_line": (
        _file(
            str | None, help="How long a line of text, or a row of a CSV, can be, in bytes.", show_default="256M",
            **SIZE,
        ),
        None,
    ),
    "threads": (_file(str | None, help="Threads that parse.", show_default="one per core", **WHOLE), None),
})  # fmt: skip
NAMING = Group("reading", {
    "roles": (
        _named(
            str, metavar="auto|given",
            help="auto decides by the first 10,000 rows of a table what the columns are that are not named in --text, "
            "--categorical, --numeric and --ignore, and prints it; with given they are not read, and without any role "
            "all columns must be numbers, which are taken as they are.",
        ),
        "auto",
    ),
    "text": (
        _named(list[str] | None, metavar=_COLUMNS, help=f"Columns of text, of which each n-gram is a feature{_COMMAS}"),
        None,
    ),
    "categorical": (
        _named(
            list[str] | None, metavar=_COLUMNS,
            help=f"Columns of which each value is a feature, column=value{_COMMAS}",
        ),
        None,
    ),
    "numeric": (
        _named(
            list[str] | None, metavar=_COLUMNS,
            help=f"Columns that are features, with their numbers as values{_COMMAS}",
        ),
        None,
    ),
    "scale": (
        _named(
            bool, "--scale/--no-scale",
            help="Scale numeric columns by the mean and the standard deviation of the first 10,000 rows.",
        ),
        True,
    ),
    "crosses": (
        _named(
            list[str] | None, "--cross", metavar="COL,COL",
            help="Two columns whose features are also features in pairs, such as 'app=3 & channel=5'; can be repeated.",
        ),
        None,
    ),
    "ngrams": (_named(str | None, metavar="N|N-M", help="The lengths of n-grams.", show_default="1"), None),
    "analyzer": (_named(str, help="word: n-grams of words; char: of characters, such as k-mers."), "word"),
    "counts": (
        _named(bool, "--counts", help="Count how often an n-gram occurs in a row; else its value is 1."), False
    ),
    "lowercase": (
        _named(
            bool | None, "--lowercase/--no-lowercase", help="Convert text to lower case.",
            show_default="words yes, characters no",
        ),
        None,
    ),
    "hash": (
        _named(str, help="Of VW text: strings leaves names that are numbers as ids, all hashes them too."), "strings"
    ),
})  # fmt: skip
KEY = Group("reading", {
    "key": (
        _file(str | None, help="The column of a table that identifies the rows; it is copied to the output."), None
    ),
})  # fmt: skip
NO_LABELS = Group("reading", {
    "no_labels": (
        _file(
            bool, "--no-labels",
            help="Rows have no labels. Text whose first row starts with a feature, as in 3:0.5, is recognised without "
            "it.",
        ),
        False,
    ),
})  # fmt: skip


def open_data(source: str | Sequence[str], **options: Any) -> Stream:
    """Open data as the options say."""
    from thresher.streams import open_stream

    given = {name: value for name, value in options.items() if value is not None}
    for name in {"ignore", "columns", "null", "text", "categorical", "numeric"} & given.keys():
        given[name] = _columns(given[name])
    if "crosses" in given:
        given["crosses"] = [_columns([text]) for text in given["crosses"]]
    if "roles" in given:
        check("--roles", given["roles"], OneOf(("auto", "given")))
        given["roles"] = given["roles"] if given["roles"] == "auto" else None
    if "threads" in given:
        check("--threads", given["threads"], Whole(1))
    if given.get("delimiter") in ("tab", r"\t"):
        given["delimiter"] = "\t"
    return open_stream(source, **given)


def open_data_and_test(
    data: Sequence[str], test: str | None, outputs: Sequence[str | None], **options: Any
) -> tuple[Stream, Stream | None]:
    """Open the data and those of --test; raise an error if one of them is also an output."""
    from thresher.io.atomic import refuse_inputs

    if test is not None:
        refuse_empty_path("--test", test)
    stream = open_data(data, **options)
    held_out = None if test is None else open_data(test, **like(stream.naming, options))
    for output in outputs:
        if output is not None:
            refuse_inputs(output, [*stream.files, *(held_out.files if held_out else [])])
    return stream, held_out


def like(naming: Naming | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return options for data whose columns are known: nothing is decided again."""
    known = {name for name in NAMING.options if name != "hash"} if naming is not None and naming.columns else {"roles"}
    return {**{name: value for name, value in options.items() if name not in known}, "naming": naming}


def _columns(lists: list[str]) -> list[str]:
    """Return the names that options list, written as in the header of a CSV, where one can be empty."""
    try:
        return [name for text in lists for name in next(csv.reader([text]), None) or [""]]
    except csv.Error as error:
        raise ValueError(f"columns are listed as in the header of a CSV ({error}). Got {lists!r} instead.") from None
