"""The history of a training run."""

from __future__ import annotations

import copy
import itertools
import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.charts import Chart, Line, as_svg, draw, fragment
from thresher.evaluation.metrics import KINDS, METRICS, Kind
from thresher.evaluation.remarks import remarks_on_baseline
from thresher.messages import count_noun, parameter
from thresher.model.model import Model
from thresher.model.race import Standing
from thresher.streams.read_counts import Skipped


class Words(NamedTuple):
    """What pictures and pages call the figures of a history."""

    error: str
    note_on_error: str
    in_race: str  # what learners in a race are compared by


_WORDS = {
    "classes": Words(
        "rows predicted wrong just before they were learned",
        "A row counts as wrong if the model predicted it wrong just before it learned it.",
        "mistakes",
    ),
    "numbers": Words(
        "1 − R² of rows just before they were learned",
        "The squared error of what the model predicted just before it learned a row, as a share of that of the mean of "
        "the rows before.",
        "squared error",
    ),
}


@dataclass
class History(Skipped):
    """The course of training. The lists have one entry for each point in time.

    There is one after 100 rows, then whenever the rows have grown by a quarter, and at the end of each pass, however
    the rows are cut into batches.

    Attributes
    ----------
    rows, seconds : list
        Rows learned so far, all passes together but a closing one, and the time since training began.
    error, loss : list of float
        Share of rows predicted wrong just before they were learned, and the mean loss so far: the squared hinge for
        second-order methods, the hinge or perceptron loss for the others. Empty for batch methods, which learn once.
        For ShadowSOFS the error comes from the predicting layer, on rows read for the first time, so it does not change
        in later passes; the loss comes from the selecting layer. Of numbers the error is 1 − R²: the squared error just
        before rows were learned, divided by that of the mean of the rows before. The first row of all does not count.
    rmse : list of float
        Of numbers, the root of the mean squared error of the same rows. Empty for classes.
    validation : list of float or None
        Accuracy on the validation data, or R² of numbers, at the end of each pass; else None.
    entered : list of int
        How many of the selected features were not yet selected at the point before: at the first point all, except
        the features that a model had selected before the run. Empty for methods that keep all features, and for batch
        methods.
    skipped : list of str
        Lines that were skipped, and why; the first hundred.
    n_predicted : int
        How many rows the last error was measured on.
    baseline : float or None
        Share of the most frequent label among the rows of the last error: always predicting it has an error of
        1 - baseline. It is known at the end of a pass. Batch methods have none. Of numbers, the RMSE of these rows if
        the mean of the rows before is predicted.
    n_validation_rows : int
        How many rows the validation data have.
    validation_baseline : float or None
        Accuracy of always predicting their most frequent label; of numbers, the RMSE of always predicting their mean.
    remarks : list of str
        A sentence that says so if the last accuracy on the validation data, or without these the last error, is within
        one standard error of its baseline, or worse. Of numbers it goes by R², whose standard error is then that of
        normal errors.
    n_skipped, n_bytes, n_passes : int
        How many lines were skipped, how many bytes were read, and how many passes were begun.
    refitted : bool
        Whether there was a closing pass, in which the weights are learned again on the selected features. It is not
        counted in `n_passes`. One that Ctrl-C ended early is undone.
    interrupted : bool
        Whether Ctrl-C ended it early.
    shuffled : bool
        Whether the rows were learned in random order.
    grouped_by_label : bool
        Whether the rows were learned in an order grouped by label (docs/order.md). `error` and `loss` then say nothing
        about new rows.
    race : list of dict
        With gamma="auto", the standings of the race for γ in this run. At each check: the `rows` so far,
        the values of `gamma` that were left, their `mistakes` (weighted by the rows' weights; of numbers, squared
        errors) and `loss`, which were `dropped`, and the `reason`: "behind", "memory", or "end" of the rows.
    merges : list of dict
        With `distributed.train`, of each sync: the `size` of the merge, in means of the shards' moves (of ShadowSOFS
        also the `predicting_size`, a share of what its predicting layer has learned on all shards), the `bytes` that
        the shards sent to be merged, and the `sample_bytes` of the rows that the sizes were chosen on.
    resumed_at : int or None
        Number of rows learned when the run was resumed from a checkpoint.
    target : {"classes", "numbers"}
        What the model predicts.
    """

    rows: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    rmse: list[float] = field(default_factory=list)
    validation: list[float | None] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)
    n_predicted: int = 0
    baseline: float | None = None
    n_validation_rows: int = 0
    validation_baseline: float | None = None
    n_passes: int = 0
    n_bytes: int = 0
    refitted: bool = False
    interrupted: bool = False
    shuffled: bool = False
    grouped_by_label: bool = False
    race: list[Standing] = field(default_factory=list)
    merges: list[dict[str, float]] = field(default_factory=list)
    resumed_at: int | None = None
    target: str = "classes"

    @property
    def kind(self) -> Kind:
        """How such predictions are measured."""
        return KINDS[self.target]

    @property
    def words(self) -> Words:
        """What pictures and pages call its figures."""
        return _WORDS[self.target]

    @property
    def score(self) -> float | None:
        """The main metric of the rows of the last error: accuracy, or R² of numbers. None if it says nothing."""
        return 1.0 - self.error[-1] if self.error and not self.grouped_by_label else None

    @property
    def remarks(self) -> list[str]:
        """What the last figures show."""
        if self.validation and self.validation[-1] is not None and self.validation_baseline is not None:
            what = f"{self.kind.main.words} on validation data"
            return self._remarks_on(what, self.validation[-1], self.validation_baseline, self.n_validation_rows)
        if self.baseline is None or self.score is None:
            return []
        remarks = self._remarks_on("error while learning", self.score, self.baseline, self.n_predicted)
        measure = f"It counts the first mistakes too: measure the model on other rows ({parameter('validate', ...)})."
        return [f"{each} {measure}" for each in remarks]

    def _remarks_on(self, what: str, score: float, baseline: float, n_rows: int) -> list[str]:
        error = float(self.kind.error_of(score, n_rows))
        return remarks_on_baseline(self.kind, what, score, baseline, error)

    def n_first_points(self) -> int:
        """Return how many points came while rows were read that the error counts; ShadowSOFS counts first readings."""
        # Numbers have no error before the first row, nor where shards begin: the last point at which it has changed.
        if self.rmse:
            last = (self.error[-1], self.rmse[-1])
            return next(k for k, each in enumerate(zip(self.error, self.rmse, strict=True), 1) if each == last)
        return sum(n <= self.n_predicted for n in self.rows)

    def error_in_words(self) -> str:
        """Return "error while learning 5.00% (baseline 40.00%)", or the same of numbers, as R² and RMSE."""
        if self.rmse:
            of_mean = "" if self.baseline is None else f" ({self.kind.baseline.phrase(self.baseline)})"
            rmse = METRICS["numbers"][1].phrase(self.rmse[-1])
            return f"{self.kind.main.phrase(1.0 - self.error[-1], ' while learning')}, {rmse}{of_mean}"
        baseline = "" if self.baseline is None else f" (baseline {1.0 - self.baseline:.2%})"
        return f"error while learning {self.error[-1]:.2%}{baseline}"

    def passes_in_words(self) -> str:
        """Return " in 3 passes and a closing one", " in one pass and a closing one", or "" for a single pass."""
        passes = f" in {self.n_passes} passes" if self.n_passes > 1 else " in one pass" if self.refitted else ""
        return passes + (" and a closing one" if self.refitted else "")

    def n_rows_of_data(self) -> int:
        """Return how many rows the data have; of a run that Ctrl-C ended, how many were learned in all passes."""
        return self.rows[-1] if self.interrupted else self.rows[-1] // max(1, self.n_passes)

    def state(self) -> dict[str, Any]:
        """Return the history as values for JSON, the same as in a run that never stopped."""
        return {name: value for name, value in asdict(self).items() if name != "resumed_at"}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        return cls(**copy.deepcopy(state))

    def plot(self, kind: Literal["error", "loss", "members", "race"] = "error", *, ax: Any = None) -> Any:
        """Draw the course of training over the rows, with matplotlib.

        Parameters
        ----------
        kind : {"error", "loss", "members", "race"}, default="error"
            The error or the loss while learning; how many features were newly selected; or the mistakes in the race of
            gamma="auto".
        ax : matplotlib Axes, optional
            Where to draw; by default new ones.

        Returns
        -------
        matplotlib Axes
        """
        charts = self.charts()
        if kind not in charts:
            raise ValueError(f"kind={kind!r} is not in this history; it has {', '.join(charts) or 'no pictures'}.")
        return draw(charts[kind], ax)

    def charts(self) -> dict[str, Chart]:
        """Return the pictures that it has, by the `kind` of `plot`."""
        found: dict[str, Chart] = {}
        if self.error and not self.grouped_by_label:
            found |= {"error": self._error_chart(), "loss": self._loss_chart()}
        if len(self.entered) > 1:
            found["members"] = Chart(
                "Changes of the selection", "rows learned", "features newly selected since the last point",
                [Line("", self.rows[1:], self.entered[1:], has_dots=True)], y_format="count", is_log=True,
            )  # fmt: skip
        if self.race:
            found["race"] = self._race_chart()
        return found

    def _error_chart(self) -> Chart:
        n_points = self.n_first_points()
        rows, error = self.rows[:n_points], self.error[:n_points]
        of = [float(n) for n in rows]  # what the error is a share of
        if self.rmse:  # the squared error of the mean; the first row does not count
            rows_and_figures = zip(rows, self.rmse[:n_points], error, strict=True)
            n_missing = rows[-1] - self.n_predicted
            of = [(n - n_missing) * rmse**2 / share if share else 0.0 for n, rmse, share in rows_and_figures]
        wrong = [0.0, *(share * n for share, n in zip(error, of, strict=True))]
        between = [
            (after - before) / (n - n_before) if n > n_before else 0.0
            for (before, after), (n_before, n) in zip(
                itertools.pairwise(wrong), itertools.pairwise([0, *of]), strict=True
            )
        ]
        lines = [Line("since the last point", rows, between, "muted"), Line("so far", rows, error)]
        tested = [(n, 1.0 - share) for n, share in zip(self.rows, self.validation, strict=True) if share is not None]
        if tested:
            tested_at, errors = zip(*tested, strict=True)
            lines.append(Line("validation data", tested_at, errors, "second", has_dots=True, has_line=False))
        return Chart(
            "Error while learning", "rows learned", self.words.error, lines, is_log=True,
        )  # fmt: skip

    def _loss_chart(self) -> Chart:
        line = Line("", self.rows, self.loss)
        return Chart(
            "Loss while learning", "rows learned", "mean loss of the rows so far", [line], y_format="number",
            is_log=True,
        )  # fmt: skip

    def _race_chart(self) -> Chart:
        """Return the mistakes of each γ at each check; the winner is drawn last, on top."""
        winner = self.chosen_gamma()
        points: dict[float, list[tuple[int, float]]] = {}
        for standing in self.race:
            for gamma, mistakes in zip(standing["gamma"], standing["mistakes"], strict=True):
                points.setdefault(gamma, []).append((standing["rows"], mistakes / max(1, standing["rows"])))
        lines = []
        for gamma in sorted(points, key=lambda gamma: gamma == winner):
            rows, errors = zip(*points[gamma], strict=True)
            is_winner = gamma == winner
            name = f"γ = {gamma:g}, chosen" if is_winner else f"γ = {gamma:g}"
            lines.append(Line(name, rows, errors, "main" if is_winner else "muted", has_dots=True))
        return Chart(
            'The race of gamma="auto"',
            "rows learned",
            f"{self.words.in_race} per row",
            lines,
            y_format="number",
            is_log=True,
        )

    def chosen_gamma(self) -> float | None:
        """Return the γ that won the race of gamma="auto"; None if there was none, or several were left in it."""
        if not self.race:
            return None
        last = self.race[-1]
        left = [gamma for gamma in last["gamma"] if gamma not in last["dropped"]]
        return left[0] if len(left) == 1 else None

    def _repr_html_(self) -> str:
        heading = "no rows"
        if self.rows:
            heading = f"{count_noun(self.n_rows_of_data(), 'row')}{self.passes_in_words()}, {self.seconds[-1]:.2f} s"
        charts = self.charts()
        drawn = (as_svg(charts[kind]) for kind in ("error", "members") if kind in charts)
        return fragment(heading, *drawn, remarks=self.remarks)


