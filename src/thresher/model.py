"""A model: a method, its parameters, its classes, and what it has learned.

It takes CSR batches and needs numpy alone; estimators and the command line are shells around it.

Features have *ids*, which is what the learner knows, and *columns*, which is what the user sees: column = id − id_base.
In a matrix they are the same. Files often count from 1, and their ids are learned as written; `id_base` is then 1.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import _core, parameters
from thresher.labels import (
    ClassesOfAStream,
    Codes,
    LabelRuns,
    Labels,
    class_weights,
    distinct,
    encode,
    row_weights,
    warn,
)
from thresher.probabilities import of_many, of_two
from thresher.rows import (
    Csr,
    NotCanonicalError,
    as_batch,
    blocks,
    canonical,
    checked,
    raise_fault,
    trusted_batch,
)

_SOFS = (_core.Sofs, _core.ManySofs)

# For two classes, and for more.
_LEARNERS: dict[str, tuple[type[_core.TwoClassSelector], type[_core.Selector]]] = {
    "sofs": _SOFS,
    "shadow_sofs": (_core.ShadowSofs, _core.ManyShadowSofs),
    "pet": (_core.Pet, _core.ManyPet),
    "fofs": (_core.Fofs, _core.ManyFofs),
    "arow": (_core.Arow, _core.ManyArow),
    "ogd": (_core.Ogd, _core.ManyOgd),
    # What a batch method has selected is scored as SOFS's members are, each with its weights and a rank.
    **dict.fromkeys(parameters.BATCH, _SOFS),
}


class NoRoomError(ValueError):
    """Ids are too large for the memory there is."""


class Model:
    """A linear classifier on at most B features.

    With two classes a feature has one weight; with C of them it has C, and the features are the same for all.

    Parameters
    ----------
    method : {"sofs", "shadow_sofs", "pet", "fofs", "arow", "ogd"}
        The algorithm; a batch method's model can only be made `of_selection`, or loaded.
    **given
        Its parameters, as `thresher.parameters` lists them; the rest have their defaults.

    Attributes
    ----------
    classes : array or None
        The labels in ascending order, once known.
    n_features : int or None
        The number of columns, once known.
    id_base : int
        The id of column 0.
    feature_names : list of str, dict or None
        The names of the columns, where the data had names; of a compact model, those of its members, by column.
    compact : bool
        Whether only the members are left of what was learned, so that learning can't go on.
    """

    def __init__(self, method: str, **given: Any) -> None:
        self.parameters = parameters.complete(method, given)
        self.method = method
        self.classes: Labels | None = None
        self.n_features: int | None = None
        self.id_base = 0
        self.feature_names: list[str] | dict[int, str] | None = None
        self.compact = False
        self._learner: _core.Selector | None = None
        self._stream: _OpenStream | None = None

    @classmethod
    def of_selection(
        cls,
        method: str,
        given: dict[str, Any],
        classes: Labels,
        n_features: int,
        columns: NDArray[np.int64],
        weights: NDArray[Any],
        intercept: NDArray[Any],
        *,
        id_base: int = 0,
        n_rows: int = 0,
    ) -> Self:
        """Return the model of a batch method, which can predict and be saved.

        Columns come best first; weights and intercept have a row or an entry for two classes, or one for each of more.
        """
        model = cls(method, **given)
        model.classes, model.n_features, model.id_base, model.compact = classes, n_features, id_base, True
        places = np.argsort(columns)
        # A cell is a weight and, below zero for a member, a rank.
        ranks = np.broadcast_to(-np.arange(len(columns), 0, -1), weights.shape)
        cells = np.stack([weights, ranks], axis=-1)[:, places].swapaxes(0, 1)
        keys = (columns[places, np.newaxis] + id_base) * len(weights) + np.arange(len(weights))
        learner = model._new_learner(n_features, len(classes))
        *_, counters = learner.state()
        counters[0] = n_rows
        intercepts = np.stack([intercept, np.full(len(intercept), -0.0)], axis=-1)
        learner.restore(keys.reshape(-1), _flat(cells), _flat(intercepts), counters)
        model._learner = learner
        return model

    def fit(self, X: Csr, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn these rows, `n_passes` times. On an error the model stays as it was."""
        self._refuse_batch()
        codes, classes = encode(y, None)
        n_features = _n_features(X, codes)
        importances = row_weights(self.parameters["class_weight"], codes, classes, sample_weight)
        if importances is not None and not importances.any():
            raise ValueError("sample_weight (times class_weight) is zero for every row: nothing can be learned.")
        learner = self._new_learner(n_features, len(classes))
        try:
            self._run_passes(learner, X, codes, importances)
        except NotCanonicalError:
            learner = self._new_learner(n_features, len(classes))
            self._run_passes(learner, canonical(X), codes, importances)
        self._learner, self.classes, self.n_features = learner, classes, n_features
        self.id_base, self.feature_names, self.compact, self._stream = 0, None, False, None
        self._warn_if_saturated(before=0)
        if not self.parameters["shuffle"]:
            runs = LabelRuns()
            runs.add(codes)
            runs.warn_if_sorted("y")
        return self

    def partial_fit(
        self, X: Csr, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn these rows after those learned before. On an error the model stays as it was."""
        self._refuse_compact()
        self._refuse_balanced("partial_fit")
        known = self._agreed_classes(classes)
        codes, known = encode(y, known)
        n_features = _n_features(X, codes)
        self._check_width(X)
        importances = row_weights(self.parameters["class_weight"], codes, known, sample_weight)
        learner = self._learner or self._new_learner(n_features, len(known))
        _, batch = checked(X, self.norm, self.id_base)
        before = learner.counters["n_saturated"]
        # From here on only Ctrl-C can stop us, and the rows learned by then count.
        self._learner, self.classes, self.n_features = learner, known, n_features
        for begin, end in blocks(X.shape[0], len(X.data)):
            learner.learn(batch, codes, importances, None, begin, end, check=False)
        self._warn_if_saturated(before)
        return self

    def begin_stream(self, classes: ArrayLike | None = None) -> None:
        """Get ready for rows from a stream: of any width, with classes that turn up unless they are given or known."""
        self._refuse_compact()
        self._refuse_balanced("a stream")
        parameters.budget(self.parameters, None)  # a share of columns that may become more is refused
        known = None if classes is None and self.classes is None else self._agreed_classes(classes)
        if known is not None:
            encode(known, known)  # two of them, at the least
        if self._learner is None:
            self._learner = self._new_learner(None, 2 if known is None else len(known))
        n_saturated = self._learner.counters["n_saturated"]
        self._stream = _OpenStream(ClassesOfAStream(known), known, self._largest_id(), n_saturated)

    def learn_batch(self, batch: Any) -> Codes:
        """Learn a batch of a stream, between `begin_stream` and `end_stream`; its reader has checked its rows.

        Returns the codes of its labels, provisional until the stream ends.
        """
        stream, learner = self._stream, self._learner
        assert stream is not None
        assert learner is not None
        codes = stream.classes.encode(batch.labels)
        importances = batch.importances
        weights = self.parameters["class_weight"]
        if weights is not None:
            if stream.given is None:
                raise ValueError("class_weight needs the classes up front in a stream: name them with classes=.")
            each = class_weights(weights, codes, stream.given)[codes]
            importances = each if importances is None else importances * each
        if batch.largest_id > stream.largest_id:
            self._make_room(learner, batch.largest_id + 1)
            stream.largest_id = batch.largest_id
        stream.zero_seen |= batch.zero_seen
        rows = trusted_batch(batch)
        for begin, end in blocks(batch.n_rows, len(batch.data)):
            fault = learner.learn(rows, codes, importances, None, begin, end, check=self.parameters["norm"] is None)
            if fault is not None:
                raise ValueError(f"{batch.place(fault[1])}: the value {fault[3]:g} is too large with norm=None.")
        return codes

    def end_stream(self, id_base: int | None = None) -> None:
        """Settle what only the end of a stream can tell: classes, columns, and whether ids count from 0 or 1."""
        stream, learner = self._stream, self._learner
        assert stream is not None
        assert learner is not None
        self._stream = None
        if self.classes is None:
            self.classes = stream.classes.classes()
            if not stream.classes.in_order:
                assert isinstance(learner, _LEARNERS[self.method][0])
                learner.swap_classes()
            self.id_base = id_base if id_base is not None else 0 if stream.zero_seen else 1
        self.n_features = max(stream.largest_id + 1 - self.id_base, 0)
        if isinstance(self.feature_names, list) and len(self.feature_names) != self.n_features:
            self.feature_names = None  # they no longer name all columns
        self._warn_if_saturated(stream.n_saturated_before)

    def abandon_stream(self) -> None:
        """Leave a stream that broke off. A model that was new is so again; another keeps what it has learned."""
        stream, self._stream = self._stream, None
        if self.classes is None:
            self._learner = None
        elif stream is not None:
            self.n_features = max(stream.largest_id + 1 - self.id_base, 0)

    def decision_function(self, X: Csr) -> NDArray[np.float64]:
        """Margins, of which one above 0 means the second class; with more than two, the score of each."""
        return self._score(X, with_variance=False)[0]

    def predict(self, X: Csr) -> Labels:
        """Labels."""
        return self._labels_of(self.decision_function(X))

    def predict_batch(self, batch: Any) -> tuple[Labels, NDArray[np.float64]]:
        """Labels and margins of a batch of a stream; ids that were never learned are ignored."""
        margins = self._shaped(self._trained().score(trusted_batch(batch), 0, batch.n_rows, with_variance=False)[0])
        return self._labels_of(margins), margins

    def predict_proba(self, X: Csr) -> NDArray[np.float64]:
        """Probability of each class: Φ(m/√v), since the weights are N(μ, Σ).

        With more than two, that of a class is in proportion to the probability that it beats its strongest rival.
        """
        margins, variances = self._score(X, with_variance=True)
        return of_two(margins, variances) if self.n_vectors == 1 else of_many(margins, variances)

    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Columns of the selected features, best first, and the weights of each: one, or one a class."""
        ids, weights = self._trained().members()
        return ids - self.id_base, weights.reshape(len(ids), self.n_vectors)

    @property
    def n_vectors(self) -> int:
        """How many weights a feature has."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @property
    def intercept(self) -> NDArray[np.float32]:
        """The intercept, or one a class; 0 without `fit_intercept`."""
        return self._trained().intercept

    @property
    def counters(self) -> dict[str, Any]:
        """Rows seen, rows learned from (with a loss), mistakes of `predict` made before learning, and the loss."""
        return self._trained().counters

    @property
    def is_trained(self) -> bool:
        """Whether it has learned anything."""
        return self._learner is not None

    def name_of(self, column: int) -> str:
        """Return a feature's name, or else its id as a file would write it."""
        return self.feature_names[column] if self.feature_names else str(column + self.id_base)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_learner"] = None if self._learner is None else self._learner.state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._learner = None
        if state["_learner"] is not None:
            self.restore(state["_learner"])

    def adopt_parameters(self, given: dict[str, Any]) -> None:
        """Go on learning with other parameters; the budget alone can't be changed."""
        new = parameters.complete(self.method, given)
        if new == self.parameters:
            return
        before, after = self.parameters.get("n_features_to_select"), new.get("n_features_to_select")
        if before != after:
            raise ValueError(f"n_features_to_select can't be changed from {before} to {after} while learning: use fit.")
        self.parameters = new
        if self._learner is not None:
            self.restore(self._learner.state())

    def state(self) -> _core.State:
        """All that learning depends on: keys (an id, or id · classes + class), cells, intercept, numbers."""
        return self._trained().state()

    def restore(self, state: _core.State) -> None:
        """Take up a state that was saved."""
        learner = self._new_learner(self.n_features, 2 if self.classes is None else len(self.classes))
        learner.restore(*state)
        self._learner = learner

    @property
    def norm(self) -> str:
        """How rows are scaled, as the core calls it: "l2" or "none"."""
        return self.parameters["norm"] or "none"

    def _trained(self) -> _core.Selector:
        if self._learner is None:
            raise ValueError("This model has learned nothing yet: call fit or partial_fit first.")
        return self._learner

    def _labels_of(self, margins: NDArray[np.float64]) -> Labels:
        assert self.classes is not None
        places: NDArray[np.intp] = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes[places])

    def _shaped(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.n_vectors == 1 else scores.reshape(-1, self.n_vectors)

    def _new_learner(self, n_features: int | None, n_classes: int) -> _core.Selector:
        for_two, for_many = _LEARNERS[self.method]
        learner = (for_two if n_classes == 2 else for_many)(
            n_classes=n_classes,
            budget=parameters.budget(self.parameters, n_features),
            norm=self.norm,
            fit_intercept=self.parameters["fit_intercept"],
            parameters=parameters.of_learner(self.method, self.parameters),
        )
        if n_features is not None:
            self._make_room(learner, n_features + self.id_base)
        return learner

    @staticmethod
    def _make_room(learner: _core.Selector, n_ids: int) -> None:
        try:
            learner.reserve(n_ids)
        except MemoryError:
            raise NoRoomError(
                f"there is no room for the state of {n_ids} ids, 4 or 8 bytes each (and each class, of more than two): "
                "hash the ids into fewer."
            ) from None

    def _largest_id(self) -> int:
        return -1 if self.n_features is None else self.n_features + self.id_base - 1

    def _run_passes(
        self, learner: _core.Selector, X: Csr, codes: Codes, importances: NDArray[np.float64] | None
    ) -> None:
        batch = as_batch(X, 0)
        random = parameters.random_generator(self.parameters["random_state"])
        for turn in range(self.parameters["n_passes"]):
            order = random.permutation(len(codes)) if self.parameters["shuffle"] else None
            for begin, end in blocks(X.shape[0], len(X.data)):
                # The first pass checks each row while it is in cache; on a fault the learner is thrown away.
                fault = learner.learn(batch, codes, importances, order, begin, end, check=turn == 0)
                if fault is not None:
                    raise_fault(fault, X)
            batch.trust()

    def _score(self, X: Csr, with_variance: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        learner = self._trained()
        self._check_width(X)
        margins, variances = learner.score(checked(X, self.norm, self.id_base)[1], 0, X.shape[0], with_variance)
        return self._shaped(margins), self._shaped(variances)

    def _check_width(self, X: Csr) -> None:
        if self.n_features is not None and X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, but the model was trained on {self.n_features}.")

    def _agreed_classes(self, given: ArrayLike | None) -> Labels:
        if given is None:
            if self.classes is None:
                raise ValueError("classes must be given on the first call to partial_fit, for example classes=[0, 1].")
            return self.classes
        classes = distinct("classes", np.asarray(given))
        if self.classes is None:
            if len(classes) < 2:
                raise ValueError(f"classes must name two classes or more. Got {given!r} instead.")
            return classes
        if not np.array_equal(classes, self.classes):
            raise ValueError(
                f"classes={classes.tolist()} is not what the model has learned so far, {self.classes.tolist()}."
            )
        return self.classes

    def _refuse_balanced(self, place: str) -> None:
        if self.parameters["class_weight"] == "balanced":
            raise ValueError(
                f"class_weight='balanced' needs all labels at once and can't be used with {place}: "
                "give a dict {label: weight}, or use fit."
            )

    def _refuse_batch(self) -> None:
        if self.method in parameters.BATCH:
            raise ValueError(f"{self.method} needs all rows at once, so its model can't learn: train it anew.")

    def _refuse_compact(self) -> None:
        self._refuse_batch()
        if self.compact:
            raise ValueError(
                "this model was saved compact, with its members only, and can't go on learning: "
                "save it in full (save, or train --full) to do that."
            )

    def _warn_if_saturated(self, before: int) -> None:
        if before == 0 and self.counters["n_saturated"] > 0:
            warn(
                "The precision of every feature of a row has reached the end of float32 and no longer grows there: "
                "weights go on learning, but more such rows can't change which features are selected.",
                RuntimeWarning,
            )


class _OpenStream:
    """What is known of a stream that is being learned."""

    def __init__(
        self, classes: ClassesOfAStream, given: Labels | None, largest_id: int, n_saturated_before: int
    ) -> None:
        self.classes = classes
        self.given = given
        self.largest_id = largest_id
        self.n_saturated_before = n_saturated_before
        self.zero_seen = False


def _flat(numbers: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(numbers.reshape(-1), dtype=np.float32)


def _n_features(X: Csr, codes: Codes) -> int:
    n_rows, n_features = X.shape
    if n_rows != len(codes):
        raise ValueError(f"X has {n_rows} rows, but y has {len(codes)} labels.")
    return n_features
