from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from thresher import _core

# In the background and under nohup these are ignored, and the commands that tests send them to would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile(
    "thresher", deadline=None, max_examples=20, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "thresher"))


def pytest_collection_finish() -> None:
    """Take thousands of tests out of every later search for garbage; a search through them takes half a second."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let Python free what it can at its end."""
    gc.unfreeze()


@pytest.fixture(params=["scalar", "avx2", "avx512"])
def simd(request: pytest.FixtureRequest):
    """Run the test once for each SIMD path that this machine has."""
    if request.param not in _core.simd_paths():
        pytest.skip(f"this machine has no {request.param}")
    before = _core.simd_in_use()
    _core.use_simd(request.param)
    yield request.param
    _core.use_simd(before)
