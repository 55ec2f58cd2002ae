"""The part 'Told from chance' of a report: ranks of the selected features beside those of decoys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.charts.chart import Chart, Line
from thresher.messages import count_noun
from thresher.model.model import Model

_LOW_Q = 0.1
_MOST_POINTS = 200  # of a curve


def words_on_chance(model: Model) -> str | None:
    """Return how many features have a low q-value, in a sentence; None without q-values."""
    q_values = model.q_values()
    if q_values is None:
        return None
    if model.tells_nothing:
        return "No feature could be told from chance: the model predicts by the frequencies of the labels alone."
    q_values = q_values[~np.isnan(q_values)]
    features = count_noun(len(q_values), "selected feature")
    has = "has" if len(q_values) == 1 else "have"
    kept = model.members()[0].size - len(q_values)
    besides = f" {count_noun(kept, 'feature')} more {'is' if kept == 1 else 'are'} kept in any case." if kept else ""
    return f"{np.count_nonzero(q_values <= _LOW_Q):,} of {features} {has} a q-value of at most {_LOW_Q:g}.{besides}"


def chance_chart(model: Model) -> Chart | None:
    """Return both curves; None if the model has no decoys, or has not selected any feature by its rank.

    They end at the number of features, or where ranks are 0, which a logarithmic axis does not have.
    """
    q_values = model.q_values()
    is_told = np.zeros(0, bool) if q_values is None else ~np.isnan(q_values)
    n = int(np.count_nonzero(is_told))
    found = model.strongest_decoys(n)
    if found is None or q_values is None:
        return None
    of_decoys, stand_for = found
    selected = model.ranks()[is_told]
    # A decoy that stands for k features counts k times.
    repeated = np.searchsorted(np.cumsum(stand_for), np.arange(1, n + 1))
    by_chance = of_decoys[repeated[repeated < len(of_decoys)]]
    lines = [
        _falling("decoys", by_chance, style="muted"),
        _falling("selected", selected[selected > 0.0]),
    ]
    lines = [line for line in lines if line.x]
    n_low = int(np.count_nonzero(q_values <= _LOW_Q))
    if not lines:
        return None
    return Chart(
        "Ranks of selected features and of decoys", "features", "rank", lines,
        y_format="number", is_log_up=True, x_limits=(1, max(2, n)),
        mark=(n_low, f"q ≤ {_LOW_Q:g}") if n_low else None,
    )  # fmt: skip


def _falling(name: str, ranks: NDArray[Any], **style: Any) -> Line:
    places = np.unique(np.linspace(0, len(ranks) - 1, min(len(ranks), _MOST_POINTS)).astype(np.int64))
    return Line(name, (places + 1).tolist(), ranks[places].tolist(), **style)
