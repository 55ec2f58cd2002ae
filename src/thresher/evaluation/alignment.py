"""Reads a stream for a trained model: ids and column names must match those of the training data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from thresher import _core
from thresher.batch import Batch, DataError
from thresher.io.atomic import refuse_inputs
from thresher.messages import join_some, parameter, warn
from thresher.model.model import Model
from thresher.model.names import Naming
from thresher.streams import Data, Stream, as_stream
from thresher.streams.columns import roles_text
from thresher.streams.position import Position
from thresher.streams.read_counts import ReadCounts

_PLAIN_IDS = 1 << 32  # one of a billion hashes of names is below it
_SMALL_PART = 0.01  # of the share of rows that had a selected feature in training
_CHANCE = 0.01  # that no row of so few has one


def open_for_model(
    model: Model, data: Data, doing: str, *, labelled: bool = True, outputs: Sequence[str] = (), progress: bool = False
) -> tuple[Stream, ReadCounts, Iterator[Batch]]:
    """Open data for a trained model; return the stream, its counts, and its batches, which are counted as they pass.

    None of its files may be one of `outputs`. `doing` is what the progress bar says.
    """
    stream, reading = as_stream(data, labelled=labelled, naming=model.naming), ReadCounts()
    for output in outputs:
        refuse_inputs(output, stream.files)
    return stream, reading, reading.count_batches(stream, doing, batches_to_predict(model, stream), progress)


def batches_to_predict(model: Model, stream: Stream) -> Iterator[Batch]:
    """Yield batches as `batches_for` does; warn if the model knows few or none of their features."""
    n_rows = n_known = n_values = n_beyond = 0
    limit = (model.n_features or 0) + model.id_base
    selected = _core.ColumnIndex(model.selected_ids())
    for batch in batches_for(model, stream):
        n_rows, n_values = n_rows + batch.n_rows, n_values + len(batch.indices)
        n_known += selected.count_rows_with(model.known_rows(batch))
        if batch.largest_id >= limit:
            n_beyond += int(np.count_nonzero(batch.indices >= limit))
        yield batch
    if 2 * n_beyond > n_values:
        warn(
            f"{stream.name}: {n_beyond / n_values:.0%} of the values have ids beyond the model's "
            f"{model.n_features:,} columns and were ignored: check that the model was trained on such data.",
            UserWarning,
        )
    else:
        _warn_of_strange_rows(model, stream, n_rows, n_known)


def _warn_of_strange_rows(model: Model, stream: Stream, n_rows: int, n_known: int) -> None:
    """Warn if far fewer rows have a selected feature than had one in training.

    Few rows may have none by chance; the warning comes only if that is improbable.
    """
    if model.tells_nothing:
        return
    counters = model.counters
    share = float(counters["n_with_member"] / max(1, counters["n_samples"]))
    if n_known >= _SMALL_PART * share * n_rows or (1.0 - share) ** n_rows > _CHANCE:
        return
    why = "check that columns, names and ids are those of the training data"
    if _has_numbers_for_names(model, stream):
        why = f"features are numbers here, and the model was trained on names, from {_source_of_names(model)}"
    found = "none" if n_known == 0 else f"only {n_known:,}"
    warn(
        f"{stream.name}: {found} of {n_rows:,} rows {'has' if n_known < 2 else 'have'} a feature that the model "
        f"selected ({share:.0%} of the rows of training had one): {why}.",
        UserWarning,
    )


def batches_for(model: Model, stream: Stream, start: Position | None = None) -> Iterator[Batch]:
    """Yield batches with ids in the model's base; named columns must be those of the model."""
    check_names(model, stream)
    _check_naming(model, stream)
    shift = 0 if stream.id_base is None or model.target is None else model.id_base - stream.id_base
    n_rows, zero_seen, is_checked = 0, False, not _has_numbers_for_names(model, stream)
    for batch in stream.batches(start):
        if not is_checked and len(batch.indices):
            _refuse_plain_ids(model, stream, batch)
            is_checked = True
        if batch.zero_seen and stream.id_base == 1:
            raise DataError(
                f"{batch.file}: id 0 occurs, but {parameter('zero_based', False)} says that ids count from 1."
            )
        if batch.zero_seen and stream.id_base is None and model.target is not None and model.id_base == 1:
            raise DataError(
                f"{batch.file}: id 0 occurs, but the model was trained on ids that count from 1. "
                f"If the ids of this file count from 0, set {parameter('zero_based', True)}."
            )
        if shift:
            batch.indices = batch.indices.astype(np.int64) + shift
            batch.indptr = batch.indptr.astype(np.int64)
            batch.largest_id += shift
            batch.zero_seen = bool((batch.indices == 0).any())
        n_rows, zero_seen = n_rows + batch.n_rows, zero_seen or batch.zero_seen
        yield batch
    warn_of_unsure_base(model, stream, n_rows, zero_seen)


