"""ShadowSOFS's two layers beside their prototype: layers.csv, layers-calibration.csv, layers-alone.csv, LAYERS.md."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

from experiments.config import HOME
from experiments.data import Rows
from experiments.layers_sets import FIT, WAYS, Task, tasks
from experiments.reporting.layers import placeholders
from experiments.store import Found
from experiments.study import Step, Study
from thresher import ShadowSOFS, train


def learned(budget: int, way: str, rows: Rows) -> Any:
    """Return ShadowSOFS after one reading of the rows in their order, or after `fit` with all defaults."""
    if way == FIT:
        return ShadowSOFS(budget).fit(rows.X, rows.y)
    model = ShadowSOFS(budget, refit=False)
    train(model, (rows.X, rows.y), passes=1, shuffle=False, classes=np.unique(rows.y))
    return model


def loss_of(model: Any, rows: Rows, given: NDArray[Any] | None = None) -> float:
    """Return the log loss of the model's probabilities, or of others."""
    found = model.predict_proba(rows.X) if given is None else given
    return float(log_loss(rows.y, found, labels=model.classes_))


def accuracy_steps(smallest: bool) -> list[Step]:
    """Return the data sets."""
    return [(task.name, partial(accuracies, task)) for task in tasks(smallest)]


def accuracies(task: Task) -> Iterator[Found]:
    """Yield accuracy and log loss of both ways on test rows."""
    for turn in range(task.n_splits):
        training, rest = task.split(turn)
        test = rest.take(slice(task.n_test))
        for budget in task.budgets:
            for way in WAYS:
                model = learned(budget, way, training)
                found = {"accuracy": f"{100 * model.score(test.X, test.y):.4f}", "loss": f"{loss_of(model, test):.6f}"}
                yield {"set": task.name, "budget": budget, "split": turn, "way": way, "test": len(test.y), **found}


def calibration_steps(smallest: bool) -> list[Step]:
    """Return the data sets whose probabilities are compared."""
    return [(f"{task.name}, probabilities", partial(calibrations, task)) for task in tasks(smallest) if task.calibrated]


def calibrations(task: Task) -> Iterator[Found]:
    """Yield log loss and calibration error of the model's own probabilities, and of some calibrated on other rows.

    The rows that were not learned are halved: one half tests, on the other one the calibration is fitted. The
    calibration error is that on both halves; on the one that tests; on both, with the scale fitted on the other half;
    and by chance, if the model's own probabilities were exact.
    """
    for turn in range(task.n_calibrated_splits or task.n_splits):
        training, rest = task.split(turn)
        half = len(rest.y) // 2
        test, others = rest.take(slice(half)), rest.take(slice(half, None))
        pairs = (test, others), (others, test)
        for budget in task.calibrated:
            for way in WAYS:
                model = learned(budget, way, training)
                sigmoid = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid").fit(others.X, others.y)
                on_test, on_others = (scaled(model, some, temperature(model, other)) for some, other in pairs)
                own = model.predict_proba(rest.X)
                found = {
                    "own": loss_of(model, test, own[:half]),
                    "sigmoid": loss_of(model, test, sigmoid.predict_proba(test.X)),
                    "temperature": loss_of(model, test, on_test),
                    "error": calibration_error(is_right(model, rest, own), own),
                    "error_on_half": calibration_error(is_right(model, test, own[:half]), own[:half]),
                    "error_scaled": calibration_error(is_right(model, rest, own), np.vstack([on_test, on_others])),
                    "error_by_chance": error_by_chance(own),
                }
                shown = {name: f"{value:.6f}" for name, value in found.items()}
                yield {"set": task.name, "budget": budget, "split": turn, "way": way, "test": half, **shown}


def temperature(model: Any, rows: Rows) -> float:
    """Return the scale of the scores that has the least log loss; scikit-learn's needs classes 0, 1, 2 and so on."""
    found = minimize_scalar(lambda log: loss_of(model, rows, scaled(model, rows, np.exp(log))), bounds=(-4, 4))
    return float(np.exp(found.x))


def scaled(model: Any, rows: Rows, scale: float) -> NDArray[Any]:
    """Return the probabilities with another scale than the model's own."""
    scores = model.decision_function(rows.X)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    found: NDArray[Any] = softmax(scale * scores, axis=1)
    return found


