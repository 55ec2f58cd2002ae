"""Arguments and options that commands share, and the help that the table of methods gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.methods import METHODS

if TYPE_CHECKING:
    from thresher.streams import Stream

READING = "How to read the data"

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files, folders or globs of svmlight, VW, CSV, Parquet, Arrow or .thc data; text and CSV also as .gz, "
        ".bz2, .xz or .zst. - is standard input, for svmlight, VW and CSV.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that thresher train wrote.")]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="svmlight, vw, csv, parquet, arrow or cache; auto looks at content and name.",
        rich_help_panel=READING,
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="The label's column in a table.", show_default="label", rich_help_panel=READING),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="The column of a table with the rows' weights.", rich_help_panel=READING),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="COLUMN",
        help="A column of a table that is not a feature; can be repeated.",
        rich_help_panel=READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="What separates the values of a CSV, such as ';' or tab.",
        show_default="the one of comma, semicolon and tab that the header has most of",
        rich_help_panel=READING,
    ),
]
NoLabels = Annotated[
    bool,
    typer.Option(
        "--no-labels",
        help="Rows have no labels. Text whose first row starts with a feature, as in 3:0.5, is recognised without it.",
        rich_help_panel=READING,
    ),
]
OnBadLine = Annotated[
    str,
    typer.Option(
        "--on-bad-line",
        help="error stops at a line that can't be read; skip goes on, and reports how many were skipped.",
        rich_help_panel=READING,
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether ids count from 0 or from 1.",
        show_default="from 0 if id 0 occurs, else from 1; a model keeps its own",
        rich_help_panel=READING,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads that parse.", show_default="one per core", rich_help_panel=READING),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

# Options whose name is not that of their parameter.
_FLAGS = {
    "n_features_to_select": "-k",
    "fit_intercept": "--intercept",
    "n_passes": "--passes",
    "random_state": "--seed",
    "class_weight": "--class-weight",
    "memory_bytes": "--memory-bytes",
}


def flag(parameter: str) -> str:
    """Return the option of a parameter."""
    return _FLAGS.get(parameter, f"--{parameter}")


def method_option(parameter: str, *names: str, panel: str, **more: Any) -> Any:
    """Return the option of a parameter: its help names the methods that have it, and its default is theirs."""
    having = {method.cli: method.parameters[parameter] for method in METHODS.values() if parameter in method.parameters}
    lacking = [method.cli for method in METHODS.values() if method.cli not in having]
    text = next(each.help for each in having.values() if each.help)
    if len(lacking) > len(having):
        text = f"{', '.join(having)}: {text}."
    else:
        text = (f"{text[0].upper()}{text[1:]}." if text.split()[0].isalpha() else f"{text}.") + (
            f" Not for {', '.join(lacking)}." if lacking else ""
        )
    default = _defaults({name: each.default for name, each in having.items()})
    return typer.Option(*names, **{"help": text, "show_default": default, "rich_help_panel": panel, **more})


def _defaults(by_method: dict[str, object]) -> str:
    """Return "1", or "1; fofs: 0.2" where methods differ."""
    methods_of: dict[str, list[str]] = {}
    for method, value in by_method.items():
        methods_of.setdefault(_in_words(value), []).append(method)
    usual, *others = sorted(methods_of, key=lambda value: -len(methods_of[value]))
    is_usual = len(methods_of[usual]) > len(by_method) / 2
    first = usual if is_usual else f"{', '.join(methods_of[usual])}: {usual}"
    return "; ".join([first, *(f"{', '.join(methods_of[value])}: {value}" for value in others)])


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def open_data(
    source: str | Sequence[str],
    *,
    format: str,
    on_bad_line: str,
    delimiter: str | None = None,
    ignore: list[str] | None = None,
    **options: Any,
) -> Stream:
    """Open data as the options say; a value that is not allowed is reported under its option's name."""
    from thresher.streams import open_stream
    from thresher.streams.opening import ON_BAD_LINE
    from thresher.streams.sources import FORMATS

    check_choice("--format", format, ("auto", *FORMATS))
    check_choice("--on-bad-line", on_bad_line, ON_BAD_LINE)
    if delimiter is not None:
        delimiter = {"tab": "\t", r"\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise ValueError(f"--delimiter must be a single character, or tab. Got {delimiter!r} instead.")
    return open_stream(source, format, on_bad_line=on_bad_line, delimiter=delimiter, ignore=ignore or (), **options)


def check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """Raise ValueError if an option's value is none of its choices."""
    if value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(choices)}. Got {value!r} instead.")
