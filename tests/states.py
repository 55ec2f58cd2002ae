"""Comparing what models have learned, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_same_state(one: Any, other: Any) -> None:
    """Compare what two models have learned, by their states as `Model.state` returns them."""
    one, other = one["learned"], other["learned"]
    assert one.keys() == other.keys() == {"ids", "cells", "intercept", "counters", "learner", "table"}
    for name in ("ids", "cells", "intercept", "table"):
        np.testing.assert_array_equal(one[name].view(np.uint8), other[name].view(np.uint8), err_msg=name)
    assert one["counters"] == other["counters"]
    assert one["learner"] == other["learner"]


def same_state(one: Any, other: Any) -> bool:
    """Return whether two states are the same."""
    try:
        assert_same_state(one, other)
    except AssertionError:
        return False
    return True