_COUNTED = ("n_samples", "n_predicted", "n_mistakes", "loss", "squared_error", "baseline_error")


class Recorder:
    """Adds points to the history of an online model: what it has counted since the run began, and who has entered."""

    def __init__(self, model: Model, started: float) -> None:
        self._model = model
        self._started = started
        self._before: dict[str, Any] = dict.fromkeys(_COUNTED, 0) | {"labels": []}
        if model.is_trained:
            counted = {name: model.counters[name] for name in _COUNTED}
            self._before = counted | {"labels": model.class_weights.counts.tolist()}
        self._members = self._selected_ids() if model.is_trained else np.zeros(0, np.int64)  # at the last point

    def _since(self, name: str) -> Any:
        return self._model.counters[name] - self._before[name]

    def n_rows(self) -> int:
        return int(self._since("n_samples"))

    def error(self) -> float:
        """Return the share of rows that were predicted wrong before they were learned; of numbers 1 − R²."""
        if self._model.method.predicts == "numbers":
            squared, of_mean = self._since("squared_error"), self._since("baseline_error")
            return float(squared / of_mean) if of_mean > 0.0 else 1.0  # there is nothing to predict
        return float(max(0, self._since("n_mistakes")) / max(1, self._since("n_predicted")))

    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def note(self, history: History) -> None:
        """Add a point; one at the same row, as after a closing pass, takes the place of the one before."""
        rows, entered_before = self.n_rows(), 0
        if history.rows[-1:] == [rows]:
            for values in (history.rows, history.seconds, history.error, history.loss, history.validation):
                values.pop()
            del history.rmse[-1:]
            entered_before = history.entered.pop() if history.entered else 0
        history.rows.append(rows)
        history.seconds.append(self.seconds())
        history.error.append(self.error())
        history.loss.append(float(self._since("loss")) / max(1, rows))
        history.n_predicted = int(self._since("n_predicted"))
        if history.target == "numbers":
            history.rmse.append(self._root_mean("squared_error"))
        history.validation.append(None)
        if self._model.method.has_budget:
            before, self._members = self._members, self._selected_ids()
            history.entered.append(entered_before + len(np.setdiff1d(self._members, before, assume_unique=True)))

    def note_baseline(self, history: History) -> None:
        """Note the share of the most frequent label, or the RMSE of the mean, once all rows counted are learned."""
        if history.target == "numbers":
            history.baseline = self._root_mean("baseline_error")
            return
        before, n_rows = np.array(self._before["labels"], np.int64), self._model.class_weights.counts.copy()
        n_rows[: len(before)] -= before
        history.baseline = float(n_rows.max() / n_rows.sum()) if n_rows.any() else None

    def _root_mean(self, name: str) -> float:
        """Return the root of the mean of a sum of squares."""
        return math.sqrt(max(0.0, self._since(name)) / max(1, self._since("n_predicted")))

    def _selected_ids(self) -> NDArray[np.int64]:
        """Return the ids of the members: columns are provisional until the first pass ends."""
        return self._model.selected_ids() if self._model.method.has_budget else np.zeros(0, np.int64)

    def state(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds(),
            "before": self._before,
            "members": self._members.tolist(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from `state`; the model must have its state of the same moment."""
        self._started = time.perf_counter() - state["seconds"]
        self._before = state["before"]
        before, counts = self._before["labels"], self._model.class_weights.counts.tolist()
        if len(before) > len(counts) or any(n > after for n, after in zip(before, counts, strict=False)):
            raise ValueError("its counts of labels do not fit its model.")
        self._members = np.array(state["members"], np.int64)
