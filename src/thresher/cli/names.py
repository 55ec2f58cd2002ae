"""How methods and their parameters are called on the command line."""

from __future__ import annotations

from thresher.methods import METHODS, SHARED_ONLINE, Method

DEFAULT = next(iter(METHODS.values()))

# The parameters that are options: those that the table of methods has a line of help for.
PARAMETERS = tuple(
    {
        name: None
        for parameters in (*(method.own for method in METHODS.values()), SHARED_ONLINE)
        for name, parameter in parameters.items()
        if parameter.help
    }
)

# Options that are not called as their parameter is.
_FLAGS = {
    "n_features_to_select": "-k",
    "fit_intercept": "--intercept",
    "n_passes": "--passes",
    "random_state": "--seed",
}


def flag(parameter: str) -> str:
    """Return the option of a parameter."""
    return _FLAGS.get(parameter, f"--{parameter.replace('_', '-')}")


def method_called(name: str | None) -> Method:
    """Return a method by the value of --method; its full name, as `thresher show` prints it, works too."""
    if name is None:
        return DEFAULT
    for method in METHODS.values():
        if name in (method.cli, method.name):
            return method
    raise ValueError(f"--method must be one of {', '.join(m.cli for m in METHODS.values())}. Got {name!r} instead.")
