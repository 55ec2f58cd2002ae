"""`thresher synth`."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.output import report_written
from thresher.parameters import OneOf, check

EXAMPLES = (
    "thresher synth x1 -o train.svm --rows 20000",
    "thresher synth x2 -o - --rows 1000 | thresher train - -k 500",
)


def synth(
    which: Annotated[str, typer.Argument(metavar="x1|x2", help="Which of the paper's data sets.")],
    output: Annotated[str, typer.Option("-o", "--output", help="A .svm or .thc file; - is text on stdout.")],
    rows: Annotated[
        int | None, typer.Option(min=1, help="How many rows.", show_default="110,000; x2: 1,000,000")
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="The number of the first row; for more rows of the same kind.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data.")] = 0,
    permute: Annotated[bool, typer.Option("--permute", help="Put the informative columns at random ids.")] = False,
    dense_noise: Annotated[int, typer.Option(min=0, help="Columns of noise that are present in every row.")] = 0,
) -> None:
    """Write the paper's synthetic data; row i depends on the seed and i alone."""
    import inspect

    from thresher.datasets import make_x1, make_x2
    from thresher.streams.read_counts import ReadCounts
    from thresher.streams.writing import write_stream

    generators = {"x1": make_x1, "x2": make_x2}
    check("the data set", which, OneOf(tuple(generators)))
    shape = ("n_samples", "n_features", "n_informative", "n_noise")
    defaults = inspect.signature(generators[which]).parameters
    given = {name: defaults[name].default for name in shape} | ({} if rows is None else {"n_samples": rows})
    stream = make_x2(start=start, random_state=seed, permute=permute, dense_noise=dense_noise, **given)
    reading = ReadCounts()
    # Files of this kind count from 1.
    write_stream(reading.count_batches(stream, f"generating {which}", stream.batches(), True), output, shift=1)
    if output != "-":
        report_written(reading.n_rows, output)
