"""How well a model does on data that it has not learned: `evaluate`, in one reading and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.labels import Labels, as_words, shown
from thresher.messages import warn
from thresher.model import Model
from thresher.progress import progress_bar
from thresher.streams import Batch, DataError, Stream, open_stream
from thresher.streams.alignment import batches_for

_Floats = NDArray[np.float64]


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
        The model's classes, and after them labels of the data that the model does not know.
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
    """

    n_rows: int
    labels: list[Any]
    accuracy: float
    confusion: NDArray[np.int64]
    per_class: dict[Any, ClassScores]
    log_loss: float | None = None
    roc_auc: float | None = None
    average_precision: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold; labels as a file would write them."""
        return {
            "rows": self.n_rows,
            "accuracy": self.accuracy,
            "log_loss": self.log_loss,
            "roc_auc": self.roc_auc,
            "average_precision": self.average_precision,
            "labels": [shown(label) for label in self.labels],
            "confusion": self.confusion.tolist(),
            "per_class": {shown(label): vars(scores) for label, scores in self.per_class.items()},
        }

    def __str__(self) -> str:
        lines = [f"{self.n_rows:,} rows, accuracy {self.accuracy:.4f}"]
        for name, value in (("log loss", self.log_loss), ("ROC AUC", self.roc_auc)):
            if value is not None:
                lines[0] += f", {name} {value:.4f}"
        if self.average_precision is not None:
            lines[0] += f", average precision {self.average_precision:.4f}"
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
    data : Stream or path
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
    trained = model if isinstance(model, Model) else model._fitted_model()
    stream = data if isinstance(data, Stream) else open_stream(data)
    with progress_bar("evaluating", stream, 1, progress) as bar:
        tally = _Tally(trained)
        for batch in batches_for(trained, stream):
            tally.add(batch)
            bar.advance(batch.n_bytes, batch.n_rows, None)
    return tally.evaluation(stream)


def accuracy(model: Model, stream: Stream, batches: Iterator[Batch] | None = None) -> float:
    """Return the share of rows whose label is predicted; `batches` may be the stream's, watched on their way."""
    n_rows = right = 0
    for batch in batches_for(model, stream) if batches is None else batches:
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
        _warn_none_right(model, stream)
    return right / n_rows


class _Tally:
    """Counts over the batches of a stream; of two classes it also keeps the margins, 9 bytes per row."""

    def __init__(self, model: Model) -> None:
        assert model.classes is not None
        self._model = model
        self._labels: list[Any] = model.classes.tolist()
        self._counts = np.zeros((len(self._labels), len(self._labels)), np.int64)
        self._log_likelihood = 0.0
        self._margins: list[_Floats] = []
        self._is_second: list[NDArray[np.bool_]] = []

    def add(self, batch: Batch) -> None:
        margins, probabilities = self._model.score_batch(batch, with_probabilities=self._model.has_probabilities)
        predicted = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        actual = self._codes(batch.labels)
        size = len(self._labels)
        self._counts += np.bincount(actual * size + predicted, minlength=size * size).reshape(size, size)
        if probabilities is not None and size == probabilities.shape[1]:
            # As scikit-learn does, no probability counts as exactly 0.
            likelihoods = np.maximum(probabilities[np.arange(len(actual)), actual], np.finfo(np.float64).eps)
            self._log_likelihood += float(np.log(likelihoods).sum())
        if margins.ndim == 1:
            self._margins.append(margins)
            self._is_second.append(actual == 1)

    def evaluation(self, stream: Stream) -> Evaluation:
        n_rows, right = int(self._counts.sum()), int(np.trace(self._counts))
        if n_rows == 0:
            raise DataError(f"{stream.name}: there are no rows.")
        if right == 0:
            _warn_none_right(self._model, stream)
        classes = self._model.classes
        assert classes is not None
        knows_all = len(self._labels) == len(classes)
        log_loss = -self._log_likelihood / n_rows if knows_all and self._model.has_probabilities else None
        roc_auc = average_precision = None
        if len(classes) == 2 and knows_all and self._counts.sum(axis=1).all():
            roc_auc, average_precision = _areas(np.concatenate(self._margins), np.concatenate(self._is_second))
        return Evaluation(
            n_rows, self._labels, right / n_rows, self._counts, _per_class(self._labels, self._counts),
            log_loss, roc_auc, average_precision,
        )  # fmt: skip

    def _codes(self, labels: Labels) -> NDArray[np.intp]:
        """Return the place of each label in `_labels`, which gets those it does not have yet."""
        known, labels = _alike(np.array(self._labels), labels)
        codes = np.full(len(labels), -1, dtype=np.intp)
        for code, label in enumerate(known.tolist()):
            codes[labels == label] = code
        for label in np.unique(labels[codes < 0]).tolist():
            codes[labels == label] = len(self._labels)
            self._labels.append(label)
            self._counts = np.pad(self._counts, ((0, 1), (0, 1)))
        return codes


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


def _warn_none_right(model: Model, stream: Stream) -> None:
    assert model.classes is not None
    known = ", ".join(shown(label) for label in model.classes[:5].tolist())
    warn(f"{stream.name}: no row was predicted right; the model's classes are {known}.", UserWarning)
