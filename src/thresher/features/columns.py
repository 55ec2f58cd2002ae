"""Tables with text, categories and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thresher.features.base import Hasher, Reads
from thresher.messages import join_some, warn
from thresher.model.names import Naming, NGrams
from thresher.parameters import OneOf, check
from thresher.streams.arrow_values import arrow, read_named
from thresher.streams.columns import Columns, Roles
from thresher.streams.record_batches import TableReader, name_table_in_errors
from thresher.streams.roles import settle_roles
from thresher.streams.tables import first_rows_of, is_pandas, reader_of


class ColumnHasher(Hasher):
    """Columns of a table to sparse rows: text to n-grams, categories to `column=value`, numbers to scaled numbers.

    The column of a feature is the hash of its name, of 62 bits, so that there is no dictionary. Missing values are no
    feature.

    Parameters
    ----------
    text, categorical, numeric : str or sequence of str, optional
        Columns by what is in them, such as "age" or the pattern "P*".
    roles : {"auto"}, optional
        "auto" decides by the first 10,000 rows of `fit` what the columns are that are not named; a warning says which
        are left out, such as a row number. By default others are not used if any column is named, and it is "auto" if
        none is.
    ignore : str or sequence of str, optional
        Columns that are not used.
    scale : bool, default=True
        Whether numbers are scaled by the mean and the standard deviation of the first 10,000 rows of `fit`, unless they
        are 0 and 1. Where more than one row in a hundred has no number, such rows have the feature `column=missing`.
    crosses : sequence of (str, str) or of "a,b", optional
        Pairs of columns whose features are also features in pairs, such as `app=3 & channel=5`.
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
    roles_ : TableRoles or None
        What was decided of the columns; printed, it is a table.

    Examples
    --------
    >>> import pandas as pd
    >>> from thresher.features import ColumnHasher
    >>> frame = pd.DataFrame({"site": ["a.com", "b.org"], "price": [1.5, 2.5], "title": ["Free money", "Lunch"]})
    >>> hasher = ColumnHasher(text="title", categorical="site", numeric="price").fit(frame)
    >>> X = hasher.transform(frame)
    >>> sorted({*hasher.names(X.indices, frame)})
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
        *,
        roles: str | None = None,
        ignore: str | Sequence[str] = (),
        scale: bool = True,
        crosses: Sequence[str | Sequence[str]] = (),
    ) -> None:
        self.text = text
        self.categorical = categorical
        self.numeric = numeric
        self.ngrams = ngrams
        self.analyzer = analyzer
        self.counts = counts
        self.lowercase = lowercase
        self.roles = roles
        self.ignore = ignore
        self.scale = scale
        self.crosses = crosses

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at the columns of a table."""
        check("roles", self.roles, OneOf(("auto", None)))
        options = {name: getattr(self, name) for name in ("ngrams", "analyzer", "counts", "lowercase", "crosses")}
        asked = Naming.of(self.text, self.categorical, self.numeric, **options)
        ignored = (self.ignore,) if isinstance(self.ignore, str) else tuple(self.ignore)
        decide = self.roles == "auto" or not asked.columns
        roles = Roles(ignore=ignored, no_labels=True, naming=asked, decide=decide, scale=bool(self.scale))
        roles, self.roles_ = settle_roles("X", roles, partial(_first_rows, X))
        with name_table_in_errors("X"):
            names = [str(name) for name in X.columns] if is_pandas(X) else reader_of(X, "X").schema.names
            columns = Columns.choose("X", names, roles)
            assert columns.naming is not None
            columns.check_types("X", _open_table(X, columns.naming).schema)
        if self.roles_ is not None and self.roles_.left_out:
            left_out = join_some([f"{each.name!r} ({each.why})" for each in self.roles_.left_out])
            warn(f"X: left out {left_out}: give such columns a role, or ignore them.", UserWarning)
        self._naming = columns.naming
        self.feature_names_in_ = np.array([name for name, _ in self._naming.columns], dtype=object)
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


def _first_rows(X: Any, n: int) -> Any:
    if isinstance(X, arrow().RecordBatchReader):  # which can be read only once
        return X.schema.empty_table()
    return first_rows_of(X, "X", n)[0]
