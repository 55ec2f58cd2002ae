"""Table 7, and what a full truncation would add to PET and FOFS."""

from __future__ import annotations

from experiments.paper import MEDIUM, RHO, TABLE_4, TABLE_7
from experiments.reporting.words import absent, listed, seconds, table, time_of
from experiments.results import Results

_BUDGET = 500

_TRUNCATION = """\
## The time of PET and FOFS: what a full truncation would add

In the paper PET and FOFS look at all d weights after every update, and their time grows with d. Ours look at the row
and the members alone, so our times can't show the paper's distance between them and SOFS. Here is what one truncation
of all d weights costs with numpy, in the cheapest way, times the number of updates, beside our times.
"""


def table_7(results: Results) -> list[str]:
    """Return the section of Table 7."""
    rows = []
    for method in ("SOFS", "mRMR"):
        ours = (
            time_of(told.cell(method, _BUDGET)) if (told := results.sets[name]).here else absent(told)
            for name in MEDIUM
        )  # fmt: skip
        rows += [[method, *ours], ["– paper", *(seconds(TABLE_7[method][name]) for name in MEDIUM)]]
    lines = [f"## Table 7: CPU seconds to select {_BUDGET} features", "", *table(["", *MEDIUM], rows)]
    ratios = {
        told.config.name: told.cell("mRMR", _BUDGET).seconds / told.cell("SOFS", _BUDGET).seconds
        for told in results.medium
        if told.cell("SOFS", _BUDGET).done and told.cell("mRMR", _BUDGET).done
    }
    if not ratios:
        return lines
    there = {name: TABLE_7["mRMR"][name] / TABLE_7["SOFS"][name] for name in ratios}
    said = listed(f"{name} {ratio:,.1f} (the paper: {there[name]:,.0f})" for name, ratio in ratios.items())
    if all(ratio > 1 for ratio in ratios.values()):
        judged = "The order agrees with the paper everywhere"
    else:
        judged = "The order is not the paper's everywhere"
    return [
        *lines,
        f"mRMR's time over SOFS's: {said}. {judged}. Our mRMR counts only nonzero entries and adds the redundancy with "
        "one new feature a step.",
        "",
    ]


def truncation(results: Results) -> list[str]:
    """Return the section of the truncation."""
    rows = []
    for told in [*results.medium, *results.here("x1", "news-last", "dense")]:
        budget = _BUDGET if _BUDGET in told.budgets else told.budgets[len(told.budgets) // 2]
        row = [told.config.name, f"{told.n_features:,}", f"{budget:,}", f"{1e6 * told.truncation[budget]:,.0f}"]
        row.append(time_of(told.cell("SOFS", budget)))
        for method in ("PET", "FOFS"):
            cell = told.cell(method, budget)
            row += [time_of(cell), seconds(told.with_truncation(method, budget)) if cell.done else "–"]
        rows.append(row)
    head = ["", "d", "B", "µs a truncation", "SOFS, s", "PET, s", "PET, truncating d", "FOFS, s", "FOFS, truncating d"]
    lines = [*_TRUNCATION.splitlines(), "", *table(head, rows)]
    news = results.sets["news-last"]
    cells = [cell for share in RHO if (cell := news.at_share("PET", share)).done]
    if cells:
        lines += [
            f"On news that makes PET {listed(seconds(news.with_truncation('PET', cell.budget)) for cell in cells)} s, "
            f"where the paper has {listed(seconds(took) for _, took in TABLE_4['news']['PET'])} s.",
            "",
        ]
    return lines
