"""A verdict on each statement of the report; the statements themselves are in template.md, under the same names."""

from __future__ import annotations

from experiments.methods import PAPER_ONLINE
from experiments.paper import BUDGETS, RHO, TABLE_2
from experiments.reporting.comparisons import (
    SAME_TIME,
    X1,
    against_table_6,
    deviations,
    gaps,
    more_rows,
    order,
    paper_split,
    past_peak,
    smallest_budgets,
    table_6_batch_gaps,
    time_curve,
    toward_paper,
)
from experiments.reporting.statistics import (
    Difference,
    Standing,
    Verdict,
    all_above,
    difference,
    error_bounds,
    few_below,
    judge,
    most_above,
    standings,
)
from experiments.results import Record

LEAST_ON_X2, TIMES_FASTER = 99.4, 8
MUCH_LARGER = 1.5  # times, of a standard deviation
MOST_BELOW = 2  # cells of Table 6
CONSIDERABLE = 0.5  # points, of a drop in accuracy


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
        "fofs_varies_more": fofs_varies_more(record),
        "time_falls_then_rises": time_falls_then_rises(record),
        "l1svm_drops": l1svm_drops(record),
        "sofs_cheapest_on_dense": sofs_cheapest_on_dense(record),
        "batch_better_at_small_budgets": most_above([c.batch_lead for c in smallest_budgets(record) if c.batch_lead]),
        "shadow_above_batch": shadow_above_batch(record, "ShadowSOFS"),
        "defaults_above_batch": shadow_above_batch(record, "ShadowSOFS defaults"),
        "order_on_news": order_on_news(record),
        "better_one_is_the_papers": all_above([gap for results in record.medium for gap in toward_paper(results)]),
        "mrmr_worst_on_x1": mrmr_worst_on_x1(record),
        "sofs_first_on_x1": sofs_first_on(record, "x1"),
        "sofs_first_on_x1_20k": sofs_first_on(record, "x1-20k"),
        "sofs_first_on_dense": sofs_first_on(record, "dense"),
        "shadow_above_sofs_on_x1": shadow_above_sofs_on_x1(record, "ShadowSOFS"),
        "defaults_above_sofs_on_x1": shadow_above_sofs_on_x1(record, "ShadowSOFS defaults"),
        "selection_better_on_x2": selection_better_on_x2(record),
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


def fofs_varies_more(record: Record) -> Verdict:
    """FOFS's standard deviation is much larger than those of SOFS and PET on half of the medium sets."""
    found = [of for results in record.medium if (of := deviations(results)) is not None]
    larger = [of["FOFS"] > MUCH_LARGER * max(of["SOFS"], of["PET"]) for of in found]
    return judge(2 * sum(larger) >= len(larger)) if found else Verdict.NO_DATA


def time_falls_then_rises(record: Record) -> Verdict:
    """Most curves of an online method's time fall, then rise."""
    curves = [time_curve(results, name) for results in record.medium for name in PAPER_ONLINE]
    shapes = [curve.shape for curve in curves if curve is not None]
    return judge(2 * shapes.count("falls, then rises") > len(shapes)) if shapes else Verdict.NO_DATA


def l1svm_drops(record: Record) -> Verdict:
    """l1-SVM drops considerably on most sets, and most of the other methods do not."""
    found = [of for results in record.medium if (of := past_peak(results)) is not None]
    if not found:
        return Verdict.NO_DATA
    others = [rise for of in found for rise in of.others]
    n_drops = sum(of.drop.standing is Standing.ABOVE and of.drop.mean > CONSIDERABLE for of in found)
    n_open = sum(_may_be_considerable(of.drop) for of in found)
    if 2 * standings(others)[Standing.BELOW] > len(others) or 2 * (n_drops + n_open) <= len(found):
        return Verdict.FAILS
    return Verdict.HOLDS if others and 2 * n_drops > len(found) else Verdict.UNDECIDED


def _may_be_considerable(drop: Difference) -> bool:
    if drop.standard_error is None:
        return True
    return drop.standing is Standing.LEVEL and drop.mean + 2 * drop.standard_error > CONSIDERABLE


def sofs_cheapest_on_dense(record: Record) -> Verdict:
    """SOFS takes the least time, or as good as that, at every budget on rows without a zero."""
    dense = record.sets["dense"]
    budgets = [b for b in dense.budgets if all(dense.cell(name, b).done for name in PAPER_ONLINE)]
    times = [{name: dense.cell(name, budget).seconds for name in PAPER_ONLINE} for budget in budgets]
    if not times:
        return Verdict.NO_DATA
    return judge(all(of["SOFS"] <= (1 + SAME_TIME) * min(of.values()) for of in times))


def order_on_news(record: Record) -> Verdict:
    """PET < SOFS < FGM at every ρ."""
    split = paper_split(record)
    if split is None:
        return Verdict.NO_DATA
    pairs = [(one, other, share) for one, other in (("SOFS", "PET"), ("FGM", "SOFS")) for share in RHO]
    found = [difference(split.at_share(one, share), split.at_share(other, share)) for one, other, share in pairs]
    return all_above([gap for gap in found if gap is not None])


def mrmr_worst_on_x1(record: Record) -> Verdict:
    """Every other method of the paper is above mRMR on X1."""
    rivals = (*PAPER_ONLINE, "l1-SVM", "FGM")
    found = [gaps(results, name, "mRMR") for results in record.present(*X1) for name in rivals]
    return all_above([gap for of in found for gap in of.values()])


def sofs_first_on(record: Record, name: str) -> Verdict:
    """SOFS is above FOFS and PET at every budget."""
    found = [gaps(record.sets[name], "SOFS", rival) for rival in ("FOFS", "PET")]
    return all_above([gap for of in found for gap in of.values()])


def shadow_above_batch(record: Record, shadow: str) -> Verdict:
    """ShadowSOFS is above the best batch method at the smallest budgets."""
    leads = [of.shadow_leads[shadow] for of in smallest_budgets(record)]
    return all_above([lead for lead in leads if lead is not None])


def shadow_above_sofs_on_x1(record: Record, shadow: str) -> Verdict:
    """ShadowSOFS is above SOFS at every budget of X1."""
    found = [gaps(results, shadow, "SOFS") for results in record.present(*X1)]
    return all_above([gap for of in found for gap in of.values()])


def selection_better_on_x2(record: Record) -> Verdict:
    """SOFS is above the methods that keep all features, by more than twice the largest error it can have."""
    if not all(name in record.x2 for name in TABLE_2):
        return Verdict.NO_DATA
    sofs, rival = record.x2["SOFS"].accuracy, max(record.x2[name].accuracy for name in ("OGD", "AROW"))
    _, error = error_bounds(sofs, rival, record.x2_size.n_test)
    if abs(sofs - rival) <= 2 * error:
        return Verdict.UNDECIDED
    return judge(sofs > rival)
