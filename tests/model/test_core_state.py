"""The state of a selector, by name: what it holds, what is refused, and what memory it takes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from every import of_kernel
from states import ARRAYS

from thresher import _core

COUNTS = [
    "n_samples", "n_updates", "n_mistakes", "n_undecided_first", "n_undecided_second", "n_saturated", "n_with_member",
    "n_predicted",
]  # fmt: skip
MEASURES = ["loss", "error", "squared_error", "baseline_error", "margin_scale", "margin_information", "margin_rows"]
SECOND_ORDER = of_kernel("sofs")
FIRST_ORDER = {"eta": 0.5, "lam": 0.1, "loss": "hinge"}
# The selector for two classes and for more, its parameters, floats per cell, and what the learner keeps.
SELECTORS = [
    (_core.Sofs, _core.ManySofs, SECOND_ORDER, 2, []),
    (_core.ShadowSofs, _core.ManyShadowSofs, SECOND_ORDER, 2, []),
    (_core.Arow, _core.ManyArow, SECOND_ORDER, 2, []),
    (_core.Pet, _core.ManyPet, FIRST_ORDER, 2, []),
    (_core.Fofs, _core.ManyFofs, FIRST_ORDER, 2, ["scale", "sum_of_squares"]),
    (_core.Ogd, _core.ManyOgd, FIRST_ORDER, 1, ["n_rows"]),
]


def trained(kind, n_classes, parameters, n_rows=40):
    random = np.random.default_rng(0)
    X = sp.random(n_rows, 30, 0.3, "csr", dtype=np.float32, random_state=random)
    selector = kind(n_classes, 5, "l2", True, parameters)
    classes = random.integers(0, n_classes, n_rows).astype(np.int32)
    batch = _core.CsrBatch(X.indptr, X.indices, X.data, 30)
    assert selector.learn(batch, classes, None, None, 0, n_rows, True) is None
    return selector


@pytest.mark.parametrize(("two", "many", "parameters", "width", "kept"), SELECTORS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_state_is_named_and_comes_back(two, many, parameters, width, kept, n_classes):
    kind = two if n_classes == 2 else many
    state = trained(kind, n_classes, parameters).state()
    assert sorted(state) == sorted([*ARRAYS, "counters", "learner", "max_fdr"])
    n_vectors = 1 if n_classes == 2 else n_classes
    ids = state["ids"]
    assert ids.dtype == np.int64
    assert len(ids) > 0
    assert (np.diff(ids) > 0).all()
    assert state["cells"].dtype == state["intercept"].dtype == np.float32
    assert state["cells"].shape == (len(ids) * n_vectors * width,)
    assert state["intercept"].shape == (n_vectors * width,)
    assert list(state["counters"]) == COUNTS + MEASURES
    assert state["counters"]["n_samples"] == 40
    assert all(isinstance(state["counters"][name], int) for name in COUNTS)
    assert all(isinstance(state["counters"][name], float) for name in MEASURES)
    assert list(state["learner"]) == kept
    twin = kind(n_classes, 5, "l2", True, parameters)
    twin.restore(**state)
    again = twin.state()
    for name in ARRAYS:
        np.testing.assert_array_equal(again[name], state[name])
    assert again["counters"] == state["counters"]
    assert again["learner"] == state["learner"]


def without(given, name):
    return {key: value for key, value in given.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: {"counters": without(s["counters"], "n_updates")}, "the saved counters: lacks 'n_updates'"),
        (lambda s: {"counters": {**s["counters"], "n_rows": 1}}, "the saved counters: has 'n_rows', which is not"),
        (lambda s: {"counters": {**s["counters"], "n_samples": -1}}, "the saved counters: 'n_samples' has a value"),
        (lambda s: {"counters": {**s["counters"], "n_samples": "1"}}, "the saved counters: 'n_samples' has a value"),
        (lambda s: {"counters": {**s["counters"], "loss": np.nan}}, "the counter loss is out of range"),
        (lambda s: {"learner": without(s["learner"], "scale")}, "numbers of the learner: lacks 'scale'"),
        (lambda s: {"learner": {**s["learner"], "x": 1.0}}, "numbers of the learner: has 'x', which is not"),
        (lambda s: {"learner": {**s["learner"], "scale": 0.0}}, "the learner's scale is out of range"),
        (lambda s: {"learner": {**s["learner"], "scale": np.inf}}, "the learner's scale is out of range"),
        (lambda s: {"learner": {**s["learner"], "sum_of_squares": np.nan}}, "sum_of_squares is out of range"),
        (lambda s: {"cells": s["cells"][:-1]}, "cells has the wrong size: 2 per id"),
        (lambda s: {"intercept": s["intercept"][:-1]}, "intercept has the wrong size: 2"),
        (lambda s: {"ids": np.ascontiguousarray(s["ids"][::-1])}, "ids must be ascending and in range"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    state = trained(_core.Fofs, 2, FIRST_ORDER).state()
    fresh = _core.Fofs(2, 5, "l2", True, FIRST_ORDER)
    with pytest.raises(ValueError, match=message):
        fresh.restore(**{**state, **change(state)})
    _core.Fofs(2, 5, "l2", True, FIRST_ORDER).restore(**state)


def test_want_of_memory_is_a_memory_error():
    selector = _core.Sofs(2, 5, "l2", False, SECOND_ORDER, memory="dense")
    state = selector.state()
    far = {"ids": np.array([2**62]), "cells": np.array([0.0, 1.0], dtype=np.float32)}
    with pytest.raises(MemoryError):
        selector.restore(**{**state, **far})
    with pytest.raises(MemoryError):
        selector.reserve(2**62)


@pytest.mark.memory
def test_a_state_is_copied_once():
    """Saving takes the room of the state; restoring takes that of the learner alone."""
    code = """
