"""One pass of a model over a stream. Classes, columns and the id base are provisional until the stream ends.

`state` returns all that a session knows as plain values. `resumed` continues from them and the model's own state, as if
the pass had never stopped.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from thresher import parameters
from thresher.csr import blocks, trusted_batch
from thresher.label_order import LabelOrder
from thresher.labels import Codes, StreamClasses, class_weights, encode
from thresher.model import Model, reserve


class Session:
    """Trains a model on the batches of a stream.

    Rows can have any width. The classes are those that occur, unless they are given or the model has classes already.

    Parameters
    ----------
    model : Model
        New, or to continue learning.
    classes : array, optional
        The classes, if they are known in advance.
    """

    def __init__(self, model: Model, classes: ArrayLike | None = None) -> None:
        model.check_can_learn("a stream")
        parameters.budget(model.parameters, None)  # raises for a share of the columns: their number can grow
        known = None if classes is None and model.classes is None else model.agreed_classes(classes)
        if known is not None:
            encode(known, known)  # at least two of them
        self.model = model
        self._learner = model.learner_for(2 if known is None else len(known))
        self._classes = StreamClasses(known)
        self._given = known
        self._largest_id = -1 if model.n_features is None else model.n_features + model.id_base - 1
        self._zero_seen = False
        self._n_saturated_before = self._learner.counters["n_saturated"]
        self.label_order = LabelOrder()

    def learn(self, batch: Any) -> Codes:
        """Learn a batch that its reader has checked; return the codes of its labels, which are still provisional."""
        codes = self._classes.encode(batch.labels)
        importances = batch.importances
        weights = self.model.parameters["class_weight"]
        if weights is not None:
            if self._given is None:
                raise ValueError("class_weight needs the classes before the stream is read: list them with classes=.")
            each = class_weights(weights, codes, self._given)[codes]
            importances = each if importances is None else importances * each
        if batch.largest_id > self._largest_id:
            reserve(self._learner, batch.largest_id + 1)
            self._largest_id = batch.largest_id
        self._zero_seen |= batch.zero_seen
        rows = trusted_batch(batch)
        check = self.model.parameters["norm"] is None
        for begin, end in blocks(batch.n_rows, len(batch.data)):
            fault = self._learner.learn(rows, codes, importances, None, begin, end, check=check)
            if fault is not None:
                raise ValueError(
                    f"{batch.place(fault[1])}: the value {fault[3]:g} is too large with norm=None: scale the data."
                )
        self.label_order.add(codes)
        return codes

    def finish(self, id_base: int | None = None) -> None:
        """Fix what is known only at the end: the classes, the columns, and whether ids count from 0 or 1."""
        if self.model.classes is None:
            base = id_base if id_base is not None else 0 if self._zero_seen else 1
            self.model.settle(self._classes.classes(), base, swapped=not self._classes.in_order)
        self.model.widen(self._largest_id)
        self.model.warn_if_saturated(self._n_saturated_before)

    def abandon(self) -> None:
        """Stop before the end of the stream. A new model is reset; any other keeps what it has learned."""
        if self.model.classes is None:
            self.model.forget()
        else:
            self.model.widen(self._largest_id)

    def state(self) -> dict[str, Any]:
        """Return what the session knows in addition to its model's state, as values for JSON."""
        return {
            "classes": self._classes.state(),
            "given": None if self._given is None else self._given.tolist(),
            "largest_id": self._largest_id,
            "zero_seen": self._zero_seen,
            "n_saturated_before": self._n_saturated_before,
            "label_order": self.label_order.state(),
        }

    @classmethod
    def resumed(cls, model: Model, state: dict[str, Any]) -> Self:
        """Return a session that continues from `state`; the model must have its state of the same moment."""
        given = None if state["given"] is None else np.array(state["given"])
        session = cls(model, given)
        session._classes = StreamClasses.resumed(state["classes"])
        session._largest_id, session._zero_seen = state["largest_id"], state["zero_seen"]
        session._n_saturated_before = state["n_saturated_before"]
        session.label_order = LabelOrder.resumed(state["label_order"])
        return session
