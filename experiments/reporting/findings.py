"""What the report judges: each function returns a table, or several, and the verdicts on statements that rest on it.

Tables stand in template.md under the function's name, verdicts under their own.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from experiments.methods import PAPER_BATCH, PAPER_ONLINE, SHADOW, TABLE_2_METHODS
from experiments.paper import BUDGETS, TABLE_2, TABLE_6, X1
from experiments.reporting import tables
from experiments.reporting.differences import (
    Difference,
    Gaps,
    Standing,
    Verdict,
    against_paper,
    difference,
    error_of_share,
    few_below,
    gaps,
    judge,
    mean_difference,
    most_above,
    strongest,
    unpaired_difference,
)
from experiments.reporting.tables import NONE, points, points_and_standing, table
from experiments.results import Record
from experiments.truncation import ADDED_TO

Finding = tuple[str | dict[str, str], dict[str, Verdict]]

LEAST_ON_X2, TIMES_FASTER = 99.4, 8
MOST_BELOW = 2  # cells of Table 6
MOST_LOST = 0.5  # points beside one layer
SAME_TIME = 0.05  # differences below this share of a time are not called differences


def fig_1_more_rows(record: Record) -> Finding:
    """Show what 100,000 rows of X1 add to 20,000; the test rows are not the same."""
    many, few = (record.sets[name] for name in X1)
    found: dict[str, Gaps] = {}
    for method in ("SOFS", *SHADOW):
        cells = ((many.cell(method, budget), few.cell(method, budget)) for budget in many.budgets)
        found[method] = {a.budget: unpaired_difference(a, b) for a, b in cells if a.done and b.done}
    rows = ([method, *_by_budget(of, many.budgets)] for method, of in found.items() if of)
    return table(tables.by_budget(many.budgets), rows), {
        "shadow_gains_by_rows": few_below(found["ShadowSOFS"].values(), 0),
        "defaults_gain_by_rows": few_below(found["ShadowSOFS defaults"].values(), 0),
    }


def table_2(record: Record) -> Finding:
    """Show X2 beside the paper, where SOFS must be accurate and fast."""
    head = ["", "chosen", "s, with the generator", "CPU s of the learner", "s, paper", "paper's time / ours"]
    head += ["accuracy", "paper", "difference", "sparsity %", "paper", "peak memory"]
    rows = []
    for name in (name for name in TABLE_2_METHODS if name in record.x2):
        ours, there = record.x2[name], [NONE] * 5
        if name in TABLE_2:
            took, accuracy, sparsity = TABLE_2[name]
            gap = Difference(ours.accuracy - accuracy, error_of_share(ours.accuracy, record.x2_size.n_test), 1)
            there = [f"{took:.0f}", f"{took / ours.seconds:.1f}", f"{accuracy:.2f}", points(gap), str(sparsity)]
        rows.append([
            name, tables.parameters(ours.parameters), f"{ours.seconds:.1f}", f"{ours.learning_seconds:.1f}", *there[:2],
            f"{ours.accuracy:.2f}", *there[2:4], f"{ours.sparsity:.5f}".rstrip("0"), there[4],
            f"{ours.gigabytes:.2f} GB",
        ])  # fmt: skip
    sofs = [record.x2["SOFS"]] if "SOFS" in record.x2 else []
    return table(head, rows), {
        "accuracy_on_x2": judge(round(of.accuracy, 9) >= LEAST_ON_X2 for of in sofs),
        "speed_on_x2": judge(of.seconds * TIMES_FASTER <= TABLE_2["SOFS"][0] for of in sofs),
    }


def table_6_comparisons(record: Record) -> Finding:
    """Show SOFS and mRMR against the paper, and against each other as the paper has them."""
    rows, verdicts = [], dict.fromkeys(("sofs_on_ccat", "sofs_on_basehock", "sofs_on_relathe"), Verdict.NO_DATA)
    for results in record.medium:
        paper = TABLE_6[results.name]
        for method in ("SOFS", "mRMR"):
            found = against_paper((results.cell(method, budget) for budget in BUDGETS), paper[method]).values()
            rows.append((results.name, f"{method} − paper", found))
            if method == "SOFS" and f"sofs_on_{results.name}" in verdicts:
                least = 0.0 if results.name == "relathe" else -1.0
                verdicts[f"sofs_on_{results.name}"] = judge(gap.mean >= least for gap in found)
        toward: Gaps = {}
        for budget, sofs, mrmr in zip(BUDGETS, paper["SOFS"], paper["mRMR"], strict=True):
            better, worse = ("SOFS", "mRMR") if sofs > mrmr else ("mRMR", "SOFS")
            toward |= gaps(results, better, (worse,), [budget])
        rows.append((results.name, "the paper's better one of SOFS and mRMR − other", toward.values()))
    return tables.comparisons(rows), verdicts


def table_6_shadow(record: Record) -> Finding:
    """Show ShadowSOFS against SOFS and mRMR, cell by cell."""
    shown, verdicts = {}, {}
    for rival in ("SOFS", "mRMR"):
        found = {results.name: gaps(results, "ShadowSOFS", (rival,), BUDGETS) for results in record.medium}
        rows = ([name, *_by_budget(of, BUDGETS)] for name, of in found.items())
        shown[rival] = table(tables.by_budget(BUDGETS), rows)
        at_least = (gap.mean >= 0 for of in found.values() for gap in of.values())
        verdicts[f"shadow_at_least_{rival.lower()}"] = judge(at_least)
    return shown, verdicts


def table_6_batch(record: Record) -> Finding:
    """Show ShadowSOFS against the strongest batch method, cell by cell."""
    shown, verdicts = {}, {}
    for method, name in zip(SHADOW, ("shadow", "defaults"), strict=True):
        found = {results.name: strongest(results, method, PAPER_BATCH, BUDGETS) for results in record.medium}
        cells = {
            of: {b: f"{points_and_standing(gap)}, {rival}" for b, (rival, gap) in by.items()}
            for of, by in found.items()
        }
        rows = ([of, *(by.get(budget, NONE) for budget in BUDGETS)] for of, by in cells.items())
        shown[method] = table(tables.by_budget(BUDGETS), rows)
        leads = [gap for by in found.values() for _, gap in by.values()]
        verdicts[f"{name}_level_with_batch"] = few_below(leads, MOST_BELOW)
    return shown, verdicts


def table_6_one_layer(record: Record) -> Finding:
    """Show ShadowSOFS's defaults against what they gave before the second layer, cell by cell."""
    found: dict[str, Gaps] = {}
    for results in record.medium:
        for budget in BUDGETS:
            before = record.one_layer.get((results.name, budget))
            if before and (gap := difference(results.cell(SHADOW[1], budget), before)):
                found.setdefault(results.name, {})[budget] = gap
    rows = ([name, *_by_budget(of, BUDGETS)] for name, of in found.items())
    lower = (gap.mean < -MOST_LOST and gap.standing is Standing.BELOW for of in found.values() for gap in of.values())
    return table(tables.by_budget(BUDGETS), rows), {"defaults_beside_one_layer": judge(not low for low in lower)}


