"""Model files: what is loaded is what was saved, and what is damaged is refused."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from command_line import thresher
from every import every, made
from forged_files import check_damage_is_refused, forge
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from states import ARRAYS, assert_same_state, model_of, state_of
from strategies import budgets, problems, random_problem

from thresher import SOFS, ShadowSOFS, load, save, train
from thresher.io import model_files
from thresher.io.model_files import load_model, save_model
from thresher.model.model import Model
from thresher.model.names import Naming


@given(problems(max_rows=30), budgets, st.integers(1, 29), st.booleans())
def test_saved_loaded_and_trained_on_equals_never_saved(tmp_path_factory, problem, budget, cut, intercept):
    X, y = problem
    path = tmp_path_factory.getbasetemp() / "m.thresher"
    model = SOFS(budget, fit_intercept=intercept).partial_fit(X[:cut], y[:cut], classes=[0, 1])
    save(model, path)
    again = load(path)
    assert again.get_params() == model.get_params()
    model.partial_fit(X[cut:], y[cut:]) if cut < X.shape[0] else None
    again.partial_fit(X[cut:], y[cut:]) if cut < X.shape[0] else None
    assert_same_state(again, model)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@every
def test_what_was_set_since_is_kept(tmp_path, estimator):
    """It counts when the model learns next; until then predictions go by what it was trained with, as in memory."""
    X, y = random_problem(100, 30, 0.3, seed=0)
    model = made(estimator, 4).fit(X, y)
    margins = model.decision_function(X)
    model.set_params(norm=None, fit_intercept=not model.fit_intercept)
    save(model, tmp_path / "m.thresher")
    again = load(tmp_path / "m.thresher")
    assert again.get_params() == model.get_params()
    for each in (model, again):
        np.testing.assert_array_equal(each.decision_function(X), margins)
        each.partial_fit(X, y) if hasattr(each, "partial_fit") else each.fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert (again.decision_function(X) != margins).any()
    model.set_params(norm="l1")
    with pytest.raises(ValueError, match="norm"):
        save(model, tmp_path / "m.thresher")


@pytest.fixture
def model():
    X, y = random_problem(100, 30, 0.3, seed=0)
    return model_of(SOFS(4, class_weight={-1: 2.0}).fit(X, y))


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    for name in "ab":
        save_model(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with safe_open(tmp_path / "a", "np") as file:  # any safetensors reader can open it
        assert set(file.keys()) == {*ARRAYS, "names", "digest"}
        about = json.loads(file.metadata()["thresher"])
    assert about["method"] == "sofs"
    assert about["target"] == [-1, 1]
    assert about["learners"][0]["counters"] == model.counters


def test_a_flipped_bit_of_each_byte_and_cuts_are_refused(model, tmp_path):
    save_model(model, tmp_path / "m.thresher", compact=True)
    check_damage_is_refused(tmp_path / "m.thresher", load_model)


def forged(model, tmp_path, tensors=None, **metadata):
    """Write a file whose digest is right and whose content is not."""
    save_model(model, tmp_path / "m.thresher")
    return forge(tmp_path / "m.thresher", tensors, metadata)


def learner(**wrong):
    """Return metadata in which this is wrong with what is said of the learner."""
    return {"learners": [{"counters": {}, "learner": {}, "max_fdr": 1.0, **wrong}]}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"format_version": 1}, r"model format 1 can't be read.*never released"),
        ({"method": "nonsense"}, "method must be one of"),
        ({"parameters": {"gamma": -1.0}}, "gamma of SOFS must be"),
        ({"n_features": -1}, "n_features must be a whole number"),
        ({"n_features": 3}, "an id is above the last column"),
        ({"n_features": 2**70}, "n_features must be a whole number"),
        ({"id_base": 7}, "id_base must be 0 or 1"),
        *(({"target": bad}, "must have at least two classes") for bad in ([1], "ab", [1, 1], [2, 1], ["a", 1], [], 3)),
        ({"compact": "yes"}, "compact must be true or false"),
        ({"grouped_by_label": 1}, "grouped_by_label must be true or false"),
        ({"parameters": {"n_features_to_select": 2}}, "4 members, more than its budget of 2"),
        ({"parameters": {"method": 1}}, "not valid"),
        ({"parameters": {"class_weight": [1, 2]}}, "not valid"),
        ({"set_since": 3}, "set_since must be a dict of parameters"),
        ({"set_since": {"gamma": -1.0}}, "gamma of SOFS must be"),
        ({"set_since": {"class_weight": [1, 2]}}, "not valid"),
        ({"feature_names": ["a"]}, "one name per feature"),
        (learner(counters={"n_samples": -1}), "n_samples must be a finite number"),
        (learner(counters={"n_samples": "1"}), "n_samples must be a finite number"),
        (learner(counters={"n_samples": 1}), "not valid: .*n_updates"),
        (learner(counters=3), "not valid"),
        (learner(learner={"scale": 1.0}), "not valid: .*scale"),
        ({"learners": []}, "the tensors do not match the learners"),
        ({"n_vectors": 3}, "n_vectors does not fit the number of classes"),
        ({"n_features": None}, "its training did not end"),
        ({"kept_ids": [-1]}, "kept_ids must be a list of ids"),
        ({"naming": {}}, "the naming of features is not valid"),
        ({"naming": {**Naming().to_dict(), "ngrams": "x"}}, "the naming of features is not valid"),
        ({"naming": {**Naming().to_dict(), "text": 3}}, "the naming of features is not valid"),
        ({"row_counts": [1, -1]}, "row_counts must be a list of"),
        ({"row_counts": [1, 0.5]}, "row_counts must be a list of"),
        ({"row_counts": [1, 2**63]}, "row_counts must be a list of"),
        ({"row_totals": [1.0, -1.0]}, "row_totals must be a list of"),
        ({"row_totals": [1.0]}, "row_totals must fit row_counts"),
        ({"name_clashes": [-1, "", ""]}, "name_clashes must be a count and two names"),
        ({"name_clashes": [1, 2, 3]}, "name_clashes must be a count and two names"),
    ],
)
def test_a_valid_digest_does_not_excuse_bad_metadata(model, tmp_path, metadata, message):
    with pytest.raises(ValueError, match=message):
        load_model(forged(model, tmp_path, **metadata))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids: {"ids": ids[::-1]}, "ids must be in ascending order"),
        (lambda ids: {"ids": ids[:-1]}, "cells must have one row per id"),
        (lambda ids: {"ids": -ids[::-1]}, "ids must not be negative"),
        (lambda ids: {"ids": ids.astype(np.float32)}, "tensors"),
        (lambda ids: {"cells": np.full((len(ids), 2), np.nan, np.float32)}, "cells must have finite values only"),
        (lambda ids: {"cells": np.zeros((len(ids), 3), np.float32)}, "wrong size"),
        (lambda ids: {"more": ids}, "tensors"),
        *(
            (lambda _ids, raw=raw: {"names": np.frombuffer(raw, np.uint8)}, "names must be pairs of id and name")
            for raw in (b"[", b"3", b'["a"]', b'[["a", 1]]', b'[[-1, "a"]]', b'[[1, "a", 2]]', b"[" * 10_000)
        ),
    ],
)
def test_a_valid_digest_does_not_excuse_bad_tensors(model, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        load_model(forged(model, tmp_path, change(state_of(model)["learned"]["ids"])))


def test_compact(model, tmp_path):
    X, y = random_problem(100, 30, 0.3, seed=0)
    save_model(model, tmp_path / "full.thresher")
    save_model(model, tmp_path / "compact.thresher", compact=True)
    compact = load_model(tmp_path / "compact.thresher")
    margins = compact.decision_function(X)
    np.testing.assert_array_equal(margins, model.decision_function(X))
    np.testing.assert_array_equal(compact.probabilities_of(margins), model.probabilities_of(margins))
    np.testing.assert_array_equal(compact.members()[0], model.members()[0])
    with pytest.raises(ValueError, match=r"saved compact.*can't continue learning.*in full"):
        load(tmp_path / "compact.thresher").partial_fit(X, y)
    assert (tmp_path / "compact.thresher").stat().st_size < (tmp_path / "full.thresher").stat().st_size


def test_whole_or_not_at_all(model, tmp_path, monkeypatch):
    save_model(model, tmp_path / "m.thresher")
    before = (tmp_path / "m.thresher").read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match=r"m\.thresher: no space left"):
        save(SOFS().fit(*random_problem(50, 20, 0.3, seed=1)), tmp_path / "m.thresher")
    assert (tmp_path / "m.thresher").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m.thresher"]


def test_links_devices_and_rights(model, tmp_path):
    (tmp_path / "real.thresher").write_bytes(b"")
    (tmp_path / "real.thresher").chmod(0o640)
    (tmp_path / "link.thresher").symlink_to(tmp_path / "real.thresher")
    save_model(model, tmp_path / "link.thresher")
    assert (tmp_path / "link.thresher").is_symlink()
    assert (tmp_path / "real.thresher").stat().st_mode & 0o777 == 0o640
    load_model(tmp_path / "real.thresher")
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    save_model(model, tmp_path / "pipe")
    reader.join()
    assert got[0] == (tmp_path / "real.thresher").read_bytes()


def test_class_weights_with_numpy_labels(tmp_path):
    X, y = random_problem(50, 20, 0.3, seed=1)
    save(SOFS(3, class_weight=dict(zip(np.unique(y), [1.0, 2.0], strict=True))).fit(X, y), tmp_path / "m.thresher")
    assert load(tmp_path / "m.thresher").class_weight == {-1: 1.0, 1: 2.0}


@pytest.mark.filterwarnings("ignore:The precision of every feature")
@pytest.mark.parametrize("weight", [1e9, 1e150, 1e200])
def test_however_large_weights_were_the_model_loads(tmp_path, weight):
    X, y = random_problem(50, 20, 0.3, seed=1)
    model = SOFS(3).fit(X, y, sample_weight=np.full(50, weight))
    save(model, tmp_path / "m.thresher")
    assert load(tmp_path / "m.thresher").selected_.tolist() == model.selected_.tolist()
    with pytest.raises(ValueError, match=r"the sum of losses is no longer finite.*scale sample_weight down"):
        save(SOFS(3).fit(X, y, sample_weight=np.full(50, 1e308)), tmp_path / "m.thresher")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_refused_wherever_they_are(model, tmp_path, number):
    path = forged(model, tmp_path, note="in its place")
    content = path.read_bytes()[:-32].replace(rb"\"in its place\"", number.ljust(16).encode())
    path.write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(ValueError, match="not a thresher model, or it is damaged"):
        load_model(path)


def test_places(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save(model, tmp_path / "no" / "m.thresher")
    with pytest.raises(ValueError, match="not trained yet"):
        save_model(Model("sofs"), tmp_path / "m.thresher")
    assert list(tmp_path.iterdir()) == []


def test_saving_from_two_threads(model, tmp_path):
    threads = [threading.Thread(target=save_model, args=(model, tmp_path / "m.thresher")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load_model(tmp_path / "m.thresher")
    assert [path.name for path in tmp_path.iterdir()] == ["m.thresher"]


def test_a_shape_that_the_file_can_not_hold_takes_no_memory(model, tmp_path):
    """A forged header may claim anything; nothing is allocated before sizes agree with the file."""
    save_model(model, tmp_path / "m.thresher")
    raw = (tmp_path / "m.thresher").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    for shape in ([2**60], [2**31, 2**31], [-1], [1.5], "many", [[1]], [1] * 40):
        head = json.dumps({**header, "ids": {**header["ids"], "shape": shape}}).encode()
        (tmp_path / "m.thresher").write_bytes(len(head).to_bytes(8, "little") + head + raw[8 + length :])
        with pytest.raises(ValueError, match=r"m\.thresher: the model is not valid"):
            load_model(tmp_path / "m.thresher")


def test_running_out_of_memory_is_not_called_a_bad_model(model, tmp_path, monkeypatch):
    save_model(model, tmp_path / "m.thresher")

    def no_room(*_, **__):
        raise MemoryError

    monkeypatch.setattr(model_files, "restore", no_room)
    with pytest.raises(MemoryError):
        load_model(tmp_path / "m.thresher")


@pytest.mark.memory
def test_saving_and_loading_take_the_state_and_one_copy(tmp_path):
    """Peak memory, in a separate process: in addition to the state, at most one copy of it at a time."""
    program = """
