"""`evaluate`: the metrics of a model on data that it has not learned, in one reading."""

from __future__ import annotations

from typing import Any, TypeAlias

from thresher.evaluation.alignment import open_for_model
from thresher.evaluation.base import Evaluation
from thresher.evaluation.class_evaluation import ClassEvaluation
from thresher.evaluation.metrics import compute_metrics
from thresher.evaluation.number_evaluation import NumberEvaluation
from thresher.evaluation.number_tally import NumberTally
from thresher.evaluation.prediction import as_model
from thresher.evaluation.tally import ClassTally
from thresher.model.model import Model
from thresher.streams.read_counts import ReadCounts

Tally: TypeAlias = ClassTally | NumberTally


def evaluate(model: Any, data: Any, *, positive: Any = None, progress: bool = False) -> Evaluation:
    """Measure a trained model on data, in one reading.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    data : Stream, path, or anything else that `open_stream` takes
        A path is opened with `open_stream`. Ids are counted as the model counts them.
    positive : str, int or float, optional
        Which of two labels counts as found, in average precision and the curves; by default the second.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    Evaluation
        A `ClassEvaluation`; of a model that predicts numbers, a `NumberEvaluation`.

    Examples
    --------
    >>> from thresher import ShadowSOFS, datasets, evaluate
    >>> model = ShadowSOFS(50).fit(*datasets.make_x1(2_000))
    >>> e = evaluate(model, datasets.make_x2(500, n_features=20_000, n_informative=200, n_noise=400, start=2_000))
    >>> e.n_rows, 0.6 < e.accuracy < e.roc_auc
    (500, True)
    """
    trained = as_model(model)
    tally = tally_for(trained, positive=positive, explains=True)
    stream, reading, batches = open_for_model(trained, data, "evaluating", progress=progress)
    for batch in batches:
        tally.add(batch)
    return evaluation_of(tally, stream.name, reading)


def tally_for(model: Model, *, only_pairs: bool = False, positive: Any = None, explains: bool = False) -> Tally:
    """Return a tally of what a model predicts; `ClassTally` says what the options are, which numbers do not have."""
    assert model.target is not None
    if model.target.kind == "numbers":
        model.target.code_of_positive(positive)
        return NumberTally(model)
    return ClassTally(model, only_pairs, positive, explains=explains)


def evaluation_of(tally: Tally, name: str, reading: ReadCounts | None = None) -> Evaluation:
    """Return the evaluation of a tally; `name` is that of the data."""
    reading = reading or ReadCounts()
    if isinstance(tally, NumberTally):
        residuals = tally.counts(name)
        return NumberEvaluation(residuals, compute_metrics(residuals), reading.n_skipped, reading.skipped)
    counts = tally.counts(name)
    metrics, mistakes = compute_metrics(counts), tally.surest_mistakes()
    return ClassEvaluation(counts, metrics, reading.n_skipped, reading.skipped, tally.threshold, mistakes)
