"""The tables and verdicts of LAYERS.md."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.layers_sets import (
    FIT,
    HIGHEST_ERROR,
    HIGHEST_LOSS,
    HIGHEST_ON_CLICKS,
    LOWEST,
    LOWEST_MEAN,
    LOWEST_OF_NOISY,
    ONE,
    TASKS,
    TIMES_CALIBRATED,
    TIMES_OLD,
    WAYS,
    Task,
)
from experiments.reporting.tables import NONE, signed, table
from experiments.study import Table, means


@dataclass(frozen=True)
class Beside:
    """A cell, in one way, beside the prototype's figure; `limit` bounds the difference, from below or from above."""

    task: Task
    budget: int
    way: str
    ours: float
    figure: float
    limit: float
    is_loss: bool

    @property
    def difference(self) -> float:
        """Ours less the prototype's."""
        return self.ours - self.figure

    @property
    def missed_by(self) -> float:
        """How far it is beyond the limit; not positive if it holds."""
        beyond = self.difference - self.limit
        return beyond if self.is_loss else -beyond


def cells_of(rows: Table, figure: str) -> dict[tuple[str, int, str], float]:
    """Return the means over splits by set, budget and way."""
    found = means(rows, ("set", "budget", "way"), (figure,))
    return {(name, int(budget), way): mean for (name, budget, way), (mean,) in found}


def beside_prototype(rows: Table) -> list[Beside]:
    """Return all cells for which there is a figure of the prototype."""
    found = []
    for is_loss in (False, True):
        ours = cells_of(rows, "loss" if is_loss else "accuracy")
        for task in TASKS:
            for way, figures in (task.prototype_losses if is_loss else task.prototype).items():
                for budget, figure in zip(task.budgets, figures, strict=True):
                    if figure is not None and (task.name, budget, way) in ours:
                        limit = HIGHEST_LOSS if is_loss else task.limit(way)
                        value = ours[task.name, budget, way]
                        found.append(Beside(task, budget, way, value, figure, limit, is_loss))
    return found


