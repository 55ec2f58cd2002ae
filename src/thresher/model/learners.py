"""The learners of the core, made from a model's method and parameters, and their memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thresher import _core
from thresher.messages import parameter
from thresher.methods import DEFAULT_BYTES, LEAST_BYTES
from thresher.model.kept_features import ids_to_keep
from thresher.model.names import MemberNames, Naming
from thresher.model.race import Learner, Race
from thresher.parameters import budget as budget_of
from thresher.parameters import check_keep

if TYPE_CHECKING:
    from thresher.model.model import Model

# What decoys=True means: columns below this number have one each, and of the others this share.
ALL_HAVE_DECOYS_BELOW, SHARE_WITH_DECOYS = 1 << 16, 0.125


def learner_for(
    model: Model, n_vectors: int, id_base: int | None, names: list[str] | Naming | None, n_features: int | None
) -> Learner:
    """Return a model's learner; a new one, of any width, if nothing was learned yet."""
    if model.learner is None:
        kept = ids_to_keep(model, id_base, names, n_features)
        words = [str(name) for name in model.words_to_keep or model.parameters.get("keep") or []]
        if isinstance(names, Naming) and words:
            model.names = MemberNames(dict(zip(names.ids_of(words).tolist(), words, strict=True)))
        model.learner = new_learner(model, n_vectors, kept)
        model.n_vectors, model.kept_ids = n_vectors, kept
    return model.learner


def new_learner(model: Model, n_vectors: int, kept: NDArray[np.int64], n_features: int | None = None) -> Learner:
    """Return a new learner for a model; a race if its method has γ and that is not known yet.

    A feature has `n_vectors` weights, and `kept` are the ids of the features to keep. The learner of a compact model
    only predicts: it has no sketch.
    """
    method, parameters = model.method, model.parameters
    assert method.kernels is not None
    memory, n_bytes = parameters["memory"], 0
    kernels = method.kernels
    if memory == "sketch" and model.compact:  # without the table
        memory = "hash"
    elif memory == "sketch":
        assert method.sketch_kernels is not None
        kernels, n_bytes = method.sketch_kernels, parameters["memory_bytes"] or DEFAULT_BYTES
        if n_vectors > 1 and n_bytes < (least := LEAST_BYTES * n_vectors):
            raise ValueError(
                f"{parameter('memory_bytes', n_bytes)} is too small for {n_vectors} classes: use at least {least}."
            )
    elif memory == "auto" and method.keeps_members_only:
        memory = "hash"
    kernel = getattr(_core, kernels[n_vectors > 1])
    budget = budget_of(parameters, n_features)
    check_keep(parameters, budget)

    decoys = {} if model.compact else decoys_of(parameters)

    def of(gamma: float | None) -> _core.Selector:
        with explain_lack_of_memory(int(kept.max(initial=-1)) + 1):
            learner: _core.Selector = kernel(
                n_classes=max(2, n_vectors),
                budget=budget,
                norm=model.norm,
                fit_intercept=parameters["fit_intercept"],
                parameters=method.kernel_parameters({**parameters, "gamma": gamma}),
                keep=kept,
                memory=memory,
                memory_bytes=n_bytes,
                **decoys,
            )
        return learner

    learner: Learner
    if model.gamma is None and "gamma" in parameters:
        default: Any = method.parameters["gamma"].default
        learner = Race(of, default, n_vectors, model.norm, method.predicts == "numbers")
    else:
        learner = of(model.gamma)
    n_ids = 0 if n_features is None else n_features + model.id_base
    reserve(learner, max(n_ids, int(kept.max(initial=-1)) + 1))
    return learner


def decoys_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return which features have a decoy, in the core's terms; an empty dict if none has."""
    asked = parameters.get("decoys", False)
    if asked is False and parameters.get("max_fdr") is None:
        return {}
    if isinstance(asked, float):
        return {"decoy_share": asked}
    # All slots of a sketch stand for the same share.
    below = 0 if parameters["memory"] == "sketch" else ALL_HAVE_DECOYS_BELOW
    return {"decoy_share": SHARE_WITH_DECOYS, "decoys_below": below}


def reserve(learner: Learner, n_ids: int) -> None:
    """Allocate memory for ids below `n_ids`."""
    with explain_lack_of_memory(n_ids):
        learner.reserve(n_ids)


class NotEnoughMemoryError(ValueError):
    """There is not enough memory for the state of features; the message says what to do."""


@contextmanager
def explain_lack_of_memory(n_ids: int | None = None) -> Iterator[None]:
    """Raise an error with a remedy if memory runs out: for so many ids, or for rows while a hash table grows."""
    try:
        yield
    except MemoryError:
        if n_ids is None:
            message = f"not enough memory for all features of these rows: use {parameter('memory', 'sketch')}."
        else:
            message = (
                f"not enough memory for {n_ids} feature ids (4 or 8 bytes each, times the classes if there are more "
                f"than two): use {parameter('memory', 'hash')} or {parameter('memory', 'sketch')}."
            )
        raise NotEnoughMemoryError(message) from None
