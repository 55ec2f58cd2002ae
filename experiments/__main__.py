"""The paper's experiments: run them, and write the report."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated

import typer

from experiments import (
    config,
    decoys,
    gamma_auto,
    layers,
    memory,
    names,
    numbers,
    probabilities,
    scale,
    stability,
    store,
    tables,
    truncation,
    x2,
)
from experiments.config import HOME, Config
from experiments.data import MissingDataError
from experiments.figures import draw_all
from experiments.methods import METHODS, TABLE_2_METHODS
from experiments.protocol import DATA, SECONDS_PER_CELL, Experiment
from experiments.reporting.report import write_report
from experiments.store import Methods, Store, note_run, read_csv, write_csv, write_methods
from experiments.study import Study
from thresher.progress import steps_bar

app = typer.Typer(add_completion=False, help=__doc__, no_args_is_help=True)

STUDIES = (
    layers.STUDY, gamma_auto.STUDY, stability.STUDY, memory.STUDY, names.STUDY, probabilities.STUDY, decoys.STUDY,
    numbers.STUDY, scale.STUDY, tables.STUDY,
)  # fmt: skip

SMALLEST = store.CACHE / "smallest"
SMALLEST_SECONDS = 1.0  # of CPU time per cell: l1-SVM would take a minute even on a few rows

# The shortest first, so that the first tables are there early.
ORDER = (
    "relathe", "basehock", "pcmac", "relathe-raw", "basehock-raw", "pcmac-raw", "aut", "real-sim", "rcv1", "url",
    "dense", "news-last", "news-first", "news-random", "ccat", "x2", "x1-20k", "x1",
)  # fmt: skip

# On generated rows one set of each kind will do.
SMALLEST_ORDER = ("relathe", "relathe-raw", "news-last", "dense", "x1-20k", "x2")

Names = Annotated[list[str], typer.Argument(help=f"Data sets, or all: {', '.join(ORDER)}.")]
Smallest = Annotated[
    bool,
    typer.Option("--smallest", help=f"The whole path on a few generated rows; writes to {SMALLEST} only."),
]
Chosen = Annotated[
    str | None,
    typer.Option("--methods", help='Run these alone, separated by commas ("FGM,l1-SVM"); the results of others stay.'),
]
Add = Annotated[bool, typer.Option("--add", help="Run only what results/ does not have, such as more permutations.")]
Only = Annotated[list[str] | None, typer.Option("--only", help="Measure this table of results/ only; keep the rest.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="How many fits run at the same time; one per core.")]


@app.command()
def run(names: Names, methods: Chosen = None, add: Add = False, smallest: Smallest = False, jobs: Jobs = None) -> None:
    """Run experiments and write the report; what is finished is not run again."""
    _check(names, (*ORDER, "all"), "data sets")
    wanted = None if methods is None else [name.strip() for name in methods.split(",")]
    _check(wanted or (), METHODS, "--methods")
    folder, cache, seconds = _places(smallest)
    if smallest:
        shutil.rmtree(SMALLEST, ignore_errors=True)  # or a second run would have nothing to do
    every = SMALLEST_ORDER if smallest else ORDER
    for name in every if "all" in names else names:
        runs = TABLE_2_METHODS if name == "x2" else config.read(name).methods
        if wanted is not None and not set(wanted) & set(runs):
            typer.echo(f"{name}: it has {', '.join(runs)}; nothing to do.", err=True)
        elif name == "x2":
            run_x2(x2.SMALLEST if smallest else x2.Size(), folder / "results", cache, wanted)
        else:
            of = config.read(name).smallest() if smallest else config.read(name)
            run_set(of, folder / "results", jobs or len(os.sched_getaffinity(0)), cache, seconds, wanted, add)
    report(folder)


def _places(smallest: bool) -> tuple[Path, Path, float]:
    """Return the folder of results, the cache, and the seconds that a cell may take."""
    if smallest:
        return SMALLEST, SMALLEST / "cache", SMALLEST_SECONDS
    return HOME, store.CACHE, SECONDS_PER_CELL


def _check(names: Iterable[str], known: Collection[str], what: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"{what}: there is no {', '.join(unknown)}; there are {', '.join(known)}.")


@app.command()
def report(folder: Path = HOME) -> None:
    """Draw the figures and write REPORT.md from the results in a folder."""
    draw_all(folder)
    write_report(folder)
    typer.echo(f"{folder / 'REPORT.md'}")


def _add(study: Study) -> None:
    """Add the command that measures a study and writes its page."""

    @app.command(study.name, help=f"Measure {study.what}, and write {study.page.name}.")
    def measure(smallest: Smallest = False, only: Only = None) -> None:
        _check(only or (), study.tables, "--only")
        folder, _, _ = _places(smallest)
        page = study.run(folder, smallest, only or study.tables)
        draw_all(folder)
        typer.echo(f"{page}")


for each in STUDIES:
    _add(each)


def run_set(
    wanted: Config,
    results: Path,
    n_at_once: int,
    cache: Path = store.CACHE,
    seconds: float = SECONDS_PER_CELL,
    names: Collection[str] | None = None,
    add: bool = False,
) -> None:
    """Run all methods or some on a data set and write its tables; without the data, say where to get them."""
    methods = Methods.chosen(wanted.methods, names)
    wanted = dataclasses.replace(wanted, methods=methods.run)
    kept = Store.of(wanted, cache)
    choices, fits = results / f"{wanted.name}-parameters.csv", results / f"{wanted.name}.csv"
    if add:
        kept.recall("choice", read_csv(choices), methods.run)
        kept.recall("fit", read_csv(fits), methods.run)
    experiment = Experiment(wanted, kept, n_at_once, seconds)
    try:
        n_features = experiment.rows.n_features
    except MissingDataError as missing:
        typer.echo(str(missing), err=True)
        return
    with steps_bar(wanted.name, experiment.n_steps, True) as bar:
        experiment.run(bar)
    write_methods(choices, store.CHOICES, experiment.choices(), methods)
    write_methods(fits, store.FITS, experiment.fits(), methods)
    if not truncation.ADDED_TO.isdisjoint(methods.run):
        costs = truncation.truncations(wanted.name, n_features, experiment.row_size, wanted.budgets_of(n_features))
        write_csv(results / f"{wanted.name}-truncation.csv", truncation.TRUNCATIONS, costs)
    write_csv(results / f"{wanted.name}-data.csv", DATA, [experiment.data()])
    note_run(wanted.name, methods, results, add)
    typer.echo(f"{wanted.name}: done", err=True)


def run_x2(size: x2.Size, results: Path, cache: Path = store.CACHE, names: Collection[str] | None = None) -> None:
    """Run all methods or some on X2 and write its tables."""
    methods = Methods.chosen(TABLE_2_METHODS, names)
    kept = Store.named("x2", dataclasses.asdict(size), cache)
    with steps_bar("x2", len(methods.run), True) as bar:
        tried, measured = x2.run(size, kept, bar, methods.run)
    write_methods(results / "x2-tried.csv", x2.TRIED, tried, methods)
    write_methods(results / "x2.csv", x2.MEASURED, measured, methods)
    note_run("x2", methods, results)
    typer.echo("x2: done", err=True)


if __name__ == "__main__":
    try:
        app(prog_name="python -m experiments")
    except MissingDataError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
