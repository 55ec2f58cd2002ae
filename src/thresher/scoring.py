"""How well a model does on a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from thresher.labels import Labels, as_words, shown, warn
from thresher.model import Model
from thresher.streams import Batch, DataError, Stream


def accuracy(model: Model, stream: Stream, batches: Iterator[Batch] | None = None) -> float:
    """Return the share of rows whose label the model predicts; `batches` may be the stream's, watched on their way."""
    n_rows = right = 0
    for batch in batches_for(model, stream) if batches is None else batches:
        right += n_right(model, batch)
        n_rows += batch.n_rows
    return share_right(model, right, n_rows, stream)


def batches_for(model: Model, stream: Stream) -> Iterator[Batch]:
    """Yield a stream's batches with ids as a trained model counts them; columns with names must be the model's."""
    check_names(model, stream)
    shift = 0 if stream.id_base is None or model.classes is None else model.id_base - stream.id_base
    n_rows, zero_seen = 0, False
    for batch in stream.batches():
        if batch.zero_seen and stream.id_base == 1:
            raise DataError(f"{batch.file}: id 0 occurs, but zero_based=False says that ids count from 1.")
        if batch.zero_seen and stream.id_base is None and model.classes is not None and model.id_base == 1:
            raise DataError(
                f"{batch.file}: id 0 occurs, but the model has learned that ids count from 1. "
                "If these count from 0, say so with zero_based=True (--zero-based)."
            )
        if shift:
            batch.indices = batch.indices.astype(np.int64) + shift
            batch.indptr = batch.indptr.astype(np.int64)
            batch.largest_id += shift
            batch.zero_seen = bool((batch.indices == 0).any())
        n_rows, zero_seen = n_rows + batch.n_rows, zero_seen or batch.zero_seen
        yield batch
    if model.classes is not None and model.id_base == 0 and stream.id_base is None and not zero_seen and n_rows >= 100:
        warn(
            f"{stream.name}: the model counts ids from 0, but id 0 does not occur in these {n_rows:,} rows. "
            "If they count from 1, say so with zero_based=False (--one-based).",
            UserWarning,
        )


def n_right(model: Model, batch: Batch) -> int:
    """Return how many rows of a batch have the label that the model predicts."""
    predicted, _ = model.predict_batch(batch)
    return int(np.count_nonzero(_same(predicted, batch.labels)))


def share_right(model: Model, right: int, n_rows: int, stream: Stream) -> float:
    """Return the share of a stream's rows that were right; warns if that is none of them."""
    if n_rows == 0:
        raise DataError(f"{stream.name}: there are no rows.")
    if right == 0 and model.classes is not None:
        known = ", ".join(shown(label) for label in model.classes[:5].tolist())
        warn(f"{stream.name}: not one row was right. Are the model's classes, {known}, those there?", UserWarning)
    return right / n_rows


def check_names(model: Model, stream: Stream) -> None:
    """See that columns with names are those that the model has learned, in their order."""
    names, known = stream.feature_names, model.feature_names
    if names is None or known is None:
        return
    expected = known if isinstance(known, dict) else dict(enumerate(known))
    for column, name in expected.items():
        found = names[column] if column < len(names) else None
        if found != name:
            place = "there is no such column" if found is None else f"it is {found!r} there"
            raise DataError(f"{stream.name}: column {column + 1} must be {name!r}, as the model learned it; {place}.")


def _same(predicted: Labels, labels: Labels) -> Any:
    if (predicted.dtype.kind == "U") == (labels.dtype.kind == "U"):
        return predicted == labels
    return as_words(predicted) == as_words(labels)
