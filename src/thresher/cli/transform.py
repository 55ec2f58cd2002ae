"""`thresher transform`."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import (
    Data,
    Delimiter,
    Format,
    Ignore,
    Label,
    ModelFile,
    NoLabels,
    OnBadLine,
    Threads,
    Weight,
    ZeroBased,
    open_data,
)

EXAMPLES = ("thresher transform model.thresher test.svm -o small.svm",)


def transform(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", help="A .svm (text; .gz … may follow) or .thc (binary cache) file; - is text on stdout."
        ),
    ],
    keep_ids: Annotated[
        bool, typer.Option("--keep-ids", help="Keep the ids as they are; else they become 1 … B, in column order.")
    ] = False,
    label: Label = None,
    weight: Weight = None,
    ignore: Ignore = None,
    no_labels: NoLabels = False,
    delimiter: Delimiter = None,
    format: Format = "auto",
    zero_based: ZeroBased = None,
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
) -> None:
    """Write the data with only the selected features left.

    Rows without labels get the label 0.
    """
    from thresher.cli.console import report_skipped, report_written
    from thresher.io.atomic import refuse_inputs
    from thresher.io.model_files import load_model
    from thresher.messages import counted
    from thresher.prediction import write_selected

    refuse_inputs(output, [model])
    trained = load_model(model)
    stream = open_data(
        data, format=format, label=label, weight=weight, ignore=ignore, delimiter=delimiter, on_bad_line=on_bad_line,
        zero_based=zero_based, labelled=False, no_labels=no_labels, threads=threads,
    )  # fmt: skip
    done = write_selected(trained, stream, output, keep_ids=keep_ids, progress=True)
    report_skipped(done.skipped, done.n_skipped)
    report_written(done.n_rows, output, f" with at most {counted(len(trained.members()[0]), 'feature')} each")
