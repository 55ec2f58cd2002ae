"""`thresher convert`."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import Data, Delimiter, Format, Ignore, Label, OnBadLine, Threads, Weight, open_data

EXAMPLES = ("thresher convert train.svm train.thc", "thresher convert 'part-*.csv' all.svm.gz --label y")


def convert(
    data: Data,
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="A .thc (binary cache) or .svm (text; .gz … may follow) file.")
    ],
    label: Label = None,
    weight: Weight = None,
    ignore: Ignore = None,
    delimiter: Delimiter = None,
    format: Format = "auto",
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
) -> None:
    """Write data in another format.

    .thc is a binary cache, several times faster to train from than text.
    """
    from thresher.cli.console import report_skipped, report_written
    from thresher.streams.conversion import convert as run

    stream = open_data(
        data, format=format, label=label, weight=weight, ignore=ignore, delimiter=delimiter, on_bad_line=on_bad_line,
        threads=threads,
    )  # fmt: skip
    done = run(stream, output, progress=True)
    report_skipped(done.skipped, done.n_skipped)
    report_written(done.n_rows, output)
