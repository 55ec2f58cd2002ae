"""A model: a method, its parameters, its classes, and what it has learned.

It takes CSR matrices and batches, and needs only numpy; estimators and the command line are thin layers on top of it.
How rows are learned is in `model/learning.py` and `model/session.py`.

Features have *ids*, which is what the learner knows, and *columns*, which is what the user sees: column = id − id_base.
In a matrix they are the same. Files often count from 1, and their ids are learned as written; `id_base` is then 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _core, methods, parameters
from thresher.batch import Batch, core_rows
from thresher.csr import Csr, check_rows
from thresher.messages import parameter
from thresher.model.class_weights import weights_of_rows
from thresher.model.classes import probabilities
from thresher.model.fixed_weights import FixedWeights
from thresher.model.labels import Labels
from thresher.model.learners import decoys_of
from thresher.model.names import MemberNames, Naming
from thresher.model.race import Learner, Race, Standing
from thresher.model.state import State, restore, state_of
from thresher.model.targets import Target
from thresher.threads import ForkSafeLock


@dataclass(frozen=True)
class Parts:
    """What the selected features of rows add to their scores; with more than two classes, to that of the predicted one.

    Attributes
    ----------
    starts : array
        Entries starts[r] … starts[r + 1] - 1 are those of row r, in ascending order of column.
    columns, parts : array
        The features, and their weights times their values.
    codes : array
        The class of each row by code; with two classes, 0.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    parts: NDArray[np.float64]
    codes: NDArray[np.int32]


