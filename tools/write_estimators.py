"""Write the parameters of each method into its estimator: the signature, and the list in the docstring.

scikit-learn reads signatures, and people docstrings, so neither can be computed when the estimator is imported. They
come from the table in `thresher.methods`; all else in the estimators' files is written by hand. `make format` runs
this, and a test compares the files with what it would write.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from thresher.methods import BUDGET, METHODS, Method
from thresher.parameters import Allowed, Between, ColumnList, Instance, LegacyGenerator, OneOf, Parameter, Whole

ESTIMATORS = Path(__file__).parents[1] / "src" / "thresher" / "estimators"
WIDTH = 120

LIST = re.compile(r"(?<=\n    Parameters\n    ----------\n).*?(?=\n    Attributes\n    ----------\n)", re.DOTALL)
INIT = re.compile(r"    def __init__\(.*?(?=\n    def |\n    @|\n\n\n|\Z)", re.DOTALL)


def main() -> None:
    """Write the files that are not as they should be."""
    for method in METHODS.values():
        path = ESTIMATORS / f"{method.name}.py"
        is_now, should_be = path.read_text(), written(method, path.read_text())
        if is_now != should_be:
            path.write_text(should_be)
            print(f"wrote {path}")


def written(method: Method, text: str) -> str:
    """Return the text of an estimator's file with the parameters that the table has."""
    # The budget comes first: it is the one that can be given without its name.
    known = sorted(method.parameters.items(), key=lambda item: item[0] not in BUDGET)
    for pattern, lines in ((LIST, _listed(known)), (INIT, _init(known))):
        old = pattern.search(text)
        if old is None:
            raise ValueError(f"{method.name}.py: the estimator comes first, with Parameters, Attributes and __init__.")
        text = text[: old.start()] + "\n".join(lines) + "\n" + text[old.end() :]
    return text


def _listed(known: list[tuple[str, Parameter]]) -> Iterator[str]:
    """Return the lines of a docstring's Parameters, in numpydoc's form."""
    for name, parameter in known:
        default = "optional" if parameter.default is None else f"default={_literal(parameter.default)}"
        yield f"    {name} : {parameter.type or _in_words(parameter)}, {default}"
        text = parameter.doc or f"{parameter.help[0].upper()}{parameter.help[1:]}."
        lines = textwrap.wrap(text, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
        yield from (f"        {line}" for line in lines)


def _init(known: list[tuple[str, Parameter]]) -> Iterator[str]:
    """Return the lines of `__init__`, which scikit-learn wants to do nothing but store its arguments."""
    yield from ("    def __init__(", "        self,")
    keyword_only = False
    for name, parameter in known:
        if name != "n_features_to_select" and not keyword_only:
            keyword_only = True
            yield "        *,"
        yield f"        {name}: {_annotation(parameter)} = {_literal(parameter.default)},"
    yield "    ) -> None:"
    yield from (f"        self.{name} = {name}" for name, _ in known)


def _in_words(parameter: Parameter) -> str:
    """Return what is allowed, as numpydoc has it: int or "auto"; {"a", "b"}."""
    if len(parameter.allowed) == 1 and isinstance(parameter.allowed[0], OneOf):
        values = parameter.allowed[0].values
        return "bool" if values == (True, False) else f"{{{', '.join(map(_literal, values))}}}"
    words = list(dict.fromkeys(word for each in parameter.allowed for word in _words(each)))
    if "None" in words:
        words.remove("None")
        words += [] if parameter.default is None else ["None"]  # else it is optional, which says the same
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _words(allowed: Allowed) -> list[str]:
    match allowed:
        case Whole():
            return ["int"]
        case Between():
            return ["float"]
        case OneOf():
            return [_literal(value) for value in allowed.values]
        case Instance():
            return [allowed.type.__name__]
        case ColumnList():
            return ["list of int or str"]
        case LegacyGenerator():
            return ["RandomState"]
        case _:
            return [str(allowed)]


def _annotation(parameter: Parameter) -> str:
    """Return what is allowed, for type checkers."""
    types = list(dict.fromkeys(kind for each in parameter.allowed for kind in _types(each)))
    return "Any" if "Any" in types else " | ".join(sorted(types, key=lambda kind: kind == "None"))


def _types(allowed: Allowed) -> list[str]:
    match allowed:
        case Whole():
            return ["int"]
        case Between():
            return ["float"]
        case OneOf():
            return ["None" if value is None else type(value).__name__ for value in allowed.values]
        case Instance():
            return ["dict[Any, float]" if allowed.type is dict else allowed.type.__name__]
        case ColumnList():
            return ["Sequence[int] | Sequence[str]"]
        case LegacyGenerator():
            return []  # for scikit-learn's own tools
        case _:
            return ["Any"]


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    main()