def dense_seconds(record: Record) -> Finding:
    """Show times on rows without a zero, where SOFS must be the cheapest or as good as that."""
    dense, rows, cheapest = record.sets["dense"], [], []
    for budget in dense.budgets:
        cells = {name: dense.cell(name, budget) for name in ("SOFS", "PET", "FOFS")}
        full = [dense.truncating_seconds(name, budget) for name in ("PET", "FOFS")]
        rows.append([str(budget), *(f"{of.seconds:.3f}" for of in cells.values()), *(f"{time:.2f}" for time in full)])
        if all(cell.done for cell in cells.values()):
            least = min(cell.seconds for cell in cells.values())
            cheapest.append(cells["SOFS"].seconds <= (1 + SAME_TIME) * least)
    head = ["B", "SOFS, s", "PET, s", "FOFS, s", "PET, truncating d", "FOFS, truncating d"]
    return table(head, rows), {"sofs_cheapest_on_dense": judge(cheapest)}


def online_order(record: Record) -> Finding:
    """Show PET, FOFS and SOFS by their means over budgets, with either loss of PET; raw rows do not count."""
    shown, verdicts = {}, {}
    for pet in ("PET", "PET perceptron"):
        rows, ascends = [], []
        for results in [*record.medium, *record.present(*X1), *record.unscaled]:
            names, pairs = (pet, "FOFS", "SOFS"), (("FOFS", pet), ("SOFS", "FOFS"))
            budgets = [b for b in results.budgets if all(results.cell(name, b).done for name in names)]
            steps = [
                step
                for one, two in pairs
                if (step := mean_difference([(results.cell(one, b), results.cell(two, b)) for b in budgets]))
            ]
            if len(steps) < len(pairs):
                continue
            means = (statistics.fmean(results.cell(name, b).accuracy for b in budgets) for name in names)
            counts = (tables.counts(gaps(results, one, (two,), budgets).values()) for one, two in pairs)
            rows.append([results.title, *(f"{mean:.2f}" for mean in means), *map(points, steps), *counts])
            if results.config.table != "raw":
                ascends += [step.mean > 0 for step in steps]
        head = ["", pet, "FOFS", "SOFS", f"FOFS − {pet}", "SOFS − FOFS", f"FOFS − {pet} by B", "SOFS − FOFS by B"]
        shown[pet] = table(head, rows)
        verdicts["order_with_" + pet.lower().replace(" ", "_")] = judge(ascends)
    return shown, verdicts


