"""How well a model does on data that it has not learned: `evaluate`, in one reading and bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.labels import Labels, as_words, shown
from thresher.messages import counted, warn
from thresher.model import Model
from thresher.prediction import as_model
from thresher.streams import Batch, DataError, Stream, as_stream
from thresher.streams.alignment import batches_to_predict
from thresher.streams.reading import Reading

_Floats = NDArray[np.float64]

# Labels that the model does not know, of which a confusion matrix has room for a few: more of them are measurements,
# or the wrong column.
_MOST_UNKNOWN = 100


@dataclass(frozen=True)
class ClassScores:
    """How well one class is found."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What `evaluate` measures. Rows count alike, whatever their weights.

    Attributes
    ----------
    n_rows : int
        Rows read.
    labels : list
        The model's classes, and after them labels of the data that the model does not know, sorted.
    accuracy : float
        Share of rows whose label is predicted.
    confusion : array of shape (n_labels, n_labels)
        Rows by actual label (first axis) and predicted label (second axis), in the order of `labels`.
    per_class : dict
        Precision, recall, f1 and support by label. A ratio of 0 to 0 counts as 0.
    log_loss : float or None
        Mean negative log-likelihood of the actual labels, where the model has probabilities and knows all labels.
    roc_auc, average_precision : float or None
        Areas under the ROC curve and the precision–recall curve, for two classes that both occur; the second class is
        the positive one.
    n_skipped, skipped : int and list of str
        Lines or rows that were skipped, with `on_bad_line="skip"`, and why; the first hundred.
    threshold : float
        The margin above which the second of two classes is predicted; 0 unless `set_threshold` has chosen another.
    """

    n_rows: int
    labels: list[Any]
    accuracy: float
    confusion: NDArray[np.int64]
    per_class: dict[Any, ClassScores]
    log_loss: float | None = None
    roc_auc: float | None = None
    average_precision: float | None = None
    n_skipped: int = 0
    skipped: list[str] = field(default_factory=list)
    threshold: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold; labels as a file would write them."""
        return {
            "rows": self.n_rows,
            "lines_skipped": self.n_skipped,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "roc_auc": self.roc_auc,
            "average_precision": self.average_precision,
            "labels": [shown(label) for label in self.labels],
            "confusion": self.confusion.tolist(),
            "per_class": {shown(label): vars(scores) for label, scores in self.per_class.items()},
            "threshold": self.threshold,
        }

    def __str__(self) -> str:
        lines = [f"{counted(self.n_rows, 'row')}, accuracy {self.accuracy:.4f}"]
        for name, value in (("log loss", self.log_loss), ("ROC AUC", self.roc_auc)):
            if value is not None:
                lines[0] += f", {name} {value:.4f}"
        if self.average_precision is not None:
            lines[0] += f", average precision {self.average_precision:.4f}"
        if self.threshold != 0.0:
            lines[0] += f"; {shown(self.labels[1])} is predicted above a margin of {self.threshold:.4g}"
        width = max(len("class"), *(len(shown(label)) for label in self.labels))
        lines += ["", f"{'class':{width}}  precision  recall      f1  support"]
        lines += [
            f"{shown(label):{width}}  {s.precision:9.4f}  {s.recall:6.4f}  {s.f1:6.4f}  {s.support:7,}"
            for label, s in self.per_class.items()
        ]
        return "\n".join(lines)


def evaluate(model: Any, data: Any, *, progress: bool = False) -> Evaluation:
    """Measure a trained model on data, in one reading.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    data : Stream, path, or anything else that `open_stream` takes
        A path is opened with `open_stream`. Ids are counted as the model counts them.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from thresher import ShadowSOFS, datasets, evaluate
    >>> model = ShadowSOFS(50).fit(*datasets.make_x1(2_000))
    >>> e = evaluate(model, datasets.make_x2(500, n_features=20_000, n_informative=200, n_noise=400, start=2_000))
    >>> e.n_rows, 0.6 < e.accuracy < e.roc_auc
    (500, True)
    """
    trained = as_model(model)
    stream = as_stream(data, naming=trained.naming)
    reading = Reading()
    tally = Tally(trained)
    for batch in reading.watch(stream, "evaluating", batches_to_predict(trained, stream), progress):
        tally.add(batch)
    return tally.evaluation(stream.name, reading)


