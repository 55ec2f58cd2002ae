"""The part of a checkpoint that is not its model, checked in full: a right digest does not make it valid."""

from __future__ import annotations

from typing import Any

from thresher.io.container import demand
from thresher.io.rules import (
    LOOKS,
    anything,
    count,
    each,
    flag,
    labels,
    number,
    optional,
    record,
    text,
    whole,
)
from thresher.model.names import Naming


def check_content(about: Any, n_classes: int) -> None:
    """Raise ValueError unless a run of a model with so many classes can continue with this."""
    demand(_ABOUT(about), "what it says of the run is not possible", "checkpoint")
    for run in about["reading"]["runs"]:
        if run["session"]["naming"] is not None:
            Naming.from_dict(run["session"]["naming"])
    demand(len(about["reading"]["runs"]) == 1, "it is of several models", "checkpoint")
    session = about["reading"]["runs"][0]["session"]
    known, order = session["target"], session["label_order"]
    sizes = {len(span) for span in order["counts"]}
    possible = (
        len(known["known"]) == len(known["seen_as"]) <= n_classes
        and (not known["given"] or len(known["known"]) == n_classes)
        and (known["given"] or n_classes == 2)
        and len(order["counts"]) == 64
        and len(sizes) == 1
        and 2 <= min(sizes) <= max(2, n_classes)
        and order["n_rows"] <= 64 * order["length"]
        and order["n_rows"] == sum(map(sum, order["counts"]))
    )
    demand(possible, "its counts do not fit its classes", "checkpoint")
    history = about["reading"]["runs"][0]["history"]
    points = {len(history[name]) for name in ("rows", "seconds", "error", "loss", "validation")}
    is_complete = len(points) == 1 and (min(points) > 0 or not about["finished"])
    is_complete = is_complete and len(history["entered"]) in (0, *points)
    demand(is_complete, "its history has gaps", "checkpoint")


_SESSION = record(
    target=record(
        known=labels, seen_as=labels, given=flag, first_code=lambda code: type(code) is int and code in (0, 1)
    ),
    is_first_pass=flag,
    n_samples_before=count,
    largest_id=lambda id_: id_ == -1 or whole(id_),
    zero_seen=flag,
    n_saturated_before=count,
    n_clashes_before=count,
    label_order=record(n_rows=count, length=lambda n: count(n) and n > 0, counts=each(each(count))),
    naming=optional(anything),
)
_HISTORY = record(
    rows=each(count), seconds=each(number), error=each(number), loss=each(number),
    validation=each(optional(number)), entered=each(count), n_validation_rows=count, skipped=each(text),
    n_skipped=count, n_passes=lambda n: count(n) and n > 0, n_bytes=count, interrupted=flag, shuffled=flag,
    grouped_by_label=flag, race=LOOKS, merges=lambda value: value == [],
)  # fmt: skip
_RUN = record(
    session=_SESSION, history=_HISTORY, seconds=number,
    before=record(n_samples=count, n_mistakes=count, loss=number), is_continued=flag, next_note=count,
    members=each(whole),
)  # fmt: skip
_ABOUT = record(
    settings=lambda value: isinstance(value, dict),
    inputs=each(anything),
    reading=record(position=optional(anything), n_rows=count, shuffle=optional(anything), runs=each(_RUN)),
    classes=optional(labels),
    finished=flag,
    grouping=optional(text),
)
