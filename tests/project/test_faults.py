"""The faults themselves are done by `make faults`; here: that they notice what is broken, and that the page is true."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from faults import record, report
from faults.apart import apart
from faults.commands import Done, refused
from faults.mutations import OF_BINARY, OF_TEXT, forge_cache, forge_container
from faults.trial import BrokenPromiseError

CORPUS = Path(__file__).parents[2] / "cpp" / "fuzz" / "corpus"


def test_the_page_is_what_the_record_says():
    """Guards docs/reliability.md: its figures are the record's. `python -m faults report` writes it again."""
    assert report.PAGE.read_text() == report.page(record.read())


def test_the_record_holds_what_is_promised():
    """Guards the record: one of a shorter run, or with a broken promise in it, is not committed."""
    faults = record.read()["faults"]
    assert faults["kills"]["kills"] == sum(run["kills"] for run in faults["kills"]["runs"].values()) >= 200
    assert faults["malformed"]["variants"] == sum(faults["malformed"]["outcomes"].values()) >= 10_000
    assert set(faults["malformed"]["outcomes"]) == {"read", "refused", "refused with its line"}
    for kind in ("model", "checkpoint", "cache"):
        damage = faults["damage"][kind]
        assert (damage["flips"], damage["truncations"]) == (8 * damage["bytes"], damage["bytes"])
        assert 0 < damage["largest_allocation"] <= 2 * damage["bytes"]
    for sizes in faults["unpacking"].values():
        assert [each["megabytes"] for each in sizes] == [100, 200, 400]
        assert max(each["peak_megabytes"] for each in sizes) < 200


def test_the_fuzzers_ran_long_enough():
    """Guards the record: figures of a short run, or with open findings, are not committed."""
    fuzzing = record.read()["fuzz"]
    assert sum(each["executions"] for each in fuzzing) >= 10_000_000
    assert len(fuzzing) == 8
    assert not any(each["findings"] for each in fuzzing)


def test_fuzzers_have_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "FUZZING", tmp_path / "fuzz.json")
    monkeypatch.setattr(record, "RECORD", tmp_path / "record.json")
    record.RECORD.write_text((report.TEMPLATE.parent / "record.json").read_text())
    found = [{"target": "vw", "executions": 12_345, "seconds": 60.3, "findings": 0, "more": 1}]
    record.FUZZING.write_text(json.dumps(found))
    record.note_fuzzing()
    page = report.page(record.read())
    assert "gave the readers 12,345 inputs" in page
    assert "| vw | 12,345 | 60 | 0 |" in page
    assert record.read()["faults"]["kills"]["kills"] >= 200


@pytest.mark.parametrize(
    "done",
    [
        Done(1, "", "thresher: a.svm: wrong.\n"),
        Done(0, "", ""),
        Done(-11, "", ""),
        Done(2, "", "thresher: b.svm: wrong.\n"),
        Done(2, "", "thresher: a.svm: wrong.\nthresher: again.\n"),
        Done(2, "", 'Traceback (most recent call last):\n  File "a.svm"\nValueError: wrong\n'),
        Done(2, "", ""),
    ],
)
def test_what_is_no_proper_error(done):
    with pytest.raises(BrokenPromiseError):
        refused(done, "a command", "a.svm")


def test_a_proper_error():
    stderr = "thresher: warning: x\nthresher: a.svm, line 3: wrong.\n"
    assert refused(Done(2, "", stderr), "a command", "a.svm") == "thresher: a.svm, line 3: wrong."


def _raise():
    raise RuntimeError("why")


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (lambda: os.kill(os.getpid(), 9), "it ends with SIGKILL"),
        (lambda: time.sleep(60), "it hangs"),
        (_raise, "RuntimeError: why"),
    ],
)
def test_a_child_that_fails_is_noticed(work, why):
    with pytest.raises(BrokenPromiseError, match=why):
        apart(work, "it", 0.5)
    assert apart(lambda: [1, None], "it") == [1, None]


TEXT = b"1 1:0.5 7:2\n-1 3:1 9:4\n" * 3
FORGED = {forge_cache: "cache/numbers_svm", forge_container: "model/text_hash"}  # test_fuzz.py looks at their checksums


@pytest.mark.parametrize(
    "mutation", dict.fromkeys([*OF_TEXT, *OF_BINARY, *FORGED]), ids=lambda mutation: mutation.__name__
)
def test_mutations_can_be_repeated_and_change_something(mutation):
    raw = (CORPUS / FORGED[mutation]).read_bytes() if mutation in FORGED else TEXT
    variants = [mutation(raw, np.random.default_rng(seed)) for seed in range(20)]
    assert variants == [mutation(raw, np.random.default_rng(seed)) for seed in range(20)]
    assert len({*variants, raw}) > 10