def pooled(parts: list[Evaluation]) -> Evaluation:
    """Return the evaluation of several models, each on rows of its own, as one.

    Counts and log loss are over all rows. ROC AUC and average precision are means, since margins of different models
    do not compare.
    """
    labels = max((part.labels for part in parts), key=len)
    labels = labels + [label for part in parts for label in part.labels if label not in labels]
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for part in parts:
        places = [labels.index(label) for label in part.labels]
        counts[np.ix_(places, places)] += part.confusion
    n_rows = int(counts.sum())

    def mean(name: str, weights: list[int] | None = None) -> float | None:
        values = [getattr(part, name) for part in parts]
        return None if None in values else float(np.average(values, weights=weights))

    return Evaluation(
        n_rows, labels, float(np.trace(counts)) / n_rows, counts, _per_class(labels, counts),
        mean("log_loss", [part.n_rows for part in parts]), mean("roc_auc"), mean("average_precision"),
    )  # fmt: skip


def accuracy(model: Model, stream: Stream) -> float:
    """Return the share of rows whose label is predicted."""
    n_rows = right = 0
    for batch in batches_to_predict(model, stream):
        right += n_right(model, batch)
        n_rows += batch.n_rows
    return share_right(model, right, n_rows, stream)


def n_right(model: Model, batch: Batch) -> int:
    """Return how many rows of a batch have the label that the model predicts."""
    predicted, actual = _alike(model.labels_of(model.score_batch(batch)[0]), batch.labels)
    return int(np.count_nonzero(predicted == actual))


def share_right(model: Model, right: int, n_rows: int, stream: Stream) -> float:
    """Return the share of a stream's rows that were right; warns if none was."""
    if n_rows == 0:
        raise DataError(f"{stream.name}: there are no rows.")
    if right == 0:
        _warn_none_right(model, stream.name)
    return right / n_rows


def _refuse_unlabelled(batch: Batch) -> None:
    """Raise DataError for the first row without a label."""
    if batch.labels.dtype.kind == "f" and np.isnan(batch.labels).any():
        row = int(np.flatnonzero(np.isnan(batch.labels))[0])
        raise DataError(f"{batch.place(row)}: the row has no label, so there is nothing to compare with.")


class Tally:
    """Counts over the batches of a stream; of two classes it also keeps the margins, 9 bytes per row."""

    def __init__(self, model: Model) -> None:
        assert model.classes is not None
        self._model = model
        self._labels: list[Any] = model.classes.tolist()
        # A label has its place under its value and under what a file writes, since text can hold numbers.
        self._places = {label: place for place, label in enumerate(self._labels)}
        for place, label in enumerate(self._labels):
            self._places.setdefault(shown(label), place)
        self._n_classes = len(self._labels)
        self._counts = np.zeros((self._n_classes, self._n_classes), np.int64)
        self._log_likelihood = 0.0
        self._margins: list[_Floats] = []
        self._is_second: list[NDArray[np.bool_]] = []

    def add(self, batch: Batch, rows: NDArray[np.int64] | None = None) -> None:
        """Count a batch, or some of its rows."""
        model = self._model
        margins, probabilities = model.score_batch(batch, rows=rows, with_probabilities=model.has_probabilities)
        predicted = model.codes_of(margins)
        actual = self._codes(batch, batch.labels if rows is None else batch.labels[rows])
        size = len(self._labels)
        self._counts += np.bincount(actual * size + predicted, minlength=size * size).reshape(size, size)
        if probabilities is not None and size == self._n_classes:
            # As scikit-learn does, no probability counts as exactly 0.
            likelihoods = np.maximum(probabilities[np.arange(len(actual)), actual], np.finfo(np.float64).eps)
            self._log_likelihood += float(np.log(likelihoods).sum())
        if margins.ndim == 1 and size == self._n_classes:
            self._margins.append(margins)
            self._is_second.append(actual == 1)

    @property
    def support(self) -> NDArray[np.int64]:
        """How many rows of each class were counted."""
        return np.asarray(self._counts.sum(axis=1))

    def evaluation(self, name: str, reading: Reading | None = None) -> Evaluation:
        """Return what was measured; `name` is that of the data."""
        reading = reading or Reading()
        n_rows, right = int(self._counts.sum()), int(np.trace(self._counts))
        if n_rows == 0:
            raise DataError(f"{name}: there are no rows.")
        knows_all = len(self._labels) == self._n_classes
        labels, counts = self._sorted()
        if not knows_all:
            unknown, n_unknown = labels[self._n_classes :], int(counts[self._n_classes :].sum())
            warn(
                f"{name}: {n_unknown:,} of {counted(n_rows, 'row')} have labels ({_named(unknown)}) not among "
                f"the model's classes ({_named(labels[: self._n_classes])}), so no prediction of them can be right.",
                UserWarning,
            )
        elif right == 0:
            _warn_none_right(self._model, name)
        log_loss = -self._log_likelihood / n_rows if knows_all and self._model.has_probabilities else None
        roc_auc = average_precision = None
        if self._n_classes == 2 and knows_all and self._counts.sum(axis=1).all():
            roc_auc, average_precision = _areas(np.concatenate(self._margins), np.concatenate(self._is_second))
        return Evaluation(
            n_rows, labels, right / n_rows, counts, _per_class(labels, counts),
            log_loss, roc_auc, average_precision, reading.n_skipped, reading.skipped, self._model.threshold,
        )  # fmt: skip

    def margins(self, name: str) -> tuple[_Floats, NDArray[np.bool_]]:
        """Return the margins of all rows, and which are of the second class; both classes must occur, and no other."""
        labels = [label for label, n in zip(self._labels, self._counts.sum(axis=1), strict=True) if n]
        if len(self._labels) > self._n_classes or len(labels) < 2:
            known = _named(self._labels[: self._n_classes])
            found = _named(labels) or "none"
            raise DataError(f"{name}: rows of the classes {known} are needed, and no others. It has {found}.")
        return np.concatenate(self._margins), np.concatenate(self._is_second)

    def _codes(self, batch: Batch, labels: Labels) -> NDArray[np.intp]:
        """Return the place of each label in `_labels`, which gets those it does not have yet."""
        _refuse_unlabelled(batch)
        found, places = np.unique(labels, return_inverse=True)
        codes = [self._place(label, batch) for label in found.tolist()]
        size = len(self._labels)
        self._counts = np.pad(self._counts, (0, size - len(self._counts)))
        return np.array(codes, dtype=np.intp)[places]

    def _place(self, label: Any, batch: Batch) -> int:
        place = self._places.get(label, self._places.get(shown(label)))
        if place is None:
            place = len(self._labels)
            if place >= self._n_classes + _MOST_UNKNOWN:
                known = _named(self._labels[: self._n_classes])
                raise DataError(
                    f"{batch.file}: it has more than {_MOST_UNKNOWN} labels that are not among the model's classes "
                    f"({known}), such as {shown(label)}: check the file and its label column."
                )
            self._labels.append(label)
            self._places[label] = self._places[shown(label)] = place
        return place

    def _sorted(self) -> tuple[list[Any], NDArray[np.int64]]:
        """Return labels and counts in an order that does not depend on the batches: classes, numbers, words."""
        are_words = isinstance(self._labels[0], str)
        unknown = [_as_of_kind(label, are_words) for label in self._labels[self._n_classes :]]
        labels = self._labels[: self._n_classes] + unknown
        order = sorted(range(len(unknown)), key=lambda at: (isinstance(unknown[at], str), unknown[at]))
        places = np.array([*range(self._n_classes), *(self._n_classes + at for at in order)])
        return [labels[place] for place in places], self._counts[np.ix_(places, places)]


