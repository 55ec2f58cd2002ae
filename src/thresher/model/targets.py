"""The target of a model: what a label may be, how it is coded, what a prediction is.

There are two kinds, `Classes` and `Numbers`; which one, the method says. Nothing but this file chooses between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from thresher.messages import parameter
from thresher.model.classes import Classes, StreamClasses, classes_for, classes_for_matrix, classes_from_json
from thresher.model.labels import Labels
from thresher.model.numbers import Numbers, StreamNumbers

if TYPE_CHECKING:
    from thresher.model.model import Model

Target: TypeAlias = Classes | Numbers
StreamTarget: TypeAlias = StreamClasses | StreamNumbers


def target_for(model: Model, classes: ArrayLike | None) -> Target:
    """Return the target of a model, or with the classes that are given for one that has none yet."""
    if model.method.predicts == "numbers":
        _refuse_classes(classes)
        return Numbers()
    return classes_for(model, classes)


def target_for_matrix(model: Model, y: ArrayLike) -> Target:
    """Return the target of a model, or of a new one by the labels in y."""
    return Numbers() if model.method.predicts == "numbers" else classes_for_matrix(model, y)


def stream_target_for(model: Model, classes: ArrayLike | None = None) -> StreamTarget:
    """Return the target of a pass over a stream."""
    if model.method.predicts == "numbers":
        _refuse_classes(classes)
        return StreamNumbers()
    return StreamClasses.for_model(model, classes)


def stream_target_from_state(predicts: str, n_vectors: int, state: Any) -> StreamTarget:
    """Return the target of a pass with a state that its `state` returned; ValueError if it can't be one."""
    return StreamNumbers.from_state(state) if predicts == "numbers" else StreamClasses.from_state(state, n_vectors)


def target_from_json(value: Any, predicts: str) -> Target:
    """Return the target that `to_json` was called on; raise ValueError for any other value."""
    if predicts == "classes":
        return classes_from_json(value)
    if value != Numbers.kind:
        raise ValueError("its method predicts numbers, but it has classes")
    return Numbers()


def look_like_numbers(labels: Labels) -> bool:
    """Return whether labels are numbers to predict rather than classes: three or more, some with fractions."""
    is_number = labels.dtype.kind == "f" and bool((labels != np.rint(labels)).any())
    return is_number and len(np.unique(labels)) > 2


def _refuse_classes(classes: ArrayLike | None) -> None:
    if classes is not None:
        raise ValueError(f"{parameter('classes', classes)} can't be used where numbers are predicted: leave it out.")
