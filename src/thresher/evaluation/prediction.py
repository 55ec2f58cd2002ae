"""Predictions for a stream: labels, margins and probabilities, as arrays or in files.

One reading, in memory that does not grow with the stream.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.evaluation.alignment import open_for_model
from thresher.evaluation.explanation import (
    Explanation,
    check_columns,
    check_explain,
    explained_rows,
    explanation_columns,
)
from thresher.messages import count_noun, parameter, warn
from thresher.model.labels import label_text
from thresher.model.model import Model
from thresher.model.names import distinct_names
from thresher.streams import Batch, Data, as_stream
from thresher.streams.read_counts import ReadCounts
from thresher.streams.writing import open_output, table_format, write_table

_Floats = NDArray[np.float64]


def as_model(model: Any) -> Model:
    """Return the trained model of an estimator, or the model itself."""
    if not isinstance(model, Model) and not hasattr(model, "_fitted_model"):
        raise TypeError(f"model must be a thresher estimator. Got {model!r} instead; a model file is read by load.")
    trained: Model = model if isinstance(model, Model) else model._fitted_model()
    if trained.target is None:
        raise ValueError("the model is not trained yet: call fit, partial_fit or train first.")
    return trained


def margins_of(model: Model, data: Data) -> _Floats:
    """Return the margins of all rows of data, in memory that grows only with these."""
    parts = [model.score_batch(batch) for batch in chain([Batch.empty()], batches_of(model, data))]
    return np.concatenate(parts)


def explanations_of(model: Model, data: Data, n: int | None) -> list[Explanation]:
    """Return the explanations of all rows of data, with the n largest parts of each."""
    stream = as_stream(data, labelled=False, naming=model.naming)
    check_columns(model, stream)
    return [row for batch in batches_of(model, stream) for row in explained_rows(model, model.parts_of_batch(batch), n)]


def batches_of(model: Model, data: Data) -> Iterator[Batch]:
    """Yield the rows of data as the model reads them; warn of rows that were skipped, which have no result."""
    stream, reading, batches = open_for_model(model, data, "predicting", labelled=False)
    yield from batches
    if reading.n_skipped:
        warn(
            f"{stream.name}: the result has nothing for {count_noun(reading.n_skipped, 'bad row')}, which "
            f"{parameter('on_bad_line', 'skip')} left out. The first one: {reading.skipped[0]}",
            UserWarning,
        )


def write_predictions(
    model: Any,
    data: Any,
    path: str | os.PathLike[str],
    *,
    margins: bool = False,
    probabilities: bool = False,
    explain: int | None = None,
    progress: bool = False,
) -> ReadCounts:
    """Predict the label, or the number, of each row and write them to a file, in the order of the rows.

    Parameters
    ----------
    model : estimator or Model
        A trained one.
    data : Stream, path, or anything else that `open_stream` takes
        Rows, with labels or without. A path is opened with `open_stream(path, labelled=False)`.
    path : path
        The file to write, whole or not at all. A name that ends in .csv, .jsonl or .parquet is a table with the columns
        `label`, `margin` (two classes) or `margin_A`, `margin_B` …, and `probability_A`, `probability_B` …, or of
        numbers `prediction`; any other is text, one row per line, with tabs between the values. All but Parquet is
        compressed if .gz, .bz2, .xz or .zst follows. "-" is standard output, as text. Of a stream with a key, that
        column comes first.
    margins : bool, default=False
        Also write the margin; of more than two classes, the score of each.
    probabilities : bool, default=False
        Also write the probability of each class. Online methods have probabilities, batch methods have none.
    explain : int, optional
        Also write the features with the largest parts of each row's score, so many of them, and the intercept, as
        `explain` of an estimator returns them: as `name_1`, `part_1`, `name_2` … and `intercept`, in JSON lines as the
        list `explanation`. Text can't have them.
    progress : bool, default=False
        Show a bar on stderr, if that is a terminal.

    Returns
    -------
    ReadCounts
        How many rows were written, and what was skipped.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thresher import ShadowSOFS, datasets, write_predictions
    >>> model = ShadowSOFS(50).fit(*datasets.make_x1(2_000))
    >>> new = datasets.make_x2(3, n_features=20_000, n_informative=200, n_noise=400, start=2_000)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "labels.csv"
    >>> write_predictions(model, new, path, probabilities=True).n_rows
    3
    >>> path.read_text().splitlines()[0]
    'label,probability_-1,probability_1'
    """
    path = os.fspath(path)
    trained = as_model(model)
    assert trained.target is not None
    trained.target.check_can_write(margins=margins, probabilities=probabilities)
    if probabilities and not trained.method.has_probabilities:
        raise ValueError(f"{trained.method.name} has no probabilities; use {parameter('margins')} instead.")
    kind = table_format(path)
    check_explain(explain, path, kind)
    stream, reading, batches = open_for_model(
        trained, data, "predicting", labelled=False, outputs=[path], progress=progress
    )
    explained = None
    if explain is not None and kind is not None:
        check_columns(trained, stream)
        explained = partial(_explanations_of_batch, trained, explain, kind)
    columns = _columns(trained, batches, stream.key, margins, probabilities, explained)
    if kind is not None:
        write_table(columns, path)
    else:
        _write_lines(columns, path, stream.key)
    return reading


def column_names(model: Model, margins: bool, probabilities: bool, key: str | None = None) -> list[str]:
    """Return the names of the columns that `write_predictions` writes, in their order; text has no header."""
    target = model.target
    assert target is not None
    of_margins = target.headings("margin") if margins else []
    of_classes = target.headings("probability", of_vectors=False) if probabilities else []
    names = [target.heading, *of_margins, *of_classes]
    return names if key is None else [*distinct_names([key], names), *names]


def _columns(
    model: Model,
    batches: Iterator[Batch],
    key: str | None,
    margins: bool,
    probabilities: bool,
    explain: Callable[[Batch], dict[str, Any]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the predictions for each batch as columns with names; first for no rows: a table has columns even then.

    `explain` returns more columns.
    """
    assert model.target is not None
    kind, names = model.target.type_in_tables, column_names(model, margins, probabilities, key)

    for batch in chain([Batch.empty()], batches):
        scores = model.score_batch(batch)
        columns: list[NDArray[Any]] = [] if key is None else [keys_or_none(batch)]
        columns += [model.labels_of(scores).astype(kind)]
        if margins:
            columns += [*scores.reshape(-1, model.n_vectors).T]
        if probabilities:
            columns += [*model.probabilities_of(scores).T]
        yield dict(zip(names, columns, strict=True)) | ({} if explain is None else explain(batch))


def keys_or_none(batch: Batch) -> NDArray[Any]:
    """Return what identifies the rows of a batch; None for each where its file has no such thing."""
    return np.full(batch.n_rows, None) if batch.keys is None else batch.keys


def _explanations_of_batch(model: Model, n: int, kind: str, batch: Batch) -> dict[str, Any]:
    return explanation_columns(explained_rows(model, model.parts_of_batch(batch), n), n, kind)


def _write_lines(parts: Iterator[dict[str, NDArray[Any]]], path: str, key: str | None) -> None:
    """Write text: a row per line, tabs between its values."""
    with open_output(path) as write:
        for part in parts:
            columns = list(part.values())
            keys = [] if key is None else [["" if each is None else str(each) for each in columns.pop(0).tolist()]]
            labels, *numbers = columns
            words = [label_text(label) for label in labels.tolist()]
            cells = [[f"{value:.9g}" for value in column.tolist()] for column in numbers]
            write("".join("\t".join(row) + "\n" for row in zip(*keys, words, *cells, strict=True)).encode())
