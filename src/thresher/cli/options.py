"""Arguments and options that commands share, and the help that the table of methods gives."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, cast

import typer

from thresher.cli.sizes import METAVAR, n_bytes
from thresher.methods import METHODS

if TYPE_CHECKING:
    from thresher.streams import Stream

ON_THIS_MACHINE = "local"  # what --ray means without an address
_READING = "How to read the data"
_NAMES = "Features with names"
_COLUMNS = "COL[,COL…]"
_COMMAS = """; can be repeated. A name with a comma is put in double quotes, as '"a,b",c'."""

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files, folders or globs of svmlight, VW, JSON lines, CSV, Parquet, Arrow or .thc data; text and CSV also "
        "as .gz, .bz2, .xz or .zst. - is standard input, for svmlight, VW, JSON lines and CSV.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that thresher train wrote.")]
_Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="svmlight, vw, jsonl, csv, parquet, arrow or cache; auto looks at content and name.",
        rich_help_panel=_READING,
    ),
]
_Label = Annotated[
    str | None,
    typer.Option("--label", help="The label's column in a table.", show_default="label", rich_help_panel=_READING),
]
_Weight = Annotated[
    str | None,
    typer.Option("--weight", help="The column of a table with the rows' weights.", rich_help_panel=_READING),
]
_Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar=_COLUMNS,
        help=f"Columns of a table that are not features{_COMMAS}",
        rich_help_panel=_READING,
    ),
]
_Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar=_COLUMNS,
        help=f"Columns of text, of which each n-gram is a feature{_COMMAS} With --text, --categorical or --numeric, "
        "columns without a role are not read.",
        rich_help_panel=_NAMES,
    ),
]
_Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar=_COLUMNS,
        help=f"Columns of which each value is a feature, column=value{_COMMAS}",
        rich_help_panel=_NAMES,
    ),
]
_Numeric = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric",
        metavar=_COLUMNS,
        help=f"Columns that are features, with their numbers as values{_COMMAS}",
        rich_help_panel=_NAMES,
    ),
]
_Ngrams = Annotated[
    str | None,
    typer.Option("--ngrams", metavar="N|N-M", help="The lengths of n-grams.", show_default="1", rich_help_panel=_NAMES),
]
_Analyzer = Annotated[
    str,
    typer.Option(
        "--analyzer",
        help="word: n-grams of words; char: of characters, such as k-mers.",
        rich_help_panel=_NAMES,
    ),
]
_Counts = Annotated[
    bool,
    typer.Option(
        "--counts", help="Count how often an n-gram occurs in a row; else its value is 1.", rich_help_panel=_NAMES
    ),
]
_Lowercase = Annotated[
    bool | None,
    typer.Option(
        "--lowercase/--no-lowercase",
        help="Convert text to lower case.",
        show_default="words yes, characters no",
        rich_help_panel=_NAMES,
    ),
]
_Hash = Annotated[
    str,
    typer.Option(
        "--hash",
        help="Of VW text: strings leaves names that are numbers as ids, all hashes them too.",
        rich_help_panel=_NAMES,
    ),
]
_Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="What separates the values of a CSV, such as ';' or tab.",
        show_default="the one of comma, semicolon and tab that the header has most of",
        rich_help_panel=_READING,
    ),
]
_NoLabels = Annotated[
    bool,
    typer.Option(
        "--no-labels",
        help="Rows have no labels. Text whose first row starts with a feature, as in 3:0.5, is recognised without it.",
        rich_help_panel=_READING,
    ),
]
_OnBadLine = Annotated[
    str,
    typer.Option(
        "--on-bad-line",
        help="error stops at a line that can't be read; skip continues, and reports how many were skipped.",
        rich_help_panel=_READING,
    ),
]
_LongestLine = Annotated[
    str | None,
    typer.Option(
        "--longest-line",
        metavar=METAVAR,
        help="How long a line of text, or a row of a CSV, can be, in bytes.",
        show_default="256M",
        rich_help_panel=_READING,
    ),
]
_ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether ids count from 0 or from 1.",
        show_default="from 0 if id 0 occurs, else from 1; a model keeps its own",
        rich_help_panel=_READING,
    ),
]
_Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads that parse.", show_default="one per core", rich_help_panel=_READING),
]
# How data are read, for `with_options`: annotation and default of each option.
Options: TypeAlias = dict[str, tuple[Any, Any]]
READING: Options = {
    "label": (_Label, None), "weight": (_Weight, None), "ignore": (_Ignore, None), "delimiter": (_Delimiter, None),
    "format": (_Format, "auto"), "zero_based": (_ZeroBased, None), "on_bad_line": (_OnBadLine, "error"),
    "longest_line": (_LongestLine, None), "threads": (_Threads, None),
}  # fmt: skip
NAMING: Options = {
    "text": (_Text, None), "categorical": (_Categorical, None), "numeric": (_Numeric, None), "ngrams": (_Ngrams, None),
    "analyzer": (_Analyzer, "word"), "counts": (_Counts, False), "lowercase": (_Lowercase, None),
    "hash": (_Hash, "strings"),
}  # fmt: skip
NO_LABELS: Options = {"no_labels": (_NoLabels, False)}
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


Command = TypeVar("Command", bound=Callable[..., None])


def flag(parameter: str) -> str:
    """Return the option of a parameter."""
    return _FLAGS.get(parameter, f"--{parameter}")


def with_options(*groups: Options, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a command these options; it gets what was chosen as one dict, `reading`, for `open_data`."""
    options = {name: option for group in groups for name, option in group.items() if name not in without}

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_reading(**given: Any) -> Any:
            return command(reading={name: given.pop(name) for name in options}, **given)

        own = inspect.signature(command, eval_str=True)
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
        kept = [parameter for parameter in own.parameters.values() if parameter.name != "reading"]
        signature = own.replace(parameters=[*kept, *added])
        with_reading.__signature__ = signature  # type: ignore[attr-defined]  # functions can have one
        with_reading.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
        return cast(Command, with_reading)

    return decorate


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
    longest_line: str | None = None,
    ignore: list[str] | None = None,
    text: list[str] | None = None,
    categorical: list[str] | None = None,
    numeric: list[str] | None = None,
    ngrams: str | None = None,
    analyzer: str = "word",
    hash: str = "strings",
    **options: Any,
) -> Stream:
    """Open data as the options say; a value that is not allowed is reported under its option's name."""
    from thresher.model.names import ANALYZERS, HASHES, checked_ngrams
    from thresher.streams import limits, open_stream
    from thresher.streams.opening import ON_BAD_LINE
    from thresher.streams.sources import FORMATS

    check_choice("--format", format, ("auto", *FORMATS))
    check_choice("--on-bad-line", on_bad_line, ON_BAD_LINE)
    check_choice("--analyzer", analyzer, ANALYZERS)
    check_choice("--hash", hash, HASHES)
    if ngrams is not None:
        try:
            checked_ngrams(ngrams)
        except ValueError:
            raise ValueError(
                f"--ngrams must be a length or a range from 1 to 1,000, as 2 or 1-3. Got {ngrams!r} instead."
            ) from None
    if not text:
        for option, is_given in (
            ("--ngrams", ngrams),
            ("--analyzer", analyzer != "word"),
            ("--counts", options.get("counts")),
            ("--lowercase", options.get("lowercase") is not None),
        ):
            if is_given:
                raise ValueError(f"{option} needs --text COLUMN: it says how text is read.")
    if delimiter is not None:
        delimiter = {"tab": "\t", r"\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise ValueError(f"--delimiter must be a single character, or tab. Got {delimiter!r} instead.")
    if longest_line is not None:
        least, most = limits.LEAST_LONGEST_LINE, limits.MOST_LONGEST_LINE
        options["longest_line"] = n_bytes("--longest-line", longest_line, least, most)
    return open_stream(
        source, format, on_bad_line=on_bad_line, delimiter=delimiter, ignore=_columns(ignore), text=_columns(text),
        categorical=_columns(categorical), numeric=_columns(numeric), ngrams=ngrams or 1, analyzer=analyzer, hash=hash,
        **options,
    )  # fmt: skip


def _columns(lists: list[str] | None) -> list[str]:
    """Return the names that options list, written as in the header of a CSV, where one can be empty."""
    try:
        return [name for text in lists or () for name in next(csv.reader([text]), None) or [""]]
    except csv.Error as error:
        raise ValueError(f"columns are listed as in the header of a CSV ({error}). Got {lists!r} instead.") from None


def check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """Raise ValueError if an option's value is none of its choices."""
    if value not in choices:
        raise ValueError(f"{option} must be one of {', '.join(choices)}. Got {value!r} instead.")


def with_address(arguments: list[str]) -> list[str]:
    """Complete --ray that has no address: to the parser every option has a value or none ever has."""
    complete = []
    for at, argument in enumerate(arguments):
        complete.append(argument)
        if argument == "--ray" and (at + 1 == len(arguments) or arguments[at + 1].startswith("-")):
            complete.append(ON_THIS_MACHINE)
    return complete
