"""Caches: whatever a file says, its footer and blocks are read whole, or refused in one line that names it."""

from __future__ import annotations

from typing import Any

import numpy as np
from forged import cache as mutated
from inputs import ROOM, check_refusal, file_of

from thresher.batch import Batch, BatchNames, DataError
from thresher.model.model import Model
from thresher.model.session import Session
from thresher.streams.formats.cache import CacheReader, read_footer, write
from thresher.streams.formats.format import Span
from thresher.streams.sources import Source

__all__ = ["mutated", "run"]


def run(data: bytes) -> None:
    """Read a cache, and do what is done with its rows, labels and names."""
    with file_of(data) as path:
        source = Source(path, "cache", None, len(data))
        try:
            footer = read_footer(source)
            batches = _read(source, Span(0, None))
            parts = _read(source, Span(0, len(data) // 2)) + _read(source, Span(len(data) // 2, None))
        except DataError as error:
            return check_refusal(error, path)
        rows = _listed(batches)
        assert len(rows) == footer.n_rows == sum(batch.n_rows for batch in batches)
        assert rows == _listed(parts)
        again = ROOM / "again.thc"
        write(iter(batches), str(again), footer.names, footer.naming)
        assert _listed(_read(Source(str(again), "cache", None, again.stat().st_size), Span(0, None))) == rows
        _learn(batches, footer.naming or footer.names)
    return None


def _read(source: Source, span: Span) -> list[Batch]:
    return [read() for read in CacheReader(source, read_footer(source)).reads(span, None)]


def _listed(batches: list[Batch]) -> list[Any]:
    """Return the rows in a form that does not depend on how they were cut."""
    rows = []
    for batch in batches:
        for r in range(batch.n_rows):
            part = slice(int(batch.indptr[r]), int(batch.indptr[r + 1]))
            names = None
            if isinstance(batch.names, BatchNames):
                names = [_name(batch.names, mark) for mark in batch.names.marks[part].tolist()]
            weight = 1.0 if batch.row_weights is None else float(batch.row_weights[r])
            label = batch.labels[r].item()
            label = label if isinstance(label, str) else repr(label + 0.0)  # -0.0 is the label 0.0
            rows.append((batch.indices[part].tolist(), batch.data[part].tobytes(), label, weight, names))
    return rows


def _name(names: BatchNames, mark: int) -> Any:
    if mark == 2**64 - 1:
        return None
    begin = mark >> 32
    return names.prefixes[mark & 0xFFFF], names.text[begin : begin + (mark >> 16 & 0xFFFF)].tobytes()


def _learn(batches: list[Batch], names: Any) -> None:
    try:
        session = Session(Model("sofs", n_features_to_select=3), names=names)
        for batch in batches:
            session.learn(batch)
        session.finish()
    except ValueError as error:
        # What a model says of rows that are there, such as that all have one label.
        message = str(error)
        if not any(word in message for word in ("label", "class", "weight 0", "UTF-8")):
            raise
    else:
        assert len(session.model.members()[0]) <= 3
        assert np.isfinite(session.model.members()[1]).all()
