"""The part of a checkpoint that is not its model, checked in full: a matching digest does not make it valid."""

from __future__ import annotations

from typing import Any

from thresher.io.container import require
from thresher.model.learning import Session
from thresher.model.names import Naming
from thresher.model.race import STANDINGS_RULE
from thresher.model.targets import StreamClasses
from thresher.model.validators import anything, count, dict_of, flag, labels, list_of, number, optional, text, whole


def check_content(about: Any, n_vectors: int) -> None:
    """Raise ValueError unless a run of a model with so many weights per feature can continue with this."""
    require(_ABOUT(about), "the record of the run is not valid", "checkpoint")
    require(len(about["reading"]["runs"]) == 1, "it must be of one model", "checkpoint")
    session = about["reading"]["runs"][0]["session"]
    if session["naming"] is not None:
        Naming.from_dict(session["naming"])
    try:
        StreamClasses.from_state(session["target"], n_vectors)
    except ValueError as error:
        raise ValueError(f"the checkpoint is not valid: {error}") from None
    history = about["reading"]["runs"][0]["history"]
    points = {len(history[name]) for name in ("rows", "seconds", "error", "loss", "validation")}
    is_complete = len(points) == 1 and (min(points) > 0 or not about["finished"])
    is_complete = is_complete and len(history["entered"]) in (0, *points)
    require(is_complete, "the lists of the history differ in length", "checkpoint")


_SESSION = dict_of(target=anything, naming=optional(anything), **Session.RULES)
_HISTORY = dict_of(
    rows=list_of(count), seconds=list_of(number), error=list_of(number), loss=list_of(number),
    validation=list_of(optional(number)), entered=list_of(count), n_validation_rows=count, skipped=list_of(text),
    n_skipped=count, n_passes=lambda n: count(n) and n > 0, n_bytes=count, refitted=flag, n_predicted=count,
    interrupted=flag, shuffled=flag,
    grouped_by_label=flag, race=STANDINGS_RULE, merges=lambda value: value == [],
)  # fmt: skip
_RUN = dict_of(
    session=_SESSION, history=_HISTORY, seconds=number,
    before=dict_of(n_samples=count, n_predicted=count, n_mistakes=count, loss=number), is_continued=flag,
    next_note=count, members=list_of(whole),
)  # fmt: skip
_ABOUT = dict_of(
    settings=lambda value: isinstance(value, dict),
    inputs=list_of(anything),
    reading=dict_of(position=optional(anything), n_rows=count, shuffle=optional(anything), runs=list_of(_RUN)),
    classes=optional(labels),
    finished=flag,
    grouping=optional(text),
)
