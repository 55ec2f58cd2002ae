"""Public data sets: list and download them."""

from __future__ import annotations

from typing import Annotated

import typer

LIST_EXAMPLES = ("thresher data list",)
GET_EXAMPLES = ("thresher train $(thresher data get news20) -k 500",)


def list_() -> None:
    """List the data sets that datasets.load knows, and which of them are here."""
    from rich.console import Console
    from rich.table import Table

    from thresher.datasets import registry

    table = Table()
    for heading in ("name", "rows", "columns", "classes", "here", "what it is"):
        table.add_column(heading, justify="right" if heading in ("rows", "columns", "classes") else "left")
    for known in registry.KNOWN.values():
        here = "yes" if registry.find(known.name) else "can be downloaded" if known.url else "no"
        table.add_row(
            known.name, f"{known.n_rows:,}", f"{known.n_features:,}", str(known.n_classes), here, known.description
        )
    Console().print(table)


def get(name: Annotated[str, typer.Argument(help="A name from thresher data list.")]) -> None:
    """Download a data set, unless it is here, and print its path."""
    from thresher.datasets import registry

    print(registry.fetch(name, progress=True))
