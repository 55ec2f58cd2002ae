"""One pass of a model over a stream. Classes, columns and the id base are provisional until the stream ends.

`state` returns all that a session knows as plain values. `resumed` continues from them and the model's own state, as if
the pass had never stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import parameters
from thresher.batch import blocks, trusted_batch
from thresher.model.label_order import LabelOrder
from thresher.model.labels import Codes, StreamClasses, labels_read
from thresher.model.memory import reserve, room_for_features
from thresher.model.model import Model
from thresher.model.names import N_IDS, Naming


class Observer(Protocol):
    """Looks at the model after certain numbers of rows, however they are cut into batches."""

    def n_rows_until_due(self) -> int:
        """How many rows are to be learned before the next look, at least 1; rows of weight 0 do not count."""
        ...

    def note_if_due(self) -> None:
        """Look at the model, if that many rows were learned."""
        ...


class Session:
    """Trains a model on the batches of a stream.

    Rows can have any width. The classes are those that occur, unless they are given or the model has classes already.

    Parameters
    ----------
    model : Model
        New, or to continue learning.
    classes : array, optional
        The classes, if they are known in advance.
    id_base : int, optional
        The id of the first column, if it is known in advance.
    names : list of str or Naming, optional
        The names of the columns, if they have names, or how names are hashed.
    n_features : int, optional
        The number of columns, if it is known in advance: the model then has as many, also of those in which no row has
        a value. One that has fewer grows, one that has more keeps them.
    is_first_pass : bool, default=True
        Whether the rows come for the first time.
    """

    def __init__(
        self,
        model: Model,
        classes: ArrayLike | None = None,
        id_base: int | None = None,
        names: list[str] | Naming | None = None,
        n_features: int | None = None,
        is_first_pass: bool = True,
    ) -> None:
        model.check_can_learn("a stream")
        parameters.budget(model.parameters, None)  # raises for a share of the columns: their number can grow
        known = None if classes is None and model.classes is None else model.agreed_classes(classes)
        self.model = model
        self._learner = model.learner_for(2 if known is None else len(known), id_base, names, n_features)
        self._classes = StreamClasses(known)
        self._given = known
        self._is_first_pass = is_first_pass
        self._n_samples_before = self._learner.counters["n_samples"]
        kept = model.kept_ids
        largest = -1 if model.n_features is None else model.n_features + model.id_base - 1
        self._largest_id = max(largest, int(kept.max(initial=-1)))
        self._zero_seen = bool((kept == 0).any())
        self._naming = names if isinstance(names, Naming) else None
        if n_features is not None:
            base = (id_base or 0) if model.classes is None else model.id_base
            self._make_room(n_features + base - 1)
        self._n_saturated_before = self._learner.counters["n_saturated"]
        self._n_clashes_before = model.name_clashes[0]
        self.label_order = LabelOrder()

    def learn(
        self, batch: Any, importances: NDArray[np.float64] | None = None, observer: Observer | None = None
    ) -> Codes:
        """Learn a batch that its reader has checked; return the codes of its labels, which are still provisional.

        `importances` are the weights of its rows, where they are not the batch's own.
        """
        codes = self._classes.encode(batch.labels)
        own = batch.importances if importances is None else importances
        weights = self.model.class_weights
        importances = weights.of_rows(codes, own, self._classes.by_code(), are_new=self._is_first_pass)
        self._make_room(batch.largest_id)
        self._zero_seen |= batch.zero_seen
        rows = trusted_batch(batch)
        check = self.model.parameters["norm"] is None
        if batch.n_rows if importances is None else importances.any():
            self.model.learned_more()
        for begin, end in _until_observed(blocks(batch.n_rows, len(batch.data)), importances, observer):
            with room_for_features():
                fault = self._learner.learn(
                    rows, codes, importances, None, begin, end, check=check, is_new=self._is_first_pass
                )
            if fault is not None:
                raise ValueError(
                    f"{batch.place(fault[1])}: the value {fault[3]:g} is too large with norm=None: scale the data."
                )
        if batch.names is not None:
            self.model.read_names(batch.indices, batch.names)
            if self._naming is None and self.model.classes is None:  # VW text whose first rows have numbers only
                self._naming = Naming()
                self._make_room(N_IDS - 1)
        self.label_order.add(codes)
        return codes

    def _make_room(self, largest_id: int) -> None:
        if largest_id > self._largest_id:
            reserve(self._learner, largest_id + 1)
            self._largest_id = largest_id

    @property
    def largest_id(self) -> int:
        """The largest id so far, with those that the model knew before."""
        return self._largest_id

    def finish(self, id_base: int | None = None) -> None:
        """Fix what is known only at the end: the classes, the columns, and whether ids count from 0 or 1."""
        if self._learner.counters["n_samples"] == self._n_samples_before and self.label_order.n_rows > 0:
            raise ValueError("every row has weight 0: there is nothing to learn from.")
        if self.model.classes is None:
            unknown = 0 if self._zero_seen or self._naming is not None else 1
            base = unknown if id_base is None else id_base
            self.model.settle(self._classes.classes(), base, swapped=not self._classes.in_order)
            self.model.naming = self._naming
        self.model.widen(self._largest_id)
        self.model.warn_if_saturated(self._n_saturated_before)
        self.model.warn_of_clashes(self._n_clashes_before)

    def state(self) -> dict[str, Any]:
        """Return what the session knows in addition to its model's state, as values for JSON."""
        return {
            "classes": self._classes.state(),
            "given": None if self._given is None else self._given.tolist(),
            "is_first_pass": self._is_first_pass,
            "n_samples_before": self._n_samples_before,
            "largest_id": self._largest_id,
            "zero_seen": self._zero_seen,
            "n_saturated_before": self._n_saturated_before,
            "n_clashes_before": self._n_clashes_before,
            "label_order": self.label_order.state(),
            "naming": None if self._naming is None else self._naming.to_dict(),
            "row_counts": self.model.class_weights.state(),
        }

    @classmethod
    def resumed(cls, model: Model, state: dict[str, Any]) -> Self:
        """Return a session that continues from `state`; the model must have its state of the same moment."""
        given = None if state["given"] is None else labels_read(state["given"])
        session = cls(model, given)
        session._classes = StreamClasses.resumed(state["classes"])
        session._naming = None if state["naming"] is None else Naming.from_dict(state["naming"])
        session._largest_id, session._zero_seen = state["largest_id"], state["zero_seen"]
        session._n_saturated_before = state["n_saturated_before"]
        session._n_clashes_before = state["n_clashes_before"]
        session.label_order = LabelOrder.resumed(state["label_order"])
        model.class_weights.restore(state["row_counts"])
        session._is_first_pass, session._n_samples_before = state["is_first_pass"], state["n_samples_before"]
        return session


def _until_observed(
    stretches: Iterator[tuple[int, int]], importances: NDArray[np.float64] | None, observer: Observer | None
) -> Iterator[tuple[int, int]]:
    """Cut stretches of rows where a look is due, and let it be taken once the rows before it were learned."""
    for begin, end in stretches:
        while observer is not None and begin < end:
            due, cut = observer.n_rows_until_due(), end
            if importances is None:
                cut = min(end, begin + due)
            elif len(counted := np.flatnonzero(importances[begin:end])) >= due:
                cut = begin + int(counted[due - 1]) + 1
            yield begin, cut
            observer.note_if_due()
            begin = cut
        if observer is None:
            yield begin, end
