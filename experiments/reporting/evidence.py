"""The tables that the verdicts rest on, each under the name of its placeholder in template.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from experiments.methods import GAMMA_POWERS, METHODS, PAPER_BATCH, PAPER_ONLINE, POWERS, REMEDIES, SHADOW
from experiments.paper import BUDGETS, RHO, TABLE_2
from experiments.reporting import comparisons as compare
from experiments.reporting import tables
from experiments.reporting.comparisons import NEWS, X1, Gaps
from experiments.reporting.statistics import Difference, difference, error_bounds
from experiments.reporting.tables import NONE, comparisons, points, points_and_standing, seconds, signed, table
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
            if name in REMEDIES:
                continue
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


def fig_1_sofs(record: Record) -> str:
    """Show SOFS against the other online methods on X1."""
    pairs = ((name, rival) for name in X1 for rival in ("FOFS", "PET"))
    return comparisons(row for name, rival in pairs for row in _by_range(record, name, "SOFS", rival))


def fig_1_shadow(record: Record) -> str:
    """Show ShadowSOFS against SOFS on X1."""
    pairs = ((name, method) for name in X1 for method in SHADOW)
    return comparisons(row for name, method in pairs for row in _by_range(record, name, method, "SOFS"))


def fig_1_more_rows(record: Record) -> str:
    """Show what 100,000 rows of X1 add to 20,000."""
    rows, budgets = [], record.sets[X1[0]].budgets
    for method in ("SOFS", *SHADOW):
        if gaps := compare.more_rows(record, method):
            rows.append([method, *(points_and_standing(gaps.get(budget)) for budget in budgets)])
    return table(tables.by_budget(budgets), rows)


def _by_range(record: Record, name: str, method: str, rival: str) -> Iterator[Comparison]:
    results = record.sets[name]
    for which, budgets in compare.x1_ranges(results).items():
        yield results.title, f"{method} − {rival}, {which}", _all(compare.gaps(results, method, rival, budgets))


def fig_1_mrmr(record: Record) -> str:
    """Show the other methods of the paper against mRMR on X1."""
    rivals = (*reversed(PAPER_ONLINE), "l1-SVM", "FGM")
    return comparisons(
        (results.title, f"{name} − mRMR", _all(compare.gaps(results, name, "mRMR")))
        for results in record.present(*X1)
        for name in rivals
    )


def fig_1_batch(record: Record) -> str:
    """Show SOFS beside batch methods at the largest B of X1: accuracy and time."""
    head = ["", "B", "best of l1-SVM and FGM", "SOFS − it", "fastest method", "its s", "SOFS, s"]
    head += [f"{name}'s time / SOFS's" for name in PAPER_BATCH]
    rows = []
    for results in record.present(*X1):
        budget = results.budgets[-1]
        cells = {name: cell for name in results.methods if (cell := results.cell(name, budget)).done}
        sofs = results.cell("SOFS", budget)
        rival = compare.best(results, ("l1-SVM", "FGM"), budget)
        fastest = min(cells, key=lambda name: cells[name].seconds, default="")
        row = [results.title, str(budget), rival or NONE]
        row += [points(difference(sofs, cells[rival])) if rival else NONE, fastest]
        row += [seconds(cells[fastest].seconds) if fastest else NONE, tables.cell_seconds(sofs)]
        row += [f"{cells[name].seconds / sofs.seconds:,.0f}" if name in cells else NONE for name in PAPER_BATCH]
        rows.append(row)
    return table(head, rows)


def table_2_selection(record: Record) -> str:
    """Show SOFS on X2 against the better one of the methods that keep all features."""
    if not all(name in record.x2 for name in TABLE_2):
        return table([], [])
    found = {name: record.x2[name].accuracy for name in TABLE_2}
    rival = max(("OGD", "AROW"), key=lambda name: found[name])
    low, high = error_bounds(found["SOFS"], found[rival], record.x2_size.n_test)
    row = [*(f"{value:.3f}" for value in found.values()), f"SOFS − {rival}", signed(found["SOFS"] - found[rival], 3)]
    row += [f"{low:.3f}", f"{high:.3f}", *(f"{record.x2[name].n_updates:,}" for name in ("AROW", "SOFS"))]
    head = [*found, "", "points", "se at least", "se at most", "updates, AROW", "updates, SOFS"]
    return table(head, [row])


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


def news_order(record: Record) -> str:
    """Show PET, SOFS, ShadowSOFS and FGM on the paper's split of news."""
    split = compare.paper_split(record)
    pairs = (("SOFS", "PET"), ("FGM", "SOFS"), *((method, "SOFS") for method in SHADOW))
    rows = []
    for one, other in pairs:
        if split is None:
            break
        found = (difference(split.at_share(one, share), split.at_share(other, share)) for share in RHO)
        rows.append([f"{one} − {other}", *map(points_and_standing, found)])
    return table(["", *(f"ρ = {share}" for share in RHO)], rows)


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


def batch_counts(record: Record) -> str:
    """Count where ShadowSOFS stands beside the strongest batch method: in Table 6, and in all other cells."""
    rows: list[Comparison] = []
    for method in SHADOW:
        what = f"{method} − best batch"
        rows.append(("Table 6", what, compare.table_6_batch_gaps(record, method)))
        for results in record.present(*record.sets):
            rest = results.budgets
            if results in record.medium:
                rest = [budget for budget in results.budgets if budget not in BUDGETS]
            title = f"{results.title}, other B" if results in record.medium else results.title
            rows.append((title, what, _all(compare.best_gaps(results, method, PAPER_BATCH, rest))))
    return comparisons(rows)


