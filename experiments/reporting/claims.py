"""A verdict on each statement of the report; the statements themselves are in template.md, under the same names."""

from __future__ import annotations

from experiments.methods import PAPER_ONLINE
from experiments.paper import BUDGETS, TABLE_2
from experiments.reporting.comparisons import (
    SAME_TIME,
    X1,
    against_table_6,
    gaps,
    more_rows,
    order,
    smallest_budgets,
    table_6_batch_gaps,
    time_curve,
)
from experiments.reporting.statistics import (
    Verdict,
    few_below,
    judge,
    most_above,
)
from experiments.results import Record

LEAST_ON_X2, TIMES_FASTER = 99.4, 8
MOST_BELOW = 2  # cells of Table 6


def verdicts(record: Record) -> dict[str, Verdict]:
    """Judge every statement."""
    return {
        "sofs_on_ccat": sofs_against_paper(record, "ccat", -1.0),
        "sofs_on_basehock": sofs_against_paper(record, "basehock", -1.0),
        "sofs_on_relathe": sofs_against_paper(record, "relathe", 0.0),
        "order_with_pet": order_of_online(record, "PET"),
        "order_with_pet_perceptron": order_of_online(record, "PET perceptron"),
        "shadow_at_least_sofs": shadow_at_least(record, "SOFS"),
        "shadow_at_least_mrmr": shadow_at_least(record, "mRMR"),
        "shadow_level_with_batch": few_below(table_6_batch_gaps(record, "ShadowSOFS"), MOST_BELOW),
        "defaults_level_with_batch": few_below(table_6_batch_gaps(record, "ShadowSOFS defaults"), MOST_BELOW),
        "shadow_gains_by_rows": few_below(more_rows(record, "ShadowSOFS").values(), 0),
        "defaults_gain_by_rows": few_below(more_rows(record, "ShadowSOFS defaults").values(), 0),
        "accuracy_on_x2": accuracy_on_x2(record),
        "speed_on_x2": speed_on_x2(record),
        "time_falls_then_rises": time_falls_then_rises(record),
        "sofs_cheapest_on_dense": sofs_cheapest_on_dense(record),
        "batch_better_at_small_budgets": most_above([each.lead for each in smallest_budgets(record) if each.lead]),
    }


def sofs_against_paper(record: Record, name: str, least: float) -> Verdict:
    """SOFS in Table 6 is no further below the paper than this, by the mean."""
    found = against_table_6(record.sets[name], "SOFS").values()
    return judge(all(gap.mean >= least for gap in found)) if found else Verdict.NO_DATA


def order_of_online(record: Record, pet: str) -> Verdict:
    """PET < FOFS < SOFS on every medium set and on X1, by the mean over budgets."""
    found = [order(results, pet) for results in [*record.medium, *record.present(*X1)]]
    steps = [step for one in found if one is not None for step in one.steps]
    return judge(all(step.mean > 0 for step in steps)) if steps else Verdict.NO_DATA


def shadow_at_least(record: Record, rival: str) -> Verdict:
    """ShadowSOFS is at or above a rival in every cell of Table 6, by the mean."""
    found = [gap for results in record.medium for gap in gaps(results, "ShadowSOFS", rival, BUDGETS).values()]
    return judge(all(gap.mean >= 0 for gap in found)) if found else Verdict.NO_DATA


def accuracy_on_x2(record: Record) -> Verdict:
    """SOFS on X2 is accurate enough."""
    sofs = record.x2.get("SOFS")
    return judge(round(sofs.accuracy, 9) >= LEAST_ON_X2) if sofs else Verdict.NO_DATA


def speed_on_x2(record: Record) -> Verdict:
    """SOFS on X2 is so many times faster than the paper's."""
    sofs = record.x2.get("SOFS")
    return judge(sofs.seconds * TIMES_FASTER <= TABLE_2["SOFS"][0]) if sofs else Verdict.NO_DATA


def time_falls_then_rises(record: Record) -> Verdict:
    """Most curves of an online method's time fall, then rise."""
    curves = [time_curve(results, name) for results in record.medium for name in PAPER_ONLINE]
    shapes = [curve.shape for curve in curves if curve is not None]
    return judge(2 * shapes.count("falls, then rises") > len(shapes)) if shapes else Verdict.NO_DATA


def sofs_cheapest_on_dense(record: Record) -> Verdict:
    """SOFS takes the least time, or as good as that, at every budget on rows without a zero."""
    dense = record.sets["dense"]
    budgets = [b for b in dense.budgets if all(dense.cell(name, b).done for name in PAPER_ONLINE)]
    times = [{name: dense.cell(name, budget).seconds for name in PAPER_ONLINE} for budget in budgets]
    if not times:
        return Verdict.NO_DATA
    return judge(all(of["SOFS"] <= (1 + SAME_TIME) * min(of.values()) for of in times))
