"""Tables with text, categories and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.features.base import Hasher, Reads
from thresher.messages import warn
from thresher.model.names import Naming, NGrams
from thresher.streams.arrow_values import looks_like_text, read_named
from thresher.streams.columns import Columns, roles_by_type
from thresher.streams.record_batches import TableReader
from thresher.streams.tables import is_pandas, reader_of


class ColumnHasher(Hasher):
    """Columns of a table to sparse rows: text to n-grams, categories to `column=value`, numbers as they are.

    The column of a feature is the hash of its name, of 62 bits, so that there is no dictionary. Missing values are no
    feature.

    Parameters
    ----------
    text, categorical, numeric : str or sequence of str, optional
        Columns by what is in them; others are not used. By default numbers are numbers, and strings, booleans, dates
        and times are categories. There is a warning if strings look like text: of the first 1,000 values there are at
        least ten, most are distinct, and they have three words or more on average.
    ngrams : int, (int, int) or str, default=1
        The lengths of n-grams of text, such as 2, (1, 3) or "1-3".
    analyzer : {"word", "char"}
        What n-grams consist of.
    counts : bool, default=False
        Whether a feature of text counts how often it occurs; else it is 1.
    lowercase : bool, optional
        Whether text is converted to lower case. By default words are, characters are not.

    Attributes
    ----------
    feature_names_in_ : array of str
        The columns that are used.

    Examples
    --------
    >>> import pandas as pd
    >>> from thresher.features import ColumnHasher
    >>> frame = pd.DataFrame({"site": ["a.com", "b.org"], "price": [1.5, None], "title": ["Free money", "Lunch"]})
    >>> hasher = ColumnHasher(text="title", categorical="site", numeric="price").fit(frame)
    >>> X = hasher.transform(frame)
    >>> sorted(hasher.names(X.indices, frame))
    ['free', 'lunch', 'money', 'price', 'site=a.com', 'site=b.org']
    """

    def __init__(
        self,
        text: str | Sequence[str] = (),
        categorical: str | Sequence[str] = (),
        numeric: str | Sequence[str] = (),
        ngrams: NGrams = 1,
        analyzer: str = "word",
        counts: bool = False,
        lowercase: bool | None = None,
    ) -> None:
        self.text = text
        self.categorical = categorical
        self.numeric = numeric
        self.ngrams = ngrams
        self.analyzer = analyzer
        self.counts = counts
        self.lowercase = lowercase

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at the columns of a table."""
        options = {name: getattr(self, name) for name in ("ngrams", "analyzer", "counts", "lowercase")}
        naming = Naming.of(self.text, self.categorical, self.numeric, **options)
        opened = _open_table(X, naming)
        schema = opened.schema
        if not naming.columns:
            naming = Naming.of(**roles_by_type("X", schema), **options)
            if not isinstance(X, type(opened)):  # which can be read only once
                _warn_of_text(next(_reader(naming).tables(opened), None), naming.categorical)
        _reader(naming).columns.check_types("X", schema)
        self._naming = naming
        self.feature_names_in_ = np.array([name for name, _ in naming.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def _reads(self, X: Any) -> Reads:
        check_is_fitted(self, "_naming")
        opened, reader = _open_table(X, self._naming), _reader(self._naming)
        reader.columns.check_types("X", opened.schema)
        return (partial(read_named, table, self._naming) for table in reader.tables(opened))


def _open_table(X: Any, naming: Naming) -> Any:
    """Open a table, of pandas only the columns that are used: others may hold what Arrow has no type for."""
    names = [name for name, _ in naming.columns]
    if names and is_pandas(X) and set(names) <= set(X.columns):
        X = X[names]
    return reader_of(X, "X")


def _reader(naming: Naming) -> TableReader:
    return TableReader("X", Columns(None, [name for name, _ in naming.columns], naming=naming))


def _warn_of_text(first: Any, names: Sequence[str]) -> None:
    """Warn of columns that are categories because they hold strings, and whose first rows look like text."""
    for name in names if first is not None else ():
        if looks_like_text(first.column(name)):
            warn(
                f"X: column {name!r} looks like text, but without roles it is a category, so that nearly every row has "
                f"a feature of its own: use ColumnHasher(text={name!r}, …), with categorical= and numeric= for the "
                f"others, or categorical={name!r} if that is meant.",
                UserWarning,
            )
