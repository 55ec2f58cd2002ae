"""A model: a method, its parameters, its classes, and what it has learned.

It takes CSR matrices and batches and needs only numpy; estimators and the command line are thin layers on top of it. A
`thresher.model.learning.Session` trains it on a stream.

Features have *ids*, which is what the learner knows, and *columns*, which is what the user sees: column = id − id_base.
In a matrix they are the same. Files often count from 1, and their ids are learned as written; `id_base` is then 1.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import _core, methods, parameters
from thresher.batch import Names, blocks, trusted_batch
from thresher.csr import Csr, NotCanonicalError, canonical, checked
from thresher.messages import counted, warn
from thresher.model.class_weights import ClassWeights, row_weights
from thresher.model.kept_features import ids_as_written, ids_of_columns
from thresher.model.label_order import POOR_ON_GROUPED_ROWS, LabelOrder
from thresher.model.labels import Codes, Labels, as_labels, distinct, encode, labels_read
from thresher.model.learners import Learner, new_learner, run_passes, winner_of
from thresher.model.memory import room_for_features
from thresher.model.names import MemberNames, Naming
from thresher.model.probabilities import sigmoid_pair, softmax
from thresher.model.race import Look, Race, RaceState
from thresher.model.selection import Selection
from thresher.model.z_scores import z_scores
from thresher.threads import ForkSafeLock


class Model:
    """A linear classifier on at most B features.

    With two classes a feature has one weight; with C > 2 classes it has C, and all classes share the same features.
    Threads can share a model; only one learns at a time.

    Parameters
    ----------
    method : str
        The name of a method in `thresher.methods`. That of a batch method learns by `train` alone.
    **given
        Its parameters, as listed in `thresher.methods`; the others have their defaults.

    Attributes
    ----------
    classes : array or None
        The labels in ascending order, once known.
    n_features : int or None
        The number of columns, once known.
    id_base : int
        The id of column 0.
    feature_names : list of str, dict or None
        The names of the columns, if the data had names. A compact model has a dict with the names of its members.
    naming : Naming or None
        How features were named, if columns are hashes of names.
    compact : bool
        Whether only the members were kept, so that learning can't continue.
    grouped_by_label : bool
        Whether it has learned rows in an order grouped by label, so that its mistakes while learning say nothing about
        new rows.
    threshold : float
        With two classes, the margin above which `predict` gives the second one. It is 0 unless `set_threshold` has
        chosen another; learning more rows sets it back.
    selection_frequency : dict or None
        How often each member was selected in samples of the rows, if `stability` has counted it.
    extras : dict
        What else the solver of a batch method has found, such as the C of L1SVM; it is not saved.
    """

    def __init__(self, method: str, **given: Any) -> None:
        self._method = methods.find(method)
        self.parameters = self._method.complete(given)
        self.classes: Labels | None = None
        self.n_features: int | None = None
        self.id_base = 0
        self.feature_names: list[str] | dict[int, str] | None = None
        self.naming: Naming | None = None
        self._names: MemberNames | None = None  # where features have names instead of numbers
        self.compact = False
        self.grouped_by_label = False
        self.threshold = 0.0
        self.selection_frequency: dict[int, float] | None = None
        self.class_weights = ClassWeights(self.parameters.get("class_weight"))
        self.gamma_changed = False
        # Parameters that rows were learned with, and the γ chosen for them, if others were adopted since.
        self._before_adoption: tuple[dict[str, Any], float | None] | None = None
        self._learner: Learner | None = None
        self._kept_ids: NDArray[np.int64] | None = None  # of the learner
        self._keep_as_written: list[str] = []
        self._chosen_gamma: float | None = None  # where the parameter is "auto"
        self._looks: list[Look] = []
        self._selection: Selection | None = None  # instead of a learner, for a batch method
        self.extras: dict[str, Any] = {}
        self._n_classes = 2  # of the learner; during a first stream `classes` is not set yet
        self._lock = ForkSafeLock()

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
        counters: dict[str, Any],
    ) -> Self:
        """Return the model of a batch method, which can predict and be saved.

        Columns are ordered best first. Weights and intercept have one row or entry for two classes, else one per class.
        Of `counters` it has `n_samples` and `n_with_member`.
        """
        model = cls(method, **given)
        model.classes, model.n_features, model.id_base, model.compact = classes, n_features, id_base, True
        flat = np.ascontiguousarray(weights.T.reshape(-1), dtype=np.float32)
        model._selection = Selection(
            model.norm, columns + id_base, flat, np.asarray(intercept, dtype=np.float32), counters
        )
        return model

    @property
    def method(self) -> str:
        """The method's name."""
        return self._method.name

    def keep_as_written(self, names: list[str]) -> None:
        """Set features to keep by what the data call them: the names of columns or, where there are none, ids.

        For a new model that a stream will train; `keep` then has their columns.
        """
        parameters.check_keep({"keep": names}, parameters.budget(self.parameters, None))
        self._keep_as_written = names

    def untrained(self, **changed: Any) -> Self:
        """Return a new model with the same parameters, but for those given."""
        new = type(self)(self.method, **{**self.parameters, **changed})
        if self._keep_as_written:
            new.keep_as_written(self._keep_as_written)
        return new

    def fit(
        self,
        X: Csr,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        feature_names: list[str] | None = None,
    ) -> Self:
        """Start again and learn these rows, `n_passes` times. On an error the model does not change."""
        self._refuse_batch_method()
        codes, classes = encode(y, None)
        n_features = _n_features(X, codes)
        importances = row_weights(self.parameters["class_weight"], codes, classes, sample_weight)
        if importances is not None and not importances.any():
            raise ValueError("sample_weight (times class_weight) is zero for every row: nothing can be learned.")
        kept = self.ids_to_keep(0, feature_names, n_features)
        learner = self._new_learner(n_features, len(classes), kept, restart=True)
        try:
            run_passes(learner, self.parameters, X, codes, importances)
        except NotCanonicalError:
            learner = self._new_learner(n_features, len(classes), kept, restart=True)
            run_passes(learner, self.parameters, canonical(X), codes, importances)
        winner = winner_of(learner)
        with self._lock:
            self._learner, self._chosen_gamma, self._looks = winner
            self._n_classes, self.classes, self.n_features = len(classes), classes, n_features
            self.id_base, self.feature_names, self.compact, self.grouped_by_label = 0, feature_names, False, False
            self.naming = self._names = None
            self._kept_ids, self.gamma_changed, self._before_adoption = kept, False, None
            self.class_weights = ClassWeights(self.parameters["class_weight"])
            self.class_weights.count(codes, importances)
            self.learned_more()
            self.warn_if_saturated(before=0)
            if not self.parameters["shuffle"]:
                self._look_at_order(codes)
        return self

    def partial_fit(
        self,
        X: Csr,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        feature_names: list[str] | None = None,
    ) -> Self:
        """Learn more rows; with rows of weight 0 alone, a trained model does not change.

        On an error the model does not change either, unless memory runs out while it learns.
        """
        with self._lock:
            self.check_can_learn("partial_fit")
            known = self.agreed_classes(classes)
            codes, known = encode(y, known)
            n_features = _n_features(X, codes)
            self._check_width(X)
            importances = row_weights(None, codes, known, sample_weight)
            kept = self._kept_ids
            if kept is None:
                kept = self.ids_to_keep(self.id_base, feature_names, n_features)
            learner = self._learner or self._new_learner(n_features, len(known), kept)
            _, batch = checked(X, self.norm, self.id_base)
            importances = self.class_weights.of_rows(codes, importances, known.tolist())
            if self._learner is not None and not (len(codes) if importances is None else importances.any()):
                return self  # there is nothing to learn from
            before = learner.counters["n_saturated"]
            # From here on only Ctrl-C or a lack of memory can interrupt; the rows learned until then are kept.
            self._learner, self._n_classes, self.classes = learner, len(known), known
            self.n_features = max(n_features, self.n_features or 0)
            self.feature_names, self._kept_ids = feature_names, kept
            self.learned_more()
            with room_for_features():
                for begin, end in blocks(X.shape[0], len(X.data)):
                    learner.learn(batch, codes, importances, None, begin, end, check=False)
            self.warn_if_saturated(before)
        return self

    def decision_function(self, X: Csr) -> NDArray[np.float64]:
        """Margins: above 0 means the second class. With more than two classes, the score of each class."""
        learner = self._trained()
        self._check_width(X)
        return self._shaped(learner.score(checked(X, self.norm, self.id_base)[1], 0, X.shape[0]))

    def predict(self, X: Csr) -> Labels:
        """Labels."""
        return self.labels_of(self.decision_function(X))

    def predict_proba(self, X: Csr) -> NDArray[np.float64]:
        """Probability of each class: σ(t·m) of the margin m, or with more classes softmax(t·s) of the scores s.

        The scale t was learned from the margins that rows had just before they were learned.
        """
        return self.probabilities_of(self.decision_function(X))

    def score_batch(
        self, batch: Any, *, rows: NDArray[np.int64] | None = None, with_probabilities: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Margins of a batch of a stream, or of some of its rows, and probabilities on request.

        Ids that were never learned are ignored.
        """
        n_rows = batch.n_rows if rows is None else len(rows)
        margins = self._shaped(self._trained().score(self.known_rows(batch), 0, n_rows, rows))
        return margins, self.probabilities_of(margins) if with_probabilities else None

    def known_rows(self, batch: Any) -> _core.CsrBatch:
        """Return a batch in which no name has the id of a selected feature that has another name.

        Such a name gets an id that is not selected, so that it still counts in the length of its row.
        """
        if batch.names is None or self._names is None:
            return trusted_batch(batch)
        members = self.selected_ids() if self._method.has_budget else None
        strangers = self._names.strangers(members, batch.indices, batch.names)
        if len(strangers) == 0:
            return trusted_batch(batch)
        ids = batch.indices.astype(np.int64)
        selected = self.selected_ids()
        while len(strangers):
            ids[strangers] += 1
            strangers = strangers[np.isin(ids[strangers], selected)]
        return trusted_batch(replace(batch, indices=ids, indptr=batch.indptr.astype(np.int64)))

    def labels_of(self, margins: NDArray[np.float64]) -> Labels:
        """Return the predicted labels for these margins."""
        assert self.classes is not None
        return np.asarray(self.classes[self.codes_of(margins)])

    def codes_of(self, margins: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the places of the predicted labels among the classes."""
        return (margins > self.threshold).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)

    def probabilities_of(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each class for these margins."""
        scaled = self.counters["margin_scale"] * margins
        return sigmoid_pair(scaled) if self.n_vectors == 1 else softmax(scaled)

    @property
    def is_batch(self) -> bool:
        """Whether its method is a batch method, so that it can't continue learning."""
        return self._method.is_batch

    @property
    def has_budget(self) -> bool:
        """Whether its method keeps a limited number of features, rather than all."""
        return self._method.has_budget

    @property
    def has_probabilities(self) -> bool:
        """Whether the method has `predict_proba`."""
        return not self._method.is_batch

    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Columns of the selected features, best first, and their weights: one, or one per class."""
        ids, weights = self._trained().members()
        return ids - self.id_base, weights.reshape(len(ids), self.n_vectors)

    def selected_ids(self) -> NDArray[np.int64]:
        """Return the learner's ids of the selected features, ascending; also in the middle of a first stream."""
        return np.sort(self._trained().members()[0])

    @property
    def share_with_member(self) -> float:
        """Of the rows that it has learned, the share that had a selected feature at the time."""
        counters = self.counters
        return float(counters["n_with_member"] / max(1, counters["n_samples"]))

    def z_scores(self, columns: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the z-scores of the given columns, or of the members, best first; with many classes, one each.

        A column that was never learned has z = 0.
        """
        if not self._method.has_z_scores:
            having = " or ".join(each.estimator for each in methods.METHODS.values() if each.has_z_scores)
            raise ValueError(f"{self._method.estimator} has no z-scores; use {having}.")
        learner = self._trained()
        assert not isinstance(learner, Selection)
        if columns is None:
            ids = learner.members()[0]
        else:
            given = np.asarray(columns)
            if given.ndim != 1 or given.dtype.kind not in "iu":
                raise ValueError(f"columns must be a list of whole numbers. Got {columns!r} instead.")
            wrong = given[(given < 0) | (given >= (self.n_features or 0))]
            if len(wrong):
                raise ValueError(f"there is no column {wrong[0]}: the model has {self.n_features}.")
            ids = given.astype(np.int64) + self.id_base
            if self.compact and not np.isin(ids, learner.members()[0]).all():
                raise ValueError(
                    "the model was saved compact, with its selected features only: for others, save it in full (save, "
                    "or train --full)."
                )
        if self.gamma_changed:
            raise ValueError(
                "gamma was changed while the model learned, so its z-scores have no common scale: use fit."
            )
        assert self.gamma is not None
        cells = learner.cells(np.ascontiguousarray(ids)).reshape(len(ids), self.n_vectors, 2)
        z = z_scores(cells, self.gamma, self.counters, self.class_weights)
        return np.ascontiguousarray(z[:, 0] if self.n_vectors == 1 else z)

    @property
    def has_z_scores(self) -> bool:
        """Whether the method has z-scores."""
        return self._method.has_z_scores

    @property
    def n_vectors(self) -> int:
        """How many weights a feature has."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    def check_can_have_threshold(self) -> None:
        """Raise ValueError unless there are two classes."""
        if self.n_vectors > 1:
            raise ValueError(f"a threshold needs two classes, but the model has {self.n_vectors}.")

    @property
    def intercept(self) -> NDArray[np.float32]:
        """The intercept, or one per class; 0 without `fit_intercept`."""
        return self._trained().intercept

    @property
    def counters(self) -> dict[str, Any]:
        """Rows seen, rows learned from (with a loss), mistakes of `predict` made before learning, and the loss."""
        return self._trained().counters

    @property
    def gamma(self) -> float | None:
        """γ: the parameter, or with "auto" what was chosen; None before that, and for methods without γ."""
        fixed = self._fixed_gamma
        return self._chosen_gamma if fixed is None else fixed

    @property
    def chosen_gamma(self) -> float | None:
        """What gamma="auto" has chosen; None before that, and with any other gamma."""
        return None if self._fixed_gamma is not None else self._chosen_gamma

    @property
    def race(self) -> list[Look]:
        """How the race for γ went so far: an entry for each time that some could be dropped."""
        return self._learner.looks if isinstance(self._learner, Race) else self._looks

    @property
    def is_trained(self) -> bool:
        """Whether it has learned anything."""
        return self._learner is not None or self._selection is not None

    def name_of(self, column: int) -> str:
        """Return the name of a feature; without names, its id as in a file."""
        if self.feature_names:
            return self.feature_names[column]
        id_ = column + self.id_base
        return str(id_) if self._names is None else self._names.by_id.get(id_, str(id_))

    @property
    def names_by_id(self) -> dict[int, str] | None:
        """The names of the selected features that were hashed, by id; None if none were."""
        return None if self._names is None else self._names.by_id

    @property
    def name_clashes(self) -> tuple[int, str, str]:
        """How often a name occurred whose hash is that of another, selected one; and the first such pair."""
        return (0, "", "") if self._names is None else self._names.clashes

    def set_names(self, names: dict[int, str], clashes: tuple[int, str, str] = (0, "", "")) -> None:
        """Set the names of selected features that were hashed, by id."""
        self._names = MemberNames(names, clashes)

    def read_names(self, ids: NDArray[Any], names: Names) -> None:
        """Find the names of selected features in the batch that was learned last."""
        assert self._learner is not None
        if self._names is None:
            self._names = MemberNames()
        self._names.read(self._learner.member_ids() if self._method.has_budget else None, ids, names)

    # Merging shards that learned side by side; see thresher.distributed.

    @property
    def core_class(self) -> Any:
        """The class of the learner in the core."""
        return type(self._learner)

    def changes_since(self, start: Model) -> _core.Changes:
        """Return what was learned since this model was a copy of `start`; it can learn no more afterwards."""
        return self._one_learner().changes_since(start._one_learner())

    def merge_preview(
        self, changes: _core.Changes, size: float, ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
        """Return ids and weights of the members, and the intercept, as `merge` would make them.

        Without a budget, every feature is a member; then they are those of `ids`.
        """
        return self._one_learner().preview(changes, size, ids)

    def merge(self, changes: _core.Changes, size: float, counted: ClassWeights) -> None:
        """Move by what shards have changed since they were copies of this model: by `size` times their mean move."""
        self._one_learner().merge(changes, size)
        self.class_weights = self.class_weights + counted

    def merge_names(self, names: dict[int, str], clashes: tuple[int, str, str]) -> None:
        """Set the names of the members from those that shards know."""
        if self.naming is None:
            return
        assert self._learner is not None
        known = {**(self.names_by_id or {}), **names}
        if self._method.has_budget:
            known = {id_: known[id_] for id_ in self._learner.member_ids().tolist() if id_ in known}
        before = self.name_clashes
        self.set_names(known, (before[0] + clashes[0], *(before if before[0] else clashes)[1:]))

    def _one_learner(self) -> _core.Selector:
        assert self._learner is not None
        assert not isinstance(self._learner, Race)
        return self._learner

    def become(self, other: Model) -> None:
        """Take over all that another model of the same method knows."""
        with self._lock:
            self.__dict__.update({name: value for name, value in other.__dict__.items() if name != "_lock"})

    def backup(self) -> dict[str, Any]:
        """Return all that learning can change, for `revert`; of a trained model it takes what a saved one takes."""
        with self._lock:
            before = self.__dict__.copy()
            before["_learner"] = None if self._learner is None else self._learner.state()
        before["parameters"], before["class_weights"] = dict(self.parameters), copy.copy(self.class_weights)
        before["_names"] = None if self._names is None else self._names.__reduce__()  # recreated only if needed
        return before

    def revert(self, before: dict[str, Any]) -> None:
        """Become as the model was when `backup` returned this."""
        with self._lock:
            self.__dict__.update(before)
            self._learner = None
            if before["_names"] is not None:
                make, known = before["_names"]
                self._names = make(*known)
            if before["_learner"] is not None:
                self.restore(before["_learner"], self._n_classes)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = self.__dict__.copy()
            state["_learner"] = None if self._learner is None else self._learner.state()
        del state["_lock"]
        state["_method"] = self.method
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = ForkSafeLock()
        self._method = methods.find(state["_method"])
        self._learner = None
        if state["_learner"] is not None:
            self.restore(state["_learner"], self._n_classes)

    def adopt_parameters(self, given: dict[str, Any]) -> None:
        """Continue learning with other parameters; only the budget and the features to keep can't be changed.

        Until rows were learned with them, `undo_adoption` sets them back.
        """
        new = self._method.complete(given)
        if new == self.parameters:
            return
        for name in (*methods.BUDGET, "memory", "memory_bytes"):
            before, after = self.parameters.get(name), new.get(name)
            if before != after:
                raise ValueError(f"{name} can't be changed from {before} to {after} while learning: use fit.")
        with self._lock:
            if self._learner is not None:
                self._before_adoption = self._before_adoption or (self.parameters, self._chosen_gamma)
                self._chosen_gamma = self.gamma  # "auto" is no new race for a model that was trained
            self._set_parameters(new)

    def undo_adoption(self) -> None:
        """Set back parameters that were adopted, unless rows were learned with them."""
        with self._lock:
            if self._before_adoption is not None:
                (before, self._chosen_gamma), self._before_adoption = self._before_adoption, None
                self._set_parameters(before)

    def _set_parameters(self, new: dict[str, Any]) -> None:
        self.parameters = new
        self.class_weights.given = new["class_weight"]
        if self._learner is not None:
            self.restore(self._learner.state(), self._n_classes)

    def state(self) -> _core.State | RaceState:
        """All that further learning depends on, by name: the state of features, the intercept, counters.

        In the middle of a race for γ, that of all learners that are left.
        """
        trained = self._trained()
        assert not isinstance(trained, Selection)
        return trained.state()

    def restore(self, state: _core.State | RaceState, n_classes: int | None = None, gamma: float | None = None) -> None:
        """Continue from a saved state.

        `n_classes` is needed only for a state from the middle of a first stream, `gamma` only if the parameter is
        "auto" and the model has not raced itself.
        """
        if n_classes is None:
            n_classes = 2 if self.classes is None else len(self.classes)
        if gamma is not None:
            self._chosen_gamma = gamma
        if self._kept_ids is None:
            self._kept_ids = self.ids_to_keep(self.id_base, self.feature_names or self.naming, self.n_features)
        learner = self._new_learner(self.n_features, n_classes, self._kept_ids)
        learner.restore(**state)
        self._learner, self._n_classes = learner, n_classes

    def in_progress(self) -> dict[str, Any]:
        """Return what the model knows in the middle of a stream, besides its `state`, as values for JSON."""
        names = None if self._names is None else sorted(self._names.by_id.items())
        return {
            "n_classes": self._n_classes,
            "classes": None if self.classes is None else self.classes.tolist(),
            "n_features": self.n_features,
            "id_base": self.id_base,
            "feature_names": self.feature_names,
            "naming": None if self.naming is None else self.naming.to_dict(),
            "names": names,
            "name_clashes": list(self.name_clashes),
            "kept_ids": self.kept_ids.tolist(),
            "keep": self.parameters.get("keep"),
            "keep_as_written": self._keep_as_written,
            "chosen_gamma": self._chosen_gamma,
            "looks": self._looks,
            "gamma_changed": self.gamma_changed,
            "grouped_by_label": self.grouped_by_label,
            "row_counts": self.class_weights.state(),
        }

    def resume(self, state: _core.State | RaceState, known: dict[str, Any]) -> None:
        """Continue from a `state` and what `in_progress` returned at the same moment."""
        self.classes = None if known["classes"] is None else labels_read(known["classes"])
        self.n_features, self.id_base = known["n_features"], known["id_base"]
        self.feature_names = known["feature_names"]
        self.naming = None if known["naming"] is None else Naming.from_dict(known["naming"])
        self._names = None
        if known["names"] is not None:
            self.set_names(dict(known["names"]), tuple(known["name_clashes"]))
        self._kept_ids, self._keep_as_written = np.array(known["kept_ids"], np.int64), known["keep_as_written"]
        if "keep" in self.parameters:
            self.parameters["keep"] = known["keep"]
        self._chosen_gamma, self._looks = known["chosen_gamma"], known["looks"]
        self.gamma_changed, self.grouped_by_label = known["gamma_changed"], known["grouped_by_label"]
        self.class_weights.restore(known["row_counts"])
        self.compact, self._before_adoption = False, None
        self.restore(state, known["n_classes"])

    @property
    def norm(self) -> str:
        """How rows are scaled, in the core's terms: "l2" or "none"."""
        return self.parameters["norm"] or "none"

    # For `Session`, while a stream is learned.

    def check_can_learn(self, source: str) -> None:
        """Raise ValueError if the model can't learn from `source`, "partial_fit" or "a stream"."""
        self._refuse_batch_method()
        if self.compact:
            raise ValueError(
                "the model was saved compact, with its selected features only, and can't continue learning: "
                "save it in full (save, or train --full)."
            )
        if source == "partial_fit" and self.parameters.get("gamma") == "auto":
            chosen = "" if self.gamma is None else f", or continue with gamma={self.gamma:g}, which was chosen"
            raise ValueError(
                f"gamma='auto' can't be used with partial_fit: a race needs a whole stream: use fit or train{chosen}."
            )

    def agreed_classes(self, given: ArrayLike | None) -> Labels:
        """Return the model's classes, or those given to a model that has none yet."""
        if given is None:
            if self.classes is None:
                raise ValueError("classes must be given on the first call to partial_fit, for example classes=[0, 1].")
            return self.classes
        classes = distinct("classes", as_labels(given))
        if self.classes is None:
            if len(classes) < 2:
                raise ValueError(f"classes must have at least two entries. Got {given!r} instead.")
            return classes
        if classes.tolist() != self.classes.tolist():
            raise ValueError(
                f"classes={classes.tolist()} differ from the classes that the model was trained on, "
                f"{self.classes.tolist()}."
            )
        return self.classes

    def learner_for(
        self, n_classes: int, id_base: int | None, names: list[str] | Naming | None, n_features: int | None
    ) -> Learner:
        """Return the learner; a new one, if nothing was learned yet."""
        if self._learner is None:
            kept = self.ids_to_keep(id_base, names, n_features)
            if isinstance(names, Naming):
                self._remember_kept(names)
            self._learner, self._n_classes = self._new_learner(None, n_classes, kept), n_classes
            self._kept_ids = kept
        return self._learner

    @property
    def kept_ids(self) -> NDArray[np.int64]:
        """The ids of the features to keep, while a stream is learned."""
        return np.zeros(0, np.int64) if self._kept_ids is None else self._kept_ids

    def settle(self, classes: Labels, id_base: int, *, swapped: bool) -> None:
        """Set what the first stream has shown; `swapped`: the provisional codes were in the opposite order."""
        if isinstance(self._learner, Race):
            self._learner, self._chosen_gamma, self._looks = winner_of(self._learner)
        if swapped:
            self._learner.swap_classes()  # type: ignore[union-attr]  # only selectors of two classes have it
            self.class_weights.swap_classes()
        self.classes, self.id_base = classes, id_base
        if self._keep_as_written:
            self.parameters["keep"] = (self.kept_ids - id_base).tolist()
            self._keep_as_written = []

    def count_from(self, id_base: int, kept_as_written: bool) -> None:
        """Set whether ids count from 0 or 1, if that turns out after `settle`; features to keep may be such ids."""
        shift, self.id_base = id_base - self.id_base, id_base
        if self.n_features is not None:
            self.n_features = max(self.n_features - shift, 0)
        if kept_as_written:
            self.parameters["keep"] = [column - shift for column in self.parameters["keep"]]

    @property
    def keeps_ids_as_written(self) -> bool:
        """Whether the features to keep are ids as the data have them, and no columns yet."""
        return bool(self._keep_as_written)

    def widen(self, largest_id: int) -> None:
        """Set the number of columns so that it includes an id."""
        self.n_features = max(largest_id + 1 - self.id_base, 0)
        if isinstance(self.feature_names, list) and len(self.feature_names) != self.n_features:
            self.feature_names = None  # they no longer name all columns

    def warn_if_saturated(self, before: int) -> None:
        """Warn once that precisions have reached the limit of float32; `before` is the count before this call."""
        if before == 0 and self.counters["n_saturated"] > 0:
            warn(
                "The precision of every feature of a row has reached the limit of float32 and no longer grows there: "
                "weights continue to learn, but more such rows can't change which features are selected.",
                RuntimeWarning,
            )

    def learned_more(self) -> None:
        """Drop what was measured on the model before it learned these rows."""
        if self.threshold != 0.0:
            warn(
                f"The threshold of {self.threshold:g} was chosen before the model learned these rows and is back at 0: "
                "choose it again with set_threshold.",
                UserWarning,
            )
        self.threshold, self.selection_frequency = 0.0, None
        if self._before_adoption is not None:
            (before, chosen), self._before_adoption = self._before_adoption, None
            self.gamma_changed |= (chosen if before.get("gamma") == "auto" else before.get("gamma")) != self.gamma

    @property
    def _fixed_gamma(self) -> float | None:
        given = self.parameters.get("gamma")
        return None if given == "auto" else given

    def warn_of_clashes(self, before: int) -> None:
        """Warn that two names share an id, and so a weight; `before` is the count before this stream."""
        n, one, other = self.name_clashes
        if n > before:
            warn(
                f"The names {one!r} and {other!r} have the same hash and are one feature to the model; a name that "
                f"clashes with a selected one occurred {counted(n, 'time')}.",
                UserWarning,
            )

    def _remember_kept(self, naming: Naming) -> None:
        words = [str(name) for name in self._keep_as_written or self.parameters.get("keep") or []]
        if words:
            self.set_names(dict(zip(naming.ids_of(words).tolist(), words, strict=True)))

    def ids_to_keep(
        self, id_base: int | None, names: list[str] | dict[int, str] | Naming | None, n_features: int | None
    ) -> NDArray[np.int64]:
        """Return the ids of the features to keep, ascending."""
        written = self._keep_as_written
        keep = written or self.parameters.get("keep") or []
        if not keep:
            return np.zeros(0, np.int64)
        if written:
            return ids_as_written(written, names, id_base)
        if id_base is None:
            raise ValueError(
                "keep lists columns, but whether ids count from 0 or 1 is not known before the data are read: "
                "set zero_based= in open_stream."
            )
        return ids_of_columns(keep, id_base, names, n_features)

    def _look_at_order(self, codes: Codes) -> None:
        """Warn if rows were learned in an order grouped by label."""
        order = LabelOrder()
        order.add(codes)
        grouping = order.grouping()
        self.grouped_by_label = grouping is not None
        if grouping is not None:
            warn(f"y: {grouping}. {POOR_ON_GROUPED_ROWS}: use shuffle=True.", UserWarning)

    def _trained(self) -> Learner | Selection:
        trained = self._learner or self._selection
        if trained is None:
            raise ValueError("the model is not trained yet: call fit or partial_fit first.")
        return trained

    def _shaped(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.n_vectors == 1 else scores.reshape(-1, self.n_vectors)

    def _new_learner(
        self, n_features: int | None, n_classes: int, kept: NDArray[np.int64], *, restart: bool = False
    ) -> Learner:
        """Return a new learner; a race if γ is not known yet, or is to be chosen again."""
        return new_learner(
            self._method, self.parameters, n_classes, kept, gamma=self._fixed_gamma if restart else self.gamma,
            n_features=n_features, id_base=self.id_base, members_only=self.compact,
        )  # fmt: skip

    @property
    def takes_any_width(self) -> bool:
        """Whether matrices can have any number of columns: with memory="hash" or "sketch"."""
        return self.parameters.get("memory") in ("hash", "sketch")

    def _check_width(self, X: Csr) -> None:
        if self.n_features is not None and X.shape[1] != self.n_features and not self.takes_any_width:
            raise ValueError(f"X has {X.shape[1]} columns, but the model was trained on {self.n_features}.")

    def _refuse_batch_method(self) -> None:
        if self._method.is_batch:
            raise ValueError(f"{self.method} does not support incremental training; retrain with fit.")


def _n_features(X: Csr, codes: Codes) -> int:
    n_rows, n_features = X.shape
    if n_rows != len(codes):
        raise ValueError(f"X has {n_rows} rows, but y has {len(codes)} labels.")
    return n_features
