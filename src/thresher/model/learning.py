"""Learning rows: the one loop that passes them to a learner, and how a model learns the rows of a matrix.

A stream is learned by a `Session` (`model/session.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import _core, parameters
from thresher.batch import blocks, predecessors
from thresher.csr import Csr, NotCanonicalError, as_batch, check_rows, raise_fault, to_canonical
from thresher.messages import parameter, warn
from thresher.methods import FEW_ROWS, PASSES_OF_FEW
from thresher.model.class_weights import check_row_weights
from thresher.model.kept_features import ids_to_keep
from thresher.model.label_order import POOR_ON_GROUPED_ROWS
from thresher.model.labels import RowTargets
from thresher.model.learners import explain_lack_of_memory, new_learner
from thresher.model.race import Learner, Standing, winner_of
from thresher.model.settling import drop_stale_measurements, trim, warn_if_none_told, warn_if_saturated
from thresher.model.targets import target_for, target_for_matrix

if TYPE_CHECKING:
    from thresher.model.model import Model


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
    codes: RowTargets,
    row_weights: NDArray[np.float64] | None,
    order: NDArray[np.int64] | None = None,
    *,
    n_values: int = 0,
    check: bool = False,
    is_new: bool = True,
    partners: NDArray[np.int64] | None = None,
    n_rows: int | None = None,
    observer: Observer | None = None,
) -> _core.Fault | None:
    """Learn rows in blocks, between which Ctrl-C takes effect; return the fault of the first row that can't be learned.

    `n_values` is the number of their values. Without `check`, the rows must have been checked before. A row's decoys
    are the features of its partner, the row `partners` gives for it, or -1 for none; by default the row before it.
    `n_rows` is how many are learned, if rows that are partners only come behind them.
    """
    bounds = blocks(len(codes) if n_rows is None else n_rows, n_values)
    if observer is not None:
        bounds = _cut_for_observer(bounds, row_weights, observer)
    for begin, end in bounds:
        with explain_lack_of_memory():
            fault = learner.learn(rows, codes, row_weights, order, begin, end, check, is_new, partners)
        if fault is not None:
            return fault
    return None


def refit_rows(
    selector: _core.Selector,
    rows: _core.CsrBatch,
    codes: RowTargets,
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
    target = target_for_matrix(model, y)
    codes: RowTargets = target.encode(y)
    given, n_features = model.parameters, _n_columns(X, codes)
    row_weights = model.class_weights.of_all_rows(codes, _own_weights(sample_weight, codes), target.by_code)
    if row_weights is not None and not row_weights.any():
        raise ValueError("sample_weight (times class_weight) is zero for every row: nothing can be learned.")
    target.check_size(codes)
    model.n_vectors, model.kept_ids = target.n_vectors, ids_to_keep(model, 0, feature_names, n_features)
    model.n_features, model.feature_names = n_features, feature_names
    model.learner, model.chosen_gamma, model.standings = _learn_matrix(model, X, codes, row_weights)
    model.target = target
    warn_if_saturated(model, before=0)
    warn_if_none_told(model)
    if not given["shuffle"]:
        grouping = target.grouping_of(codes)
        model.grouped_by_label = grouping is not None
        if grouping is not None:
            warn(f"y: {grouping}. {POOR_ON_GROUPED_ROWS}: use {parameter('shuffle', True)}.", UserWarning)


def _learn_matrix(
    model: Model, X: Csr, codes: RowTargets, row_weights: NDArray[np.float64] | None
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
    n_passes = n_passes_after(given["n_passes"], learner.counters["n_samples"])
    partners = partners_of(first_order, len(codes), row_weights) if model.has_decoys and n_passes > 1 else None
    for _ in range(1, n_passes):
        learn_rows(
            learner, batch, codes, row_weights, new_order(), n_values=len(X.data), is_new=False, partners=partners
        )
    if given.get("max_fdr") is not None:
        learner.trim(given["max_fdr"])
    if given.get("refit", False) is not False:
        learner.start_refit()
        refit_rows(learner, batch, codes, row_weights, new_order(), n_values=len(X.data))
        model.note_occurrences(learner)
        learner.end_refit(keep=True)
    return learner, gamma, standings


def _learn_first_pass(
    model: Model, X: Csr, codes: RowTargets, row_weights: NDArray[np.float64] | None, order: NDArray[np.int64] | None
) -> tuple[Learner, _core.CsrBatch]:
    """Return a new learner that has learned a matrix once, and the matrix as the core has it.

    Each row is checked while it is in cache; on a fault the learner is discarded.
    """
    learner, batch = new_learner(model, model.n_vectors, model.kept_ids, model.n_features), as_batch(X, 0)
    fault = learn_rows(learner, batch, codes, row_weights, order, n_values=len(X.data), check=True)
    if fault is not None:
        raise_fault(fault, X)
    return learner, batch


def partners_of(
    order: NDArray[np.int64] | None, n_rows: int, row_weights: NDArray[np.float64] | None
) -> NDArray[np.int64]:
    """Return for each row the one that was learned before it in a pass in this order, or -1 for the first."""
    learned = np.arange(n_rows) if order is None else order
    return predecessors(learned if row_weights is None else learned[row_weights[learned] != 0], n_rows)


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
            chosen = "" if model.gamma is None else f", or {parameter('gamma', model.gamma)}, which was chosen"
            raise ValueError(
                f"{parameter('gamma', 'auto')} needs all rows, so partial_fit can't use it: use fit or train{chosen}."
            )
        target = target_for(model, classes)
        codes: RowTargets = target.encode(y)
        n_features = _n_columns(X, codes)
        model.check_width(X)
        row_weights = _own_weights(sample_weight, codes)
        kept, learner, is_new = model.kept_ids, model.learner, model.learner is None
        if learner is None:
            kept = ids_to_keep(model, model.id_base, feature_names, n_features)
            learner = new_learner(model, target.n_vectors, kept, n_features)
        X, rows = check_rows(X, model.norm, model.id_base)
        row_weights = model.class_weights.of_rows(codes, row_weights, target.by_code)
        if not is_new and not (len(codes) if row_weights is None else row_weights.any()):
            return  # there is nothing to learn from
        before = learner.counters["n_saturated"]
        # From here on only Ctrl-C or a lack of memory can interrupt; the rows learned until then are kept.
        model.learner, model.n_vectors, model.target = learner, target.n_vectors, target
        model.n_features = max(n_features, model.n_features or 0)
        model.feature_names, model.kept_ids = feature_names, kept
        drop_stale_measurements(model)
        try:
            learn_rows(learner, rows, codes, row_weights, n_values=len(X.data))
        finally:  # after Ctrl-C, the rows learned until then are kept
            trim(model)
        warn_if_saturated(model, before)
        warn_if_none_told(model)


def _n_columns(X: Csr, codes: RowTargets) -> int:
    n_rows, n_features = X.shape
    if n_rows != len(codes):
        raise ValueError(f"X has {n_rows} rows, but y has {len(codes)} labels.")
    return n_features


def _own_weights(sample_weight: ArrayLike | None, codes: RowTargets) -> NDArray[np.float64] | None:
    return None if sample_weight is None else check_row_weights("sample_weight", sample_weight, len(codes))


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
