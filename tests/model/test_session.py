"""A stream that is interrupted, saved and resumed gives exactly the result of one that never stopped."""

from __future__ import annotations

import itertools
import json
import pickle
import time

import numpy as np
import pytest
from every import applicable, online, row_of
from hypothesis import given
from hypothesis import strategies as st
from states import assert_same_state
from strategies import problems

from thresher import methods, open_stream
from thresher.model.model import Model
from thresher.model.session import Session
from thresher.progress import Bar
from thresher.streams import Batch, Stream
from thresher.streams.shuffling import shuffle_stream
from thresher.training.run import Run, RunGroup


def batches_of(X, labels, cuts):
    """Cut rows into batches, ids counting from 1."""
    ends = [0, *cuts, X.shape[0]]
    for begin, end in itertools.pairwise(ends):
        rows = X[begin:end]
        ids = rows.indices + 1
        yield Batch(rows.indptr, ids, rows.data, labels[begin:end], int(ids.max(initial=-1)), False, first_number=begin)


def assert_same_model(one: Model, other: Model) -> None:
    assert_same_state(one, other)
    assert one.target.labels.tolist() == other.target.labels.tolist()
    assert (one.parameters, one.n_features, one.id_base) == (other.parameters, other.n_features, other.id_base)


@online
@pytest.mark.parametrize("labels", [(-1.0, 1.0), ("spam", "mail"), (2.0, 1.0)])
@given(data=st.data(), problem=problems(max_rows=20))
def test_a_session_resumes_to_the_bit(estimator, labels, data, problem):
    X, y = problem
    y = np.where(np.asarray(y) > 0, labels[1], labels[0])
    cuts = sorted(data.draw(st.sets(st.integers(1, X.shape[0] - 1), max_size=4))) if X.shape[0] > 1 else []
    stop = data.draw(st.integers(0, len(cuts)))

    def new_model():
        return Model(row_of(estimator).name, **applicable(estimator, 3))

    never_stopped = Session(new_model())
    for batch in batches_of(X, y, cuts):
        never_stopped.learn(batch)

    session = Session(new_model())
    for number, batch in enumerate(batches_of(X, y, cuts)):
        session.learn(batch)
        if number == stop:  # as a process that ended and one that began
            kept = json.dumps(session.state())
            session = Session.from_state(pickle.loads(pickle.dumps(session.model)), json.loads(kept))
    assert session.state() == never_stopped.state()
    if len(set(y.tolist())) == 2:
        for each in (session, never_stopped):
            each.finish()
        assert_same_model(session.model, never_stopped.model)


@pytest.mark.parametrize("method", [method.name for method in methods.ONLINE])
def test_given_classes_are_kept_while_some_have_not_turned_up(method):
    model = Model(method)
    session = Session(model, classes=["a", "b", "c"])
    X = np.array([[1.0, 0.5], [0.2, 1.0]], np.float32)
    starts, ids = np.array([0, 2], np.int32), np.array([1, 2], np.int32)
    session.learn(Batch(starts, ids, X[0], np.array(["b"]), 2, False))
    resumed = Session.from_state(pickle.loads(pickle.dumps(model)), json.loads(json.dumps(session.state())))
    for each in (session, resumed):
        each.learn(Batch(starts, ids, X[1], np.array(["c"]), 2, False))
        each.finish()
    assert resumed.model.target.labels.tolist() == ["a", "b", "c"]
    assert_same_model(session.model, resumed.model)


@given(problem=problems(max_rows=30), stop=st.integers(0, 3))
def test_a_run_resumes_with_its_history(problem, stop):
    X, y = problem
    cuts = [cut for cut in (5, 10, 20) if cut < X.shape[0]]
    stream = Stream("rows", lambda: batches_of(X, np.asarray(y, float), cuts))

    def new_run(model):
        run = Run(model, stream, None, time.perf_counter())
        run.begin_pass(None)
        return run

    whole = new_run(Model("sofs", n_features_to_select=3))
    parts = new_run(Model("sofs", n_features_to_select=3))
    for number, batch in enumerate(stream.batches()):
        for run in (whole, parts):
            run.learn(batch, batch.rows_from(0))
            run.note()
        if number == stop:
            kept = json.dumps(parts.state())
            parts = Run(pickle.loads(pickle.dumps(parts.model)), stream, None, time.perf_counter())
            parts.resume(json.loads(kept))
    kept, expected = parts.state(), whole.state()
    for state in (kept, expected):
        del state["seconds"], state["history"]["seconds"]
    assert kept == expected


@pytest.mark.parametrize("shuffle", [False, True])
@given(problem=problems(max_rows=30), stop=st.integers(0, 6))
def test_a_reading_resumes_at_its_position_and_in_its_order(tmp_path_factory, shuffle, problem, stop):
    X, y = problem
    path = tmp_path_factory.getbasetemp() / "rows.svm"
    lines = [
        f"{int(label)} " + " ".join(f"{i + 1}:{v!r}" for i, v in zip(row.indices, row.data.tolist(), strict=True))
        for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")

    def new_reading(model):
        stream = open_stream(path)
        if shuffle:
            stream = shuffle_stream(stream, np.random.default_rng(7))
        return RunGroup([Run(model, stream, None, time.perf_counter())], 1)

    class Stop(Exception):  # noqa: N818 not an error
        pass

    class StopAfter:
        left = stop

        def advance(self, *_):
            self.left -= 1
            if self.left < 0:
                raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thresher.streams.formats.text.BLOCK", 40)
        patch.setattr("thresher.streams.shuffling._BATCH_ROWS", 4)
        whole = new_reading(Model("sofs", n_features_to_select=3))
        whole.begin_pass(None)
        whole.one_pass(Bar())
        parts = new_reading(Model("sofs", n_features_to_select=3))
        parts.begin_pass(None)
        try:
            parts.one_pass(StopAfter())
        except Stop:
            kept = json.dumps(parts.state())
            parts = new_reading(pickle.loads(pickle.dumps(parts.runs[0].model)))
            parts.one_pass(Bar(), parts.resume(json.loads(kept)))
    assert_same_state(parts.runs[0].model, whole.runs[0].model)
    assert parts.runs[0].session.state() == whole.runs[0].session.state()
