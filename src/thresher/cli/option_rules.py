"""The table of options that need others, or can't be used with them, for all commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thresher.cli.flags import PARAMETERS, flag, flags_of, method_by_flag
from thresher.methods import BATCH, BUDGET, METHODS, Method


@dataclass(frozen=True)
class Rule:
    """Each of these options needs one of some others, or can't be used with any of some others."""

    options: tuple[str, ...]
    needs: tuple[str, ...] = ()  # with their metavar, which is shown
    excludes: tuple[str, ...] = ()
    why: str = ""

    def broken_by(self, given: set[str]) -> str | None:
        """Return a message if the options that were given break the rule."""
        why = f": {self.why}." if self.why else "."
        for option in (each for each in self.options if each in given):
            if self.needs and not any(other.split()[0] in given for other in self.needs):
                either = "either " if len(self.needs) > 1 else ""
                return f"{option} needs {either}{' or '.join(self.needs)}{why}"
            for other in self.excludes:
                if other in given:
                    return f"{option} can't be used with {other}{why}"
        return None


def _method_flags(methods: tuple[Method, ...]) -> tuple[str, ...]:
    return tuple(map(flags_of, methods))


def _rule_for_parameter(name: str) -> Rule:
    """Return the rule for an option that not every method has."""
    having = list(dict.fromkeys(method.cli for method in METHODS.values() if name in method.parameters))
    lacking = tuple(method for method in METHODS.values() if name not in method.parameters)
    why = f"{', '.join(having)} {'has' if len(having) == 1 else 'have'} it"
    if all(method.predicts == "numbers" for method in lacking):
        why = "numbers have no classes"
    return Rule((flag(name),), excludes=_method_flags(lacking), why=why)


_OF_SOME = tuple(name for name in PARAMETERS if any(name not in method.parameters for method in METHODS.values()))
_KEEP_ALL = tuple(method for method in METHODS.values() if not method.has_budget)
_OF_A_MODEL = tuple(flag(name) for name in PARAMETERS if name not in ("n_passes", "random_state"))

# An option that is either on or off is written as it was given, --no-intercept for one.
RULES = (
    Rule(("--cv", "--stability"), excludes=("--from",), why="it needs new models"),
    Rule(("--keep",), excludes=("--from",), why="the model keeps its own features"),
    Rule(
        ("--method", "--target", *_OF_A_MODEL, "--no-intercept"), excludes=("--from",),
        why="the model keeps what it was trained with",
    ),
    Rule(tuple(map(flag, BUDGET)), excludes=_method_flags(_KEEP_ALL), why="it selects all features"),
    Rule(
        ("--passes", "--shuffle", "--full", "--checkpoint"), excludes=_method_flags(BATCH),
        why="it sees all rows at once",
    ),
    *map(_rule_for_parameter, _OF_SOME),
    Rule(("--multiclass",), excludes=("--from", "--classes"), why="the classes are known"),
    Rule(
        ("--classes", "--multiclass", "--threshold", "--positive"), excludes=("--target number",),
        why="numbers have no classes",
    ),
    Rule(("--threshold",), needs=("--test FILE",), why="it is chosen on rows that the model has not learned"),
    Rule(("--positive",), needs=("--test FILE", "--cv N"), why="it says what is measured"),
    Rule(("--positive",), excludes=("--multiclass",), why="it is one of two labels"),
    Rule(("--resume",), needs=("--checkpoint FILE",), why="the file to resume from"),
    Rule(("--every",), needs=("--checkpoint FILE",), why="the file to save the run to"),
    Rule(("--full",), needs=("-o FILE",), why="the file to write the model to"),
    Rule(("--checkpoint",), excludes=("--cv", "--stability")),
    Rule(("--workers",), needs=("--local",), why="a Ray cluster has its own number of workers"),
    Rule(("--ray", "--local", "--syncs"), needs=("--shards N",), why="in how many parts the data are cut"),
    Rule(("--shards",), needs=("--ray", "--local"), why="where they learn"),
    Rule(("--ray",), excludes=("--local",), why="all shards learn in the same place"),
    Rule(("--cv", "--stability", "--checkpoint", "--shuffle"), excludes=("--shards",)),
)  # fmt: skip


def check_together(values: Mapping[str, Any]) -> None:
    """Raise ValueError if options can't be used together; `values` has all options of a command, None if not given."""
    given = {option for option, value in values.items() if value is not None}
    if "--method" in values and "--from" not in given:
        given.add(flags_of(method_by_flag(values["--method"], values["--target"])))
    if values.get("--passes") == 1:  # as many as every method makes
        given.remove("--passes")
    # A command may do without what others need an option for: evaluate has no --test.
    rules = (rule for rule in RULES if not rule.needs or any(other.split()[0] in values for other in rule.needs))
    message = next(filter(None, (rule.broken_by(given) for rule in rules)), None)
    if message is not None:
        raise ValueError(message)
