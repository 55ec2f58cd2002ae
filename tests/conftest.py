from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from thresher import _core

settings.register_profile(
    "thresher", deadline=None, max_examples=30, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "thresher"))


@pytest.fixture(params=["scalar", "avx2", "avx512"])
def simd(request: pytest.FixtureRequest):
    """Run the test once for each SIMD path that this machine has."""
    if request.param not in _core.simd_paths():
        pytest.skip(f"this machine has no {request.param}")
    before = _core.simd_in_use()
    _core.use_simd(request.param)
    yield request.param
    _core.use_simd(before)
