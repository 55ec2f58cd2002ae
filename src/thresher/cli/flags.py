"""Names of methods and their parameters on the command line, also in messages of the library.

Messages of the library name parameters: `use shuffle=True`. Here that becomes `use --shuffle`.
"""

from __future__ import annotations

import inspect
import re
from functools import cache

from thresher.methods import METHODS, SHARED_ONLINE, Method

DEFAULT = next(iter(METHODS.values()))

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
# Other arguments whose name differs from that of their option, and those that are an option only with one value.
_OPTIONS = {
    "passes": "--passes",
    "n_shards": "--shards",
    "validate": "--test",
    "target": "--threshold",
    "address": "--ray",
}
_VALUES = {
    "engine='ray'": "--ray",
    "engine='local'": "--local",
    "zero_based=True": "--zero-based",
    "zero_based=False": "--one-based",
}
# Phrases to replace after the parameters.
_PHRASES = {
    "save it in full, with save": "train it with --full",
    "use margins instead": "use --margins instead",
    "so keep_ids can't": "so --keep-ids can't",
    "column_map must be": "--map must be",
    "zero_based can't be False": "--one-based can't be used",
    "use fewer shards (n_shards)": "use fewer shards (--shards)",
    "validate is needed": "--test is needed",
}
_OF_OPTIONS = {  # the allowed values, in messages on the value of an option
    " or None. Got": ". Got",  # an option that is not given is None
    ", such as ',' or '\\t'. Got": ", or tab. Got",
    "a range of lengths from 1 to 1,000, such as 2, (1, 3) or '1-3'. Got": "a range from 1 to 1,000, as 2 or 1-3. Got",
}
_VALUE = r"""(?:True|False|None|'[^']*'|"[^"]*"|\[[^\]]*\]|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|)(?![\w/])"""


def flag(parameter: str) -> str:
    """Return the option of a parameter."""
    return _FLAGS.get(parameter, f"--{parameter.replace('_', '-')}")


def method_by_flag(name: str | None) -> Method:
    """Return a method by the value of --method; its full name, as `thresher show` prints it, works too."""
    if name is None:
        return DEFAULT
    for method in METHODS.values():
        if name in (method.cli, method.name):
            return method
    raise ValueError(f"--method must be one of {', '.join(m.cli for m in METHODS.values())}. Got {name!r} instead.")


def with_flags(message: str) -> str:
    """Return a message with options in place of parameters."""
    options = _flags()
    names = "|".join(options)
    is_subject = rf"(^|: )({names})(?= must | names | lists |\[)"
    message, n_subjects = re.subn(is_subject, lambda found: found[1] + options[found[2]], message)
    if n_subjects:
        for theirs, ours in _OF_OPTIONS.items():
            message = message.replace(theirs, ours)
    # Names in quotes, and folders such as label=1/, are the user's own.
    message = re.sub(rf"(?<![\w'\"/=])({names}|engine)=({_VALUE})", _flag_with_value, message)
    for theirs, ours in _PHRASES.items():
        message = message.replace(theirs, ours)
    return message


def _flag_with_value(found: re.Match[str]) -> str:
    """Return --name value for name=value."""
    if found[0] in _VALUES:
        return _VALUES[found[0]]
    name, value = found.groups()
    option = _flags().get(name, name)
    if value in ("True", "False"):
        return option if value == "True" else f"--no-{option[2:]}"
    if value == "None":
        value = "none"
    words = [word.strip(" '\"") for word in value.strip("[]").split(",")]
    return f"{option} {','.join(words)}".rstrip()


@cache
def _flags() -> dict[str, str]:
    """Return the options that have the name of a parameter, and those that have another one."""
    from typer.models import OptionInfo

    from thresher.cli.predict import predict
    from thresher.cli.train import train

    given = {**inspect.signature(train).parameters, **inspect.signature(predict).parameters}
    names = [name for name, each in given.items() if isinstance(each.annotation.__metadata__[0], OptionInfo)]
    return {name: flag(name) for name in names} | _OPTIONS
