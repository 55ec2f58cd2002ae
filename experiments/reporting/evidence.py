"""The tables that the verdicts rest on, each under the name of its placeholder in template.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.methods import GAMMA_POWERS, METHODS, PAPER_BATCH, PAPER_ONLINE, POWERS, SHADOW
from experiments.paper import BUDGETS
from experiments.reporting import comparisons as compare
from experiments.reporting import tables
from experiments.reporting.comparisons import NEWS, X1, Gaps
from experiments.reporting.statistics import Difference
from experiments.reporting.tables import NONE, comparisons, points, points_and_standing, signed, table
from experiments.results import Record, SetResults

Comparison = tuple[str, str, list[Difference]]


def gammas(record: Record) -> str:
    """Say which γ are tried."""
    others: dict[tuple[int, int], list[str]] = {POWERS: ["X2"]}
    for name, results in record.sets.items():
        if results.config.gamma_powers != GAMMA_POWERS:
            others.setdefault(results.config.gamma_powers, []).append(name)
    parts = (f"{tables.powers(ends)} on {', '.join(names)}" for ends, names in others.items())
    return f"{tables.powers(GAMMA_POWERS)} ({'; '.join(parts)})"


def grid_ends(record: Record) -> str:
    """Show how often a parameter was chosen from an end of its grid."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for results in record.sets.values():
        for (name, _), chosen in results.chosen.items():
            for parameter, ends in METHODS[name].ends(results.config.gamma_powers).items():
                found.setdefault((name, parameter), Counter()).update([_end(chosen[parameter], ends)])
    for name, on_x2 in record.x2.items():
        for parameter, ends in METHODS[name].ends().items():
            found[f"{name} on X2", parameter] = Counter([_end(on_x2.parameters[parameter], ends)])
    rows = (
        [name, tables.GREEK[parameter], *(str(n) for n in (counts.total(), counts["smallest"], counts["largest"]))]
        for (name, parameter), counts in found.items()
    )
    return table(["", "parameter", "choices", "smallest value", "largest value"], rows)


def _end(value: float, ends: tuple[float, float]) -> str:
    return {ends[0]: "smallest", ends[1]: "largest"}.get(value, "between")


def fig_1_more_rows(record: Record) -> str:
    """Show what 100,000 rows of X1 add to 20,000."""
    rows, budgets = [], record.sets[X1[0]].budgets
    for method in ("SOFS", *SHADOW):
        if gaps := compare.more_rows(record, method):
            rows.append([method, *(points_and_standing(gaps.get(budget)) for budget in budgets)])
    return table(tables.by_budget(budgets), rows)


def news_splits(record: Record) -> str:
    """Show how near each split of news is to the paper's."""
    head = ["", "training nonzeros", "SOFS − paper, lowest", "highest", "mean distance"]
    rows = []
    for results in record.present(*NEWS):
        if distance := compare.distance_on_news(results):
            means = [gap.mean for gap in compare.against_news(results, "SOFS").values()]
            far = [signed(min(means)), signed(max(means)), f"{distance:.1f}"]
            rows.append([results.title, f"{results.train_nonzeros:,}", *far])
    return table(head, rows)


def table_6_comparisons(record: Record) -> str:
    """Show SOFS and mRMR against the paper, and against each other."""
    rows: list[Comparison] = []
    for results in record.medium:
        for method in ("SOFS", "mRMR"):
            rows.append((results.name, f"{method} − paper", _all(compare.against_table_6(results, method))))
        rows.append((results.name, "the paper's better one of SOFS and mRMR − other", compare.toward_paper(results)))
    return comparisons(rows)


def table_6_shadow(record: Record) -> dict[str, str]:
    """Show ShadowSOFS against SOFS and mRMR, cell by cell."""
    return {rival: _cell_by_cell(record.medium, "ShadowSOFS", (rival,)) for rival in ("SOFS", "mRMR")}


