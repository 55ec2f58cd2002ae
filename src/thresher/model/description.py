"""A description of a trained model: its settings, and the features that it selected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.model.model import Model
from thresher.model.safe_names import column_names

# Parameters that say nothing about the model: `train` has a shuffle of its own.
_OF_FIT = ("progress", "shuffle")


class Feature(NamedTuple):
    """A selected feature, and what it means for one class."""

    name: str
    code: int  # of the class; 0 where two classes share a weight
    weight: float
    q: float | None
    frequency: float | None


@dataclass(frozen=True, eq=False)
class FeatureList:
    """The selected features of a model, best first.

    Attributes
    ----------
    names, ids : list
        Their names and ids in the data.
    weights : array of shape (n_features, n_vectors)
        One per feature; with more than two classes, one per class.
    q_values : list of float or None
        The q-value of each, None for those of `keep`; None without decoys.
    frequency : list of float or None
        The share of the samples in which each was selected, where `stability` has measured it.
    chance : float or None
        The largest share that any feature reached there with permuted labels.
    n : int
        How many there are, also if only the first were asked for.
    """

    names: list[str]
    ids: list[int]
    weights: NDArray[np.float32]
    q_values: list[float | None] | None
    frequency: list[float] | None
    chance: float | None
    n: int

    def for_strongest_class(self) -> list[Feature]:
        """Return each feature with the numbers of the class for which it counts most."""
        codes = np.abs(self.weights).argmax(axis=1)
        unknown: list[Any] = [None] * len(codes)
        weights = self.weights[np.arange(len(codes)), codes].tolist()
        known = (self.q_values or unknown, self.frequency or unknown)
        return list(map(Feature, self.names, codes.tolist(), weights, *known))


def features_of(model: Model, most: int | None = None) -> FeatureList:
    """Return the features that a model has selected, or the first of them."""
    columns, weights = model.members()
    n = len(columns)
    columns, weights = columns[:most], weights[:most]
    known, q_values = model.selection_frequency, model.q_values()
    return FeatureList(
        names=[model.name_of(column) for column in columns.tolist()],
        ids=(columns + model.id_base).tolist(),
        weights=weights,
        q_values=None if q_values is None else [None if np.isnan(q) else q for q in q_values[:most].tolist()],
        frequency=None if known is None else [known.get(column, 0.0) for column in columns.tolist()],
        chance=model.selection_chance,
        n=n,
    )


def feature_table(model: Model) -> dict[str, Any]:
    """Return the selected features as columns by name, best first: lists of names, and arrays.

    Columns that are not known are left out; docs/explaining.md says when they are.
    """
    assert model.target is not None
    columns, weights = model.members()
    table: dict[str, Any] = {
        "name": [model.name_of(column) for column in columns.tolist()],
        "column": columns,
        **dict(zip(model.target.headings("weight"), weights.T.copy(), strict=True)),
        "rank": model.ranks(),
    }
    if (q_values := model.q_values()) is not None:
        table["q_value"] = q_values
    if model.selection_frequency is not None:
        table["frequency"] = np.array([model.selection_frequency.get(each, 0.0) for each in columns.tolist()])
    if model.occurrences is not None:
        table["n_rows"] = np.array(model.occurrences, np.int64)[np.searchsorted(np.sort(columns), columns)]
    if model.naming is not None or model.feature_names is not None:
        safe = column_names(model, safe=True)
        table["safe_name"] = [safe[place] for place in np.argsort(np.argsort(columns)).tolist()]
    return table


def settings(model: Model) -> dict[str, Any]:
    """Return all settings and counts of a model, without its features."""
    assert model.target is not None
    counters = model.counters
    learned: dict[str, Any] = {}
    if not model.method.is_batch:
        n_first = counters["n_predicted"]  # mistakes are counted among these
        learned = {} if n_first == counters["n_samples"] else {"first_readings": n_first}
        if model.method.predicts == "numbers":
            for name, error in (("rmse", "squared_error"), ("baseline", "baseline_error")):
                learned[f"{name}_while_learning"] = math.sqrt(counters[error] / max(1, n_first))
        else:
            learned |= {
                "rows_with_a_loss": counters["n_updates"],
                "mistakes_while_learning": None if model.grouped_by_label else counters["n_mistakes"],
            }
        learned["grouped_by_label"] = model.grouped_by_label
    return {
        "method": model.method.name,
        **{name: value for name, value in model.parameters.items() if value is not None and name not in _OF_FIT},
        **({"keep": _kept(model)} if model.parameters.get("keep") else {}),
        **({} if model.chosen_gamma is None else {"chosen_gamma": model.chosen_gamma}),
        **model.target.describe(),
        **_columns(model),
        "selected": len(model.members()[0]),
        "intercept": model.intercept.tolist() if model.n_vectors > 1 else float(model.intercept[0]),
        **({} if model.threshold == 0.0 else {"threshold": model.threshold}),
        "rows_seen": counters["n_samples"],
        **learned,
        "can_continue_learning": not model.compact,
    }


def _kept(model: Model) -> list[str]:
    """Return the features to keep, by their names in the data."""
    return [each if isinstance(each, str) else model.name_of(each) for each in model.parameters["keep"]]


def _columns(model: Model) -> dict[str, Any]:
    """Return what is known of the columns, or how features were named."""
    if model.naming is None:
        return {"columns": model.n_features, "ids_count_from": model.id_base}
    naming = model.naming
    roles: dict[str, Any] = {
        role: list(names) for role in ("text", "categorical", "numeric") if (names := getattr(naming, role))
    }
    if naming.scales:
        roles["scale"] = {name: {"mean": mean, "deviation": by} for name, (mean, by) in naming.scale_of.items()}
    roles |= {"missing": list(naming.missing)} if naming.missing else {}
    roles |= {"crosses": [",".join(pair) for pair in naming.crosses]} if naming.crosses else {}
    of_text = {}
    if naming.text:
        least, most = naming.ngrams
        of_text = {
            "ngrams": str(least) if least == most else f"{least}-{most}", "analyzer": naming.analyzer,
            "counts": naming.counts, "lowercase": naming.lowercase,
        }  # fmt: skip
    of_vw = {} if roles else {"hash": naming.hash}
    return {"columns": "hashes of names", **roles, **of_text, **of_vw, "name_clashes": model.names.clashes[0]}
