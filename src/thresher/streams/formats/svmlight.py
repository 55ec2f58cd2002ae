"""svmlight text: `+1 3:0.5 17:2 # a comment`."""

from __future__ import annotations

from thresher import _core
from thresher.streams.formats.format import Format, OpenFiles, Options
from thresher.streams.sources import Flow, Source
from thresher.streams.text import LineReader, first_row


class SvmlightReader(LineReader):
    """Reads svmlight text."""

    def _parse_range(self, file: _core.TextFile, begin: int, end: int) -> _core.FoundRows:
        return _core.read_text_range("svmlight", file, begin, end, self._skip_bad, self._labels)

    def _parse_block(self, text: bytes, first: bool) -> _core.FoundRows:
        return _core.read_text("svmlight", text, self._skip_bad, first, self._labels)


def _open(sources: list[Source], options: Options) -> OpenFiles:
    return OpenFiles([_reader(source, options) for source in sources])


def _reader(source: Source, options: Options) -> SvmlightReader:
    roles, starts_with_feature = options.roles, bool(source.hint)
    without = roles.no_labels or (not roles.labelled and starts_with_feature)
    return SvmlightReader(source, options, "none" if without else "required")


def _starts_with_feature(flow: Flow, is_pipe: bool) -> bool:
    """Return whether the first row has no label."""
    first = next(iter(first_row(flow.peek(4096)).split()), b"")
    return b":" in first.split(b"#")[0]


# Text of which nothing else is known is svmlight: a row without features is a single word.
FORMAT = Format(
    "svmlight",
    (".svm", ".svmlight", ".libsvm"),
    _open,
    options=frozenset({"longest_line"}),
    is_mixable=True,
    inspect=_starts_with_feature,
)
