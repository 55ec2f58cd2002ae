"""`stability`: how much the selection depends on the sample of rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from thresher.analysis.resampling import Resampled, resample
from thresher.charts import Chart, Line, as_svg, draw, fragment, table
from thresher.evaluation.prediction import as_model
from thresher.messages import count_noun
from thresher.model.model import Model
from thresher.parameters import Whole, check
from thresher.streams import Data
from thresher.training.job import Request

SAMPLES = Whole(2, 1000)  # how many halves there may be
_NORMAL_95 = 1.959963984540054  # two-sided, 95 %
_MOST_SHOWN = 20  # features in a notebook


@dataclass(frozen=True, eq=False)
class Stability:
    """How much the selection changes from sample to sample.

    Attributes
    ----------
    value : float
        1 if all samples give the same selection, about 0 if selections are as different as random ones: the measure of
        Nogueira, Sechidis and Brown.
    interval : tuple of float
        Its 95 % confidence interval.
    frequency : dict
        The share of the samples in which each column was selected, most frequent first.
    chance : float
        The largest share that any column reached with permuted labels, which say nothing about the rows. Columns to
        keep do not count.
    names : dict
        What each of these columns is called, as `show` prints it.
    n : int
        How many samples.
    n_features : int
        How many columns there are.
    model : estimator or Model
        Trained on all rows, in the same reading; it has the frequencies of its features too.
    """

    value: float
    interval: tuple[float, float]
    frequency: dict[int, float]
    chance: float
    names: dict[int, str]
    n: int
    n_features: int
    model: Any

    @property
    def n_always(self) -> int:
        """How many columns were selected in all samples."""
        return sum(share == 1.0 for share in self.frequency.values())

    @property
    def n_above_chance(self) -> int:
        """How many columns were selected more often than any with permuted labels."""
        return sum(share > self.chance for share in self.frequency.values())

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold; features have their names."""
        return {
            "n": self.n,
            "value": self.value,
            "interval": list(self.interval),
            "chance": self.chance,
            "frequency": {self.names[column]: share for column, share in self.frequency.items()},
        }

    def __str__(self) -> str:
        return (
            f"stability {self.value:.3f}, 95 % interval {self.interval[0]:.3f} to {self.interval[1]:.3f}, from "
            f"{self.n} random halves of the rows\n{count_noun(self.n_always, 'feature')} selected in all of them, "
            f"{len(self.frequency):,} in at least one\n{self.chance_in_words}"
        )

    @property
    def chance_in_words(self) -> str:
        """What permuted labels reached, and how many columns exceed it."""
        return (
            f"with permuted labels features were selected in up to {self.chance:.0%} of them; "
            f"{count_noun(self.n_above_chance, 'feature')} exceed{'s' if self.n_above_chance == 1 else ''} that"
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw how often each feature was selected, and the most that permuted labels reached, with matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        return draw(self.chart(), ax)

    def chart(self) -> Chart:
        """Return the picture that `plot` draws."""
        shares = list(self.frequency.values()) or [0.0]
        places = list(range(1, len(shares) + 1))
        lines = [
            Line("most with permuted labels", [1, len(shares)], [self.chance] * 2, style="second", is_dashed=True),
            Line("features", places, shares),
        ]
        return Chart(
            "How often features were selected", "features, most frequent first", f"share of {self.n} random halves",
            lines, y_limits=(0.0, 1.05),
        )  # fmt: skip

    def _repr_html_(self) -> str:
        most = list(self.frequency.items())[:_MOST_SHOWN]
        rows = ([self.names[column], f"{share:.0%}", f"{self.chance:.0%}"] for column, share in most)
        figures = table(["feature", "selected in", "most with permuted labels"], rows)
        heading = f"stability {self.value:.3f}, 95 % interval {self.interval[0]:.3f} to {self.interval[1]:.3f}"
        return fragment(heading, as_svg(self.chart()), figures)


def stability(
    model: Any,
    data: Data,
    n: int = 10,
    *,
    passes: int | Literal["auto"] | None = None,
    shuffle: bool | Literal["auto"] = "auto",
    classes: ArrayLike | None = None,
    multiclass: bool | int = False,
    progress: bool = False,
) -> Stability:
    """Measure how much the selection changes from sample to sample, in one reading.

    `n` models each learn a random half of the rows, chosen by a hash of the row's number, and another learns all rows.
    `n` more learn the same halves with permuted labels: how often these select a feature is what chance reaches.
    Labels are permuted among the rows that are read together, some megabytes of a file or a whole matrix.

    Parameters
    ----------
    model : estimator or Model
        It does not change: models with its parameters are trained.
    data : Stream, path, or anything else that `open_stream` takes
        What to learn from.
    n : int, default=10
        How many halves, from 2 to 1,000.
    passes, shuffle, classes, multiclass, progress
        As in `train`.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from thresher import ShadowSOFS, datasets, stability
    >>> st = stability(ShadowSOFS(100), datasets.make_x1(10_000), n=5)
    >>> 0.3 < st.interval[0] < st.value < st.interval[1] < 1, max(st.frequency.values()) > st.chance
    (True, True)

    References
    ----------
    Nogueira, Sechidis, Brown. On the stability of feature selection algorithms. Journal of Machine Learning Research
    18(174), 2018.
    """
    request = Request(passes=passes, shuffle=shuffle, classes=classes, multiclass=multiclass, progress=progress)
    check("n", n, SAMPLES)
    return stability_of_halves(resample(model, data, request, n_halves=n))


def stability_of_halves(found: Resampled) -> Stability:
    """Return the stability of the models on halves; the model on all rows gets the frequencies of its features.

    KeyboardInterrupt if Ctrl-C ended the training before it was done.
    """
    if found.history.interrupted:
        raise KeyboardInterrupt
    trained = as_model(found.model)
    halves = [as_model(half) for half in found.halves]
    selections = [half.members()[0].tolist() for half in halves]
    # A model knows the names of what it has selected itself, and no others.
    names = {
        column: half.name_of(column) for half, columns in zip(halves, selections, strict=True) for column in columns
    }
    n = len(selections)
    counts = Counter(column for selection in selections for column in selection)
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    frequency = {column: count / n for column, count in ranked}
    by_chance = Counter(column for model in map(as_model, found.permuted) for column in _selected_by_rank(model))
    chance = max(by_chance.values(), default=0) / n
    trained.selection_frequency = {column: frequency.get(column, 0.0) for column in trained.members()[0].tolist()}
    trained.selection_chance = chance
    n_features = trained.n_features or 0
    value, variance = stability_of(selections, n_features)
    reach = _NORMAL_95 * math.sqrt(variance)
    interval = (max(-1.0, value - reach), min(1.0, value + reach))
    return Stability(value, interval, frequency, chance, names, n, n_features, found.model)


def _selected_by_rank(model: Model) -> list[int]:
    """Return the columns that a model has selected, without those that it was given to keep."""
    columns = model.members()[0]
    selected: list[int] = columns[~np.isin(columns, model.kept_ids - model.id_base)].tolist()
    return selected


def stability_of(selections: Sequence[Sequence[int]], n_features: int) -> tuple[float, float]:
    """Return the stability of selections among `n_features` columns, and its variance (theorems 4 and 7).

    With p_f the share of the selections that have feature f, and k their mean size:

        Φ = 1 − (1/d Σ_f M/(M−1)·p_f(1 − p_f)) / (k/d·(1 − k/d))

    Only features that were selected count in the sums, so the cost does not depend on d. If every selection has no
    feature, or all features, they can't differ: Φ is 1.
    """
    M, d = len(selections), n_features
    counts = Counter(column for selection in selections for column in selection)
    sizes = np.array([len(selection) for selection in selections], dtype=np.float64)
    mean_size = float(sizes.mean())
    spread = mean_size / d * (1.0 - mean_size / d) if d else 0.0
    if spread <= 0.0:
        return 1.0, 0.0
    shares = np.array(list(counts.values()), dtype=np.float64) / M
    value = 1.0 - float((shares * (1.0 - shares)).sum()) * M / (M - 1) / d / spread
    agreement = np.array([sum(counts[column] for column in selection) / M for selection in selections])
    # Only differences from the mean count: terms that are equal in all selections would drown them where d is large.
    sizes -= mean_size
    own = agreement - agreement.mean() - sizes * mean_size / d + value * (sizes * mean_size / d - sizes / 2.0)
    return value, float(4.0 / M**2 * np.square(own / (d * spread)).sum())
