"""What a checkpoint says besides its tensors, checked in full: a right digest does not make it valid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thresher.io.container import demand
from thresher.model.names import Naming

Rule = Callable[[Any], bool]


def check_content(race: Any, model: Any, about: Any, n_learners: int) -> None:
    """Raise ValueError unless a run can continue with these parts of a checkpoint."""
    for name, content, rule in (("race", race, _RACE), ("model", model, _MODEL), ("run", about, _ABOUT)):
        demand(rule(content), f"what it says of the {name} is not possible", "checkpoint")
    if race is not None:
        demand(len(race["gamma"]) == len(set(race["gamma"])) == n_learners, "its race has other learners", "checkpoint")
    for naming in (model["naming"], *(run["session"]["naming"] for run in about["reading"]["runs"])):
        if naming is not None:
            Naming.from_dict(naming)
    n_classes = model["n_classes"]
    demand(len(about["reading"]["runs"]) == 1, "it is of several models", "checkpoint")
    session = about["reading"]["runs"][0]["session"]
    known, order = session["classes"], session["label_order"]
    sizes = {len(stretch) for stretch in order["counts"]}
    possible = (
        (model["classes"] is None or len(model["classes"]) == n_classes)
        and len(known["known"]) == len(known["seen_as"]) <= n_classes
        and (not known["given"] or len(known["known"]) == n_classes)
        and (known["given"] or n_classes == 2)
        and (session["given"] is None or len(session["given"]) == n_classes)
        and max(len(model["row_counts"]), len(session["row_counts"])) <= 2 + n_classes
        and len(order["counts"]) == 64
        and len(sizes) == 1
        and 2 <= min(sizes) <= max(2, n_classes)
        and order["n_rows"] <= 64 * order["length"]
        and order["n_rows"] == sum(map(sum, order["counts"]))
    )
    demand(possible, "its counts do not fit its classes", "checkpoint")
    history = about["reading"]["runs"][0]["history"]
    points = {len(history[name]) for name in ("rows", "seconds", "error", "loss", "validation")}
    whole = len(points) == 1 and (min(points) > 0 or not about["finished"])
    whole = whole and len(history["entered"]) in (0, *points)
    demand(whole, "its history has gaps", "checkpoint")


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _count(value: Any) -> bool:
    return _whole(value) and value < 2**53


def _number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and -(2**63) <= value < 2**64)


def _positive(value: Any) -> bool:
    return _number(value) and value >= 0


def _flag(value: Any) -> bool:
    return type(value) is bool


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _anything(_value: Any) -> bool:
    return True


def _optional(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


def _each(rule: Rule, least: int = 0) -> Rule:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(rule, value))


def _tuple(*rules: Rule) -> Rule:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(rules)
        and all(rule(v) for rule, v in zip(rules, value, strict=True))
    )


def _record(**rules: Rule) -> Rule:
    return lambda value: (
        isinstance(value, dict) and value.keys() == rules.keys() and all(rule(value[k]) for k, rule in rules.items())
    )


def _labels(value: Any) -> bool:
    """Return whether it is a list of numbers, or one of words; there is no order between the two."""
    return _each(_text)(value) or _each(lambda label: _flag(label) or _number(label))(value)


def _gamma(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < 1e300


_LOOKS = _each(
    _record(
        rows=_count, gamma=_each(_gamma), mistakes=_each(_number), loss=_each(_number), dropped=_each(_gamma),
        reason=_text,
    )
)  # fmt: skip
_RACE = _optional(
    _record(
        gamma=_each(_gamma, 1), n_rows=_count, first_class=_optional(_count), has_two_classes=_flag, weight=_positive,
        squared_weight=_positive, looks=_LOOKS,
    )
)  # fmt: skip
_MODEL = _record(
    n_classes=lambda n: _count(n) and n >= 2,
    classes=_optional(_labels),
    n_features=_optional(_whole),
    id_base=lambda base: type(base) is int and base in (0, 1),
    feature_names=_optional(_each(_text)),
    naming=_optional(_anything),
    names=_optional(_each(_tuple(_whole, _text))),
    name_clashes=_tuple(_count, _text, _text),
    kept_ids=_each(_whole),
    keep=_optional(_each(_anything)),
    keep_as_written=_optional(_each(_anything)),
    chosen_gamma=_optional(_gamma),
    looks=_LOOKS,
    gamma_changed=_flag,
    grouped_by_label=_flag,
    row_counts=_each(_positive, 2),
)
_SESSION = _record(
    classes=_record(
        known=_labels, seen_as=_labels, given=_flag, first_code=lambda code: type(code) is int and code in (0, 1)
    ),
    given=_optional(_labels),
    is_first_pass=_flag,
    n_samples_before=_count,
    largest_id=lambda id_: id_ == -1 or _whole(id_),
    zero_seen=_flag,
    n_saturated_before=_count,
    n_clashes_before=_count,
    label_order=_record(n_rows=_count, length=lambda n: _count(n) and n > 0, counts=_each(_each(_count))),
    naming=_optional(_anything),
    row_counts=_each(_positive, 2),
)
_HISTORY = _record(
    rows=_each(_count), seconds=_each(_number), error=_each(_number), loss=_each(_number),
    validation=_each(_optional(_number)), entered=_each(_count), n_validation_rows=_count, skipped=_each(_text),
    n_skipped=_count, n_passes=lambda n: _count(n) and n > 0, n_bytes=_count, interrupted=_flag, shuffled=_flag,
    grouped_by_label=_flag, race=_LOOKS, merges=lambda value: value == [],
)  # fmt: skip
_RUN = _record(
    session=_SESSION, history=_HISTORY, seconds=_number,
    before=_record(n_samples=_count, n_mistakes=_count, loss=_number), is_continued=_flag, next_note=_count,
    members=_each(_whole),
)  # fmt: skip
_ABOUT = _record(
    settings=lambda value: isinstance(value, dict),
    inputs=_each(_anything),
    reading=_record(position=_optional(_anything), n_rows=_count, shuffle=_optional(_anything), runs=_each(_RUN)),
    classes=_optional(_labels),
    finished=_flag,
    grouping=_optional(_text),
)
