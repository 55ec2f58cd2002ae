"""svmlight text: `+1 3:0.5 17:2 # a comment`."""

from __future__ import annotations

from thresher.streams.columns import Roles
from thresher.streams.formats.format import Format, OpenFiles, Options
from thresher.streams.formats.text import LineReader, first_row
from thresher.streams.sources import Flow, Source


def _open(sources: list[Source], options: Options) -> OpenFiles:
    return OpenFiles([LineReader(source, options, _labels(source, options.roles)) for source in sources])


def _labels(source: Source, roles: Roles) -> str:
    starts_with_feature = bool(source.hint)
    return "none" if roles.no_labels or (not roles.labelled and starts_with_feature) else "required"


def _starts_with_feature(flow: Flow, is_pipe: bool) -> bool:
    """Return whether the first row has no label."""
    first = next(iter(first_row(flow.peek(4096)).split()), b"")
    return b":" in first.split(b"#")[0]


# Text is svmlight if nothing else is known about it: a row without features is a single word.
FORMAT = Format(
    "svmlight",
    (".svm", ".svmlight", ".libsvm"),
    _open,
    options=frozenset({"longest_line"}),
    is_mixable=True,
    inspect=_starts_with_feature,
)
