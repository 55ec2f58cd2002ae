"""The options of commands that train, from the table of methods, and the model that they describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thresher.cli.flags import DEFAULT, PARAMETERS, TARGETS, flag, flags_of, method_by_flag
from thresher.cli.options import (
    NUMBER,
    SIZE,
    WHOLE,
    WITHOUT_VALUE,
    Group,
    bytes_or_text,
    number_or_text,
    option,
    whole_or_text,
)
from thresher.cli.output import say
from thresher.messages import value_text
from thresher.methods import CLASSIFIERS, METHODS, Method
from thresher.parameters import Allowed, Between, OneOf, Parameter, Whole, check

if TYPE_CHECKING:
    from thresher.model.model import Model
    from thresher.streams import Stream

_NONE = "none"  # how None is written
_METHOD = "The method"
_PASSES, _OF_PASSES = "Passes and classes", ("n_passes", "refit", "random_state")


def new_model(chosen: Mapping[str, Any]) -> Model:
    """Return a new model, as the options describe it."""
    method = method_by_flag(chosen["method"], chosen["target"])
    values = values_of(method, chosen, f" of {flags_of(method)}")
    keep = values.pop("keep", None)
    if method.is_batch:
        values["progress"] = True
    from thresher.model.model import Model

    model = Model(method.name, **values)
    if keep:
        model.keep_as_written(keep)
    return model


def model_for(stream: Stream, model: Model, chosen: Mapping[str, Any], learning: Mapping[str, Any]) -> Model:
    """Return a new model, or one of numbers in its place where the labels are such and no option says otherwise."""
    asked = [chosen["target"], chosen["method"], chosen["class_weight"], learning["classes"], learning["multiclass"]]
    if any(each is not None for each in asked) or not stream.can_be_read_again:
        return model
    from thresher.model.targets import look_like_numbers

    first = next(iter(stream.batches()), None)
    if first is None or not look_like_numbers(first.labels):
        return model
    say("the labels are numbers with fractions, so numbers are predicted; --target class takes them as classes.")
    return new_model({**chosen, "target": "number"})


def values_of(method: Method, chosen: Mapping[str, Any], of_what: str = "") -> dict[str, Any]:
    """Return the parameters that were given; raise an error that names the option for a value that is not allowed."""
    values = {}
    for name, value in chosen.items():
        if name in method.parameters and value not in (None, []):
            given = _SPELLINGS[name].read(value) if name in _SPELLINGS else value
            check(f"{flag(name)}{of_what}", given, *_option_values(method.parameters[name]))
            values[name] = None if given == _NONE else given
    return values


def learning_options(shuffle: bool | None, classes: str | None, multiclass: str | None) -> dict[str, Any]:
    """Return the arguments of `train` for the order of rows and the classes."""
    return {
        "shuffle": "auto" if shuffle is None else shuffle,
        "classes": None if classes is None else _class_names(classes),
        "multiclass": _most_classes(multiclass),
    }


def _option_values(parameter: Parameter) -> tuple[Allowed, ...]:
    """Return the values that an option allows: words for None, and no fractions where whole numbers are allowed.

    For example, the budget as a share of the columns needs their number, which is not known before the data are read.
    """
    whole = any(isinstance(kind, Whole) for kind in parameter.allowed)
    kinds = (kind for kind in parameter.allowed if kind != OneOf((None,)))  # by leaving the option out
    return tuple(
        OneOf(tuple(_NONE if value is None else value for value in kind.values)) if isinstance(kind, OneOf) else kind
        for kind in kinds
        if isinstance(kind, Whole | OneOf) or not whole
    )


def _features_to_keep(lists: list[str]) -> list[str]:
    return [name.strip() for text in lists for name in text.split(",")]


def _decoys(text: str) -> bool | float | str:
    return True if text == WITHOUT_VALUE["--decoys"] else number_or_text(text)


def _most_classes(text: str | None) -> bool | int:
    if text is None or text == WITHOUT_VALUE["--multiclass"]:
        return text is not None
    check("--multiclass", whole_or_text(text), Whole(2))
    return int(text)


def _class_weight(text: str) -> dict[str, float] | str:
    if text == "balanced":
        return text
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        weights = {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        weights = {}
    if len(weights) < len(pairs) or "" in weights:
        raise ValueError(f"--class-weight must be balanced, or give weights as A=1,B=20. Got {text!r} instead.")
    return weights


def _class_names(text: str) -> list[Any]:
    """Return the classes of --classes, as numbers if all are."""
    from thresher.model.labels import number_from_text

    names = [name.strip() for name in text.split(",")]
    try:
        return names if "_" in text else [number_from_text(name) for name in names]
    except ValueError:
        return names


@dataclass(frozen=True)
class _Spelling:
    """How the value of a parameter is written, if differently from Python."""

    read: Callable[[Any], Any]
    metavar: str
    default: str  # as it is shown
    kind: Any = str


_SPELLINGS = {
    "memory_bytes": _Spelling(bytes_or_text, SIZE["metavar"], "64M"),
    "keep": _Spelling(_features_to_keep, "A,B,C", "none", list[str]),
    "decoys": _Spelling(_decoys, "[SHARE]", "none"),
    "class_weight": _Spelling(_class_weight, "A=1,B=20|balanced", "all 1"),
}


def _option(name: str) -> tuple[Any, None]:
    """Return the option of a parameter: its help names the methods that have it, and its default is theirs."""
    having = {_in_help(method): method.parameters[name] for method in METHODS.values() if name in method.parameters}
    if name in _SPELLINGS:
        spelling = _SPELLINGS[name]
        kind, names, default = spelling.kind, [flag(name)], spelling.default
        written: dict[str, Any] = {"metavar": spelling.metavar}
    else:
        kind, names, written = _option_form(name, list(having.values()))
        default = _defaults({method: each.default for method, each in having.items()})
    panel = _PASSES if name in _OF_PASSES else _METHOD
    return option(kind | None, *names, panel=panel, help=_help(having), show_default=default, **written), None


def _in_help(method: Method) -> str:
    return method.cli if method.predicts == "classes" else "numbers"


def _option_form(name: str, parameters: list[Parameter]) -> tuple[Any, list[str], dict[str, Any]]:
    """Return the type of an option, its names, and how its values are parsed and shown."""
    allowed, names = [each for parameter in parameters for each in _option_values(parameter)], [flag(name)]
    words = list(dict.fromkeys(str(value) for each in allowed if isinstance(each, OneOf) for value in each.values))
    if str(True) in words:
        return bool, [f"{flag(name)}/--no-{flag(name)[2:]}"], {}
    if name == "n_features_to_select":
        names.append("--features")
    if any(isinstance(each, Whole) for each in allowed):
        return str, names, WHOLE | {"metavar": "|".join([WHOLE["metavar"], *words])}
    if any(isinstance(each, Between) for each in allowed):
        return str, names, NUMBER | {"metavar": "|".join([NUMBER["metavar"], *words])}
    return str, names, {"metavar": "|".join(words)}


def _help(having: Mapping[str, Parameter]) -> str:
    lacking = [each for each in map(_in_help, METHODS.values()) if each not in having]
    text = next(each.help for each in having.values() if each.help)
    if len(lacking) > len(having):
        return f"{', '.join(having)}: {text}."
    text = f"{text[0].upper()}{text[1:]}." if text.split()[0].isalpha() else f"{text}."
    return text + (f" Not for {', '.join(lacking)}." if lacking else "")


def _defaults(by_method: dict[str, object]) -> str:
    """Return "1", or "1; fofs: 0.2" where methods differ."""
    methods_of: dict[str, list[str]] = {}
    for method, value in by_method.items():
        methods_of.setdefault(value_text(value), []).append(method)
    usual, *others = sorted(methods_of, key=lambda value: -len(methods_of[value]))
    is_usual = len(methods_of[usual]) > len(by_method) / 2
    first = usual if is_usual else f"{', '.join(methods_of[usual])}: {usual}"
    return "; ".join([first, *(f"{', '.join(methods_of[value])}: {value}" for value in others)])


METHOD = Group("chosen", {
    "target": (
        option(
            str | None, panel=_METHOD, metavar="|".join(TARGETS), help="What is predicted: a class, or a number.",
            show_default="number if the label's column of a table has fractions, else class",
        ),
        None,
    ),
    "method": (
        option(
            str | None, panel=_METHOD, metavar="NAME", show_default=DEFAULT.cli,
            help=", ".join(f"{each.cli} ({each.help})" for each in CLASSIFIERS) + ".",
        ),
        None,
    ),
    **{name: _option(name) for name in PARAMETERS},
})  # fmt: skip
LEARNING = Group("learning", {
    "shuffle": (
        option(
            bool | None, "--shuffle/--no-shuffle", panel=_PASSES,
            help="Take the rows in random order, or in their order.",
            show_default="in their order; if that is grouped by label, train again in random order",
        ),
        None,
    ),
    "classes": (
        option(
            str | None, panel=_PASSES, help="The classes, as A,B,C; any number.", show_default="the two that occur"
        ),
        None,
    ),
    "multiclass": (
        option(
            str | None, "--multiclass", panel=_PASSES, metavar="[N]",
            help="Find all classes first, up to 1,000 or N; reads the data once more.", show_default="two classes",
        ),
        None,
    ),
})  # fmt: skip
