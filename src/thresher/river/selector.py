"""What all classes of river share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from river import base, utils

from thresher import _core, methods
from thresher.messages import shorten
from thresher.model.labels import RowTargets
from thresher.model.learners import learner_for
from thresher.model.learning import learn_rows
from thresher.model.model import Model
from thresher.model.names import N_IDS
from thresher.model.settling import warn_if_saturated
from thresher.parameters import Between, OneOf, Parameter, Whole, check, plain
from thresher.river.rows import (
    ALLOWED,
    Row,
    features,
    ids_of,
    name_of,
    names_by_id,
    numbers,
    row_weights,
    sorted_ids,
)

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]  # pandas has no types

_ROWS_BETWEEN_CHECKS = 1_000

# What is different in river: rows come one after another, so there is nothing to shuffle or to repeat, and neither the
# number of features nor the last row is known.
_ONLY_FOR_FIT = ("n_passes", "refit", "shuffle", "random_state", "decoys", "max_fdr")
_CHANGED: Mapping[str, Mapping[str, Any]] = {
    "n_features_to_select": {"allowed": (Whole(1),)},
    "keep": {"help": "names of features to select in any case; they count in the budget"},
    "gamma": {"allowed": (Between(0.0, math.inf),), "help": "larger is slower and steadier"},
    "class_weight": {"help": "weights by label, or 'balanced' for classes that count alike, by the rows so far"},
    "memory": {
        "default": "hash",
        "allowed": (OneOf(("hash", "sketch")),),
        "help": "where features are stored: in a hash table, or all but the selected ones in a sketch of fixed size",
    },
    "memory_bytes": {"help": "the size of the sketch; 64 MiB by default"},
}


def parameters_of(method: methods.Method) -> dict[str, Parameter]:
    """Return the parameters that a method has in river."""
    left_out = {*_ONLY_FOR_FIT, *(() if method.sketch_kernels else ("memory",))}
    own = {name: each for name, each in method.parameters.items() if name not in left_out}
    return {name: replace(each, **_CHANGED.get(name, {})) for name, each in own.items()}


# River's checks know by `SupervisedTransformer` that `learn_one` takes a label. But a pipeline that learns passes a
# transformed row on only if the step is a `Transformer`, which that one is not.
class RiverSelector(base.SupervisedTransformer, base.Transformer):
    """What the classes share: a `Model` whose features are the items of dicts.

    The id of a feature is the hash of its name. The names of the selected features are known, and of some others:
    it would take too long to search after every row for features that have left.
    """

    _method: ClassVar[methods.Method]

    def __init__(self, **given: Any) -> None:
        table = self.table(self._method)
        for name, value in given.items():
            setattr(self, name, value)
            check(f"{name} of {self._method.estimator}", plain(value), *table[name].allowed)
        given = {name: plain(value) for name, value in given.items()}
        kept = [str(key) for key in given.get("keep") or ()]
        if kept:
            given["keep"] = ids_of(kept).tolist()
        known = {name: value for name, value in given.items() if name in self._method.parameters}
        self._model = Model(self._method.name, **{"memory": "hash", **known})
        self._names = names_by_id(kept)
        self._known = set(kept)  # the same names
        self._most_names = 2 * given["n_features_to_select"] + 1_000 if self._method.has_budget else math.inf
        # The names of the last row, their ids in ascending order, and where each stands among the names: a row is often
        # predicted before it is learned, and often has the keys of the row before.
        self._last_row: tuple[list[str], NDArray[np.int64], NDArray[np.int64]] = sorted_ids([])
        self._last_members: tuple[bytes, set[int]] = (b"", set())
        self._rows_until_check, self._n_saturated = _ROWS_BETWEEN_CHECKS, 0

    @classmethod
    def table(cls, method: methods.Method) -> dict[str, Parameter]:
        """Return the parameters of the class for a method."""
        return parameters_of(method)

    def learn_one(self, x: Row, y: Any, w: float = 1.0) -> None:  # type: ignore[override]  # river's has no weight
        """Learn a row.

        Parameters
        ----------
        x : dict
            The features. A number is the value of the feature that its key names. Text, as in ``{"color": "red"}``, is
            the feature ``color=red`` with the value 1. None, NaN, 0 and empty text are no feature.
        y : number, or for classifiers anything hashable
            The label.
        w : float, default=1.0
            The weight of the row; a row of weight 0 is skipped.
        """
        names, batch = self._row(x, to_learn=True)
        self._learn(names, batch, [y], None if w == 1.0 else row_weights(w, 1))

    def debug_one(self, x: Row, decimals: int = 5) -> str:
        """Return a table of what the selected features of a row, and the intercept, add to its score.

        The score of a regressor is the number that it predicts. Of a classifier contributions above 0 are for the
        second of two labels; with more, they are those to the score of the predicted label. They are in order of size,
        and add up to the score.

        Parameters
        ----------
        x : dict
            The features.
        decimals : int, default=5
            How many decimals numbers have.
        """
        _, batch = self._row(x)
        learner = self._learner
        scores = learner.score(batch, 0, 1)
        code = int(scores.argmax()) if len(scores) > 1 else 0
        _, ids, parts = learner.parts(batch, np.array([code], np.int32))
        order = np.argsort(-np.abs(parts), kind="stable")
        names = [self._names[id_] for id_ in ids[order].tolist()]
        contributions = [*parts[order].tolist(), float(learner.intercept[code])]
        return utils.pretty.print_table(
            headers=["Name", "Contribution"],
            columns=[[*names, "Intercept"], [f"{each: ,.{decimals}f}" for each in contributions]],
        )

    def transform_one(self, x: Row) -> dict[Any, Any]:
        """Return the items of a row whose features are selected; a method without a budget selects all that it saw."""
        names = [name_of(key, value) for key, value in x.items()]
        if not self._method.has_budget:
            return dict(compress(x.items(), map(self._known.__contains__, names)))
        ids = self._learner.member_ids()
        if (members := ids.tobytes()) != self._last_members[0]:
            self._last_members = members, set(ids.tolist())
        found = ids_of(self._without_clashes(names)).tolist()
        return dict(compress(x.items(), map(self._last_members[1].__contains__, found)))

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: float | pd.Series = 1.0) -> None:
        """Learn the rows of a data frame in their order, with exactly the result of `learn_one` for each.

        If one of them is not valid, nothing is learned.

        Parameters
        ----------
        X : DataFrame
            A column for each key. Where a value is missing, the row has no such feature.
        y : Series
            The labels.
        w : float or Series, default=1.0
            The weight of all rows, or of each.
        """
        labels = list(y)
        if len(labels) != len(X):
            raise ValueError(f"X has {len(X)} rows, but y has {len(labels)} labels.")
        names, batch = self._rows(X, to_learn=True)
        self._learn(names, batch, labels, row_weights(w, len(X)))

    @property
    def selected_names_(self) -> list[str]:
        """The names of the selected features, best first."""
        return list(self.weights)

    @property
    def weights(self) -> dict[str, Any]:
        """The weight of each selected feature, best first: above 0 it is for the second of two classes.

        With more classes there is a dict of weights by label. Of a regressor it is what a value of 1 adds.
        """
        ids, weights = self._learner.members()
        each = map(self._by_label, weights.reshape(len(ids), self._model.n_vectors).tolist())
        return dict(zip([self._names[id_] for id_ in ids.tolist()], each, strict=True))

    @property
    def intercept(self) -> Any:
        """The number that is added to the score; with more than two classes, a dict by label."""
        return self._by_label(self._learner.intercept.tolist())

    @property
    def n_samples_seen_(self) -> int:
        """Rows seen, with or without a loss; without rows of weight 0."""
        return int(self._learner.counters["n_samples"])

    @property
    def _supervised(self) -> bool:
        return True

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes, including those that the core has allocated."""
        return super()._raw_memory_usage + 4096 * self._learner.n_pages()

    @property
    def _learner(self) -> _core.Selector:
        """The learner."""
        learner_for(self._model, self._n_vectors, 0, None, None)
        return self._model.selector

    _n_vectors = 1

    def _by_label(self, numbers: list[float]) -> Any:
        return numbers[0]

    @abstractmethod
    def _targets(self, labels: list[Any], counts: NDArray[np.bool_]) -> RowTargets:
        """Return the codes or numbers of labels, of which only some count."""

    def _weights_of(self, codes: RowTargets, weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Return the weights of rows, with those of their classes."""
        return weights

    def _learn(
        self, names: list[str], batch: _core.CsrBatch, labels: list[Any], weights: NDArray[np.float64] | None
    ) -> None:
        if weights is not None and not weights.any():
            return
        counts = np.ones(len(labels), bool) if weights is None else weights != 0
        codes, learner = self._targets(labels, counts), self._learner
        weights = self._weights_of(codes, weights)
        learn_rows(learner, batch, codes, weights)
        new = [name for name in names if name not in self._known]
        for id_, name in zip(ids_of(new).tolist(), new, strict=True):
            if self._names.setdefault(id_, name) == name:  # of names with one hash, the first is the feature's
                self._known.add(name)
        if len(self._names) > self._most_names:
            self._names = {id_: self._names[id_] for id_ in learner.member_ids().tolist()}
            self._known = set(self._names.values())
        self._rows_until_check -= len(codes)
        if self._rows_until_check <= 0:
            before, self._n_saturated = self._n_saturated, learner.counters["n_saturated"]
            warn_if_saturated(self._model, before)
            self._rows_until_check = _ROWS_BETWEEN_CHECKS

    def _without_clashes(self, names: list[str]) -> list[str]:
        """Return the names; one with the hash of another name that is known gets a NUL behind it."""
        if self._known.issuperset(names):
            return names
        ids = ids_of(names).tolist()
        return [
            name if self._names.get(id_, name) == name else f"{name}\0" for id_, name in zip(ids, names, strict=True)
        ]

    def _row(self, x: Row, *, to_learn: bool = False) -> tuple[list[str], _core.CsrBatch]:
        """Return the names of a row's features, and the row."""
        names, values = features(x)
        names = names if to_learn else self._without_clashes(names)
        if names != self._last_row[0]:
            self._last_row = sorted_ids(names)
        _, ids, places = self._last_row
        batch = _core.CsrBatch(np.array([0, len(ids)]), ids, values[places], N_IDS)
        fault = batch.check(self._model.norm)
        if fault is None:
            return names, batch
        if fault[0] == "unsorted":  # two keys have one name
            return names, self._batch(names, 1, np.zeros_like(places), np.arange(len(names)), values)
        raise ValueError(f"x[{shorten(names_by_id(names)[fault[2]])!r}] is {fault[3]:g}; {ALLOWED}")

    def _rows(self, X: pd.DataFrame, *, to_learn: bool = False) -> tuple[list[str], _core.CsrBatch]:
        """Return the names of the features of a data frame, and its rows."""
        if all(dtype.kind in "biuf" for dtype in X.dtypes):
            names = [name_of(column, 0) for column in X.columns]
            table = numbers(X)
            rows, places, values = table.row, table.col, table.data
        else:
            each = [features(x) for x in X.astype(object).where(X.notna(), None).to_dict("records")]
            names = [name for row, _ in each for name in row]
            rows, places = np.repeat(np.arange(len(X)), [len(row) for row, _ in each]), np.arange(len(names))
            values = np.concatenate([numbers for _, numbers in each]) if each else np.zeros(0)
        names = names if to_learn else self._without_clashes(names)
        return names, self._batch(names, len(X), rows, places, values)

    def _batch(
        self, names: list[str], n_rows: int, rows: NDArray[Any], places: NDArray[Any], values: NDArray[np.float64]
    ) -> _core.CsrBatch:
        """Return rows as a batch; each value comes with its row and the place of its name."""
        ids, columns = np.unique(ids_of(names), return_inverse=True)
        table = sp.csr_array((values, (rows, columns[places])), shape=(n_rows, len(ids)))
        table.sum_duplicates()
        batch = _core.CsrBatch(table.indptr.astype(np.int64), ids[table.indices], table.data, N_IDS)
        fault = batch.check(self._model.norm)
        if fault is not None:
            name = shorten(names_by_id(names)[fault[2]])
            raise ValueError(f"row {fault[1]} of X: {name!r} is {fault[3]:g}; {ALLOWED}")
        return batch

    def _scores(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Return margins or, with more than two classes, the scores of each; or the numbers that are predicted."""
        scores = self._learner.score(self._rows(X)[1], 0, len(X))
        return scores if self._n_vectors == 1 else scores.reshape(len(X), self._n_vectors)
