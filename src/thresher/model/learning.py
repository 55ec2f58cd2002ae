"""Learning rows: the one loop that passes them to a learner, and what is provisional until the end of a stream.

`fit` and `partial_fit` learn matrices. A `Session` learns the batches of a stream, in which classes, columns and the id
base are known only at its end; shards and training runs use it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import _core, parameters
from thresher.batch import Batch, blocks, core_rows
from thresher.csr import Csr, NotCanonicalError, as_batch, check_rows, raise_fault, to_canonical
from thresher.messages import count_noun, parameter, warn
from thresher.methods import FEW_ROWS, PASSES_OF_FEW
from thresher.model.kept_features import ColumnNames, ids_as_written, ids_of_columns
from thresher.model.label_order import POOR_ON_GROUPED_ROWS, LabelOrder
from thresher.model.labels import Codes
from thresher.model.learners import explain_lack_of_memory, new_learner, reserve
from thresher.model.names import N_IDS, MemberNames, Naming
from thresher.model.race import Learner, Standing, winner_of
from thresher.model.targets import Classes, StreamClasses, classes_for, classes_for_matrix
from thresher.model.validators import Validator, is_count, is_flag, is_whole

if TYPE_CHECKING:
    from thresher.model.model import Model


class Pass(StrEnum):
    """A pass over the rows: the first one, a later one, or a closing one, in which only the predicting layer learns."""

    FIRST = "first"
    LATER = "later"
    REFIT = "refit"


class Observer(Protocol):
    """Is called after certain numbers of rows, however they are cut into batches."""

    def n_rows_until_due(self) -> int:
        """Return how many rows are to be learned before the next call, at least 1; rows of weight 0 do not count."""
        ...

    def note_if_due(self) -> None:
        """Note the model's figures, if that many rows were learned."""
        ...


def learn_rows(
    learner: Learner,
    rows: _core.CsrBatch,
    codes: Codes,
    row_weights: NDArray[np.float64] | None,
    order: NDArray[np.int64] | None = None,
    *,
    n_values: int = 0,
    check: bool = False,
    is_new: bool = True,
    observer: Observer | None = None,
) -> _core.Fault | None:
    """Learn rows in blocks, between which Ctrl-C takes effect; return the fault of the first row that can't be learned.

    `n_values` is the number of their values. Without `check`, the rows must have been checked before.
    """
    bounds = blocks(len(codes), n_values)
    if observer is not None:
        bounds = _cut_for_observer(bounds, row_weights, observer)
    for begin, end in bounds:
        with explain_lack_of_memory():
            fault = learner.learn(rows, codes, row_weights, order, begin, end, check, is_new)
        if fault is not None:
            return fault
    return None


def refit_rows(
    selector: _core.Selector,
    rows: _core.CsrBatch,
    codes: Codes,
    row_weights: NDArray[np.float64] | None,
    order: NDArray[np.int64] | None = None,
    *,
    n_values: int = 0,
) -> None:
    """Let only the predicting layer learn rows, in a closing pass; Ctrl-C takes effect as in `learn_rows`."""
    for begin, end in blocks(len(codes), n_values):
        selector.refit(rows, codes, row_weights, order, begin, end)


def fit(
    model: Model,
    X: Csr,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    feature_names: list[str] | None = None,
) -> None:
    """Train a new model on a matrix, `n_passes` times. After an error it can't be used."""
    target = classes_for_matrix(model, y)
    codes = target.encode(y)
    given, n_features = model.parameters, _n_columns(X, codes)
    row_weights = target.row_weights(given["class_weight"], codes, sample_weight)
    if row_weights is not None and not row_weights.any():
        raise ValueError("sample_weight (times class_weight) is zero for every row: nothing can be learned.")
    model.n_vectors, model.kept_ids = target.n_vectors, ids_to_keep(model, 0, feature_names, n_features)
    model.n_features, model.feature_names = n_features, feature_names
    model.learner, model.chosen_gamma, model.standings = _learn_matrix(model, X, codes, row_weights)
    model.target = target
    model.class_weights.count(codes, row_weights)
    warn_if_saturated(model, before=0)
    if not given["shuffle"]:
        order = LabelOrder()
        order.add(codes)
        grouping = order.grouping()
        model.grouped_by_label = grouping is not None
        if grouping is not None:
            warn(f"y: {grouping}. {POOR_ON_GROUPED_ROWS}: use {parameter('shuffle', True)}.", UserWarning)


