"""Features with names: how columns of a table become names, names become ids, and which names a model remembers.

A name is hashed to 62 bits when it is read. Its string is made only when its feature is selected, from the batch in
which that happens, and is dropped when the feature leaves. So there is no dictionary of all names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import chain, count
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.batch import Names
from thresher.messages import parameter
from thresher.model.validators import is_number, is_text, list_of, tuple_of

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
    scales : tuple of (float, float)
        The mean and the deviation by which each numeric column is scaled, in their order; empty if none is.
    missing : tuple of str
        Numeric columns with the feature `column=missing`, for rows without a number.
    crosses : tuple of (str, str)
        Pairs of columns, whose features are also features in pairs.
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
    scales: tuple[tuple[float, float], ...] = ()
    missing: tuple[str, ...] = ()
    crosses: tuple[tuple[str, str], ...] = ()

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
        crosses: Sequence[str | Sequence[str]] = (),
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
            roles["text"],
            roles["categorical"],
            roles["numeric"],
            ngrams=ngram_range(ngrams),
            analyzer=analyzer,
            counts=bool(counts),
            # Words are compared without case; characters, as in k-mers, are taken as written.
            lowercase=analyzer == "word" if lowercase is None else bool(lowercase),
            hash=hash,
            label=label,
            crosses=_crosses(crosses),
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
        (least, most), places = self.ngrams, {name: place for place, (name, _) in enumerate(self.columns)}
        scales = [
            (places[name], mean, deviation, name in self.missing) for name, (mean, deviation) in self.scale_of.items()
        ]
        crosses = [(places[one], places[other]) for one, other in self.crosses]
        return _core.Naming(
            self.columns, least, most, self.analyzer == "char", self.counts, self.lowercase, scales, crosses
        )

    @property
    def scale_of(self) -> dict[str, tuple[float, float]]:
        """The mean and the deviation of each numeric column that is scaled."""
        return dict(zip(self.numeric, self.scales, strict=bool(self.scales)))

    def is_scaled_like(self, other: Naming) -> bool:
        """Return whether numbers become the same values as in another naming with these columns."""
        return self.scale_of == other.scale_of and set(self.missing) == set(other.missing)

    def difference(self, other: Naming) -> tuple[str, Any, Any] | None:
        """Return the first setting that differs, with both values, where both read columns; else None."""
        if not self.columns or not other.columns:
            return None  # VW text has no such settings
        for name in ("text", "categorical", "numeric", "crosses", "ngrams", "analyzer", "counts", "lowercase"):
            mine, theirs = getattr(self, name), getattr(other, name)
            are_sets = name in ("text", "categorical", "numeric", "crosses")
            if (set(mine) != set(theirs)) if are_sets else mine != theirs:
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
        pairs = {name: [list(pair) for pair in getattr(self, name)] for name in ("scales", "crosses")}
        return asdict(self) | pairs

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Return the naming that `to_dict` was called on; raise ValueError if the values are not valid."""
        if not isinstance(values, dict) or values.keys() != {field.name for field in fields(cls)}:
            raise ValueError("the naming of features is not valid")
        roles = [values["text"], values["categorical"], values["numeric"]]
        columns = [*roles, values["types"], values["missing"]]
        label, types = values["label"], tuple(values["types"])
        if not (
            all(are_texts(names) for names in columns)
            and len(types) in (0, len(values["categorical"]))
            and isinstance(values["ngrams"], list | tuple)
            and all(type(length) is int for length in values["ngrams"])
            and type(values["counts"]) is type(values["lowercase"]) is bool
            and (label is None or are_texts([label]))
            and _are_scales(values["scales"], len(values["numeric"]))
            and set(values["missing"]) <= (set(values["numeric"]) if values["scales"] else set())
            and _are_crosses(values["crosses"], {name for names in roles for name in names})
        ):
            raise ValueError("the naming of features is not valid")
        try:
            naming = cls.of(
                **{name: value for name, value in values.items() if name not in ("types", "scales", "missing")}
            )
            scales = tuple((float(mean), float(deviation)) for mean, deviation in values["scales"])
            return replace(naming, types=types, scales=scales, missing=tuple(values["missing"]))
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


def _crosses(crosses: Sequence[str | Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """Return crosses as pairs of columns."""
    found: list[tuple[str, str]] = []
    for each in [crosses] if isinstance(crosses, str) else crosses:
        columns = [name.strip() for name in each.split(",")] if isinstance(each, str) else list(each)
        if len(columns) != 2 or columns[0] == columns[1]:
            raise ValueError(
                f"{parameter('crosses')} must be pairs of two columns, such as 'app,channel'. Got {each!r} instead."
            )
        found.append((columns[0], columns[1]))
    return tuple(dict.fromkeys(found))


def _are_scales(values: object, n_columns: int) -> bool:
    """Return whether there is a finite mean and a deviation above 0 for each column, or none at all."""
    is_scale = tuple_of(is_number, lambda deviation: is_number(deviation) and cast("float", deviation) > 0)
    return list_of(is_scale)(values) and len(cast("list[Any]", values)) in (0, n_columns)


def _are_crosses(values: object, columns: set[str]) -> bool:
    """Return whether they are pairs of two columns."""
    is_pair = tuple_of(is_text, is_text)
    return list_of(is_pair)(values) and all(
        len({*pair}) == 2 and {*pair} <= columns for pair in cast("list[Any]", values)
    )


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


def distinct_names(names: list[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names, `a` the second time as `a_2`; none of them is `taken`."""
    known, written, distinct = set(taken), set(names), list[str]()
    if len(written) == len(names) and not known & written:
        return list(names)
    for name in names:
        others = (each for number in count(2) if (each := f"{name}_{number}") not in written)
        distinct.append(next(each for each in chain([name], others) if each not in known))
        known.add(distinct[-1])
    return distinct
