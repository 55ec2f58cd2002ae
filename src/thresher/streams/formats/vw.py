"""VW's text: `1 0.5 'tag |space 3:0.5 name`."""

from __future__ import annotations

from dataclasses import dataclass

from thresher.model.names import Naming, id_of
from thresher.streams.formats.format import Format, OpenFiles, Options
from thresher.streams.formats.text import LineReader
from thresher.streams.sources import BOM, Flow, Source


@dataclass(frozen=True)
class FirstNames:
    """The names in the first rows of a file."""

    spaces: frozenset[bytes]  # namespaces that have numbers
    has_others: bool  # names that are not numbers


def _open(sources: list[Source], options: Options) -> OpenFiles:
    names = _names([source.hint for source in sources], options.roles.naming)
    readers = [LineReader(source, options, options.roles.label_demand, names) for source in sources]
    return OpenFiles(readers, naming=None if names == "numbers" else Naming(hash=names))


def _names(found: list[FirstNames], naming: Naming | None) -> str:
    """Return what is hashed: what a naming says, else all names if numbers of several namespaces would collide."""
    if naming is not None:
        return "all" if naming.hashes_all else "strings"
    if len(frozenset().union(*(each.spaces for each in found))) > 1:
        return "all"
    return "strings" if any(each.has_others for each in found) else "numbers"


def _first_names(flow: Flow, is_pipe: bool) -> FirstNames:
    spaces, has_others = set(), False
    lines = flow.peek(4096 if is_pipe else 1 << 16).removeprefix(BOM).split(b"\n")
    for line in lines[:-1] or lines:  # the last one can be cut off
        for part in line.split(b"|")[1:]:
            space, *names = part.split() if part[:1].strip() else [b"", *part.split()]
            for name in names:
                if id_of(name.split(b":")[0].decode("ascii", "replace")) is not None:
                    spaces.add(space.split(b":")[0])
                else:
                    has_others = True
    return FirstNames(frozenset(spaces), has_others)


def _is_row(line: bytes) -> bool:
    return b"|" in line and not line.lstrip().startswith(b"{")


FORMAT = Format(
    "vw",
    (".vw",),
    _open,
    options=frozenset({"longest_line", "hash"}),
    is_mixable=True,
    is_row=_is_row,
    inspect=_first_names,
)