def _as_of_kind(label: Any, as_word: bool) -> Any:
    """Return a label as text or, if possible, as a number: which of them a batch holds depends on the other rows."""
    if as_word or not isinstance(label, str):
        return shown(label) if as_word else label
    try:
        number = float(label)
    except ValueError:
        return label
    return number if shown(number) == label else label


def _per_class(labels: list[Any], counts: NDArray[np.int64]) -> dict[Any, ClassScores]:
    scores = {}
    for code, label in enumerate(labels):
        right, predicted, actual = (int(n) for n in (counts[code, code], counts[:, code].sum(), counts[code].sum()))
        scores[label] = ClassScores(
            precision=right / max(1, predicted), recall=right / max(1, actual),
            f1=2 * right / max(1, predicted + actual), support=actual,
        )  # fmt: skip
    return scores


def _areas(margins: _Floats, is_positive: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the ROC AUC and the average precision, exactly; rows of equal margin change sides together."""
    order = np.argsort(-margins, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(margins[order])), len(margins) - 1)
    true = np.cumsum(is_positive[order])[ends].astype(np.float64)
    false = ends + 1 - true
    gained = np.diff(true, prepend=0.0)
    roc_auc = np.sum(np.diff(false, prepend=0.0) * (true - gained / 2)) / (true[-1] * false[-1])
    average_precision = np.sum(gained * true / (true + false)) / true[-1]
    return float(roc_auc), float(average_precision)


def _alike(one: Labels, other: Labels) -> tuple[Labels, Labels]:
    """Return labels of one type: where one array holds text, both do."""
    if (one.dtype.kind == "U") == (other.dtype.kind == "U"):
        return one, other
    return as_words(one), as_words(other)


def _warn_none_right(model: Model, name: str) -> None:
    assert model.classes is not None
    known = _named(model.classes.tolist())
    warn(f"{name}: no row was predicted right; the model's classes are {known}.", UserWarning)


def _named(labels: list[Any]) -> str:
    """Return the first few labels as text."""
    return ", ".join(shown(label) for label in labels[:5]) + (", …" if len(labels) > 5 else "")