def placeholders(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return the figures of LAYERS.md."""
    found = beside_prototype(tables["layers"])
    return {
        "verdicts": _verdicts(found, tables),
        "accuracies": _beside(tables["layers"], found, "accuracy", 2),
        "losses": _beside(tables["layers"], found, "loss", 4),
        "missed": _missed(found),
        "calibration": _calibration(tables["layers-calibration"]),
        "alone": _alone(tables["layers-alone"]),
        "once": _once(tables["layers-once"]),
    }


def _verdicts(found: list[Beside], tables: Mapping[str, Table]) -> str:
    rows = []
    for is_loss, limits in ((False, (LOWEST, LOWEST_OF_NOISY)), (True, (HIGHEST_LOSS,))):
        for limit in limits:
            some = [each for each in found if each.is_loss == is_loss and each.limit == limit]
            if some:
                worst = max(some, key=lambda each: each.missed_by)
                what = "log loss: at most 0.03 above" if is_loss else f"accuracy: at most {-limit:g} below"
                n_missed = sum(each.missed_by > 0 for each in some)
                where = (
                    f"{signed(worst.difference, 4 if is_loss else 2)} ({worst.task.name}, {worst.budget}, {worst.way})"
                )
                rows.append([f"{what}, {len(some)} cells", where, _holds(n_missed == 0, f"{n_missed} missed")])
    for ways in (WAYS, (ONE,), (FIT,)):
        gaps = [each.difference for each in found if not each.is_loss and each.way in ways]
        if gaps:
            mean = statistics.fmean(gaps)
            verdict = _holds(mean >= LOWEST_MEAN, f"by {LOWEST_MEAN - mean:.2f}") if ways == WAYS else ""
            what = "accuracy: mean at most 0.2 below" if ways == WAYS else f"of these, {ways[0]}"
            rows.append([f"{what}, {len(gaps)} cells", signed(mean), verdict])
    rows += _verdicts_on_probabilities(tables)
    for row in tables["layers-alone"]:
        same = row["changed"] == "0" and row["same_bits"] == "True" and row["whole"] == row["alone"]
        what = f"selected columns alone, {row['set']}: no label changes, the same log loss"
        rows.append([what, f"{row['changed']} labels", _holds(same, "changed")])
    return table(["must hold", "worst, or mean", ""], rows)


def _verdicts_on_probabilities(tables: Mapping[str, Table]) -> Iterator[list[str]]:
    cells = [cell for cell in _calibrated(tables["layers-calibration"]) if cell.has_limits]
    for what, place, limit in (
        ("log loss: times that of probabilities calibrated on other rows, at most", 0, TIMES_CALIBRATED),
        ("calibration error at most", 1, HIGHEST_ERROR),
    ):
        for way in WAYS:
            some = [((cell.ratio, cell.errors[0])[place], cell) for cell in cells if cell.way == way]
            if some:
                worst, cell = max(some, key=lambda pair: pair[0])
                n_missed = sum(value > limit for value, _ in some)
                where = f"{worst:.3f} ({cell.name}, {cell.budget:,})"
                yield [f"{what} {limit:g}, {way}, {len(some)} cells", where, _holds(not n_missed, f"{n_missed} missed")]
    losses = cells_of(tables["layers"], "loss")
    for way in WAYS:
        times = [
            (losses[task.name, budget, way] / old, f"{task.name}, {budget}")
            for task in TASKS
            if task.name.startswith("X1")
            for budget, old in zip(task.budgets, task.old_losses, strict=True)
            if old is not None and (task.name, budget, way) in losses
        ]
        if times:
            worst, where = max(times)
            n_missed = sum(ratio > TIMES_OLD for ratio, _ in times)
            what = f"log loss on X1: times 0.2's, at most {TIMES_OLD:g}, {way}, {len(times)} cells"
            yield [what, f"{worst:.3f} ({where})", _holds(not n_missed, f"{n_missed} missed")]
    for way in WAYS:
        loss = losses.get(("talkingdata", 500, way))
        if loss is not None:
            what = f"log loss on talkingdata at most {HIGHEST_ON_CLICKS:g}, {way}"
            yield [what, f"{loss:.5f}", _holds(loss <= HIGHEST_ON_CLICKS, f"by {loss - HIGHEST_ON_CLICKS:.5f}")]


def _holds(does: bool, how: str) -> str:
    return "holds" if does else f"**does not hold**: {how}"


def _beside(rows: Table, found: list[Beside], figure: str, digits: int) -> str:
    """Return a table of cells, both ways beside 0.2 and the prototype."""
    ours, lines = cells_of(rows, figure), []
    at = {(each.task.name, each.budget, each.way): each for each in found if each.is_loss == (figure == "loss")}
    errors, known = _errors(rows, figure), ".1f" if figure == "accuracy" else "g"
    for task in TASKS:
        old = (task.old if figure == "accuracy" else task.old_losses) or (None,) * len(task.budgets)
        again = [pair[figure == "loss"] for pair in task.again] or (None,) * len(task.budgets)
        for budget, before, more in zip(task.budgets, old, again, strict=True):
            line = [task.name, f"{budget:,}", NONE if before is None else f"{before:{known}}"]
            line.append(NONE if more is None else f"{more:.{digits}f}")
            for way in WAYS:
                key = (task.name, budget, way)
                if key in ours:
                    each = at.get(key)
                    line.append(NONE if each is None else f"{each.figure:{known}}")
                    line.append(f"{ours[key]:.{digits}f}{errors[key]}")
                    gap = NONE if each is None else signed(each.difference, digits)
                    line.append(f"**{gap}**" if each is not None and each.missed_by > 0 else gap)
            if len(line) > 4:
                lines.append(line)
    heads = (head for way in WAYS for head in (f"prototype, {way}", way, "difference"))
    return table(["set", "B", "0.2", "0.2, as many readings as *fit*", *heads], lines)


def _errors(rows: Table, figure: str) -> dict[tuple[str, int, str], str]:
    """Return the standard errors over splits."""
    values: dict[tuple[str, int, str], list[float]] = {}
    for row in rows:
        values.setdefault((row["set"], int(row["budget"]), row["way"]), []).append(float(row[figure]))
    digits = 2 if figure == "accuracy" else 4
    return {
        key: f" ± {statistics.stdev(some) / len(some) ** 0.5:.{digits}f}" if len(some) > 1 else ""
        for key, some in values.items()
    }


def _missed(found: list[Beside]) -> str:
    missed = [each for each in found if each.missed_by > 0]
    if not missed:
        return "No cell is beyond its limit."
    lines = [
        f"- {each.task.name}, B = {each.budget:,}, {each.way}: {'log loss' if each.is_loss else 'accuracy'} "
        f"{signed(each.difference, 4 if each.is_loss else 2)}, {each.missed_by:.4g} beyond the limit of "
        f"{signed(each.limit)}."
        for each in missed
    ]
    return "\n".join(["Beyond their limits are:", "", *lines])


@dataclass(frozen=True)
class Probabilities:
    """A cell of the table of probabilities; `errors` are those of calibration, as in the table."""

    name: str
    budget: int
    way: str
    losses: list[float]  # own scale, sigmoid, temperature
    errors: list[float]

    @property
    def ratio(self) -> float:
        """The log loss with the own scale, as a multiple of that with the better of the others."""
        return self.losses[0] / min(self.losses[1:])

    @property
    def has_limits(self) -> bool:
        """Whether ratio and error have limits; the labels of X1 have no noise, and there others are asked for."""
        return not self.name.startswith("X1")


def _calibrated(rows: Table) -> Iterator[Probabilities]:
    losses, errors = ("own", "sigmoid", "temperature"), ("error", "error_on_half", "error_scaled", "error_by_chance")
    for (name, budget, way), found in means(rows, ("set", "budget", "way"), (*losses, *errors)):
        yield Probabilities(name, int(budget), way, found[:3], found[3:])


def _calibration(rows: Table) -> str:
    lines, missed = [], []
    for cell in _calibrated(rows):
        shown = [f"{cell.ratio:.3f}", *(f"{error:.4f}" for error in cell.errors)]
        for place, is_beyond in enumerate((cell.ratio > TIMES_CALIBRATED, cell.errors[0] > HIGHEST_ERROR)):
            if cell.has_limits and is_beyond:
                what = ("ratio", "calibration error")[place]
                more = f", {shown[3]} with a fitted scale, {shown[4]} by chance" if place else ""
                missed.append(f"- {cell.name}, B = {cell.budget:,}, {cell.way}: {what} {shown[place]}{more}.")
                shown[place] = f"**{shown[place]}**"
        lines.append([cell.name, f"{cell.budget:,}", cell.way, *(f"{loss:.4f}" for loss in cell.losses), *shown])
    scales = ("own scale", "sigmoid", "temperature")
    head = ["set", "B", "", *scales, "ratio", "calibration error", "on one half", "with a fitted scale", "by chance"]
    listed = ["", "Beyond their limits are:", "", *missed] if missed else []
    return "\n".join([table(head, lines), *listed])


def _alone(rows: Table) -> str:
    head = [
        "set",
        "B",
        "rows",
        "nonzeros",
        "of selected columns",
        "labels that change",
        "log loss",
        "alone",
        "same bits",
    ]
    lines = [
        [
            row["set"], row["budget"], *(f"{int(row[name]):,}" for name in ("rows", "nonzeros", "kept", "changed")),
            *(f"{float(row[name]):.4f}" for name in ("whole", "alone")), "yes" if row["same_bits"] == "True" else "no",
        ]
        for row in rows
    ]  # fmt: skip
    return table(head, lines)


def _once(rows: Table) -> str:
    ways = tuple(dict.fromkeys(row["way"] for row in rows))
    accuracies, losses = cells_of(rows, "accuracy"), cells_of(rows, "loss")
    lines = [
        [
            name,
            f"{budget:,}",
            *(f"{accuracies[name, budget, way]:.2f}, {losses[name, budget, way]:.4f}" for way in ways),
        ]
        for name, budget in dict.fromkeys((name, budget) for name, budget, _ in accuracies)
    ]
    return table(["set", "B", *ways], lines)