def _learn_matrix(
    model: Model, X: Csr, codes: Codes, row_weights: NDArray[np.float64] | None
) -> tuple[Learner, float | None, list[Standing]]:
    """Return a learner of all rows, the γ that won the race, and the standings."""
    given = model.parameters
    random = parameters.random_generator(given["random_state"])

    def new_order() -> NDArray[np.int64] | None:
        return random.permutation(len(codes)) if given["shuffle"] else None

    first_order = new_order()
    try:
        all_learners, batch = _learn_first_pass(model, X, codes, row_weights, first_order)
    except NotCanonicalError:
        X = to_canonical(X)
        all_learners, batch = _learn_first_pass(model, X, codes, row_weights, first_order)
    batch.trust()
    learner, gamma, standings = winner_of(all_learners)  # later passes train the winner only
    for _ in range(1, n_passes_after(given["n_passes"], learner.counters["n_samples"])):
        learn_rows(learner, batch, codes, row_weights, new_order(), n_values=len(X.data), is_new=False)
    if given.get("refit", False) is not False:
        learner.start_refit()
        refit_rows(learner, batch, codes, row_weights, new_order(), n_values=len(X.data))
        learner.end_refit(keep=True)
    return learner, gamma, standings


def _learn_first_pass(
    model: Model, X: Csr, codes: Codes, row_weights: NDArray[np.float64] | None, order: NDArray[np.int64] | None
) -> tuple[Learner, _core.CsrBatch]:
    """Return a new learner that has learned a matrix once, and the matrix as the core has it.

    Each row is checked while it is in cache; on a fault the learner is discarded.
    """
    learner, batch = new_learner(model, model.n_vectors, model.kept_ids, model.n_features), as_batch(X, 0)
    fault = learn_rows(learner, batch, codes, row_weights, order, n_values=len(X.data), check=True)
    if fault is not None:
        raise_fault(fault, X)
    return learner, batch


def n_passes_after(asked: int | str, n_rows: int) -> int:
    """Return how many passes there are, once the first has shown so many rows."""
    if isinstance(asked, int):
        return asked
    return PASSES_OF_FEW if n_rows <= FEW_ROWS else 1


def partial_fit(
    model: Model,
    X: Csr,
    y: ArrayLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    feature_names: list[str] | None = None,
) -> None:
    """Train a model on more rows; with rows of weight 0 alone, a trained model does not change.

    On an error the model does not change either, unless memory runs out while it learns.
    """
    with model.lock:
        model.check_can_learn()
        if model.parameters.get("gamma") == "auto":
            chosen = (
                "" if model.gamma is None else f", or continue with {parameter('gamma', model.gamma)}, which was chosen"
            )
            raise ValueError(
                f"{parameter('gamma', 'auto')} can't be used with partial_fit: a race needs a whole stream: use fit or "
                f"train{chosen}."
            )
        target = classes_for(model, classes)
        codes = target.encode(y)
        n_features = _n_columns(X, codes)
        model.check_width(X)
        row_weights = target.row_weights(None, codes, sample_weight)
        kept, learner, is_new = model.kept_ids, model.learner, model.learner is None
        if learner is None:
            kept = ids_to_keep(model, model.id_base, feature_names, n_features)
            learner = new_learner(model, target.n_vectors, kept, n_features)
        X, rows = check_rows(X, model.norm, model.id_base)
        row_weights = target.weights(model.class_weights, codes, row_weights)
        if not is_new and not (len(codes) if row_weights is None else row_weights.any()):
            return  # there is nothing to learn from
        before = learner.counters["n_saturated"]
        # From here on only Ctrl-C or a lack of memory can interrupt; the rows learned until then are kept.
        model.learner, model.n_vectors, model.target = learner, target.n_vectors, target
        model.n_features = max(n_features, model.n_features or 0)
        model.feature_names, model.kept_ids = feature_names, kept
        drop_stale_measurements(model)
        learn_rows(learner, rows, codes, row_weights, n_values=len(X.data))
        warn_if_saturated(model, before)