import resource
import numpy as np
from thresher import _core, methods

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

n = 8_000_000
ids, values = np.arange(n, dtype=np.int32), np.ones(n, dtype=np.float32)
batch = _core.CsrBatch(np.array([0, n], dtype=np.int32), ids, values, n)
arow = methods.find("arow")
make = lambda: _core.Arow(2, 1, "l2", False, arow.kernel_parameters(arow.complete({})))
learner = make()
learner.learn(batch, np.array([1], dtype=np.int32), None, None, 0, 1, True)
before = peak()
state = learner.state()
saved = peak()
twin = make()
twin.restore(**state)
print(before, saved, peak())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    before, saved, restored = map(float, done.stdout.split())
    ids_and_cells = 8_000_000 * (8 + 8) / 2**20
    assert saved - before < 1.1 * ids_and_cells
    assert restored - saved < 1.1 * ids_and_cells / 2


@pytest.mark.parametrize(("two", "many", "parameters", "width", "kept"), SELECTORS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("reserved", [0, 10**8])
@pytest.mark.parametrize("ids", [[0, 1, 5_000, 5_001, 9_000_000], [3, 5_000, 9_000]])
def test_pages_are_those_that_hold_state(two, many, parameters, width, kept, n_classes, reserved, ids):
    """However much was reserved; if they are a fifth of the pages up to the last, all of these."""
    selector = (two if n_classes == 2 else many)(n_classes, 4, "l2", True, parameters, memory="dense")
    assert selector.n_pages() == 0
    selector.reserve(reserved)
    n, ids = len(ids), np.array(ids, dtype=np.int32)
    batch = _core.CsrBatch(np.array([0, n], dtype=np.int32), ids, np.ones(n, np.float32), 10**8)
    assert selector.learn(batch, np.array([1], dtype=np.int32), None, None, 0, 1, True) is None
    n_vectors = 1 if n_classes == 2 else n_classes
    cells = selector.state()["ids"][:, None] * n_vectors + np.arange(n_vectors)
    pages = np.unique(cells * 4 * width // 4096)
    last = int(pages[-1])
    assert selector.n_pages() == (last + 1 if len(pages) > (last + 1) / 5 else len(pages)) > 1
