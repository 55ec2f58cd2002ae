"""A model: a method, its parameters, its classes, and what it has learned.

It takes CSR batches and needs numpy alone; estimators and the command line are shells around it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thresher import _core, parameters

# Rows are learned in blocks of about this many nonzeros, some 10 ms each, so that Ctrl-C is heard between two of them.
_BLOCK_NONZEROS = 4_000_000

Labels: TypeAlias = NDArray[Any]


class Csr(Protocol):
    """What a model needs of a sparse matrix; scipy's csr_matrix and csr_array have it."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102

    def copy(self) -> Csr: ...  # noqa: D102

    def sum_duplicates(self) -> None: ...  # noqa: D102


class Model:
    """A linear classifier on at most B features, for two classes.

    Parameters
    ----------
    method : {"sofs"}
        The algorithm.
    **given
        Its parameters, as `thresher.parameters` lists them; the rest have their defaults.

    Attributes
    ----------
    classes : array or None
        The two labels in ascending order, once known.
    n_features : int or None
        The number of columns, once known.
    """

    def __init__(self, method: str, **given: Any) -> None:
        self.parameters = parameters.complete(method, given)
        self.method = method
        self.classes: Labels | None = None
        self.n_features: int | None = None
        self._learner: _core.Sofs | None = None

    def fit(self, X: Csr, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn these rows, `n_passes` times. On an error the model stays as it was."""
        codes, classes = _encode(y, None)
        n_features = _n_features(X, codes)
        importances = self._importances(codes, classes, sample_weight)
        if importances is not None and not importances.any():
            raise ValueError(
                "sample_weight (times class_weight) is zero for every row: there is nothing to learn from."
            )
        learner = self._new_learner(n_features)
        try:
            self._run_passes(learner, X, codes, importances)
        except _NotCanonicalError:
            learner = self._new_learner(n_features)
            self._run_passes(learner, _canonical(X), codes, importances)
        self._learner, self.classes, self.n_features = learner, classes, n_features
        self._warn_if_saturated(before=0)
        return self

    def partial_fit(
        self, X: Csr, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn these rows after those learned before. On an error the model stays as it was."""
        if self.parameters["class_weight"] == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels at once and can't be used with partial_fit: "
                "give a dict {label: weight}, or use fit."
            )
        known = self._agreed_classes(classes)
        codes, known = _encode(y, known)
        n_features = _n_features(X, codes)
        if self.n_features is not None and n_features != self.n_features:
            raise ValueError(f"X has {n_features} columns, but the model was trained on {self.n_features}.")
        importances = self._importances(codes, known, sample_weight)
        learner = self._learner or self._new_learner(n_features)
        batch = _checked_batch(learner, X)
        before = learner.counters["n_saturated"]
        # From here on only Ctrl-C can stop us, and the rows learned by then count.
        self._learner, self.classes, self.n_features = learner, known, n_features
        for begin, end in _blocks(X):
            learner.learn(batch, codes, importances, None, begin, end, check=False)
        self._warn_if_saturated(before)
        return self

    def decision_function(self, X: Csr) -> NDArray[np.float64]:
        """Margins; above 0 means the second class."""
        return self._score(X, with_variance=False)[0]

    def predict(self, X: Csr) -> Labels:
        """Labels."""
        margins = self.decision_function(X)
        assert self.classes is not None
        return self.classes[(margins > 0).astype(np.intp)]

    def predict_proba(self, X: Csr) -> NDArray[np.float64]:
        """Probability of each class: Φ(m/√v), since the weights are N(μ, Σ)."""
        margins, variances = self._score(X, with_variance=True)
        z = np.divide(margins, np.sqrt(variances), out=np.zeros_like(margins), where=variances > 0)
        second = _core.normal_cdf(z)
        return np.column_stack([1.0 - second, second])

    def members(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Columns of the selected features, best first, and their weights."""
        return self._trained().members()

    @property
    def intercept(self) -> float:
        """The intercept; 0 without `fit_intercept`."""
        return self._trained().intercept

    @property
    def counters(self) -> dict[str, int]:
        """Rows seen, rows learned from (with a loss), mistakes of `predict` made before learning."""
        return self._trained().counters

    def pick(self, X: Csr, columns: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
        """Pick columns (ascending) from X: row starts, new columns, and the places of the values in X.data."""
        return _core.pick_columns(_batch(X), columns)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_learner"] = None if self._learner is None else self._learner.state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_learner"] is not None:
            assert self.n_features is not None
            self._learner = self._new_learner(self.n_features)
            self._learner.restore(*state["_learner"])

    def _trained(self) -> _core.Sofs:
        if self._learner is None:
            raise ValueError("This model has learned nothing yet: call fit or partial_fit first.")
        return self._learner

    def _new_learner(self, n_features: int) -> _core.Sofs:
        chosen = self.parameters
        learner = _core.Sofs(
            budget=parameters.budget(chosen["n_features_to_select"], n_features),
            norm=chosen["norm"] or "none",
            fit_intercept=chosen["fit_intercept"],
            gamma=chosen["gamma"],
        )
        try:
            learner.reserve(n_features)
        except MemoryError:
            raise ValueError(
                f"X has {n_features} columns: there is no room for 8 bytes of state for each. "
                "Hash the ids into fewer columns."
            ) from None
        return learner

    def _run_passes(
        self, learner: _core.Sofs, X: Csr, codes: NDArray[np.int32], importances: NDArray[np.float64] | None
    ) -> None:
        batch = _batch(X)
        random = np.random.default_rng(self.parameters["random_state"])
        for turn in range(self.parameters["n_passes"]):
            order = random.permutation(len(codes)) if self.parameters["shuffle"] else None
            for begin, end in _blocks(X):
                # The first pass checks each row while it is in cache; on a fault the learner is thrown away.
                fault = learner.learn(batch, codes, importances, order, begin, end, check=turn == 0)
                if fault is not None:
                    _raise(fault, X)

    def _score(self, X: Csr, with_variance: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        learner = self._trained()
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, but the model was trained on {self.n_features}.")
        batch = _checked_batch(learner, X)
        return learner.score(batch, 0, X.shape[0], with_variance)

    def _agreed_classes(self, given: ArrayLike | None) -> Labels:
        if given is None:
            if self.classes is None:
                raise ValueError("classes must be given on the first call to partial_fit, for example classes=[0, 1].")
            return self.classes
        classes = np.unique(np.asarray(given))
        if self.classes is not None and not np.array_equal(classes, self.classes):
            raise ValueError(
                f"classes={classes.tolist()} is not what earlier calls to partial_fit were given, "
                f"{self.classes.tolist()}."
            )
        return classes

    def _importances(
        self, codes: NDArray[np.int32], classes: Labels, sample_weight: ArrayLike | None
    ) -> NDArray[np.float64] | None:
        """Return the weight of each row: its own times its class's; None if all are 1."""
        weights = None
        if sample_weight is not None:
            weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
            if weights.shape != codes.shape:
                raise ValueError(f"sample_weight has shape {weights.shape}, but X has {len(codes)} rows.")
            bad = ~(np.isfinite(weights) & (weights >= 0))
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                raise ValueError(f"sample_weight[{row}] is {weights[row]:g}: weights must be finite and not negative.")
        class_weight = self.parameters["class_weight"]
        if class_weight is not None:
            each = _class_weights(class_weight, codes, classes)[codes]
            weights = each if weights is None else weights * each
        return weights

    def _warn_if_saturated(self, before: int) -> None:
        if before == 0 and self.counters["n_saturated"] > 0:
            warnings.warn(
                "The precision of every feature of a row has reached the end of float32 and no longer grows there: "
                "weights go on learning, but more such rows can't change which features are selected.",
                RuntimeWarning,
                stacklevel=3,
            )


class _NotCanonicalError(Exception):
    """The ids of a row are unsorted or repeated; a sorted copy of the matrix can be learned."""


def _encode(y: ArrayLike, classes: Labels | None) -> tuple[NDArray[np.int32], Labels]:
    """Return each label's place among the classes, which are those of y where none are given."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension. Got shape {labels.shape} instead.")
    known = np.unique(labels) if classes is None else classes
    if len(known) != 2:
        found = ", ".join(repr(label) for label in known[:5].tolist()) + (", …" if len(known) > 5 else "")
        if len(known) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass. "
                f"There are {len(known)} classes ({found}): keep two, or train one model for each class."
            )
        if not found:
            raise ValueError("y is empty: there is nothing to learn from.")
        raise ValueError(f"There is 1 class ({found}), but two are needed: add rows of the other.")
    second = labels == known[1]
    strange = ~(second | (labels == known[0]))
    if np.any(strange):
        row = int(np.flatnonzero(strange)[0])
        raise ValueError(f"y[{row}] is {labels[row]!r}, which is not in classes={known.tolist()}.")
    return second.astype(np.int32), known


def _class_weights(given: Any, codes: NDArray[np.int32], classes: Labels) -> NDArray[np.float64]:
    if given == "balanced":
        counts = np.bincount(codes, minlength=len(classes))
        return len(codes) / (len(classes) * counts)
    known = classes.tolist()
    for label, weight in given.items():
        if label not in known:
            raise ValueError(f"class_weight names class {label!r}, which is not among the classes {known}.")
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(f"class_weight[{label!r}] is {weight}: weights must be finite and not negative.")
    return np.array([given.get(label, 1.0) for label in known], dtype=np.float64)


def _n_features(X: Csr, codes: NDArray[np.int32]) -> int:
    n_rows, n_features = X.shape
    if n_rows != len(codes):
        raise ValueError(f"X has {n_rows} rows, but y has {len(codes)} labels.")
    return n_features


def _blocks(X: Csr) -> Iterator[tuple[int, int]]:
    n_rows = X.shape[0]
    step = max(1, int(n_rows * _BLOCK_NONZEROS / max(1, len(X.data))))
    for begin in range(0, n_rows, step):
        yield begin, min(begin + step, n_rows)


def _batch(X: Csr) -> _core.Batch:
    """Hand X to the core; nothing is copied if its arrays have a type that the core reads."""
    values = X.data if X.data.dtype in (np.float32, np.float64) else X.data.astype(np.float32)
    ids = X.indices if X.indices.dtype in (np.int32, np.int64) else X.indices.astype(np.int64)
    return _core.Batch(
        np.ascontiguousarray(X.indptr, dtype=ids.dtype),
        np.ascontiguousarray(ids),
        np.ascontiguousarray(values),
        X.shape[1],
    )


def _checked_batch(learner: _core.Sofs, X: Csr) -> _core.Batch:
    """Return X as a batch in which every row was found fit to learn."""
    batch = _batch(X)
    fault = learner.check(batch, 0, X.shape[0])
    if fault is not None:
        try:
            _raise(fault, X)
        except _NotCanonicalError:
            return _checked_batch(learner, _canonical(X))
    return batch


def _canonical(X: Csr) -> Csr:
    sorted_copy = X.copy()
    # scipy remembers a promise that the caller may have broken by writing to the arrays.
    sorted_copy.has_sorted_indices = False  # type: ignore[attr-defined]
    sorted_copy.has_canonical_format = False  # type: ignore[attr-defined]
    sorted_copy.sum_duplicates()
    return sorted_copy


def _raise(fault: tuple[str, int, int, float], X: Csr) -> None:
    kind, row, column, value = fault
    if kind == "unsorted":
        raise _NotCanonicalError
    if kind == "negative_id":
        raise ValueError(f"Row {row} of X has column id {column}: ids must not be negative.")
    if kind == "id_too_large":
        raise ValueError(f"Row {row} of X has column id {column}, but X has {X.shape[1]} columns: ids start at 0.")
    if kind == "not_finite":
        shown = "NaN" if np.isnan(value) else "infinity" if value > 0 else "-infinity"
        raise ValueError(f"X[{row}, {column}] is {shown}: values must be finite. Drop the entry or fill it in.")
    limit = "1e18 in size with norm=None" if abs(value) < 3.4e38 else "3.4e38 in size, the end of float32"
    raise ValueError(f"X[{row}, {column}] is {value:g}: values must not be above {limit}. Scale the data.")