class Model:
    """A linear model on at most B features, of classes or of numbers.

    With two classes a feature has one weight; with C > 2 classes it has C, and all classes share the same features.
    Threads can share a model; its owner lets only one of them train it at a time.

    Parameters
    ----------
    method : str
        The name of a method in `thresher.methods`. A model of a batch method is trained by `train` only.
    **given
        Its parameters, as listed in `thresher.methods`; the others have their defaults.

    Attributes
    ----------
    target : Classes, Numbers or None
        What it predicts. None until a first stream has been read to its end.
    n_vectors : int
        How many weights a feature has.
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
        With two classes, the margin above which `predict` returns the second one. It is 0 unless `set_threshold` has
        chosen another value; learning more rows resets it to 0.
    selection_frequency : dict or None
        How often each member was selected in samples of the rows, if `stability` has counted it.
    selection_chance : float or None
        The most often that any feature was selected there with permuted labels.
    occurrences : list of int or None
        In how many rows of training each member occurred, in ascending order of id: where a closing pass, or a batch
        method, has counted it.
    extras : dict
        Further results of the solver of a batch method, such as the C of L1SVM; they are not saved.
    """

    def __init__(self, method: str, **given: Any) -> None:
        self.method = methods.find(method)
        self.parameters = self.method.complete(given)
        self.target: Target | None = None
        self.n_vectors = 1  # of the learner, also while a first stream is learned and the target is not known
        self.n_features: int | None = None
        self.id_base = 0
        self.feature_names: list[str] | dict[int, str] | None = None
        self.naming: Naming | None = None
        self.names = MemberNames()  # of selected features that were hashed
        self.compact = False
        self.grouped_by_label = False
        self.threshold = 0.0
        self.selection_frequency: dict[int, float] | None = None
        self.selection_chance: float | None = None
        self.occurrences: list[int] | None = None
        self.known_q_values: dict[int, float] = {}  # of a compact model, by column
        self.class_weights = weights_of_rows(self.method, self.parameters)
        self.kept_ids = np.zeros(0, np.int64)  # of the learner, in any case
        self.words_to_keep: list[str] = []  # what the data call them, until a first stream was learned
        self.chosen_gamma: float | None = None  # where the parameter is "auto"
        self.standings: list[Standing] = []  # at a race that has ended
        self.learner: Learner | None = None
        self.fixed: FixedWeights | None = None  # predicts instead of a learner, for a batch method
        self.extras: dict[str, Any] = {}
        self.lock = ForkSafeLock()

    def keep_as_written(self, names: list[str]) -> None:
        """Set the features to keep by their names in the data: the names of columns or, without names, ids.

        For a new model that a stream will train; after that, `keep` has their columns.
        """
        parameters.check_keep({"keep": names}, parameters.budget(self.parameters, None))
        self.words_to_keep = names

    def untrained_copy(self, **changed: Any) -> Self:
        """Return a new model with the same parameters, but for those given."""
        new = type(self)(self.method.name, **{**self.parameters, **changed})
        if self.words_to_keep:
            new.keep_as_written(self.words_to_keep)
        return new

    def decision_function(self, X: Csr) -> NDArray[np.float64]:
        """Margins: above 0 means the second class. With more than two classes, the score of each class. Or numbers."""
        self._trained_learner()
        self.check_width(X)
        return self._scores(check_rows(X, self.norm, self.id_base)[1], X.shape[0])

    def score_batch(self, batch: Batch, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Margins of a batch of a stream, or of some of its rows; ids that were never learned are ignored."""
        return self._scores(self.known_rows(batch), batch.n_rows if rows is None else len(rows), rows)

    def _scores(self, rows: _core.CsrBatch, n_rows: int, order: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        scores = self._trained_learner().score(rows, 0, n_rows, order)
        if self.tells_nothing:
            scores = np.tile(self.intercept, n_rows)
        return scores if self.n_vectors == 1 else scores.reshape(-1, self.n_vectors)

    def parts(self, X: Csr) -> Parts:
        """Return what the selected features of each row add to its score."""
        self._trained_learner()
        self.check_width(X)
        return self._parts(check_rows(X, self.norm, self.id_base)[1], X.shape[0])

    def parts_of_batch(self, batch: Batch) -> Parts:
        """Return the same of a batch of a stream."""
        return self._parts(self.known_rows(batch), batch.n_rows)

    def _parts(self, rows: _core.CsrBatch, n_rows: int) -> Parts:
        learner = self._trained_learner()
        codes = np.zeros(n_rows, np.int32)
        if self.n_vectors > 1:
            codes = self._scores(rows, n_rows).argmax(axis=1).astype(np.int32)
        starts, ids, parts = learner.parts(rows, codes)
        return Parts(starts, ids - self.id_base, parts, codes)

    def known_rows(self, batch: Batch) -> _core.CsrBatch:
        """Return a batch in which no name has the id of a selected feature that has another name.

        Such a name gets an id that is not selected, so that it still counts in the length of its row.
        """
        if batch.names is None:
            return core_rows(batch)
        members = self.selected_ids() if self.method.has_budget else None
        strangers = self.names.strangers(members, batch.indices, batch.names)
        if len(strangers) == 0:
            return core_rows(batch)
        ids = batch.indices.astype(np.int64)
        selected = self.selected_ids()
        while len(strangers):
            ids[strangers] += 1
            strangers = strangers[np.isin(ids[strangers], selected)]
        return core_rows(replace(batch, indices=ids, indptr=batch.indptr.astype(np.int64)))

    def labels_of(self, margins: NDArray[np.float64]) -> Labels:
        assert self.target is not None
        return self.target.labels_for(margins, self.threshold)

    def probabilities_of(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each class for these margins: σ(τ·m), or with more classes softmax(τ·s).

        The scale τ was learned from the margins that rows had just before they were learned.
        """
        return probabilities(self.counters["margin_scale"] * margins)

    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Columns of the selected features, best first, and their weights: one, or one per class."""
        ids, weights = self._trained_learner().members()
        return ids - self.id_base, weights.reshape(len(ids), self.n_vectors)

    def ranks(self) -> NDArray[np.float64]:
        """Return what the selected features are ordered by, best first.

        That of an online method is what it compares to select: with more than two classes, the sum over them. That of
        a batch method is the length of the weights; MRMR, which takes one feature at a time, has how many it took from
        this one on.
        """
        learner = self._trained_learner()
        ids, weights = learner.members()
        if not isinstance(learner, FixedWeights):
            return learner.ranks(ids).astype(np.float64)
        if self.method.ranks_by_turn:
            return np.arange(len(ids), 0, -1, dtype=np.float64)
        lengths: NDArray[np.float64] = np.sqrt(
            np.square(weights.reshape(len(ids), self.n_vectors), dtype=np.float64).sum(axis=1)
        )
        return lengths

    def note_occurrences(self, selector: _core.Selector) -> None:
        """Add what a closing pass of the model's selector has counted since the last call."""
        ids, n_rows = selector.take_occurrences()
        if len(ids):
            before = 0 if self.occurrences is None else np.array(self.occurrences, np.int64)
            self.occurrences = (n_rows[np.argsort(ids)] + before).tolist()

    def check_occurrences(self) -> None:
        """Raise ValueError if the occurrences, which come from a file, do not fit the members."""
        if self.occurrences is not None and len(self.occurrences) != len(self.members()[0]):
            raise ValueError("occurrences must have one number per selected feature")

    def selected_ids(self) -> NDArray[np.int64]:
        """Return the learner's ids of the selected features, ascending; also in the middle of a first stream."""
        return np.sort(self._trained_learner().members()[0])

    @property
    def intercept(self) -> NDArray[np.float64]:
        """The intercept, or one per class; 0 without `fit_intercept`, unless there is nothing else to predict by."""
        if self.tells_nothing and self.method.predicts == "numbers":
            return np.array([self.selector.mean_target])
        if self.tells_nothing:
            shares = np.log(np.maximum(self.class_weights.frequencies(max(2, self.n_vectors)), 1e-300))
            scores = shares[1:] - shares[0] if self.n_vectors == 1 else shares
            return np.asarray(scores / self.counters["margin_scale"], np.float32).astype(np.float64)
        return self._trained_learner().intercept.astype(np.float64)

    @property
    def tells_nothing(self) -> bool:
        """Whether no feature could be told from chance, so that only the classes' frequencies are left."""
        return self.parameters.get("max_fdr") is not None and len(self._trained_learner().members()[0]) == 0

    @property
    def has_decoys(self) -> bool:
        """Whether it learns decoys, or did before it was saved compact: its members have q-values."""
        return bool(decoys_of(self.parameters))

    def q_values(self) -> NDArray[np.float64] | None:
        """Return the q-values of the selected features, best first; NaN for those of `keep`, None without decoys."""
        if not self.has_decoys:
            return None
        if self.compact:
            return np.array([self.known_q_values.get(column, np.nan) for column in self.members()[0].tolist()])
        assert self.learner is not None
        return self.learner.q_values()

    def strongest_decoys(self, n: int) -> tuple[NDArray[np.float32], NDArray[np.float64]] | None:
        """Return the ranks of up to n decoys, the highest first, and for how many features each of them stands.

        None without decoys; a compact model no longer has them.
        """
        if not self.has_decoys or self.compact:
            return None
        assert self.learner is not None
        return self.learner.strongest_decoys(n)

    @property
    def counters(self) -> dict[str, Any]:
        """Rows seen, rows learned from (with a loss), mistakes of `predict` made before learning, and the loss."""
        return self._trained_learner().counters

    @property
    def gamma(self) -> float | None:
        """γ: the parameter, or with "auto" what was chosen; None before that, and for methods without γ."""
        given = self.parameters.get("gamma")
        return self.chosen_gamma if given == "auto" else given

    @property
    def race(self) -> list[Standing]:
        """The standings of the race for γ so far, one for each check."""
        return self.learner.standings if isinstance(self.learner, Race) else self.standings

    @property
    def selector(self) -> _core.Selector:
        """The learner of a model that is in no race for γ: there was none, or it ended with the first pass."""
        assert self.learner is not None
        assert not isinstance(self.learner, Race)
        return self.learner

    @property
    def is_trained(self) -> bool:
        return self.learner is not None or self.fixed is not None

    def name_of(self, column: int) -> str:
        """Return the name of a feature; without names, its id as in a file."""
        if self.feature_names:
            return self.feature_names[column]
        id_ = column + self.id_base
        return self.names.by_id.get(id_, str(id_))

    def become(self, other: Model) -> None:
        """Replace everything by the state of another model of the same method."""
        with self.lock:
            self.__dict__.update({name: value for name, value in other.__dict__.items() if name != "lock"})

    def __reduce__(self) -> Any:
        return _of_state, (state_of(self),)

    def with_parameters(self, given: dict[str, Any]) -> Model:
        """Return a model that continues from here with other parameters; itself, if they are the same.

        The budget, the features to keep, the memory and which features have decoys can't be changed.
        """
        new = self.method.complete(given)
        if new == self.parameters:
            return self
        for name in (*methods.BUDGET, "memory", "memory_bytes"):
            before, after = self.parameters.get(name), new.get(name)
            if before != after:
                raise ValueError(f"{name} can't be changed from {before} to {after} while learning: use fit.")
        if decoys_of(new) != decoys_of(self.parameters):
            both = f"{parameter('decoys', new['decoys'])} and {parameter('max_fdr', new['max_fdr'])}"
            raise ValueError(f"which features have decoys can't be changed to {both} while learning: use fit.")
        # "auto" is no new race for a model that was trained.
        chosen = self.gamma if new.get("gamma") == "auto" else None
        return _of_state({**state_of(self), "parameters": new, "chosen_gamma": chosen})

    @property
    def norm(self) -> str:
        """How rows are scaled, in the core's terms: "l2" or "none"."""
        return self.parameters["norm"] or "none"

    def check_can_learn(self) -> None:
        """Raise ValueError if the model can't learn more rows."""
        if self.method.is_batch:
            raise ValueError(f"{self.method.name} does not support incremental training; retrain with fit.")
        if self.compact:
            raise ValueError(
                "the model was saved compact, with its selected features only, and can't continue learning: "
                "save it in full, with save."
            )

    def _trained_learner(self) -> Learner | FixedWeights:
        trained = self.learner or self.fixed
        if trained is None:
            raise ValueError("the model is not trained yet: call fit or partial_fit first.")
        return trained

    @property
    def takes_any_width(self) -> bool:
        """Whether matrices can have any number of columns: with memory="hash" or "sketch"."""
        return self.parameters.get("memory") in ("hash", "sketch")

    def check_width(self, X: Csr) -> None:
        """Raise ValueError if a matrix has another number of columns than those that were learned."""
        if self.n_features is not None and X.shape[1] != self.n_features and not self.takes_any_width:
            raise ValueError(f"X has {X.shape[1]} columns, but the model was trained on {self.n_features}.")


def _of_state(state: State) -> Model:
    model = Model(state["method"], **state["parameters"])
    restore(model, state)
    return model
