"""Arguments that commands share, and how a command gets groups of options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

import typer

from thresher.cli.rules import check_together

ON_THIS_MACHINE = "local"  # what --ray means without an address

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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@dataclass(frozen=True)
class Group:
    """Options that a command gets as one dict, under the name `into`."""

    into: str
    options: Mapping[str, tuple[Any, Any]]  # by parameter: its annotation and default


Command = TypeVar("Command", bound=Callable[..., None])


def with_options(*groups: Group, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a command these options, and check all of its options for what can't go together."""

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
