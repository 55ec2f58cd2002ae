"""The commands. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="thresher",
    help="Pick the B features that matter out of millions or billions, in one pass over sparse data.",
    epilog="Start with: thresher demo",
    add_completion=False,
    pretty_exceptions_enable=False,
)
data_app = typer.Typer(help="Public data sets: what there is, and fetching it.")
app.add_typer(data_app, name="data")

DATA_HELP = (
    "Files, folders or globs of svmlight, VW, CSV, Parquet, Arrow or .thc data; text in .gz, .bz2, .xz, .zst too; "
    "- is stdin, for svmlight and VW."
)
Data = Annotated[list[str], typer.Argument(metavar="DATA...", help=DATA_HELP, show_default=False)]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that thresher train wrote.")]
Format = Annotated[
    str, typer.Option("--format", help="svmlight, vw, csv, parquet, arrow, cache; auto looks for itself.")
]
Label = Annotated[str | None, typer.Option("--label", help="The label's column in a table.", show_default="label")]
OnBadLine = Annotated[str, typer.Option("--on-bad-line", help="error: stop at it. skip: pass over it, count, report.")]
ZeroBased = Annotated[
    bool | None,
    typer.Option("--zero-based/--one-based", help="How ids count.", show_default="from 0 if id 0 occurs, else from 1"),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Threads that parse.", show_default="one a core")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        import thresher

        typer.echo(f"thresher {thresher.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def thresher(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Pick the B features that matter out of millions or billions, in one pass over sparse data."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Rows to train on; a tenth as many again are held out.", min=100)] = 100_000,
    seed: Annotated[int, typer.Option(help="Seed of the data.", min=0)] = 0,
) -> None:
    """Generate data of which the truth is known, select features at several budgets, and show what was found.

    The data are the paper's X1: 200 informative columns of 20,000, and 400 columns of noise in every row.
    """
    from thresher.cli.demo import run

    run(rows, seed)


@app.command()
def train(
    context: typer.Context,
    data: Data,
    features: Annotated[
        int | None,
        typer.Option("-k", "--features", min=1, help="The budget: how many features to keep.", show_default="100"),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="shadow (the best features), or the paper's: sofs, pet, fofs; arow and ogd keep all features; "
            "mrmr, l1svm and fgm hold all rows in memory."
        ),
    ] = "shadow",
    gamma: Annotated[
        float | None,
        typer.Option(help="shadow, sofs, arow: larger is slower and steadier. Try 2^-5 … 2^5.", show_default="1"),
    ] = None,
    eta: Annotated[
        float | None,
        typer.Option(help="pet, fofs, ogd: the size of a step.", show_default="1; fofs: 0.2"),
    ] = None,
    lam: Annotated[
        float | None, typer.Option(help="fofs: how fast weights decay; times eta below 1.", show_default="0.01")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="pet, fofs: perceptron learns from mistakes, hinge from margins below 1.",
            show_default="pet: perceptron; fofs: hinge",
        ),
    ] = None,
    norm: Annotated[str, typer.Option(help="l2 scales each row to unit length; none leaves it as it is.")] = "l2",
    intercept: Annotated[bool, typer.Option("--intercept", help="Learn an intercept, outside the budget.")] = False,
    test: Annotated[
        str | None, typer.Option(help="Data to measure accuracy on at the end.", show_default=False)
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Where to write the model.", show_default=False)
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Write all state, so that learning can go on; else members only.")
    ] = False,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="MODEL", help="Go on learning from this model.", show_default=False)
    ] = None,
    passes: Annotated[int, typer.Option(min=1, help="How often to read the data.")] = 1,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Take the rows in random order.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffle.")] = 0,
    classes: Annotated[
        str | None, typer.Option(help="The classes, as A,B,C; any number.", show_default="the two that turn up")
    ] = None,
    multiclass: Annotated[
        bool, typer.Option("--multiclass", help="Look for the classes first, however many; reads the data once more.")
    ] = False,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = None,
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Select features and train a classifier on them, in one pass over the data.

    thresher train train.svm.gz -k 500 --test test.svm -o model.thresher
    """
    from thresher.cli.training import run
    from thresher.streams import open_stream

    if norm not in ("l2", "none"):
        raise ValueError(f"--norm must be l2 or none. Got {norm!r} instead.")
    if from_:
        _refuse_beside_from(context, "features", "method", "gamma", "eta", "lam", "loss", "norm", "intercept")
    run(
        lambda source: open_stream(
            source, format, label=label, on_bad_line=on_bad_line, zero_based=zero_based, threads=threads
        ),
        data,
        method,
        {"n_features_to_select": features, "gamma": gamma, "eta": eta, "lam": lam, "loss": loss},
        {"norm": None if norm == "none" else norm, "fit_intercept": intercept,
         "n_passes": passes, "shuffle": shuffle, "random_state": seed},
        test=test, output=output, full=full, start_from=from_, classes=classes, multiclass=multiclass, as_json=json,
    )  # fmt: skip


