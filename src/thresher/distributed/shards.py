"""The work of a worker: pure functions of a model and a part of a shard, so that a call can be made again.

They run in other processes, so they take and return values that can be pickled.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.csr import scale_to_unit_length
from thresher.evaluation.alignment import batches_for
from thresher.model.class_weights import ClassWeights
from thresher.model.labels import LabelError, as_text_labels, concatenate_labels
from thresher.model.model import Model
from thresher.model.session import Pass
from thresher.model.targets import stream_target_for
from thresher.streams import Batch, Stream
from thresher.streams.read_counts import Skipped
from thresher.training.column_scale import large_columns
from thresher.training.run import name_rows_in_errors, session_on

# Rows that the size of a merge is chosen on, from all shards together.
SAMPLE_ROWS = 1_000


@dataclass(frozen=True)
class Start:
    """The model that all shards start from after a sync.

    A new object for each sync: engines send an object once, and would not notice that the model in it has changed.
    """

    model: Model
    in_pass: Pass


@dataclass(frozen=True)
class Shards:
    """A stream, cut into shards, and each of them into the parts between syncs.

    Readers have one thread, since each core has a worker.
    """

    stream: Stream
    n: int
    syncs: int

    def whole(self, k: int) -> Stream:
        """Return a shard."""
        return self.stream.shard(k, self.n).with_threads(0)

    def part(self, k: int, sync: int) -> Stream:
        """Return what a shard learns before a sync."""
        return self.whole(k).shard(sync, self.syncs)


@dataclass
class Update(Skipped):
    """The changes that one shard, or several, have learned between two syncs."""

    counted: ClassWeights  # rows, for class weights
    changes: Any = None  # of the learner, as the core's `changes_since` returns them; None: there were no rows
    names: dict[int, str] = field(default_factory=dict)
    clashes: tuple[int, str, str] = (0, "", "")
    sample: list[Batch] = field(default_factory=list)  # rows as the model scales them, with class codes as labels
    n_rows: int = 0
    n_read: int = 0  # bytes of the data
    n_moved: int = 0  # bytes of the changes that were sent to be merged
    largest_id: int = -1
    zero_seen: bool = False  # whether id 0 occurs


@dataclass(frozen=True)
class Survey:
    """The labels of a shard, and what else must be known before anything is learned."""

    labels: NDArray[Any]
    # By shard: its labels, how many rows have each, and whether these are all of its rows.
    by_shard: dict[int, tuple[NDArray[Any], NDArray[np.int64], bool]]
    large_columns: str | None  # in the first rows of all


def survey(shards: Shards, k: int, whole: bool) -> Survey:
    """Read a shard; without `whole`, only up to the batch in which a second label occurs."""
    labels, counts = np.zeros(0), np.zeros(0, np.int64)
    is_at_end, large = True, None
    for batch in shards.whole(k).batches():
        if k == 0 and len(labels) == 0 and batch.n_rows and shards.stream.naming is not None:
            large = large_columns(batch, shards.stream.naming)
        found, more = np.unique(batch.labels, return_counts=True)
        # One batch can have numbers and the next words, among which are numbers again.
        labels, places = np.unique(concatenate_labels([labels, found]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([counts, more]), len(labels)).astype(np.int64)
        if not whole and len(labels) > 1:
            is_at_end = False
            break
    return Survey(labels, {k: (labels, counts, is_at_end)}, large)


def add_surveys(found: list[Survey]) -> Survey:
    """Add up what was seen in several shards."""
    labels = np.unique(concatenate_labels([seen.labels for seen in found if len(seen.labels)]))
    by_shard = {
        k: (as_text_labels(its) if labels.dtype.kind == "U" else its, counts, is_all)
        for seen in found
        for k, (its, counts, is_all) in seen.by_shard.items()
    }
    return Survey(labels, by_shard, next((seen.large_columns for seen in found if seen.large_columns), None))


def learn(shards: Shards, start: Start, k: int, sync: int) -> Update:
    """Learn a part of a shard, from a model that all shards start from; return what has changed."""
    model, stream = copy.deepcopy(start.model), shards.part(k, sync)
    session = session_on(stream, model, None, start.in_pass)
    done = Update(ClassWeights(None))
    for batch in batches_for(model, stream):
        with name_rows_in_errors(batch, stream):
            session.learn(batch)
        done.n_rows += batch.n_rows
        done.zero_seen |= batch.zero_seen
        done.n_read += batch.n_bytes
        done.add_skipped(len(batch.skipped), batch.skipped)
    done.largest_id = session.largest_id
    done.counted = model.class_weights.since(start.model.class_weights)
    # After the last sync the first part follows again, in the next pass.
    following = shards.part(k, (sync + 1) % shards.syncs)
    done.sample = _first_rows(model, following, -(-SAMPLE_ROWS // shards.n), done.n_rows)
    if done.n_rows:
        done.names, done.clashes = dict(model.names.by_id), model.names.clashes
        done.changes = model.selector.changes_since(start.model.selector)
        done.n_moved = _n_bytes(done)
    return done


def _n_bytes(done: Update) -> int:
    """Return the size of what is sent to be merged."""
    arrays = [array for array in done.changes.values() if isinstance(array, np.ndarray)]
    return sum(array.nbytes for array in arrays) + sum(8 + len(name) for name in done.names.values())


def _first_rows(model: Model, stream: Stream, n: int, n_before: int) -> list[Batch]:
    """Return the first rows of a part that is learned next; none if one has a class that the model does not know.

    Reads about as much as should hold these rows, judging by the rows of the part before.
    """
    share = max(1, n_before // (4 * n)) if n_before else 1
    batch: Batch
    for batch in batches_for(model, stream.shard(0, share)):
        if batch.n_rows:
            try:
                return [_scale_rows(model, batch.part(0, min(n, batch.n_rows)))]
            except LabelError:  # the next sync will say where
                return []
    return []


def _scale_rows(model: Model, batch: Batch) -> Batch:
    values: NDArray[Any] = batch.data
    if model.norm == "l2":
        row_of = np.repeat(np.arange(batch.n_rows), np.diff(batch.indptr))
        values = scale_to_unit_length(values, row_of, batch.n_rows)
    codes = stream_target_for(model).encode(batch.labels)
    starts, ids = batch.indptr.astype(np.int64), batch.indices.astype(np.int64)
    return Batch(starts, ids, values.astype(np.float32), codes, batch.largest_id, batch.zero_seen)


def add_updates(parts: list[Update], method: Any) -> Update:
    """Add up what groups of shards have learned, in their order."""
    return reduce(partial(_add, method=method), parts)


def _add(a: Update, b: Update, *, method: Any) -> Update:
    both = [each.changes for each in (a, b) if each.changes is not None]
    changes = None if not both else both[0] if len(both) == 1 else method.added(both[0], both[1])
    names = {**b.names, **a.names}
    clashes = next((each for each in (a.clashes, b.clashes) if each[0]), a.clashes)
    both_done = Update(
        a.counted + b.counted, changes, names,
        (a.clashes[0] + b.clashes[0], *clashes[1:]), a.sample + b.sample, a.n_rows + b.n_rows, a.n_read + b.n_read,
        a.n_moved + b.n_moved, max(a.largest_id, b.largest_id), a.zero_seen or b.zero_seen,
    )  # fmt: skip
    for each in (a, b):
        both_done.add_skipped(each.n_skipped, each.skipped)
    return both_done
