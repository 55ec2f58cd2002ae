"""`thresher transform`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.options import NO_LABELS, READING, Data, ModelFile, open_data, with_options

EXAMPLES = ("thresher transform model.thresher test.svm -o small.svm",)


@with_options(READING, NO_LABELS)
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
    *,
    reading: dict[str, Any],
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
    stream = open_data(data, **reading, labelled=False, naming=trained.naming)
    done = write_selected(trained, stream, output, keep_ids=keep_ids, progress=True)
    report_skipped(done.skipped, done.n_skipped)
    report_written(done.n_rows, output, f" with at most {counted(len(trained.members()[0]), 'feature')} each")
