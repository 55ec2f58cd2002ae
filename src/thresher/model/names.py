"""Features with names: how columns of a table become names, names become ids, and which names a model remembers.

A name is hashed to 62 bits when it is read. Its string is made only when its feature is selected, from the batch in
which that happens, and is dropped when the feature leaves. So there is no dictionary of all names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import Names
from thresher.messages import parameter

N_IDS = 1 << 62  # ids of names are below it
ANALYZERS = ("word", "char")
HASHES = ("strings", "all")
MOST_PREFIXES = 65_535
_LONGEST = 1_000

NGrams: TypeAlias = int | Sequence[int] | str


@dataclass(frozen=True)
class Naming:
    """Which columns are features, and how their values are read.

    Attributes
    ----------
    text, categorical, numeric : tuple of str
        Columns, by what is in them.
    ngrams : (int, int)
        The shortest and the longest n-grams of text.
    analyzer : {"word", "char"}
        What n-grams consist of.
    counts : bool
        Whether a feature of text counts how often it occurs; else it is 1.
    lowercase : bool
        Whether text is converted to lower case.
    hash : {"strings", "all"}
        Of VW text: "strings" leaves names that are numbers as they are, "all" hashes them too.
    label : str or None
        The column of the label, for files that are read with the model later.
    types : tuple of str
        What the categorical columns hold, in their order, such as "text" or "whole numbers"; empty if the format of
        the data has no types. "" for a column without a value.
    """

    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ngrams: tuple[int, int] = (1, 1)
    analyzer: str = "word"
    counts: bool = False
    lowercase: bool = True
    hash: str = "strings"
    label: str | None = None
    types: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        text: str | Iterable[str] = (),
        categorical: str | Iterable[str] = (),
        numeric: str | Iterable[str] = (),
        *,
        ngrams: NGrams = 1,
        analyzer: str = "word",
        counts: bool = False,
        lowercase: bool | None = None,
        hash: str = "strings",
        label: str | None = None,
        weight: str | None = None,
        key: str | None = None,
    ) -> Self:
        """Return the naming with these settings; raise ValueError for a value that is not allowed."""
        roles = {"text": _names(text), "categorical": _names(categorical), "numeric": _names(numeric)}
        given: dict[str, str] = {
            name: role for role, name in (("label", label), ("weight", weight), ("key", key)) if name
        }
        for role, names in roles.items():
            for name in names:
                if name in given:
                    twice = f"both {given[name]} and {role}" if given[name] != role else f"twice among {role}"
                    raise ValueError(f"column {name!r} can't be {twice}: give it one role.")
                given[name] = role
        if analyzer not in ANALYZERS:
            raise ValueError(
                f"{parameter('analyzer')} must be one of {', '.join(ANALYZERS)}. Got {analyzer!r} instead."
            )
        if hash not in HASHES:
            raise ValueError(f"{parameter('hash')} must be one of {', '.join(HASHES)}. Got {hash!r} instead.")
        return cls(
            **roles,
            ngrams=ngram_range(ngrams),
            analyzer=analyzer,
            counts=bool(counts),
            # Words are compared without case; characters, as in k-mers, are taken as written.
            lowercase=analyzer == "word" if lowercase is None else bool(lowercase),
            hash=hash,
            label=label,
        )

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The columns with their kinds, in the core's terms."""
        kinds = (("text", self.text), ("category", self.categorical), ("number", self.numeric))
        return [(name, kind) for kind, names in kinds for name in names]

    @property
    def hashes_all(self) -> bool:
        """Whether every id is the hash of a name; else numbers of VW text are ids themselves."""
        return bool(self.columns) or self.hash == "all"

    @cached_property
    def core(self) -> _core.Naming:
        least, most = self.ngrams
        return _core.Naming(self.columns, least, most, self.analyzer == "char", self.counts, self.lowercase)

    def difference(self, other: Naming) -> tuple[str, Any, Any] | None:
        """Return the first setting that differs, with both values, where both read columns; else None."""
        if not self.columns or not other.columns:
            return None  # VW text has no such settings
        for name in ("text", "categorical", "numeric", "ngrams", "analyzer", "counts", "lowercase"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if (set(mine) != set(theirs)) if name in ("text", "categorical", "numeric") else mine != theirs:
                return name, mine, theirs
        return None

    def other_types(self, other: Naming) -> dict[str, tuple[str, str]]:
        """Return the categorical columns whose type differs from that in `other`, with both types."""
        mine, theirs = (
            dict(zip(naming.categorical, naming.types, strict=bool(naming.types))) for naming in (self, other)
        )
        both = {name: (kind, theirs.get(name, "")) for name, kind in mine.items()}
        return {name: types for name, types in both.items() if all(types) and types[0] != types[1]}

    def ids_of(self, names: list[str]) -> NDArray[np.int64]:
        """Return the ids of features by name; a number stays an id unless all names are hashed."""
        if self.hashes_all:
            return _core.name_ids(names)
        hashed = _core.name_ids(names)
        written = [id_of(name) for name in names]
        return np.array([h if id_ is None else id_ for id_, h in zip(written, hashed, strict=True)], np.int64)

    def __reduce__(self) -> Any:
        return Naming, tuple(getattr(self, field.name) for field in fields(self))  # without the core's object

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Return the naming that `to_dict` was called on; raise ValueError if the values are not valid."""
        if not isinstance(values, dict) or values.keys() != {field.name for field in fields(cls)}:
            raise ValueError("the naming of features is not valid")
        columns = [values["text"], values["categorical"], values["numeric"], values["types"]]
        label, types = values["label"], tuple(values["types"])
        if not (
            all(are_texts(names) for names in columns)
            and len(types) in (0, len(values["categorical"]))
            and isinstance(values["ngrams"], list | tuple)
            and all(type(length) is int for length in values["ngrams"])
            and type(values["counts"]) is type(values["lowercase"]) is bool
            and (label is None or are_texts([label]))
        ):
            raise ValueError("the naming of features is not valid")
        try:
            naming = cls.of(**{name: value for name, value in values.items() if name != "types"})
            return replace(naming, types=types)
        except (TypeError, ValueError):
            raise ValueError("the naming of features is not valid") from None


def id_of(word: str) -> int | None:
    """Return a feature id from its text in a file, from 0 to 2^63 - 2; None if the text is not an id."""
    digits = word.lstrip("0") or word[-1:]
    # Python converts no more than 4,300 digits.
    if word.isascii() and word.isdigit() and len(digits) < 20 and int(digits) < 2**63 - 1:
        return int(digits)
    return None


def ngram_range(given: NGrams) -> tuple[int, int]:
    """Return the shortest and the longest n-grams of 3, (1, 3) or "1-3"."""
    parts: Any = given.split("-") if isinstance(given, str) else [given] if isinstance(given, int) else given
    try:
        lengths = [int(part) for part in parts]
    except (TypeError, ValueError):
        lengths = []
    if len(lengths) == 1:
        lengths *= 2
    if isinstance(given, bool) or len(lengths) != 2 or not 1 <= lengths[0] <= lengths[1] <= _LONGEST:
        raise ValueError(
            f"{parameter('ngrams')} must be a length or a range of lengths from 1 to {_LONGEST:,}, such as 2 or '1-3'. "
            f"Got {given!r} instead."
        )
    return lengths[0], lengths[1]


def are_texts(values: object) -> bool:
    """Return whether it is a list of strings that can be written: JSON can hold half a surrogate pair."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        return False
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


class MemberNames:
    """The names of the features that a model has selected.

    Parameters
    ----------
    names : dict, optional
        Those known already, by id.
    clashes : (int, str, str), optional
        How often names clashed already, and the first pair.
    """

    def __init__(self, names: dict[int, str] | None = None, clashes: tuple[int, str, str] = (0, "", "")) -> None:
        self._book = _core.NameBook()
        self._by_id: dict[int, str] | None = None
        self._book.set_clashes(*clashes)
        if names:
            self._book.keep(np.array(list(names), np.int64))
            for id_, name in names.items():
                self._book.set(id_, name)

    def read(self, members: NDArray[np.int64] | None, ids: NDArray[Any], names: Names) -> None:
        """Find the names of the members in a batch, and forget all others. None: every feature is a member."""
        places = np.arange(len(ids)) if members is None else self._found(members, ids)
        self._book.read(ids[places], *names.for_core(places), add=members is None)
        self._by_id = None  # last: another thread may have asked for the names in between

    def strangers(self, members: NDArray[np.int64] | None, ids: NDArray[Any], names: Names) -> NDArray[np.int64]:
        """Return where in a batch a feature has the id of a member, but another name."""
        places = self._book.find(ids) if members is None else self._found(members, ids)
        return places[self._book.strangers(ids[places], *names.for_core(places))]

    def _found(self, members: NDArray[np.int64], ids: NDArray[Any]) -> NDArray[np.int64]:
        self._book.keep(members)
        return self._book.find(ids)

    @property
    def by_id(self) -> dict[int, str]:
        known = self._by_id
        if known is None:
            self._by_id = known = self._book.names()
        return known

    @property
    def clashes(self) -> tuple[int, str, str]:
        """How often a name occurred that has the hash of a selected one, and the first such pair."""
        return self._book.clashes

    def __reduce__(self) -> Any:
        return MemberNames, (self.by_id, self.clashes)
