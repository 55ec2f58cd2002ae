"""The comparisons of the report, as plain data: the claims are judged and the tables are written from it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from experiments.methods import PAPER_BATCH, PAPER_ONLINE
from experiments.paper import BUDGETS, NEWS_NONZEROS, RHO, TABLE_4, TABLE_6
from experiments.reporting.statistics import (
    Difference,
    difference,
    mean_difference,
    unpaired_difference,
)
from experiments.results import Cell, Record, SetResults

NEWS = ("news-last", "news-first", "news-random")
X1 = ("x1", "x1-20k")

# Differences below this share of a time are not called differences.
SAME_TIME = 0.05

Gaps = dict[int, Difference]  # by budget


def gaps(results: SetResults, method: str, rival: str, budgets: Iterable[int] | None = None) -> Gaps:
    """Return how far a method is above another, at each budget where both have figures."""
    return best_gaps(results, method, (rival,), budgets)


def best_gaps(results: SetResults, method: str, rivals: Iterable[str], budgets: Iterable[int] | None = None) -> Gaps:
    """Return how far a method is above the strongest of some rivals, at each budget where there are figures."""
    tried = {b: strongest(results, method, rivals, b) for b in (results.budgets if budgets is None else budgets)}
    return {budget: found[1] for budget, found in tried.items() if found is not None}


def strongest(results: SetResults, method: str, rivals: Iterable[str], budget: int) -> tuple[str, Difference] | None:
    """Return the rival that a method is least above, over the permutations that both have, and how far it is."""
    mine = results.cell(method, budget)
    found = {name: gap for name in rivals if (gap := difference(mine, results.cell(name, budget))) is not None}
    return min(found.items(), key=lambda item: item[1].mean, default=None)


def table_6_batch_gaps(record: Record, method: str) -> list[Difference]:
    """Return how far a method is above the strongest batch method, in all cells of Table 6 that have data."""
    return [gap for results in record.medium for gap in best_gaps(results, method, PAPER_BATCH, BUDGETS).values()]


def more_rows(record: Record, method: str) -> Gaps:
    """Return how far a method is higher with 100,000 rows of X1 than with 20,000; the test rows are not the same."""
    many, few = (record.sets[name] for name in X1)
    found = {}
    for budget in many.budgets:
        cells = many.cell(method, budget), few.cell(method, budget)
        if all(cell.done for cell in cells):
            found[budget] = unpaired_difference(*cells)
    return found


def best(results: SetResults, methods: Iterable[str], budget: int) -> str | None:
    """Return the method with the highest mean accuracy; None where none of them has figures."""
    done = {name: cell for name in methods if (cell := results.cell(name, budget)).done}
    return max(done, key=lambda name: done[name].accuracy, default=None)


def against_paper(cells: Iterable[Cell], paper: Iterable[float]) -> Gaps:
    """Return how far cells are above the paper's figures; the standard error is that of our mean alone."""
    found = {cell.budget: difference(cell, value) for cell, value in zip(cells, paper, strict=True)}
    return {budget: gap for budget, gap in found.items() if gap is not None}


def against_table_6(results: SetResults, method: str) -> Gaps:
    """Return how far a method on a medium set is above the paper's."""
    return against_paper((results.cell(method, budget) for budget in BUDGETS), TABLE_6[results.name][method])


def against_news(results: SetResults, method: str) -> Gaps:
    """Return how far a method on a split of news is above the paper's."""
    return against_paper((results.at_share(method, share) for share in RHO), (x for x, _ in TABLE_4["news"][method]))


def toward_paper(results: SetResults) -> list[Difference]:
    """Return how far the one of SOFS and mRMR that is better in the paper is above the other one here."""
    paper = TABLE_6[results.name]
    found: list[Difference] = []
    for budget, sofs, mrmr in zip(BUDGETS, paper["SOFS"], paper["mRMR"], strict=True):
        better, worse = ("SOFS", "mRMR") if sofs > mrmr else ("mRMR", "SOFS")
        found += gaps(results, better, worse, [budget]).values()
    return found


def distance_on_news(results: SetResults) -> float | None:
    """Return how far SOFS on a split of news is from the paper's, on average, above or below."""
    found = against_news(results, "SOFS").values()
    return statistics.fmean(abs(gap.mean) for gap in found) if found else None


def paper_split(record: Record) -> SetResults | None:
    """Return the split of news that has the paper's nonzeros, or else the one whose SOFS is nearest to the paper's."""
    present = [results for results in record.present(*NEWS) if distance_on_news(results) is not None]
    exact = [results for results in present if results.train_nonzeros == NEWS_NONZEROS]
    return min(exact or present, key=lambda results: distance_on_news(results) or 0.0, default=None)


@dataclass(frozen=True)
class Order:
    """PET, FOFS and SOFS on a set: their accuracies and FOFS − PET, SOFS − FOFS, as means over budgets."""

    budgets: list[int]
    means: list[float]
    steps: list[Difference]


def order(results: SetResults, pet: str) -> Order | None:
    """Compare PET, FOFS and SOFS over the budgets at which all three have figures."""
    three = (pet, "FOFS", "SOFS")
    budgets = [b for b in results.budgets if all(results.cell(name, b).done for name in three)]
    pairs = ((three[1], three[0]), (three[2], three[1]))
    steps = [mean_difference([(results.cell(one, b), results.cell(two, b)) for b in budgets]) for one, two in pairs]
    if not budgets or None in steps:
        return None
    means = [statistics.fmean(results.cell(name, b).accuracy for b in budgets) for name in three]
    return Order(budgets, means, [step for step in steps if step is not None])


def shape(seconds: list[float]) -> str:
    """Return how a time changes with the budget."""
    least = min(seconds)
    falls, rises = seconds[0] > (1 + SAME_TIME) * least, seconds[-1] > (1 + SAME_TIME) * least
    return {(True, True): "falls, then rises", (True, False): "falls", (False, True): "rises"}.get(
        (falls, rises), "level"
    )


@dataclass(frozen=True)
class TimeCurve:
    """How the time of an online method changes with the budget, without and with a full truncation per update."""

    shape: str
    truncating_shape: str
    fewer_updates: bool  # at the largest budget than at the smallest


def time_curve(results: SetResults, method: str) -> TimeCurve | None:
    """Look at a curve of three budgets or more."""
    curve = results.curve(method)
    if len(curve) < 3:
        return None
    truncating = [results.truncating_seconds(method, cell.budget) for cell in curve]
    fewer = curve[-1].n_updates < curve[0].n_updates
    return TimeCurve(shape([cell.seconds for cell in curve]), shape(truncating), fewer)


@dataclass(frozen=True)
class SmallestBudget:
    """The best batch and the best online method of the paper at the smallest budget of a set."""

    results: SetResults
    budget: int
    batch: str
    online: str
    lead: Difference | None  # of the batch method


def smallest_budgets(record: Record) -> list[SmallestBudget]:
    """Compare them on the medium sets and the shorter X1."""
    found = []
    for results in [*record.medium, *record.present("x1-20k")]:
        budget = results.budgets[0]
        batch, online = best(results, PAPER_BATCH, budget), best(results, PAPER_ONLINE, budget)
        if batch and online:
            lead = difference(results.cell(batch, budget), results.cell(online, budget))
            found.append(SmallestBudget(results, budget, batch, online, lead))
    return found