def is_right(model: Any, rows: Rows, probabilities: NDArray[Any]) -> NDArray[np.bool_]:
    """Return in which rows the class of the largest probability is the label."""
    found: NDArray[np.bool_] = model.classes_[probabilities.argmax(axis=1)] == rows.y
    return found


def calibration_error(right: NDArray[np.bool_], probabilities: NDArray[Any], n_bins: int = 10) -> float:
    """Return the mean distance of the largest probability from how often it is right, over bins of equal width."""
    largest = probabilities.max(axis=1)
    bins = np.minimum((largest * n_bins).astype(int), n_bins - 1)
    return float(np.abs(np.bincount(bins, largest - right, n_bins)).sum() / len(right))


def error_by_chance(probabilities: NDArray[Any], n_times: int = 50) -> float:
    """Return the mean calibration error of as many rows whose largest probability is exactly how often it is right."""
    random, largest = np.random.default_rng(0), probabilities.max(axis=1)
    return statistics.fmean(
        calibration_error(random.random(len(largest)) < largest, probabilities) for _ in range(n_times)
    )


def alone_steps(smallest: bool) -> list[Step]:
    """Return the sets on which predictions from the selection alone are compared."""
    budgets = {"ccat": 20, "allaml": 20, "news20.multiclass": 50}
    return [
        (f"{task.name}, selection alone", partial(alone, task, budgets[task.name]))
        for task in tasks(smallest)
        if task.name in budgets
    ]


def alone(task: Task, budget: int) -> Iterator[Found]:
    """Yield how predictions for all rows of a set change, if only the selected columns are given."""
    rows = task.load()
    model = learned(budget, FIT, rows)
    X = only(rows.X, model.selected_)
    found = {"whole": loss_of(model, rows), "alone": loss_of(model, Rows(X, rows.y))}
    yield {
        "set": task.name, "budget": budget, "rows": len(rows.y), "nonzeros": rows.X.nnz, "kept": X.nnz,
        "changed": int((model.predict(rows.X) != model.predict(X)).sum()),
        "same_bits": model.decision_function(rows.X).tobytes() == model.decision_function(X).tobytes(), **found,
    }  # fmt: skip


def stream_steps(smallest: bool) -> list[Step]:
    """Return the sets on which it is tried what rows that were kept from one reading would give."""
    some = ("relathe", "ccat", "farm_ads", "news20.multiclass")
    return [(f"{task.name}, read once", partial(kept, task)) for task in tasks(smallest) if task.name in some]


def kept(task: Task) -> Iterator[Found]:
    """Yield what closing passes give on what a stream's reader could keep: nothing, selected columns, whole rows.

    Of each 50 rows those columns are kept that are selected when they have been learned: earlier rows lack what was
    selected later.
    """
    for turn in range(task.n_splits):
        training, rest = task.split(turn)
        test, classes = rest.take(slice(task.n_test)), np.unique(training.y)
        for budget in task.budgets:
            model, parts = ShadowSOFS(budget), []
            for begin in range(0, len(training.y), 50):
                rows = training.take(slice(begin, begin + 50))
                parts.append(only(rows.X, model.partial_fit(rows.X, rows.y, classes=classes).selected_))
            columns = sp.vstack(parts, format="csr", dtype=np.float32)
            # What is kept from the start is all that is selected: its layer learns as in a closing pass.
            closing = [ShadowSOFS(budget, keep=model.selected_.tolist(), n_passes=1, refit=False) for _ in range(2)]
            models = (model, closing[0].fit(columns, training.y), closing[1].fit(training.X, training.y))
            for way, each in zip(("nothing", "selected columns", "whole rows"), models, strict=True):
                found = {"accuracy": f"{100 * each.score(test.X, test.y):.4f}", "loss": f"{loss_of(each, test):.6f}"}
                yield {"set": task.name, "budget": budget, "split": turn, "way": way, **found}


def only(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return rows of the same width with these columns alone."""
    kept = np.zeros(X.shape[1], dtype=np.float32)
    kept[columns] = 1
    found = sp.csr_matrix(X @ sp.diags_array(kept, dtype=np.float32))
    found.eliminate_zeros()
    return found


STUDY = Study(
    "layers", "ShadowSOFS's two layers beside their prototype", HOME / "LAYERS.md", ("ShadowSOFS",),
    {
        "layers": accuracy_steps, "layers-calibration": calibration_steps, "layers-alone": alone_steps,
        "layers-once": stream_steps,
    },
    placeholders,
)  # fmt: skip
