"""What the features of a row add to its score."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.batch import DataError
from thresher.messages import count_noun, parameter
from thresher.model.model import Model, Parts
from thresher.parameters import OneOf, Whole, check
from thresher.streams import Stream

Explanation = list[tuple[str, float]]  # of a row: the largest part first, the intercept last


def check_n(n: int | None) -> None:
    """Raise ValueError unless `n` is a number of features, or None for all."""
    check("n", n, Whole(1), OneOf((None,)))


def check_explain(n: int | None, path: str, kind: str | None) -> None:
    """Raise ValueError unless a file of this kind can have an explanation of each row with `n` features, if any."""
    if n is None:
        return
    check("explain", n, Whole(1))
    if kind is None:
        name = "standard output" if path == "-" else path
        raise ValueError(
            f"{name}: text can't hold {parameter('explain', n)}: write to a file whose name ends in .csv, .jsonl "
            "or .parquet."
        )


def check_columns(model: Model, stream: Stream) -> None:
    """Raise DataError for a table whose columns can't be those of a model without names."""
    names = stream.feature_names
    if names is not None and model.feature_names is None and len(names) != model.n_features:
        raise DataError(
            f"{stream.name}: it has {count_noun(len(names), 'column')}, but the model was trained on "
            f"{model.n_features:,} without names: give it the columns of the training data, in their order."
        )


def explained_rows(model: Model, found: Parts, n: int | None) -> list[Explanation]:
    """Return the n largest parts of each row, and the intercept."""
    intercept: list[float] = model.intercept.astype(np.float64).tolist()
    names: dict[int, str] = {}
    rows = []
    for r, code in enumerate(found.codes.tolist()):
        columns, parts = (each[found.starts[r] : found.starts[r + 1]] for each in (found.columns, found.parts))
        order = np.argsort(-np.abs(parts), kind="stable")[:n]
        row = []
        for column, part in zip(columns[order].tolist(), parts[order].tolist(), strict=True):
            if column not in names:
                names[column] = model.name_of(column)
            row.append((names[column], part))
        rows.append([*row, ("intercept", intercept[code])])
    return rows


def explanation_columns(rows: list[Explanation], n: int, kind: str) -> dict[str, Any]:
    """Return explanations as columns of a table: one list for JSON lines, else a name and a part for each feature.

    Where a row has fewer, the name is empty and the part NaN.
    """
    if kind == "jsonl":
        return {"explanation": rows}
    table: dict[str, Any] = {}
    for k in range(n):
        each = [row[k] if k < len(row) - 1 else ("", np.nan) for row in rows]
        table[f"name_{k + 1}"] = np.array([name for name, _ in each], np.str_)
        table[f"part_{k + 1}"] = np.array([part for _, part in each], np.float64)
    return {**table, "intercept": np.array([row[-1][1] for row in rows], np.float64)}
