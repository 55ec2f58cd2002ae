"""A pass of a model over a stream, in which classes, columns and the id base are known only at its end."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import parameters
from thresher.batch import Batch, core_rows
from thresher.messages import parameter
from thresher.model.labels import RowTargets
from thresher.model.learners import learner_for, reserve
from thresher.model.learning import Observer, learn_rows, refit_rows
from thresher.model.names import N_IDS, Naming
from thresher.model.settling import (
    drop_stale_measurements,
    fix_target,
    include_id,
    trim,
    warn_if_saturated,
    warn_of_clashes,
)
from thresher.model.targets import StreamTarget, Target, stream_target_for, stream_target_from_state
from thresher.model.validators import Validator, is_count, is_flag, is_whole

if TYPE_CHECKING:
    from thresher.model.model import Model


class Pass(StrEnum):
    """A pass over the rows: the first one, a later one, or a closing one, in which only the predicting layer learns."""

    FIRST = "first"
    LATER = "later"
    REFIT = "refit"


class Session:
    """One pass of a model over a stream.

    Rows can have any width. The classes are those that occur, unless they are given or the model has classes already.
    `state` returns what a session knows in addition to its model, and `from_state` continues from it as if the pass had
    never stopped.

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
        The number of columns, if it is known in advance; the model then has this many columns, even if some are empty.
        A model with fewer columns grows, one with more keeps them.
    in_pass : Pass, default=Pass.FIRST
        Which pass it is.

    Attributes
    ----------
    target : StreamClasses or StreamNumbers
        What is known of the target so far, and the order of the labels.
    largest_id : int
        The largest id so far, or that the model knew before. Memory is reserved up to it.
    in_pass : Pass
        Which pass it is.
    """

    # What `state` has beside the classes and the naming, and what a checkpoint may say of it.
    VALIDATORS: ClassVar[dict[str, Validator]] = {
        "in_pass": lambda name: name in list(Pass),
        "largest_id": lambda id_: id_ == -1 or is_whole(id_),
        "zero_seen": is_flag,
        "n_samples_before": is_count,
        "n_saturated_before": is_count,
        "n_clashes_before": is_count,
    }

    def __init__(
        self,
        model: Model,
        classes: ArrayLike | None = None,
        id_base: int | None = None,
        names: list[str] | Naming | None = None,
        n_features: int | None = None,
        in_pass: Pass = Pass.FIRST,
    ) -> None:
        model.check_can_learn()
        parameters.budget(model.parameters, None)  # raises for a share of the columns: their number can grow
        self.model = model
        self.target: StreamTarget = stream_target_for(model, classes)
        self._learner = learner_for(model, self.target.n_vectors, id_base, names, n_features)
        self.in_pass = in_pass
        self.n_samples_before = self._learner.counters["n_samples"]
        largest = -1 if model.n_features is None else model.n_features + model.id_base - 1
        self.largest_id = max(largest, int(model.kept_ids.max(initial=-1)))
        self.zero_seen = bool((model.kept_ids == 0).any())
        self._naming = names if isinstance(names, Naming) else None
        if n_features is not None:
            base = (id_base or 0) if model.target is None else model.id_base
            self._reserve(n_features + base - 1)
        self.n_saturated_before = self._learner.counters["n_saturated"]
        self.n_clashes_before = model.names.clashes[0]
        if in_pass == Pass.LATER:
            model.selector.begin_pass()

    def learn(
        self, batch: Batch, row_weights: NDArray[np.float64] | None = None, observer: Observer | None = None
    ) -> RowTargets:
        """Learn a batch that its reader has checked; return its numbers, or the codes of its labels, still provisional.

        `row_weights` replace the batch's own weights of its rows.
        """
        codes: RowTargets = self.target.encode(batch.labels)
        own = batch.row_weights if row_weights is None else row_weights
        is_new, rows = self.in_pass == Pass.FIRST, core_rows(batch)
        row_weights = self.model.class_weights.of_rows(codes, own, self.target.by_code(), are_new=is_new)
        if self.in_pass == Pass.REFIT:
            refit_rows(self.model.selector, rows, codes, row_weights, n_values=len(batch.data))
            return codes
        learned_codes, partners, n_rows = codes, None, batch.n_rows
        if self.in_pass == Pass.LATER and self.model.has_decoys:
            with_partners, partners = batch.with_partners()
            rows, padding = core_rows(with_partners), (0, with_partners.n_rows - n_rows)
            row_weights = None if row_weights is None else np.pad(row_weights, padding)
            learned_codes = np.pad(codes, padding)
        self._reserve(batch.largest_id)
        self.zero_seen |= batch.zero_seen
        if batch.n_rows if row_weights is None else row_weights.any():
            drop_stale_measurements(self.model)
        fault = learn_rows(
            self._learner, rows, learned_codes, row_weights,
            n_values=len(batch.data), check=self.model.norm != "l2", is_new=is_new, partners=partners,
            n_rows=n_rows, observer=observer,
        )  # fmt: skip
        if fault is not None:
            norm = parameter("norm", self.model.parameters["norm"])
            raise ValueError(
                f"{batch.location(fault[1])}: the value {fault[3]:g} is too large with {norm}: scale the data."
            )
        if batch.names is not None:
            self._read_names(batch)
        self.target.count_learned(codes)
        return codes

    def _read_names(self, batch: Batch) -> None:
        """Find the names of the members in the last batch: every new member occurs in it."""
        assert batch.names is not None
        model = self.model
        model.names.read(self._learner.member_ids() if model.method.has_budget else None, batch.indices, batch.names)
        if self._naming is None and model.target is None:  # VW text whose first rows have numbers only
            self._naming = Naming()
            self._reserve(N_IDS - 1)

    def _reserve(self, largest_id: int) -> None:
        if largest_id > self.largest_id:
            reserve(self._learner, largest_id + 1)
            self.largest_id = largest_id

    def finish(self, id_base: int | None = None, target: Target | None = None) -> None:
        """Fix what is known only at the end: the target, the columns, and whether ids count from 0 or 1.

        A target that is given is known without any row.
        """
        model = self.model
        if self.in_pass == Pass.REFIT:
            return
        if self._learner.counters["n_samples"] == self.n_samples_before and self.target.order.n_rows > 0:
            raise ValueError("every row has weight 0: there is nothing to learn from.")
        if model.target is None:
            unknown = 0 if self.zero_seen or self._naming is not None else 1
            base = unknown if id_base is None else id_base
            target, swapped = self.target.final() if target is None else (target, False)
            fix_target(model, target, swapped, base)
            model.naming = self._naming
        include_id(model, self.largest_id)
        trim(model)
        warn_if_saturated(model, self.n_saturated_before)
        warn_of_clashes(model, self.n_clashes_before)

    def state(self) -> dict[str, Any]:
        """Return the state of the session in addition to its model's, as values for JSON."""
        return {
            "target": self.target.state(),
            "naming": None if self._naming is None else self._naming.to_dict(),
            **{name: getattr(self, name) for name in self.VALIDATORS},
        }

    @classmethod
    def from_state(cls, model: Model, state: dict[str, Any]) -> Self:
        """Return a session that continues from `state`; the model must have its state of the same moment."""
        model.check_occurrences()
        session = cls(model)
        session.target = stream_target_from_state(model.method.predicts, model.n_vectors, state["target"])
        session._naming = None if state["naming"] is None else Naming.from_dict(state["naming"])
        session._reserve(state["largest_id"])
        for name in cls.VALIDATORS:
            setattr(session, name, state[name])
        session.in_pass = Pass(session.in_pass)
        return session
