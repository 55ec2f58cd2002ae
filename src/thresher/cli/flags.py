"""Names of methods and their parameters on the command line, also in messages of the library.

The library says `use {parameter('shuffle', True)}`. Here that becomes `use --shuffle`.
"""

from __future__ import annotations

from functools import cache
from inspect import signature

from thresher.messages import as_keyword, as_literal
from thresher.methods import METHODS, SHARED_ONLINE, Method
from thresher.parameters import OneOf, check

DEFAULT = next(iter(METHODS.values()))
TARGETS = {"class": "classes", "number": "numbers"}  # the values of --target, and what methods predict

# The parameters that are options: those that have help in the table of methods.
PARAMETERS = tuple(
    {
        name: None
        for parameters in (*(method.own for method in METHODS.values()), SHARED_ONLINE)
        for name, parameter in parameters.items()
        if parameter.help
    }
)

# Options whose name differs from that of their parameter.
_FLAGS = {
    "n_features_to_select": "-k",
    "fit_intercept": "--intercept",
    "n_passes": "--passes",
    "random_state": "--seed",
}
# Other arguments whose name differs from that of their option, a function that is one, and arguments that are an option
# only with one value.
_OPTIONS = {
    "passes": "--passes",
    "n_shards": "--shards",
    "validate": "--test",
    "target": "--threshold",
    "set_threshold": "--threshold",
    "address": "--ray",
    "column_map": "--map",
    "crosses": "--cross",
}
_VALUES = {
    "engine='ray'": "--ray",
    "engine='local'": "--local",
    "zero_based=True": "--zero-based",
    "zero_based=False": "--one-based",
    "ShadowSOFSRegressor": "--target number",
}


def flag(parameter: str) -> str:
    """Return the option of a parameter."""
    return _FLAGS.get(parameter, f"--{parameter.replace('_', '-')}")


def method_by_flag(name: str | None, target: str | None = None) -> Method:
    """Return a method by the values of --method and --target; its full name, as `show` prints it, works too."""
    if target is not None:
        check("--target", target, OneOf(tuple(TARGETS)))
    known = [method for method in METHODS.values() if method.predicts == TARGETS[target or "class"]]
    for method in known:
        if name in (method.cli, method.name, None):
            return method
    if name in {method.cli for method in METHODS.values()}:
        raise ValueError(
            f"--method {name} predicts classes: use {' or '.join(each.cli for each in known)} with --target number."
        )
    raise ValueError(f"--method must be one of {', '.join(each.cli for each in known)}. Got {name!r} instead.")


def flags_of(method: Method) -> str:
    """Return the option that chooses a method."""
    return f"--method {method.cli}" if method.predicts == "classes" else "--target number"


def as_option(name: str, *value: object) -> str:
    """Return a parameter as an option, with its value if it has one; what is no option as in Python."""
    keyword = as_keyword(name, *value)
    option = flags().get(name)
    if keyword in _VALUES or option is None:
        return _VALUES.get(keyword, keyword)
    given = next(iter(value), ...)
    if given is ... or given is True:
        return option
    if given is False:
        return f"--no-{option[2:]}"
    if given is None:
        return f"{option} none"
    words = given if isinstance(given, list) else [given]
    return f"{option} {','.join(word if isinstance(word, str) else as_literal(word) for word in words)}"


@cache
def flags() -> dict[str, str]:
    """Return the options that have the name of a parameter, and those that have another one."""
    from typer.models import OptionInfo

    from thresher.cli.predict import predict
    from thresher.cli.train import train
    from thresher.cli.transform import transform

    given = {
        name: each for command in (train, predict, transform) for name, each in signature(command).parameters.items()
    }
    names = [name for name, each in given.items() if isinstance(each.annotation.__metadata__[0], OptionInfo)]
    return {name: flag(name) for name in names} | _OPTIONS