def _n_columns(X: Csr, codes: Codes) -> int:
    n_rows, n_features = X.shape
    if n_rows != len(codes):
        raise ValueError(f"X has {n_rows} rows, but y has {len(codes)} labels.")
    return n_features


class Session:
    """One pass of a model over a stream.

    Rows can have any width. The classes are those that occur, unless they are given or the model has classes already.
    `state` returns the state of a session beyond that of its model, and `from_state` continues from it as if the pass
    had never stopped.

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
        The number of columns, if it is known in advance: the model then has as many, also if no row has a value in some
        of them. A model with fewer columns grows, one with more keeps them.
    in_pass : Pass, default=Pass.FIRST
        Which pass it is.

    Attributes
    ----------
    target : StreamClasses
        The classes so far, and the order of the labels.
    largest_id : int
        The largest id so far, with those that the model knew before.
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
        self.target = StreamClasses.for_model(model, classes)
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

    def learn(
        self, batch: Batch, row_weights: NDArray[np.float64] | None = None, observer: Observer | None = None
    ) -> Codes:
        """Learn a batch that its reader has checked; return the codes of its labels, which are still provisional.

        `row_weights` are the weights of its rows, where they are not the batch's own.
        """
        codes = self.target.encode(batch.labels)
        own = batch.row_weights if row_weights is None else row_weights
        is_new, rows = self.in_pass == Pass.FIRST, core_rows(batch)
        row_weights = self.target.weights(self.model.class_weights, codes, own, are_new=is_new)
        if self.in_pass == Pass.REFIT:
            refit_rows(self.model.selector, rows, codes, row_weights, n_values=len(batch.data))
            return codes
        self._reserve(batch.largest_id)
        self.zero_seen |= batch.zero_seen
        if batch.n_rows if row_weights is None else row_weights.any():
            drop_stale_measurements(self.model)
        fault = learn_rows(
            self._learner, rows, codes, row_weights,
            n_values=len(batch.data), check=self.model.parameters["norm"] is None, is_new=is_new, observer=observer,
        )  # fmt: skip
        if fault is not None:
            raise ValueError(
                f"{batch.location(fault[1])}: the value {fault[3]:g} is too large with {parameter('norm', None)}: "
                "scale the data."
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

    def finish(self, id_base: int | None = None) -> None:
        """Fix what is known only at the end: the classes, the columns, and whether ids count from 0 or 1."""
        model = self.model
        if self.in_pass == Pass.REFIT:
            return
        if self._learner.counters["n_samples"] == self.n_samples_before and self.target.order.n_rows > 0:
            raise ValueError("every row has weight 0: there is nothing to learn from.")
        if model.target is None:
            unknown = 0 if self.zero_seen or self._naming is not None else 1
            base = unknown if id_base is None else id_base
            fix_classes(model, *self.target.final_classes(), base)
            model.naming = self._naming
        include_id(model, self.largest_id)
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
        session = cls(model)
        session.target = StreamClasses.from_state(state["target"], model.n_vectors)
        session._naming = None if state["naming"] is None else Naming.from_dict(state["naming"])
        session._reserve(state["largest_id"])
        for name in cls.VALIDATORS:
            setattr(session, name, state[name])
        session.in_pass = Pass(session.in_pass)
        return session


def learner_for(
    model: Model, n_vectors: int, id_base: int | None, names: list[str] | Naming | None, n_features: int | None
) -> Learner:
    """Return a model's learner; a new one, of any width, if nothing was learned yet."""
    if model.learner is None:
        kept = ids_to_keep(model, id_base, names, n_features)
        words = [str(name) for name in model.words_to_keep or model.parameters.get("keep") or []]
        if isinstance(names, Naming) and words:
            model.names = MemberNames(dict(zip(names.ids_of(words).tolist(), words, strict=True)))
        model.learner = new_learner(model, n_vectors, kept)
        model.n_vectors, model.kept_ids = n_vectors, kept
    return model.learner


