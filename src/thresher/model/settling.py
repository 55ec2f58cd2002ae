"""What changes in a model when rows are learned, beside its learner: classes, columns, measurements, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thresher.messages import count_noun, parameter, warn
from thresher.model.race import winner_of
from thresher.model.targets import Target

if TYPE_CHECKING:
    from thresher.model.model import Model


def fix_target(model: Model, target: Target, swapped: bool, id_base: int) -> None:
    """Set the target and the id base of a model; `swapped`: the provisional codes were in reverse order."""
    assert model.learner is not None
    learner, gamma, standings = winner_of(model.learner)
    if learner is not model.learner:
        model.learner, model.chosen_gamma, model.standings = learner, gamma, standings
    if swapped:
        learner.swap_classes()  # type: ignore[attr-defined]  # only selectors of two classes have it
        model.class_weights.swap_classes()
    model.target, model.id_base = target, id_base
    if model.words_to_keep:
        model.parameters["keep"] = (model.kept_ids - id_base).tolist()
        model.words_to_keep = []


def include_id(model: Model, largest_id: int) -> None:
    """Set the number of a model's columns so that it includes an id."""
    model.n_features = max(largest_id + 1 - model.id_base, 0)
    if isinstance(model.feature_names, list) and len(model.feature_names) != model.n_features:
        model.feature_names = None  # they no longer name all columns


def drop_stale_measurements(model: Model) -> None:
    """Drop measurements from before the model learned these rows."""
    if model.threshold != 0.0:
        warn(
            f"The threshold of {model.threshold:g} was chosen before the model learned these rows and is back at 0: "
            "choose it again with set_threshold.",
            UserWarning,
        )
    model.threshold, model.selection_frequency, model.selection_chance, model.occurrences = 0.0, None, None, None


def trim(model: Model) -> None:
    """Leave only the features up to the q-value that the model asks for, if it asks for one."""
    if model.parameters.get("max_fdr") is not None:
        model.selector.trim(model.parameters["max_fdr"])


def warn_if_none_told(model: Model) -> None:
    """Warn if no feature could be told from chance, so that none is selected."""
    if model.tells_nothing and model.target is not None:
        max_fdr = parameter("max_fdr", model.parameters["max_fdr"])
        warn(
            f"No feature could be told from chance at {max_fdr}, so none is selected: "
            f"predictions are {model.target.prediction_of_nothing}.",
            UserWarning,
        )


def warn_if_saturated(model: Model, before: int) -> None:
    """Warn once that precisions have reached the limit of float32; `before` is the count before these rows."""
    if before == 0 and model.counters["n_saturated"] > 0:
        warn(
            "The precision of every feature of a row has reached the limit of float32 and no longer grows there: "
            "weights continue to learn, but more such rows can't change which features are selected.",
            RuntimeWarning,
        )


def warn_of_clashes(model: Model, before: int) -> None:
    """Warn that two names share an id, and so a weight; `before` is the count before this stream."""
    n, one, other = model.names.clashes
    if n > before:
        warn(
            f"The names {one!r} and {other!r} have the same hash and are one feature to the model; a name that "
            f"clashes with a selected one occurred {count_noun(n, 'time')}.",
            UserWarning,
        )
