"""`thresher transform`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.data_options import KEY, NO_LABELS, READING, open_data
from thresher.cli.options import Data, ModelFile, with_options
from thresher.cli.output import report_skipped, report_written

EXAMPLES = (
    "thresher transform model.thresher test.svm -o small.svm --map columns.csv",
    "thresher transform model.thresher test.svm -o small.parquet --safe-names --map columns.csv",
)


@with_options(READING, KEY, NO_LABELS)
def transform(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            help="A .svm (text; .gz … may follow), .csv, .parquet or .thc (binary cache) file; - is text on stdout.",
        ),
    ],
    keep_ids: Annotated[
        bool, typer.Option("--keep-ids", help="Keep the ids as they are; else they become 1 … B, in column order.")
    ] = False,
    safe_names: Annotated[
        bool,
        typer.Option(
            "--safe-names", help="In a table, name columns with ASCII letters, digits and _ only, as LightGBM wants."
        ),
    ] = False,
    column_map: Annotated[
        str | None,
        typer.Option("--map", metavar="CSV", help="Also write which feature each column is, with its weight."),
    ] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Write the data with only the selected features left.

    In a .svm or .thc file rows without labels get the label 0. A .csv or .parquet table has the columns label, weight
    if rows have weights, and one for each selected feature, with its name or else its id; before them that of --key, or
    the tags of VW text.
    """
    from thresher.evaluation.transform import write_selected
    from thresher.io.atomic import refuse_inputs
    from thresher.io.model_files import load_model
    from thresher.messages import count_noun

    for file in (output, column_map):
        if file is not None:
            refuse_inputs(file, [model])
    trained = load_model(model)
    stream = open_data(data, **reading, labelled=False, naming=trained.naming)
    done = write_selected(
        trained, stream, output, keep_ids=keep_ids, safe_names=safe_names, column_map=column_map, progress=True
    )
    report_skipped(done)
    report_written(done.n_rows, output, f" with at most {count_noun(len(trained.members()[0]), 'feature')} each")
