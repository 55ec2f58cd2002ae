"""Text to n-grams."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Self

from thresher import _core
from thresher.features.base import Hasher, Reads
from thresher.model.names import Naming, NGrams

_PART = 1 << 20  # characters that a thread reads at a time


class TextHasher(Hasher):
    """Text to n-grams of words or characters, each a column of its own.

    The column of an n-gram is its hash, of 62 bits, so that there is no dictionary and nothing to fit. `names` finds
    the strings of a few columns again.

    Parameters
    ----------
    ngrams : int, (int, int) or str, default=1
        The lengths of n-grams, such as 2, (1, 3) or "1-3".
    analyzer : {"word", "char"}
        What n-grams consist of: words (runs of letters, marks, numbers and underscores), or characters, with one space
        for any run of spaces.
    counts : bool, default=False
        Whether a value is the number of occurrences; else it is 1.
    lowercase : bool, optional
        Whether text is converted to lower case. By default words are, characters are not.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from thresher import ShadowSOFS
    >>> from thresher.features import TextHasher
    >>> texts = ["free money now", "see you at lunch", "more free money", "lunch is at noon"] * 50
    >>> model = make_pipeline(TextHasher(ngrams=(1, 2)), ShadowSOFS(2)).fit(texts, ["spam", "ham", "spam", "ham"] * 50)
    >>> model.predict(["money for free", "lunch"]).tolist()
    ['spam', 'ham']
    >>> sorted(model[0].names(model[-1].selected_, texts))
    ['at', 'free']
    """

    def __init__(
        self, ngrams: NGrams = 1, analyzer: str = "word", counts: bool = False, lowercase: bool | None = None
    ) -> None:
        self.ngrams = ngrams
        self.analyzer = analyzer
        self.counts = counts
        self.lowercase = lowercase

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn."""
        self._naming()
        return self

    def _naming(self) -> Naming:
        return Naming.of(
            "text", ngrams=self.ngrams, analyzer=self.analyzer, counts=self.counts, lowercase=self.lowercase
        )

    def _reads(self, X: Iterable[str | None]) -> Reads:
        naming = self._naming().core
        if isinstance(X, str | Mapping) or hasattr(X, "columns"):
            raise ValueError(
                f"X must be an iterable of strings, such as a list or a column of a table. Got {type(X).__name__} "
                "instead."
            )
        part, size, first = [], 0, 0
        for row, text in enumerate(X):
            part.append(_check_text(text, row))
            size += len(part[-1])
            if size >= _PART:
                yield partial(_read, naming, part, first)
                part, size, first = [], 0, row + 1
        if part:
            yield partial(_read, naming, part, first)


def _read(naming: _core.Naming, part: list[str], first: int) -> _core.FoundRows:
    try:
        return naming.read_strings(part)
    except UnicodeEncodeError:
        row = next(
            row for row, text in enumerate(part, first) if any("\ud800" <= letter <= "\udfff" for letter in text)
        )
        raise ValueError(f"row {row} of X is not valid text: it has a surrogate without its pair.") from None


def _check_text(text: Any, row: int) -> str:
    """Return a text, "" for a missing one: None, or NaN or NA of pandas."""
    if isinstance(text, str):
        return text
    if text is None or (isinstance(text, float) and math.isnan(text)) or type(text).__name__ == "NAType":
        return ""
    raise ValueError(f"row {row} of X must be a string. Got {text!r} instead.")