def warn_of_unsure_base(model: Model, stream: Stream, n_rows: int, zero_seen: bool) -> None:
    """Warn if ids may count from 1 and the model counts them from 0."""
    # Few rows may lack id 0 by chance. But the model of a table often meets converted text, whose ids count from 1.
    enough = 1 if model.feature_names else 100
    is_unsure = model.target is not None and model.id_base == 0 and stream.id_base is None and model.naming is None
    if is_unsure and not zero_seen and n_rows >= enough:
        warn(
            f"{stream.name}: the model counts ids from 0, but id 0 does not occur in these {n_rows:,} rows. "
            f"If the ids of these rows count from 1, set {parameter('zero_based', False)}.",
            UserWarning,
        )


def _has_numbers_for_names(model: Model, stream: Stream) -> bool:
    """Return whether the features of the data are numbers, and those that the model was trained on were names."""
    return model.target is not None and model.naming is not None and stream.naming is None


def _refuse_plain_ids(model: Model, stream: Stream, batch: Batch) -> None:
    """Raise DataError if the ids of a batch are no hashes of names, though all features of the model are."""
    assert model.naming is not None
    if model.naming.hashes_all and batch.largest_id < _PLAIN_IDS:
        raise DataError(
            f"{batch.file or stream.name}: features are numbers here, up to {batch.largest_id:,}, but the model was "
            f"trained on names, from {_source_of_names(model)}: give it such data."
        )


def _source_of_names(model: Model) -> str:
    """Return where the names of a model's features come from."""
    names = [] if model.naming is None else [name for name, _ in model.naming.columns]
    return f"the columns {join_some(names)}" if len(names) > 1 else f"the column {names[0]}" if names else "VW text"


def _check_naming(model: Model, stream: Stream) -> None:
    """Raise DataError if the model knows features by name and the stream by number, or the other way round."""
    if model.target is None:
        return
    if model.naming is None and stream.naming is not None:
        raise DataError(f"{stream.name}: features are known by name here, but the model was trained on numbered ones.")
    if model.naming is not None and stream.feature_names is not None:
        raise DataError(
            f"{stream.name}: the model was trained on features with names, and here each column is one: open it with "
            f"the roles of its columns, with {roles_text('or')}."
        )
    if model.naming is not None and stream.naming is not None:
        _warn_of_types(model.naming, stream.naming, stream.name)
        differs = model.naming.difference(stream.naming)
        if differs is not None:
            name, trained, read = differs
            raise DataError(
                f"{stream.name}: it is read with {parameter(name, read)}, but the model was trained with "
                f"{parameter(name, trained)}: leave the option out, since a model remembers how its data were read."
            )
        if model.naming.columns and stream.naming.columns and not model.naming.is_scaled_like(stream.naming):
            raise DataError(
                f"{stream.name}: its numbers are scaled by other means and deviations than those that the model was "
                f"trained with: give it the file or table itself, or open it with {parameter('naming', ...)} of the "
                "training stream."
            )


def _warn_of_types(known: Naming, found: Naming, name: str) -> None:
    for column, (trained, read) in known.other_types(found).items():
        warn(
            f"{name}: column {column!r} holds {read} here, and held {trained} where the model was trained. Categories "
            "are compared by value, as docs/names.md says: check that these are the same values.",
            UserWarning,
        )


def check_names(model: Model, stream: Stream) -> None:
    """Raise DataError unless named columns are those that the model was trained on, in the same order."""
    names, known = stream.feature_names, model.feature_names
    if names is None or known is None:
        return
    expected = known if isinstance(known, dict) else dict(enumerate(known))
    for column, name in expected.items():
        found = names[column] if column < len(names) else None
        if found != name:
            seen = "there is no such column" if found is None else f"it is {found!r}"
            raise DataError(f"{stream.name}: column {column + 1} must be {name!r}, as in the training data; {seen}.")
