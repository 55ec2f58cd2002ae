"""What commands that train share: the options of methods and passes, and the new model that they describe."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from thresher.cli.numbers import NUMBER, WHOLE
from thresher.cli.options import check_choice, flag, method_option
from thresher.cli.sizes import METAVAR, n_bytes
from thresher.methods import BUDGET, LEAST_BYTES, METHODS, MOST_BYTES, Method, find_for_cli
from thresher.parameters import Allowed, Parameter, Whole, check

METHOD = "The method"
PASSES = "Passes and classes"
DEFAULT = next(iter(METHODS.values()))

Features = Annotated[int | None, method_option("n_features_to_select", "-k", "--features", panel=METHOD, **WHOLE)]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help=", ".join(f"{each.cli} ({each.help})" for each in METHODS.values()) + ".",
        show_default=DEFAULT.cli,
        rich_help_panel=METHOD,
    ),
]
Gamma = Annotated[str | None, method_option("gamma", panel=METHOD, **NUMBER | {"metavar": "X|auto"})]
Eta = Annotated[float | None, method_option("eta", panel=METHOD, **NUMBER)]
Lam = Annotated[float | None, method_option("lam", panel=METHOD, **NUMBER)]
Loss = Annotated[str | None, method_option("loss", panel=METHOD)]
Norm = Annotated[str | None, method_option("norm", panel=METHOD)]
Intercept = Annotated[bool | None, method_option("fit_intercept", "--intercept/--no-intercept", panel=METHOD)]
Keep = Annotated[list[str] | None, method_option("keep", panel=METHOD, metavar="A,B,C", show_default="none")]
ClassWeight = Annotated[
    str | None,
    method_option("class_weight", panel=METHOD, metavar="A=1,B=20|balanced", show_default="all 1"),
]
Memory = Annotated[str | None, method_option("memory", panel=METHOD, metavar="auto|dense|hash|sketch")]
MemoryBytes = Annotated[
    str | None, method_option("memory_bytes", "--memory-bytes", panel=METHOD, metavar=METAVAR, show_default="64M")
]
Passes = Annotated[int | None, method_option("n_passes", panel=PASSES, **WHOLE)]
Shuffle = Annotated[
    bool | None,
    typer.Option(
        "--shuffle/--no-shuffle",
        help="Take the rows in random order, or in their order.",
        show_default="in their order; if that is grouped by label, train again in random order",
        rich_help_panel=PASSES,
    ),
]
Seed = Annotated[int | None, method_option("random_state", panel=PASSES, **WHOLE)]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        help="The classes, as A,B,C; any number.",
        show_default="the two that occur",
        rich_help_panel=PASSES,
    ),
]
Multiclass = Annotated[
    bool,
    typer.Option(
        "--multiclass",
        help="Look for the classes first, however many; reads the data once more.",
        rich_help_panel=PASSES,
    ),
]


def new_model(cli_name: str | None, given: dict[str, Any], keep: list[str] | None, **only_online: bool | None) -> Any:
    """Return a new model, or the estimator of a batch method, once its options are known to be good.

    `only_online` are options that batch methods do not have.
    """
    method = find_for_cli(cli_name or DEFAULT.cli)
    values = _checked(method, {"norm": "l2", **chosen_of(given)})
    if method.is_batch:
        for option, is_set in only_online.items():
            if is_set:
                raise ValueError(f"--{option} can't be used with --method {method.cli}: it sees all rows at once.")
        estimator = method.load_estimator()(**values, progress=True)
        if keep:
            estimator._keep_as_written(_features_to_keep(keep))
        return estimator
    from thresher.model.model import Model

    if keep and not method.has_budget:
        raise ValueError(f"--keep can't be used with --method {method.cli}: it keeps all features.")
    model = Model(method.name, **values)
    if keep:
        model.keep_as_written(_features_to_keep(keep))
    return model


def _features_to_keep(lists: list[str]) -> list[str]:
    names = [name.strip() for text in lists for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise ValueError(f"--keep must list features, each once, as A,B,C. Got {', '.join(map(repr, lists))} instead.")
    return names


def _class_weight(text: str | None) -> dict[str, float] | str | None:
    if text is None or text == "balanced":
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


def given_values(**given: Any) -> dict[str, Any]:
    """Return the values of a method's parameters by name, as the command line has them; None: not given."""
    memory = given["memory_bytes"]
    return {
        **given,
        "class_weight": _class_weight(given["class_weight"]),
        "memory_bytes": None if memory is None else n_bytes("--memory-bytes", memory, LEAST_BYTES, MOST_BYTES),
    }


def chosen_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values that were given."""
    return {name: value for name, value in given.items() if value is not None}


def _checked(method: Method, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a method's parameters; an error names the option."""
    check_choice("--norm", chosen["norm"], ("l2", "none"))
    values = {**chosen, "norm": None if chosen["norm"] == "none" else chosen["norm"]}
    known = method.parameters
    if method.is_batch and values.get("n_passes") == 1:
        del values["n_passes"]  # it reads the data once in any case
    for name, value in values.items():
        if name in known:
            check(f"{flag(name)} of --method {method.cli}", value, *typed(known[name]))
            continue
        if name == "n_features_to_select":
            reason = ": it keeps all features"
        elif method.is_batch and name == "n_passes":
            reason = ": it sees all rows at once"
        else:
            # A parameter without help, such as C of fgm, has no option.
            others = [flag(own) for own, each in method.own.items() if each.help and own not in BUDGET]
            reason = f": it has {', '.join(others)}" if others else ""
        raise ValueError(f"{flag(name)} can't be used with --method {method.cli}{reason}.")
    method.complete(values)
    return values


def typed(parameter: Parameter) -> tuple[Allowed, ...]:
    """Return what an option allows; where whole numbers are allowed, only these.

    The budget as a share of the columns, for one, needs their number, which is not known before the data are read.
    """
    return tuple(kind for kind in parameter.allowed if isinstance(kind, Whole)) or parameter.allowed


def class_names(text: str | None, multiclass: bool) -> list[Any] | None:
    """Return the classes of --classes, as numbers if all are."""
    if multiclass and text is not None:
        raise ValueError("--multiclass can't be used with --classes: the classes are known.")
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise ValueError(f"--classes must name two classes or more, as A,B. Got {text!r} instead.")
    from thresher.model.labels import number_in

    try:
        numbers = [number_in(name) for name in names if "_" not in name]
    except ValueError:
        return names
    return numbers if len(numbers) == len(names) and all(map(math.isfinite, numbers)) else names
