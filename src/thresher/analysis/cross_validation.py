"""`cross_validate`: how good a model will be on new rows, from the training data alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from thresher.analysis.resampling import Resampled, resample
from thresher.evaluation.base import Evaluation
from thresher.evaluation.remarks import after_blank_line
from thresher.messages import count_noun
from thresher.parameters import Whole, check
from thresher.streams import Data
from thresher.training.history import History
from thresher.training.job import Request

FOLDS = Whole(2, 100)  # how many there may be


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Metrics of cross-validation: every row is predicted by the model that left out its fold.

    Attributes
    ----------
    accuracy, standard_error : float
        Share of rows predicted right, and its standard error. Of numbers it is `r2`, and there are `rmse` and `mae`.
    baseline : float
        Share of the most frequent label: the accuracy of always predicting it. Of numbers, the RMSE of always
        predicting their mean.
    remarks : list of str
        Sentences on what the figures show, as those of an `Evaluation`.
    evaluation : Evaluation
        All metrics, each an attribute of the cross-validation too. Counts (accuracy, the confusion matrix, precision
        and recall), log loss, and all metrics of numbers are over all rows; ROC AUC and average precision are means
        over the folds, since margins of different models can't be compared.
    standard_errors : dict
        The standard error of each metric: the standard deviation of its values on the folds, divided by √folds. Those
        of a class have the keys "precision", "recall" and "f1" with the label, as ("f1", "spam").
    folds : list of Evaluation
        The same for each fold.
    model : estimator or Model
        Trained on all rows, in the same reading.
    history : History
        Of that model.
    """

    folds: list[Evaluation]
    model: Any
    history: History

    @cached_property
    def evaluation(self) -> Evaluation:
        """All metrics over all folds."""
        pooled: Evaluation = Evaluation.pool(self.folds)
        return replace(pooled, n_skipped=self.history.n_skipped, skipped=self.history.skipped)

    def __getattr__(self, name: str) -> Any:
        # Copies are asked for attributes before they have any.
        if "folds" in vars(self) and name in (metrics := self.evaluation.metrics):
            return metrics[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def remarks(self) -> list[str]:
        """What the figures show, by the standard error over the folds."""
        return self.evaluation.remarks_by(self.standard_error)

    @property
    def standard_error(self) -> float:
        """The standard error of the accuracy, or of R²."""
        return self.standard_errors[self.evaluation.kind.main.name]

    @cached_property
    def standard_errors(self) -> dict[Any, float]:
        """The standard error of each metric that all folds have."""
        parts = [fold.parts() for fold in self.folds]
        found = {name: [part.get(name) for part in parts] for name in self.evaluation.parts()}
        known = {name: [each for each in values if each is not None] for name, values in found.items()}
        return {
            name: float(np.std(values, ddof=1) / np.sqrt(len(values)))
            for name, values in known.items()
            if len(values) == len(self.folds)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        errors, evaluation = self.standard_errors, self.evaluation
        return {
            "folds": len(self.folds),
            **evaluation.to_dict(errors),
            "standard_error": self.standard_error,
            "remarks": self.remarks,
            "standard_errors": {name: errors[name] for name in evaluation.metrics if name in errors},
            f"{evaluation.kind.main.name}_of_folds": [fold.main for fold in self.folds],
        }

    def __str__(self) -> str:
        evaluation, errors = self.evaluation, self.standard_errors
        lines = [f"{len(self.folds)}-fold cross-validation, {count_noun(evaluation.n_rows, 'row')}", ""]
        lines += [f"{words:17}  {value}{of}" for words, value, of in evaluation.rows_of_metrics(errors)]
        return "\n".join([*lines, *evaluation.lines(errors), *after_blank_line(self.remarks)])


def cross_validate(
    model: Any,
    data: Data,
    folds: int = 5,
    *,
    passes: int | Literal["auto"] | None = None,
    shuffle: bool | Literal["auto"] = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool | int = False,
    positive: Any = None,
    progress: bool = False,
) -> CrossValidation:
    """Measure a model on the data that it is trained on, in one reading.

    One model per fold learns all rows but those of its fold and is then scored on them; another learns all rows. The
    fold of a row is a hash of its number in the data, seeded by the model's `random_state`. Up to 512 MB of rows stay
    in memory until they are scored; longer data are read a second time.

    Parameters
    ----------
    model : estimator or Model
        It does not change: models with its parameters are trained.
    data : Stream, path, or anything else that `open_stream` takes
        What to learn from.
    folds : int, default=5
        How many, from 2 to 100.
    passes, shuffle, classes, multiclass, progress
        As in `train`.
    positive : str, int or float, optional
        Which of two labels counts as found, as in `evaluate`; by default the second.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> from thresher import ShadowSOFS, cross_validate, datasets
    >>> cv = cross_validate(ShadowSOFS(200), datasets.make_x1(5_000), folds=4)
    >>> 0.85 < cv.accuracy < 0.95, cv.standard_error < 0.01, len(cv.model.selected_)
    (True, True, 200)
    """
    request = Request(passes=passes, shuffle=shuffle, classes=classes, multiclass=multiclass, progress=progress)
    check("folds", folds, FOLDS)
    return cross_validation_of_folds(resample(model, data, request, n_folds=folds, positive=positive))


def cross_validation_of_folds(found: Resampled) -> CrossValidation:
    """Return the cross-validation of the models on folds; KeyboardInterrupt if Ctrl-C ended the training early."""
    if found.history.interrupted:
        raise KeyboardInterrupt
    return CrossValidation(found.folds, found.model, found.history)
