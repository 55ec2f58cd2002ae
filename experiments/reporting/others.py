"""What else the paper finds, and where ShadowSOFS might be expected to follow, each judged by the results."""

from __future__ import annotations

import math

from experiments.paper import BUDGETS, NEWS_NONZEROS, RHO, TABLE_2, TABLE_4, TABLE_6
from experiments.reporting.finding import Finding, Verdict, all_above
from experiments.reporting.words import difference, listed, spread, tally
from experiments.results import Difference, Results, SetResults, against_paper

NEWS = ("news-last", "news-first", "news-random")
INFORMATIVE = 200  # columns of X1
_ON_X1 = ("SOFS", "FOFS", "PET", "l1-SVM", "FGM")  # what the paper has beside mRMR


def others(results: Results) -> list[Finding]:
    """Return all of them, judged."""
    return [
        order_on_news(results),
        sofs_against_mrmr(results),
        mrmr_worst_on_x1(results),
        sofs_first_on(results, "x1"),
        sofs_first_on(results, "x1-20k"),
        sofs_first_on(results, "dense"),
        shadow_on_x1(results),
        no_selection_is_worse(results),
    ]


def split_of_the_paper(results: Results) -> SetResults | None:
    """Return the split of news that has the paper's nonzeros, or else the one whose SOFS is nearest to the paper's."""
    here = [told for told in results.here(*NEWS) if distance(told) is not None]
    exact = [told for told in here if told.data and int(told.data["train_nonzeros"]) == NEWS_NONZEROS]
    return min(exact or here, key=lambda told: distance(told) or 0.0, default=None)


def distance(told: SetResults) -> float | None:
    """Return how far SOFS on a split of news is from the paper's, on average, above or below."""
    gaps = beside_news(told, "SOFS").values()
    return sum(abs(gap.mean) for gap in gaps) / len(gaps) if gaps else None


def beside_news(told: SetResults, method: str) -> dict[int, Difference]:
    """Return how far a method on a split of news is above the paper's."""
    return against_paper((told.at_share(method, share) for share in RHO), (x for x, _ in TABLE_4["news"][method]))


def order_on_news(results: Results) -> Finding:
    """Judge PET < SOFS < FGM."""
    says = "On news accuracy is in the order PET < SOFS < FGM at every ρ"
    told = split_of_the_paper(results)
    steps = [] if told is None else [
        (share, Difference.of(told.at_share("SOFS", share), told.at_share("PET", share)),
         Difference.of(told.at_share("FGM", share), told.at_share("SOFS", share)))
        for share in RHO
    ]  # fmt: skip
    gaps = [gap for _, *pair in steps for gap in pair if gap is not None]
    if told is None or not gaps:
        return Finding(says, Verdict.NO_DATA)
    parts = [f"ρ = {share}: {difference(one)} and {difference(two)}" for share, one, two in steps]
    return Finding(says, all_above(gaps), f"{told.config.title}, SOFS − PET and FGM − SOFS at {'; '.join(parts)}")


def sofs_against_mrmr(results: Results) -> Finding:
    """Judge which of SOFS and mRMR is the better one in each cell of Table 6."""
    says = "In Table 6 the better one of SOFS and mRMR is the paper's in every cell"
    gaps = {told.config.name: toward_the_paper(told) for told in results.medium}
    every = [gap for of in gaps.values() for gap in of]
    if not every:
        return Finding(says, Verdict.NO_DATA)
    parts = [f"{name}: {tally(of, *_THE_PAPERS)}" for name, of in gaps.items() if of]
    found = f"{tally(every, *_THE_PAPERS)} cells; {'; '.join(parts)}"
    return Finding(says, all_above(every), found)


_THE_PAPERS = ("the paper's", "the other one")


def toward_the_paper(told: SetResults) -> list[Difference]:
    """Return how far the one of SOFS and mRMR that is better in the paper is above the other one here."""
    paper = TABLE_6[told.config.name]
    found: list[Difference] = []
    for budget, sofs, mrmr in zip(BUDGETS, paper["SOFS"], paper["mRMR"], strict=True):
        better, worse = ("SOFS", "mRMR") if sofs > mrmr else ("mRMR", "SOFS")
        found += told.gaps(better, worse, [budget]).values()
    return found


def of_sofs_and_mrmr(told: SetResults) -> str:
    """Return in how many cells of a set the better one is the paper's."""
    return tally(toward_the_paper(told), *_THE_PAPERS)