def _refuse_beside_from(context: typer.Context, *names: str) -> None:
    """Refuse parameters beside --from: the model keeps its own, and whoever asks for others should hear that."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "-k" if name == "features" else f"--{name}"
            raise ValueError(f"{option} can't be used with --from: the model keeps what it was trained with.")


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    output: Annotated[str, typer.Option("-o", "--output", help="Where to write; - is standard output.")] = "-",
    margins: Annotated[
        bool, typer.Option("--margins", help="Write the margin behind each label; of many classes, each one's score.")
    ] = False,
    accuracy: Annotated[bool, typer.Option("--accuracy", help="Print the accuracy instead of the labels.")] = False,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = None,
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
) -> None:
    """Predict the label of each row, one a line.

    thresher predict model.thresher test.svm > labels.txt
    """
    from thresher.cli.using import predict as run
    from thresher.streams import open_stream

    stream = open_stream(
        data, format, label=label, on_bad_line=on_bad_line, zero_based=zero_based, labelled=accuracy, threads=threads
    )
    run(model, stream, output, margins=margins, accuracy=accuracy)


@app.command()
def transform(
    model: ModelFile,
    data: Data,
    output: Annotated[
        str, typer.Option("-o", "--output", help="A .svm (text, maybe .gz …) or .thc (cache) file; - is text.")
    ],
    keep_ids: Annotated[bool, typer.Option("--keep-ids", help="Keep the ids; else 1 … B in column order.")] = False,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = None,
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
) -> None:
    """Write the data with only the selected features left.

    thresher transform model.thresher big.svm.gz -o small.svm
    """
    from thresher.cli.using import transform as run
    from thresher.streams import open_stream

    stream = open_stream(data, format, label=label, on_bad_line=on_bad_line, zero_based=zero_based, threads=threads)
    run(model, stream, output, keep_ids)


@app.command()
def show(
    model: ModelFile,
    features: Annotated[int, typer.Option("-n", "--features", min=0, help="How many features to list.")] = 20,
    json: Json = False,
) -> None:
    """Show what a model is and which features it selected, best first."""
    from thresher.cli.using import show as run

    run(model, features, json)


@app.command()
def convert(
    data: Data,
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="A .thc (binary cache) or .svm (text, maybe .gz …) file.")
    ],
    label: Label = None,
    format: Format = "auto",
    on_bad_line: OnBadLine = "error",
    threads: Threads = None,
) -> None:
    """Write data in another format: .thc is a binary cache, several times faster to train from than text.

    thresher convert train.svm train.thc
    """
    from thresher.cli.using import convert as run
    from thresher.streams import open_stream

    run(open_stream(data, format, label=label, on_bad_line=on_bad_line, threads=threads), output)


@app.command()
def synth(
    which: Annotated[str, typer.Argument(metavar="x1|x2", help="Which of the paper's data sets.")],
    output: Annotated[str, typer.Option("-o", "--output", help="A .svm or .thc file; - is standard output, as text.")],
    rows: Annotated[int | None, typer.Option(min=1, help="Rows.", show_default="110,000; x2: 1,000,000")] = None,
    start: Annotated[int, typer.Option(min=0, help="The number of the first row; for more rows of the same kind.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    permute: Annotated[bool, typer.Option("--permute", help="Put the informative columns at random ids.")] = False,
    dense_noise: Annotated[int, typer.Option(min=0, help="Columns of noise that are present in every row.")] = 0,
) -> None:
    """Write the paper's synthetic data; row i depends on the seed and i alone.

    thresher synth x2 -o - | thresher train - -k 500
    """
    from thresher.cli.using import synth as run

    run(which, output, rows=rows, start=start, seed=seed, permute=permute, dense_noise=dense_noise)


@data_app.callback(invoke_without_command=True)
def data(context: typer.Context) -> None:
    """Public data sets: what there is, and fetching it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@data_app.command("list")
def data_list() -> None:
    """List the data sets that datasets.load knows, and which of them are here."""
    from thresher.cli.using import list_data

    list_data()


@data_app.command("get")
def data_get(name: Annotated[str, typer.Argument(help="A name from thresher data list.")]) -> None:
    """Fetch a data set, unless it is here, and print its path."""
    from thresher.cli.using import get_data

    get_data(name)
