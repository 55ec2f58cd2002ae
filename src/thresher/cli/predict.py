"""`thresher predict`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.data_options import KEY, NO_LABELS, READING, open_data
from thresher.cli.options import WHOLE, Data, ModelFile, with_options
from thresher.cli.output import report_skipped, report_written, say

EXAMPLES = (
    "thresher predict model.thresher test.svm > labels.txt",
    "thresher predict model.thresher test.svm --probabilities -o labels.csv",
    "thresher predict model.thresher test.svm --explain 5 -o labels.jsonl",
    "thresher predict model.thresher customers.csv --key id -o labels.csv",
)


@with_options(READING, KEY, NO_LABELS)
def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            help="Where to write: a .csv, .jsonl or .parquet table, else text, a row per line; - is standard output.",
        ),
    ] = "-",
    margins: Annotated[
        bool, typer.Option("--margins", help="Also write the margin; of more than two classes, the score of each.")
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="Also write the probability of each class, in the order of thresher show."
        ),
    ] = False,
    explain: Annotated[
        int | None,
        typer.Option(
            help="Also write the N features that add most to each row's score, and what they add; with -o.", **WHOLE
        ),
    ] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Predict the label of each row.

    Rows need no labels; where they have some, thresher evaluate says how many are predicted right. A table names its
    columns; those of text are named on stderr. The column of --key, or the tags of VW text, come first.
    """
    from thresher.evaluation.prediction import column_names, write_predictions
    from thresher.io.atomic import refuse_inputs
    from thresher.io.model_files import load_model
    from thresher.streams.writing import table_format

    refuse_inputs(output, [model])
    trained = load_model(model)
    stream = open_data(data, **reading, labelled=False, naming=trained.naming)
    done = write_predictions(
        trained, stream, output, margins=margins, probabilities=probabilities, explain=explain, progress=True
    )
    report_skipped(done)
    if (margins or probabilities or stream.key) and table_format(output) is None:
        say(f"the columns are {', '.join(column_names(trained, margins, probabilities, stream.key))}")
    if output != "-":
        report_written(done.n_rows, output)
