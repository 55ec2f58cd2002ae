"""`thresher convert`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.data_options import NAMING, READING, open_data
from thresher.cli.options import Data, with_options
from thresher.cli.output import report_skipped, report_written

EXAMPLES = ("thresher convert train.svm train.thc", "thresher convert 'part-*.csv' all.svm.gz --label y")


@with_options(READING, NAMING, without=("zero_based", "roles"))
def convert(
    data: Data,
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="A .thc (binary cache) or .svm (text; .gz … may follow) file.")
    ],
    *,
    reading: dict[str, Any],
) -> None:
    """Write data in another format.

    .thc is a binary cache, several times faster to train from than text.
    """
    from thresher.streams.writing import convert as run

    done = run(open_data(data, **reading), output, progress=True)
    report_skipped(done)
    report_written(done.n_rows, output)