def ids_to_keep(model: Model, id_base: int | None, names: ColumnNames, n_features: int | None) -> NDArray[np.int64]:
    """Return the ids of the features that a model keeps in any case, ascending."""
    if model.words_to_keep:
        return ids_as_written(model.words_to_keep, names, id_base)
    columns = model.parameters.get("keep") or []
    if columns and id_base is None:
        raise ValueError(
            f"{parameter('keep')} lists columns, but whether ids count from 0 or 1 is not known before the data are "
            f"read: set {parameter('zero_based', ...)} in open_stream."
        )
    return ids_of_columns(columns, id_base or 0, names, n_features)


def fix_classes(model: Model, target: Classes, swapped: bool, id_base: int) -> None:
    """Set the classes and the id base of a model; `swapped`: the provisional codes were in reverse order."""
    assert model.learner is not None
    learner, gamma, standings = winner_of(model.learner)
    if learner is not model.learner:
        model.learner, model.chosen_gamma, model.standings = learner, gamma, standings
    if swapped:
        learner.swap_classes()  # type: ignore[attr-defined]  # only selectors of two classes have it
        model.class_weights.swap_classes()
    model.target, model.id_base = target, id_base
    if model.words_to_keep:
        model.parameters["keep"] = (model.kept_ids - id_base).tolist()
        model.words_to_keep = []


def include_id(model: Model, largest_id: int) -> None:
    """Set the number of a model's columns so that it includes an id."""
    model.n_features = max(largest_id + 1 - model.id_base, 0)
    if isinstance(model.feature_names, list) and len(model.feature_names) != model.n_features:
        model.feature_names = None  # they no longer name all columns


def drop_stale_measurements(model: Model) -> None:
    """Drop measurements from before the model learned these rows."""
    if model.threshold != 0.0:
        warn(
            f"The threshold of {model.threshold:g} was chosen before the model learned these rows and is back at 0: "
            "choose it again with set_threshold.",
            UserWarning,
        )
    model.threshold, model.selection_frequency = 0.0, None


def warn_if_saturated(model: Model, before: int) -> None:
    """Warn once that precisions have reached the limit of float32; `before` is the count before these rows."""
    if before == 0 and model.counters["n_saturated"] > 0:
        warn(
            "The precision of every feature of a row has reached the limit of float32 and no longer grows there: "
            "weights continue to learn, but more such rows can't change which features are selected.",
            RuntimeWarning,
        )


def warn_of_clashes(model: Model, before: int) -> None:
    """Warn that two names share an id, and so a weight; `before` is the count before this stream."""
    n, one, other = model.names.clashes
    if n > before:
        warn(
            f"The names {one!r} and {other!r} have the same hash and are one feature to the model; a name that "
            f"clashes with a selected one occurred {count_noun(n, 'time')}.",
            UserWarning,
        )


def _cut_for_observer(
    bounds: Iterator[tuple[int, int]], row_weights: NDArray[np.float64] | None, observer: Observer
) -> Iterator[tuple[int, int]]:
    """Cut blocks of rows where the observer is due, and call it once the rows before were learned."""
    for begin, end in bounds:
        while begin < end:
            due, cut = observer.n_rows_until_due(), end
            if row_weights is None:
                cut = min(end, begin + due)
            elif len(weighted := np.flatnonzero(row_weights[begin:end])) >= due:
                cut = begin + int(weighted[due - 1]) + 1
            yield begin, cut
            observer.note_if_due()
            begin = cut
