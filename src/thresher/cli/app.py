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