def time_curves(record: Record) -> Finding:
    """Show how the time of the online methods changes with B, without and with a full truncation per update."""
    rows, shapes = [], []
    for results in record.medium:
        curves = {name: curve for name in PAPER_ONLINE if len(curve := results.curve(name)) >= 3}
        seconds = {name: [cell.seconds for cell in curve] for name, curve in curves.items()}
        full = {
            name: [results.truncating_seconds(name, cell.budget) for cell in curves[name]]
            for name in curves
            if name in ADDED_TO
        }
        own = [_shape(seconds[name]) if name in seconds else NONE for name in PAPER_ONLINE]
        fewer = [curve[-1].n_updates < curve[0].n_updates for curve in curves.values()]
        truncating = [_shape(full[name]) if name in full else NONE for name in ("PET", "FOFS")]
        rows.append([results.name, *own, *truncating, f"{sum(fewer)} of {len(fewer)}"])
        shapes += [shape for shape in own if shape != NONE]
    head = ["", *PAPER_ONLINE, "PET, truncating d", "FOFS, truncating d", "fewer updates at the largest B"]
    most = [2 * shapes.count("falls, then rises") > len(shapes)] if shapes else []
    return table(head, rows), {"time_falls_then_rises": judge(most)}


def smallest_budgets(record: Record) -> Finding:
    """Show the best batch method and the best online one at the smallest B of each set."""
    rows: list[list[str]] = []
    leads: list[Difference] = []
    for results in [*record.medium, *record.present("x1-20k")]:
        budget = results.budgets[0]
        best = [
            max(done, key=lambda cell: cell[1].accuracy)
            for names in (PAPER_BATCH, PAPER_ONLINE)
            if (done := [(name, cell) for name in names if (cell := results.cell(name, budget)).done])
        ]
        if len(best) == 2:
            (batch, its), (online, other) = best
            lead = difference(its, other)
            rows.append([results.name, str(budget), batch, online, points_and_standing(lead)])
            leads += [lead] if lead else []
    head = ["", "B", "best batch", "best of PET, FOFS, SOFS", "batch − online"]
    return table(head, rows), {"batch_better_at_small_budgets": most_above(leads)}


def _by_budget(found: Gaps, budgets: Iterable[int]) -> list[str]:
    return [points_and_standing(found.get(budget)) for budget in budgets]


def _shape(seconds: list[float]) -> str:
    """Return how a time changes with the budget."""
    least = min(seconds)
    falls, rises = seconds[0] > (1 + SAME_TIME) * least, seconds[-1] > (1 + SAME_TIME) * least
    return "falls, then rises" if falls and rises else "falls" if falls else "rises" if rises else "level"


ALL = (
    fig_1_more_rows, table_2, table_6_comparisons, table_6_shadow, table_6_batch, table_6_one_layer,
    dense_seconds, online_order, time_curves, smallest_budgets,
)  # fmt: skip
