"""Arguments that commands share, how a command gets groups of options, and how numbers are written.

Text that is not a number stays text, so that the check of the value reports it: in one line with the option, what was
given, and what is allowed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, TypeVar, cast

import typer

from thresher.cli.option_rules import check_together
from thresher.file_formats import FILE_FORMATS, one_of

_UNITS = {"K": 10, "M": 20, "G": 30}
# Options whose value can be left out, and what stands for it: to the parser an option has a value always or never.
WITHOUT_VALUE = {"--ray": "local", "--decoys": "yes", "--multiclass": "yes"}

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help=f"Files, folders or globs of {one_of(each.words for each in FILE_FORMATS)} data; text and CSV also as "
        ".gz, .bz2, .xz or .zst, or as -, which is standard input.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model that thresher train wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="Which of two labels counts as found: in average precision and the curves, and by a threshold.",
        show_default="the second",
    ),
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a web page on the run to this file: how it learned, how good it is, and what it selected.",
    ),
]


def with_values(arguments: list[str]) -> list[str]:
    """Complete options whose value was left out.

    Only a number is a value of --decoys or --multiclass: the data may come next.
    """
    complete = []
    for argument, following in pairwise([*arguments, "-"]):
        complete.append(argument)
        if argument in WITHOUT_VALUE:
            is_value = not following.startswith("-")
            if argument in ("--decoys", "--multiclass"):
                is_value = isinstance(number_or_text(following), float)
            if not is_value:
                complete.append(WITHOUT_VALUE[argument])
    return complete


def whole_or_text(text: str) -> int | str:
    """Return a whole number, or what was given instead."""
    try:
        return int(text)
    except ValueError:
        return text


def number_or_text(text: str) -> float | str:
    """Return a number, or what was given instead."""
    try:
        return float(text)
    except ValueError:
        return text


def bytes_or_text(text: str) -> int | str:
    """Return a number of bytes, as 64M, or what was given instead."""
    power = _UNITS.get(text[-1:].upper())
    number = whole_or_text(text if power is None else text[:-1])
    return number << (power or 0) if isinstance(number, int) else text


# How an option is parsed and shown, for typer.
WHOLE: dict[str, Any] = {"parser": whole_or_text, "metavar": "N"}
NUMBER: dict[str, Any] = {"parser": number_or_text, "metavar": "X"}
SIZE: dict[str, Any] = {"parser": bytes_or_text, "metavar": "N|NK|NM|NG"}


def option(kind: Any, *names: str, panel: str, **how: Any) -> Any:
    """Return the annotation of an option that the help shows in a panel; the rest is as in `typer.Option`."""
    return Annotated[kind, typer.Option(*names, rich_help_panel=panel, **how)]


@dataclass(frozen=True)
class Group:
    """Options that a command gets as one dict, under the name `into`."""

    into: str
    options: Mapping[str, tuple[Any, Any]]  # by parameter: its annotation and default


Command = TypeVar("Command", bound=Callable[..., None])


def with_options(*groups: Group, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Add these options to a command, and check all of its options for combinations that are not allowed."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> Any:
            check_together(_by_flag(signature, given))
            taken: dict[str, dict[str, Any]] = {group.into: {} for group in groups}
            for group in groups:
                taken[group.into] |= {name: given.pop(name) for name in group.options if name not in without}
            return command(**given, **taken)

        own = inspect.signature(command, eval_str=True)
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for group in groups
            for name, (annotation, default) in group.options.items()
            if name not in without
        ]
        names = {group.into for group in groups}
        alone = [parameter for parameter in own.parameters.values() if parameter.name not in names]
        signature = own.replace(parameters=[*alone, *added])
        run.__signature__ = signature  # type: ignore[attr-defined]  # functions can have one
        run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
        return cast(Command, run)

    return decorate


def _by_flag(signature: inspect.Signature, given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of options by the flag that was written; None where an option was not given."""
    found: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        option = parameter.annotation.__metadata__[0]
        if isinstance(option, typer.models.OptionInfo):
            declared = (option.default, *(option.param_decls or ()), f"--{name.replace('_', '-')}")
            positive, *negative = next(each for each in declared if isinstance(each, str)).split("/")
            value = None if given[name] == [] or given[name] == parameter.default else given[name]
            found[negative[0] if value is False and negative else positive] = value
    return found
