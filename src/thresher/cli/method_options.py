"""The options of commands that train, from the table of methods, and the model that they describe."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.options import NUMBER, SIZE, WHOLE, Group, check_choice, n_bytes
from thresher.cli.words import DEFAULT, PARAMETERS, flag, method_called
from thresher.methods import LEAST_BYTES, METHODS, MOST_BYTES, Method
from thresher.parameters import Allowed, Between, OneOf, Parameter, Whole, check

if TYPE_CHECKING:
    from thresher.model.model import Model

_METHOD = "The method"
_PASSES, _OF_PASSES = "Passes and classes", ("n_passes", "random_state")


def new_model(chosen: Mapping[str, Any]) -> Model:
    """Return a new model, as the options describe it."""
    method = method_called(chosen["method"])
    values = values_of(method, chosen, f" of --method {method.cli}")
    keep = values.pop("keep", None)
    if method.is_batch:
        values["progress"] = True
    from thresher.model.model import Model

    model = Model(method.name, **values)
    if keep:
        model.keep_as_written(keep)
    return model


def values_of(method: Method, chosen: Mapping[str, Any], of_what: str = "") -> dict[str, Any]:
    """Return the parameters that were given; for one that can't be written, an error names the option."""
    known = method.parameters
    values = {
        name: _SPELLINGS[name].read(value) if name in _SPELLINGS else value
        for name, value in chosen.items()
        if name in known and value not in (None, [])
    }
    for name, value in values.items():
        check(f"{flag(name)}{of_what}", value, *_written(known[name]))
    return values


def learning_options(shuffle: bool | None, classes: str | None, multiclass: bool) -> dict[str, Any]:
    """Return how `train` and the like are to read the rows and to find the classes."""
    return {
        "shuffle": "auto" if shuffle is None else shuffle,
        "classes": None if classes is None else _class_names(classes),
        "multiclass": multiclass,
    }


def _written(parameter: Parameter) -> tuple[Allowed, ...]:
    """Return what an option can hold; where whole numbers are allowed, only these.

    The budget as a share of the columns, for one, needs their number, which is not known before the data are read.
    """
    return tuple(kind for kind in parameter.allowed if isinstance(kind, Whole)) or parameter.allowed


def _features_to_keep(lists: list[str]) -> list[str]:
    names = [name.strip() for text in lists for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise ValueError(f"--keep must list features, each once, as A,B,C. Got {', '.join(map(repr, lists))} instead.")
    return names


def _class_weight(text: str) -> dict[str, float] | str:
    if text == "balanced":
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, is_given, number = part.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not is_given or not name.strip() or name.strip() in weights or not 0 <= weight < math.inf:
            raise ValueError(f"--class-weight must be balanced, or give weights as A=1,B=20. Got {text!r} instead.")
        weights[name.strip()] = weight
    return weights


def _norm(text: str) -> str | None:
    check_choice("--norm", text, ("l2", "none"))
    return None if text == "none" else text


def _class_names(text: str) -> list[Any]:
    """Return the classes of --classes, as numbers if all are."""
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise ValueError(f"--classes must name two classes or more, as A,B. Got {text!r} instead.")
    from thresher.model.labels import number_in

    try:
        numbers = [number_in(name) for name in names if "_" not in name]
    except ValueError:
        return names
    return numbers if len(numbers) == len(names) and all(map(math.isfinite, numbers)) else names


@dataclass(frozen=True)
class _Spelling:
    """How the value of a parameter is written, where it is not written as it is."""

    read: Callable[[Any], Any]
    metavar: str
    default: str  # as it is shown
    kind: Any = str


_SPELLINGS = {
    "keep": _Spelling(_features_to_keep, "A,B,C", "none", list[str]),
    "norm": _Spelling(_norm, "l2|none", "l2"),
    "class_weight": _Spelling(_class_weight, "A=1,B=20|balanced", "all 1"),
    "memory_bytes": _Spelling(
        lambda text: n_bytes("--memory-bytes", text, LEAST_BYTES, MOST_BYTES), SIZE["metavar"], "64M"
    ),
}


def _option(name: str) -> tuple[Any, None]:
    """Return the option of a parameter: its help names the methods that have it, and its default is theirs."""
    having = {method.cli: method.parameters[name] for method in METHODS.values() if name in method.parameters}
    if name in _SPELLINGS:
        spelling = _SPELLINGS[name]
        kind, names, default = spelling.kind, [flag(name)], spelling.default
        written: dict[str, Any] = {"metavar": spelling.metavar}
    else:
        kind, names, written = _form(name, next(iter(having.values())))
        default = _defaults({method: each.default for method, each in having.items()})
    panel = _PASSES if name in _OF_PASSES else _METHOD
    return Annotated[
        kind | None, typer.Option(*names, help=_help(having), show_default=default, rich_help_panel=panel, **written)
    ], None


def _form(name: str, parameter: Parameter) -> tuple[Any, list[str], dict[str, Any]]:
    """Return the type of an option, its names, and how its values are parsed and shown."""
    allowed, names = _written(parameter), [flag(name)]
    words = [str(value) for each in allowed if isinstance(each, OneOf) for value in each.values]
    if isinstance(parameter.default, bool):
        return bool, [f"{flag(name)}/--no-{flag(name)[2:]}"], {}
    if name == "n_features_to_select":
        names.append("--features")
    if any(isinstance(each, Whole) for each in allowed):
        return str, names, WHOLE
    if any(isinstance(each, Between) for each in allowed):
        return str, names, NUMBER | {"metavar": "|".join([NUMBER["metavar"], *words])}
    return str, names, {"metavar": "|".join(words)}


def _help(having: Mapping[str, Parameter]) -> str:
    lacking = [method.cli for method in METHODS.values() if method.cli not in having]
    text = next(each.help for each in having.values() if each.help)
    if len(lacking) > len(having):
        return f"{', '.join(having)}: {text}."
    text = f"{text[0].upper()}{text[1:]}." if text.split()[0].isalpha() else f"{text}."
    return text + (f" Not for {', '.join(lacking)}." if lacking else "")


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


METHOD = Group("chosen", {
    "method": (
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help=", ".join(f"{each.cli} ({each.help})" for each in METHODS.values()) + ".",
                show_default=DEFAULT.cli,
                rich_help_panel=_METHOD,
            ),
        ],
        None,
    ),
    **{name: _option(name) for name in PARAMETERS},
})  # fmt: skip
LEARNING = Group("learning", {
    "shuffle": (
        Annotated[
            bool | None,
            typer.Option(
                "--shuffle/--no-shuffle",
                help="Take the rows in random order, or in their order.",
                show_default="in their order; if that is grouped by label, train again in random order",
                rich_help_panel=_PASSES,
            ),
        ],
        None,
    ),
    "classes": (
        Annotated[
            str | None,
            typer.Option(
                help="The classes, as A,B,C; any number.",
                show_default="the two that occur",
                rich_help_panel=_PASSES,
            ),
        ],
        None,
    ),
    "multiclass": (
        Annotated[
            bool,
            typer.Option(
                "--multiclass",
                help="Look for the classes first, however many; reads the data once more.",
                rich_help_panel=_PASSES,
            ),
        ],
        False,
    ),
})  # fmt: skip