def mrmr_worst_on_x1(results: Results) -> Finding:
    """Judge mRMR on X1 by the other methods."""
    says = "On X1 mRMR is the worst method"
    parts, every = [], []
    for told in results.here("x1", "x1-20k"):
        gaps = {name: list(told.gaps(name, "mRMR", told.budgets).values()) for name in _ON_X1}
        every += [gap for of in gaps.values() for gap in of]
        said = [f"{name} {spread(of)} ({tally(of)})" for name, of in gaps.items() if of]
        parts += [f"on {told.config.title}, {listed(said)}"] if said else []
    if not every:
        return Finding(says, Verdict.NO_DATA)
    return Finding(says, all_above(every), f"the others against mRMR, over all B, {'; '.join(parts)}")


def sofs_first_on(results: Results, name: str) -> Finding:
    """Judge SOFS by the other online methods, at every budget."""
    told = results.sets[name]
    title = "dense rows, for which the paper has no accuracies" if name == "dense" else told.config.title
    says = f"On {title}, SOFS is more accurate than FOFS and PET at every B"
    parts, every = [], []
    for rival in ("FOFS", "PET"):
        for which, budgets in ranges(told).items():
            gaps = list(told.gaps("SOFS", rival, budgets).values())
            every += gaps
            if gaps:
                parts.append(f"against {rival} {which} {spread(gaps)}, {tally(gaps)}")
    if not every:
        return Finding(says, Verdict.NO_DATA)
    return Finding(says, all_above(every), "; ".join(parts))


def ranges(told: SetResults) -> dict[str, list[int]]:
    """Return the budgets below the number of informative columns, and the others."""
    return {
        f"for B < {INFORMATIVE}": [budget for budget in told.budgets if budget < INFORMATIVE],
        f"for B ≥ {INFORMATIVE}": [budget for budget in told.budgets if budget >= INFORMATIVE],
    }


def shadow_on_x1(results: Results) -> Finding:
    """Judge ShadowSOFS by SOFS on X1; the paper does not have it."""
    says = "On X1 ShadowSOFS, which is not the paper's, is more accurate than SOFS at every B"
    parts, every = [], []
    for told in results.here("x1", "x1-20k"):
        for which, budgets in ranges(told).items():
            gaps = list(told.gaps("ShadowSOFS", "SOFS", budgets).values())
            every += gaps
            if gaps:
                parts.append(f"{told.config.title}, {which} {spread(gaps)}, {tally(gaps)}")
    return Finding(says, all_above(every), "; ".join(parts))


def no_selection_is_worse(results: Results) -> Finding:
    """Judge SOFS on X2 by the methods that keep all features."""
    says = "On X2 SOFS is more accurate than OGD and AROW, which keep all features"
    if not all(name in results.x2 for name in TABLE_2):
        return Finding(says, Verdict.NO_DATA)
    found = {name: float(results.x2[name]["accuracy"]) for name in TABLE_2}
    rival = max("OGD", "AROW", key=lambda name: found[name])
    gap = found["SOFS"] - found[rival]
    least, most = errors_of_a_difference(found["SOFS"], found[rival], results.x2_size.n_test)
    verdict = Verdict.UNTOLD if abs(gap) <= 2 * most else Verdict.HOLDS if gap > 0 else Verdict.FAILS
    told = listed(f"{name} {100 * value:.3f}" for name, value in found.items())
    return Finding(
        says,
        verdict,
        f"{told}. SOFS − {rival} is {100 * gap:+.3f}".replace("-", "−") + ". Both are judged by the same "
        f"{results.x2_size.n_test:,} rows, and how many of their mistakes they share is not kept; the standard "
        f"error of that difference is between {100 * least:.3f} and {100 * most:.3f}, and the larger is used",
    )


def errors_of_a_difference(one: float, other: float, n_rows: int) -> tuple[float, float]:
    """Return bounds on the standard error of a difference of two accuracies on the same rows.

    Its variance is (p − gap²)/n, where p is the share of rows on which one is right and the other wrong: at least the
    gap, at most all the mistakes of both.
    """
    gap = abs(one - other)
    least, most = gap, min(1.0, 2 - one - other)
    return math.sqrt(max(0.0, least - gap**2) / n_rows), math.sqrt(max(0.0, most - gap**2) / n_rows)
