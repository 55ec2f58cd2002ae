"""The commands, put together. Each imports what it needs when it runs, so that `--help` answers at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand

from thresher.cli import convert, data, demo, evaluate, path, predict, show, synth, train, transform

app = typer.Typer(
    name="thresher",
    epilog="Start with: thresher demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
data_app = typer.Typer(rich_markup_mode="rich")
app.add_typer(data_app, name="data")


class _Command(TyperCommand):
    """A command whose help is for users.

    A default that is put in words is shown as [default: 60s]; typer would write (60s). An argument is shown by its name
    alone; typer would add its Python type, as <list[str]>.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for each in self.params:
            option: Any = each
            if isinstance(option.show_default, str):
                option.help = f"{option.help} [dim]\\[default: {option.show_default}][/dim]"
                option.show_default = False
            if isinstance(option, TyperArgument):
                option.display_type_rich = lambda ctx: None  # type: ignore[method-assign]  # older versions have none


def _add(to: typer.Typer, name: str, command: Callable[..., Any], examples: tuple[str, ...]) -> None:
    """Add a command; its help is its docstring and the examples."""
    lines = "\n".join(["Examples:" if len(examples) > 1 else "Example:", *(f"  {line}" for line in examples)])
    # A paragraph that starts with a backspace keeps its lines as they are.
    to.command(name, cls=_Command, help=f"{inspect.getdoc(command)}\n\n\b\n{lines}")(command)


_add(app, "demo", demo.demo, demo.EXAMPLES)
_add(app, "train", train.train, train.EXAMPLES)
_add(app, "path", path.path, path.EXAMPLES)
_add(app, "predict", predict.predict, predict.EXAMPLES)
_add(app, "evaluate", evaluate.evaluate, evaluate.EXAMPLES)
_add(app, "transform", transform.transform, transform.EXAMPLES)
_add(app, "show", show.show, show.EXAMPLES)
_add(app, "convert", convert.convert, convert.EXAMPLES)
_add(app, "synth", synth.synth, synth.EXAMPLES)
_add(data_app, "list", data.list_, data.LIST_EXAMPLES)
_add(data_app, "get", data.get, data.GET_EXAMPLES)


def _print_version(wanted: bool) -> None:
    if wanted:
        import thresher

        typer.echo(f"thresher {thresher.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _thresher(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Pick the B features that matter out of millions or billions, in one pass over sparse data."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@data_app.callback(invoke_without_command=True)
def _data(context: typer.Context) -> None:
    """Public data sets: list and download them."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