def remedies(record: Record) -> str:
    """Show what was tried where ShadowSOFS is below a batch method."""
    cells = compare.below_batch(record)
    if not cells:
        return "There is no such cell."
    methods, rows = (*SHADOW, *REMEDIES), []
    for results, budget, rival in cells:
        batch = results.cell(rival, budget)
        gaps = (difference(results.cell(method, budget), batch) for method in methods)
        rows.append([results.name, str(budget), rival, *map(points_and_standing, gaps)])
    return table(["", "B", "best batch", *methods], rows)


def _cell_by_cell(sets: Sequence[SetResults], method: str, rivals: tuple[str, ...]) -> str:
    """Compare a method with the best of some rivals in each cell of Table 6."""
    rows = []
    for results in sets:
        gaps = compare.best_gaps(results, method, rivals, BUDGETS)
        rows.append([results.name, *(points_and_standing(gaps.get(budget)) for budget in BUDGETS)])
    return table(tables.by_budget(BUDGETS), rows)


def table_6_best(record: Record) -> str:
    """Show the best method of each cell, and how far it is above the next."""
    rows = []
    for results in record.medium:
        row = [results.name]
        for budget in BUDGETS:
            first = compare.best(results, results.methods, budget)
            rest = [name for name in results.methods if name != first]
            gap = compare.best_gaps(results, first, rest, [budget]).get(budget) if first else None
            row.append(f"{first or NONE} {points_and_standing(gap)}")
        rows.append(row)
    return table(tables.by_budget(BUDGETS), rows)


def unscaled_changes(record: Record) -> str:
    """Show what leaving rows as they are changes; the permutations are the same."""
    found: dict[str, list[Difference]] = {}
    for results in record.unscaled:
        for method in results.methods:
            for budget in BUDGETS:
                gap = difference(results.cell(method, budget), record.scaled(results).cell(method, budget))
                found.setdefault(method, []).extend([gap] if gap else [])
    return comparisons((method, "as they are − Table 6", gaps) for method, gaps in found.items())


def norms_chosen(record: Record) -> str:
    """Show how often cross-validation chose rows of unit length in the cells of Table 6, where it could."""
    names = (name for name, method in METHODS.items() if method.has_norm_grid and name not in REMEDIES)
    found: dict[str, list[str | None]] = {name: [] for name in names}
    for results in (record.scaled(unscaled) for unscaled in record.unscaled):
        for (name, budget), chosen in results.chosen.items():
            if name in found and budget in BUDGETS:
                found[name].append(chosen["norm"])
    rows = ([name, str(len(norms)), str(norms.count("l2"))] for name, norms in found.items() if norms)
    return table(["", "cells", "unit length"], rows)


def dense_sofs(record: Record) -> str:
    """Show SOFS against the other methods on rows without a zero."""
    rivals = ("ShadowSOFS", "FOFS", "PET")
    return comparisons(row for rival in rivals for row in _by_range(record, "dense", "SOFS", rival))


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


def deviations(record: Record) -> str:
    """Show standard deviations of the online methods."""
    found = ((results.name, compare.deviations(results)) for results in [*record.medium, *record.unscaled])
    rows = ([name, *(f"{of[method]:.2f}" for method in ("FOFS", "SOFS", "PET"))] for name, of in found if of)
    return table(["", "FOFS", "SOFS", "PET"], rows)


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


def past_peak(record: Record) -> str:
    """Show l1-SVM past its peak."""
    head = ["", "peak", "features", "with the most features", "features", "change", "the others from there on"]
    rows = []
    for results in record.medium:
        if found := compare.past_peak(results):
            ends: list[str] = []
            for cell in (found.top, found.last):
                ends += [f"{cell.accuracy:.2f}", f"{cell.n_selected:,.0f}"]
            change = points_and_standing(difference(found.last, found.top))
            rows.append([results.name, *ends, change, tables.counts(found.others)])
    return table(head, rows)


def smallest_budgets(record: Record) -> str:
    """Show batch methods, online methods and ShadowSOFS at the smallest B of each set."""
    head = ["", "B", "best batch", "best of PET, FOFS, SOFS", "batch − online", *(f"{name} − batch" for name in SHADOW)]
    rows = []
    for of in compare.smallest_budgets(record):
        leads = map(points_and_standing, (of.batch_lead, *of.shadow_leads.values()))
        rows.append([of.results.name, str(of.budget), of.batch, of.online, *leads])
    return table(head, rows)


def _all(gaps: Gaps) -> list[Difference]:
    return list(gaps.values())


ALL = (
    gammas, grid_ends, fig_1_sofs, fig_1_shadow, fig_1_more_rows, fig_1_mrmr, fig_1_batch, table_2_selection,
    news_splits, news_order, table_6_comparisons, table_6_shadow, table_6_batch, batch_counts, remedies,
    table_6_best,
    unscaled_changes, norms_chosen, dense_sofs, dense_seconds, online_order, deviations, time_curves, past_peak,
    smallest_budgets,
)  # fmt: skip
