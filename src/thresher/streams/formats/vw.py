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
    has_tags: bool


def _open(sources: list[Source], options: Options) -> OpenFiles:
    names = _names([source.hint for source in sources], options.roles.naming)
    # To learn, nobody asks what identifies a row.
    has_tags = not options.roles.labelled and any(source.hint.has_tags for source in sources)
    readers = [_Reader(source, options, names, has_tags) for source in sources]
    naming = None if names == "numbers" else Naming(hash=names)
    return OpenFiles(readers, naming=naming, key="tag" if has_tags else None)


class _Reader(LineReader):
    def __init__(self, source: Source, options: Options, names: str, has_tags: bool) -> None:
        super().__init__(source, options, options.roles.label_demand, names)
        if has_tags:
            self._keys = _tag


def _tag(line: bytes) -> str | None:
    """Return the tag of a row: the word before the first bar that begins with an apostrophe, or touches the bar."""
    head = line.partition(b"|")[0]
    words = head.split()
    tag = next((word for word in words if word.startswith(b"'")), None)
    if tag is None and head and not head[-1:].isspace() and not (len(words) == 1 and _is_number(words[0])):
        tag = words[-1]
    return None if tag is None else tag.removeprefix(b"'").decode(errors="replace")


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _names(found: list[FirstNames], naming: Naming | None) -> str:
    """Return what is hashed: what a naming says, else all names if numbers of several namespaces would collide."""
    if naming is not None:
        return "all" if naming.hashes_all else "strings"
    if len(frozenset().union(*(each.spaces for each in found))) > 1:
        return "all"
    return "strings" if any(each.has_others for each in found) else "numbers"


def _first_names(flow: Flow, is_pipe: bool) -> FirstNames:
    spaces, has_others, has_tags = set(), False, False
    lines = flow.peek(4096 if is_pipe else 1 << 16).removeprefix(BOM).split(b"\n")
    for line in lines[:-1] or lines:  # the last one can be cut off
        has_tags = has_tags or (b"|" in line and _tag(line) is not None)
        for part in line.split(b"|")[1:]:
            space, *names = part.split() if part[:1].strip() else [b"", *part.split()]
            for name in names:
                if id_of(name.split(b":")[0].decode("ascii", "replace")) is not None:
                    spaces.add(space.split(b":")[0])
                else:
                    has_others = True
    return FirstNames(frozenset(spaces), has_others, has_tags)


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