def table_6_batch(record: Record) -> dict[str, str]:
    """Show ShadowSOFS against the strongest batch method, cell by cell."""
    found = {}
    for method in SHADOW:
        rows = []
        for results in record.medium:
            rivals = (compare.strongest(results, method, PAPER_BATCH, budget) for budget in BUDGETS)
            rows.append([results.name, *(f"{points_and_standing(of[1])}, {of[0]}" if of else NONE for of in rivals)])
        found[method] = table(tables.by_budget(BUDGETS), rows)
    return found


def _cell_by_cell(sets: Sequence[SetResults], method: str, rivals: tuple[str, ...]) -> str:
    """Compare a method with the best of some rivals in each cell of Table 6."""
    rows = []
    for results in sets:
        gaps = compare.best_gaps(results, method, rivals, BUDGETS)
        rows.append([results.name, *(points_and_standing(gaps.get(budget)) for budget in BUDGETS)])
    return table(tables.by_budget(BUDGETS), rows)


def dense_seconds(record: Record) -> str:
    """Show times on rows without a zero."""
    dense, rows = record.sets["dense"], []
    for budget in dense.budgets:
        times = [dense.cell(name, budget).seconds for name in ("SOFS", "PET", "FOFS")]
        full = [dense.truncating_seconds(name, budget) for name in ("PET", "FOFS")]
        rows.append([str(budget), *(f"{time:.3f}" for time in times), *(f"{time:.2f}" for time in full)])
    return table(["B", "SOFS, s", "PET, s", "FOFS, s", "PET, truncating d", "FOFS, truncating d"], rows)


def online_order(record: Record) -> dict[str, str]:
    """Show PET, FOFS and SOFS by their means over budgets, with either loss of PET."""
    found = {}
    for pet in ("PET", "PET perceptron"):
        head = ["", pet, "FOFS", "SOFS", f"FOFS − {pet}", "SOFS − FOFS", f"FOFS − {pet} by B", "SOFS − FOFS by B"]
        rows = []
        for results in [*record.medium, *record.present(*X1), *record.unscaled]:
            if order := compare.order(results, pet):
                pairs = (("FOFS", pet), ("SOFS", "FOFS"))
                by_budget = (_all(compare.gaps(results, *pair, order.budgets)) for pair in pairs)
                means = (f"{mean:.2f}" for mean in order.means)
                rows.append([results.title, *means, *map(points, order.steps), *map(tables.counts, by_budget)])
        found[pet] = table(head, rows)
    return found


def time_curves(record: Record) -> str:
    """Show how the time of the online methods changes with B."""
    rows = []
    for results in record.medium:
        curves = {name: compare.time_curve(results, name) for name in PAPER_ONLINE}
        shapes = [curve.shape if curve else NONE for curve in curves.values()]
        full = [curve.truncating_shape if (curve := curves[name]) else NONE for name in ("PET", "FOFS")]
        fewer = [curve.fewer_updates for curve in curves.values() if curve]
        rows.append([results.name, *shapes, *full, f"{sum(fewer)} of {len(fewer)}"])
    return table(["", *PAPER_ONLINE, "PET, truncating d", "FOFS, truncating d", "fewer updates at the largest B"], rows)


def smallest_budgets(record: Record) -> str:
    """Show batch methods and online methods at the smallest B of each set."""
    head = ["", "B", "best batch", "best of PET, FOFS, SOFS", "batch − online"]
    return table(
        head,
        (
            [of.results.name, str(of.budget), of.batch, of.online, points_and_standing(of.lead)]
            for of in compare.smallest_budgets(record)
        ),
    )


def _all(gaps: Gaps) -> list[Difference]:
    return list(gaps.values())


ALL = (
    gammas, grid_ends, fig_1_more_rows, news_splits, table_6_comparisons, table_6_shadow, table_6_batch, dense_seconds,
    online_order, time_curves, smallest_budgets,
)  # fmt: skip
