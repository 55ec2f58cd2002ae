"""`set_threshold`: the margin above which a model predicts the second class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.evaluation.alignment import open_for_model
from thresher.evaluation.curves import thresholds
from thresher.evaluation.prediction import as_model
from thresher.evaluation.tally import ClassTally
from thresher.messages import parameter
from thresher.model.classes import Classes
from thresher.model.labels import label_text
from thresher.parameters import Between, OneOf
from thresher.streams import Data, DataError

_Floats = NDArray[np.float64]


def set_threshold(model: Any, data: Data, target: str, *, positive: Any = None, progress: bool = False) -> float:
    """Choose the margin above which `predict` gives the second of two classes, and store it in the model.

    Margins and probabilities stay as they are. `evaluate` and `show` report the threshold; learning more rows resets
    it to 0.

    Parameters
    ----------
    model : estimator or Model
        A trained one with two classes.
    data : Stream, path, or anything else that `open_stream` takes
        Rows that the model has not learned, with labels of both classes.
    target : str
        "f1" for the highest F1 of the positive label. "precision=0.9", or another share, for the most of its rows found
        among thresholds whose precision is at least that.
    positive : str, int or float, optional
        Which of the two labels is to be found; by default the second.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    float
        The threshold.

    Examples
    --------
    >>> from thresher import ShadowSOFS, datasets, evaluate, set_threshold
    >>> model = ShadowSOFS(200).fit(*datasets.make_x1(5_000))
    >>> validation, test = datasets.make_x1(2_000, start=5_000), datasets.make_x1(2_000, start=7_000)
    >>> set_threshold(model, validation, "precision=0.99") > 0
    True
    >>> evaluate(model, test).per_class[1].precision > 0.97
    True
    """
    wanted = _precision(target)
    trained = as_model(model)
    assert trained.target is not None
    trained.target.check_can_have_threshold()
    assert isinstance(trained.target, Classes)
    tally = ClassTally(trained, positive=positive)
    stream, _, batches = open_for_model(trained, data, "choosing a threshold", progress=progress)
    for batch in batches:
        tally.add(batch)
    assert tally.positive is not None
    (above, below), found = _best(*tally.margins(stream.name), wanted)
    if wanted is not None and found < wanted:
        raise DataError(
            f"{stream.name}: no threshold has a precision of {wanted:g} there; the highest is {found:.4f}: ask for "
            f"less, or use data with more rows of class {label_text(trained.target.labels.tolist()[tally.positive])}."
        )
    # The margins are those of the positive label: of the first class they have the other sign.
    trained.threshold = _between(below, above) if tally.positive == 1 else _between(-above, -below)
    return trained.threshold


def check_target(target: str) -> None:
    """Raise ValueError unless `set_threshold` supports a target."""
    _precision(target)


def _precision(target: str) -> float | None:
    """Return the requested precision; None for the best F1."""
    if target == "f1":
        return None
    name, _, value = target.partition("=") if isinstance(target, str) else ("", "", "")
    try:
        share = float(value) if name == "precision" else float("nan")
    except ValueError:
        share = float("nan")
    if not (Between(0.0, 1.0).admits(share) or OneOf((1.0,)).admits(share)):
        raise ValueError(
            f'{parameter("target")} must be "f1" or "precision=P" with P above 0 and up to 1. Got {target!r} instead.'
        )
    return share


def _best(
    margins: _Floats, is_positive: NDArray[np.bool_], precision: float | None
) -> tuple[tuple[float, float], float]:
    """Return the lowest margin that the best threshold finds and the next one below, and its F1 or precision."""
    sorted_margins, ends, true = thresholds(margins, is_positive)
    predicted = ends + 1.0
    if precision is None:
        score = 2.0 * true / (predicted + is_positive.sum())
        best = int(score.argmax())
    else:
        score = true / predicted
        enough = np.flatnonzero(score >= precision)
        best = int(enough[true[enough].argmax()]) if len(enough) else int(score.argmax())
    above = float(sorted_margins[ends[best]])
    last = ends[best] + 1
    below = float(sorted_margins[last]) if last < len(margins) else float(np.nextafter(above, -np.inf))
    return (above, below), float(score[best])


def _between(below: float, above: float) -> float:
    """Return a threshold that margins of `above` exceed, and those of `below` don't: in the middle, if it can be."""
    middle = (above + below) / 2.0
    return middle if below <= middle < above else below
