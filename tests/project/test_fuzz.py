"""Every seed of the fuzz targets in Python, and every input that ever failed, is read or refused as it must be."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "cpp" / "fuzz"


@pytest.fixture(scope="module", params=["cache", "model", "checkpoint"])
def target(request):
    sys.path.insert(0, str(FUZZ))
    try:
        yield request.param, importlib.import_module(f"fuzz_{request.param}")
    finally:
        sys.path.remove(str(FUZZ))


def inputs(name: str) -> list[Path]:
    return [path for kind in ("corpus", "regressions") for path in sorted((FUZZ / kind / name).glob("*"))]


def test_inputs_are_read_or_refused(target):
    name, module = target
    assert len(inputs(name)) >= 5
    for path in inputs(name):
        module.run(path.read_bytes())


def test_mutations_reach_what_is_behind_the_checksums(target, monkeypatch):
    """Most mutations must not end at the digest, or fuzzing would try the same line again and again."""
    name, module = target
    refusals = []
    monkeypatch.setattr(module, "check_refusal", lambda error, path: refusals.append(str(error)))
    n = 0
    for path in inputs(name)[:5]:
        for seed in range(15):
            module.run(module.mutated(path.read_bytes(), seed, True))
            n += 1
    assert sum("digest" in message or "truncated" in message for message in refusals) < n / 4


def test_a_target_notices_a_reader_that_fails(target, monkeypatch):
    """An error that is no refusal, and a refusal without the file's name, end the run."""
    name, module = target
    reader = {"cache": "read_footer", "model": "load_model", "checkpoint": "read_checkpoint"}[name]

    def failing(error: Exception):
        def read(_: object) -> None:
            raise error

        return read

    for error in (KeyError("x"), module.DataError("no name") if name == "cache" else ValueError("no name")):
        monkeypatch.setattr(module, reader, failing(error))
        with pytest.raises(type(error)):
            module.run(b"")