import resource, sys
import numpy as np
import scipy.sparse as sp
from thresher.io.model_files import load_model, save_model
from thresher import AROW

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

n = 4_000_000
X = sp.csr_matrix((np.ones(n, np.float32), np.arange(n, dtype=np.int32), np.array([0, n // 2, n], np.int32)), (2, n))
model = AROW().fit(X, [0, 1])._model
state = 16 * n  # bytes of a copy: an id and a cell of two floats
before = peak()
save_model(model, sys.argv[1])
written = peak() - before
before = peak()
again = load_model(sys.argv[1])
print(written / state, (peak() - before) / state)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "m.thresher")], capture_output=True, text=True, check=True
    )
    written, read = map(float, done.stdout.split())
    assert written < 1.2
    assert read < 1.8  # the copy, and the new state: half as large, since it has no ids


def test_training_goes_on_with_what_was_set_since(tmp_path):
    rows = tmp_path / "a.svm"
    rows.write_text("1 1:1 3:2\n-1 2:1 3:1\n" * 30)
    model = ShadowSOFS(2)
    train(model, rows)
    save(model.set_params(gamma=4.0), tmp_path / "m.thresher")
    shown = json.loads(thresher("show", tmp_path / "m.thresher", "--json").stdout)
    assert (shown["gamma"], shown["set_since_training"]) == (0.5, {"gamma": 4.0})
    done = thresher("train", rows, "--from", tmp_path / "m.thresher", "--full", "-o", tmp_path / "n.thresher")
    assert done.returncode == 0
    train(model, rows)
    gone_on = load(tmp_path / "n.thresher")
    assert gone_on.gamma == 4.0
    assert_same_state(gone_on, model)  # no public name for all bits
