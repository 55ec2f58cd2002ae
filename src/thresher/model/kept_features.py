"""Features to keep: from columns, names or ids, as the user gives them, to the ids of the learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.messages import join_some, parameter
from thresher.model.names import Naming, id_of

if TYPE_CHECKING:
    from thresher.model.model import Model

# Of all columns, or by column; or how names are hashed. None: they have no names.
ColumnNames: TypeAlias = list[str] | dict[int, str] | Naming | None


def ids_to_keep(model: Model, id_base: int | None, names: ColumnNames, n_features: int | None) -> NDArray[np.int64]:
    """Return the ids of the features that a model keeps in any case, ascending."""
    if model.words_to_keep:
        return _ids_as_written(model.words_to_keep, names, id_base)
    columns = model.parameters.get("keep") or []
    if columns and id_base is None:
        raise ValueError(
            f"{parameter('keep')} lists columns, but whether ids count from 0 or 1 is not known before the data are "
            f"read: set {parameter('zero_based', ...)} in open_stream."
        )
    return _ids_of_columns(columns, id_base or 0, names, n_features)


def _ids_of_columns(keep: list[Any], id_base: int, names: ColumnNames, n_features: int | None) -> NDArray[np.int64]:
    """Return the ids of columns to keep that are given by number or by name, ascending."""
    if keep and isinstance(keep[0], str):
        if isinstance(names, Naming):
            return np.sort(names.ids_of(keep))
        if names is None:
            raise ValueError(
                f"{parameter('keep')} names {keep[0]!r}, but the columns of the data have no names: use their numbers."
            )
        places = {name: column for column, name in (names.items() if isinstance(names, dict) else enumerate(names))}
        unknown = next((name for name in keep if name not in places), None)
        if unknown is not None:
            raise ValueError(
                f"{parameter('keep')} names {unknown!r}, which is not among the columns ({join_some(list(places))})."
            )
        keep = [places[name] for name in keep]
    elif keep and n_features is not None and max(keep) >= n_features:
        raise ValueError(f"{parameter('keep')} lists column {max(keep)}, but there are {n_features}, counted from 0.")
    return np.array(sorted(keep), np.int64) + id_base


def _ids_as_written(words: list[str], names: ColumnNames, id_base: int | None) -> NDArray[np.int64]:
    """Return the ids of features that are named as in the data: by the names of columns, else by ids; ascending."""
    if names is not None:
        return _ids_of_columns(words, id_base or 0, names, None)
    ids = np.array(sorted(_id(word) for word in words), np.int64)
    if id_base is not None and len(ids) and ids[0] < id_base:
        raise ValueError(f"{parameter('keep')} names id {ids[0]}, but the ids of the data count from {id_base}.")
    return ids


def _id(word: str) -> int:
    """Return a feature id as a file writes it."""
    id_ = id_of(word)
    if id_ is None:
        raise ValueError(
            f"{parameter('keep')} names {word!r}, which is not a feature id: the columns of the data have no names, "
            "so ids must be whole numbers from 0 to 2^63 - 2."
        )
    return id_
