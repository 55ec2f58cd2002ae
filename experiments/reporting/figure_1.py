"""Fig. 1: X1, accuracy and time against B."""

from __future__ import annotations

from experiments.reporting.claims import BATCH
from experiments.reporting.others import INFORMATIVE, ranges
from experiments.reporting.words import (
    accuracies,
    by_budget,
    difference,
    listed,
    seconds,
    spread,
    table,
    tally,
    time_of,
)
from experiments.results import Difference, Results, SetResults


def figure_1(results: Results) -> list[str]:
    """Return the section."""
    lines = ["## Fig. 1: X1, accuracy and time against B", ""]
    for name in ("x1", "x1-20k"):
        told = results.sets[name]
        lines += [f"### {told.config.title}", ""]
        if not told.here:
            lines += ["Not run.", ""]
            continue
        lines += [f"![Accuracy and time against B](figures/fig1-{name}.svg)", ""]
        lines += ["Accuracy; the paper has curves only.", ""]
        lines += table(by_budget(told.budgets), accuracies(told, told.methods, told.budgets))
        lines += ["CPU seconds.", ""]
        times = ([method, *(time_of(told.cell(method, budget)) for budget in told.budgets)] for method in told.methods)
        lines += [*table(by_budget(told.budgets), times), _about(told), ""]
    return lines


def _about(told: SetResults) -> str:
    """Compare with what the paper says of Fig. 1."""
    below, enough = ranges(told).values()
    around = [told.cell("SOFS", budget) for budget in (*below[-1:], *enough[:1])]
    steps = [f"{cell.accuracy:.1f} at B = {cell.budget}" for cell in around if cell.done]
    said = [f"SOFS has {listed(steps)}; {INFORMATIVE} columns are informative."] if steps else []
    for rival in ("FOFS", "PET"):
        parts = [
            f"{spread(gaps)} points {which} ({tally(gaps)})"
            for which, budgets in ranges(told).items()
            if (gaps := list(told.gaps("SOFS", rival, budgets).values()))
        ]
        said += [f"Against {rival} it has {listed(parts)}."] if parts else []
    if any(gap.is_below for rival in ("FOFS", "PET") for gap in told.gaps("SOFS", rival, below).values()):
        said.append(
            f"All {INFORMATIVE} are in every row, and SOFS keeps the features of the highest precision, which grows "
            "with x² and not with a weight: for a smaller B that says little of which to keep."
        )
    budget = told.budgets[-1]
    done = {name: cell for name in told.methods if (cell := told.cell(name, budget)).done}
    if "SOFS" not in done:
        return " ".join(said)
    batch = [name for name in BATCH if name in done and name != "mRMR"]
    if batch:
        best = max(batch, key=lambda name: done[name].accuracy)
        said.append(
            f"The paper finds SOFS comparable to batch methods past {INFORMATIVE}: at B = {budget} SOFS − {best} is "
            f"{difference(Difference.of(done['SOFS'], done[best]))}."
        )
    fast = min(done, key=lambda name: done[name].seconds)
    said.append(
        f"The least time at B = {budget} is {fast}'s, {seconds(done[fast].seconds)} s; SOFS takes "
        f"{time_of(done['SOFS'])} s. The paper finds SOFS the fastest."
    )
    ratios = [f"{name} {done[name].seconds / done['SOFS'].seconds:,.0f}" for name in BATCH if name in done]
    if ratios:
        said.append(
            f"So many times SOFS's time it takes the batch methods there: {listed(ratios)} (the paper: liblinear 10, "
            "FGM over 1,000)."
        )
    return " ".join(said)
