"""Rows that the paper does not have: the medium sets' as they are, and rows without a zero."""

from __future__ import annotations

from experiments.methods import METHODS
from experiments.paper import BUDGETS, TABLE_6
from experiments.reporting.words import accuracies, by_budget, listed, spread, table, tally
from experiments.results import Difference, Results


def rows_as_they_are(results: Results) -> list[str]:
    """Return the section of the medium sets with rows as they are."""
    if not results.raw:
        return []
    lines = [
        "## Rows as they are",
        "",
        "The paper does not say whether it scaled its rows. Here they are not. In Table 6 cross-validation was free to "
        f"leave them so. Of its cells of these sets it took unit length in {listed(_scaled(results))}.",
        "",
    ]
    for told in results.raw:
        rows = accuracies(told, told.methods, BUDGETS)
        paper = TABLE_6[results.scaled(told).config.name]["SOFS"]
        rows.append(["SOFS, the paper's", *(f"{value:.2f}" for value in paper)])
        lines += [f"### {told.config.title}", "", *table(by_budget(BUDGETS), rows)]
    changes = [
        f"{method} {spread(gaps)} ({tally(gaps, 'higher', 'lower')})"
        for method in results.raw[0].methods
        if (gaps := _changes(results, method))
    ]
    return [*lines, f"What it changes, in points, cell by cell: {'; '.join(changes)}.", ""]


def _scaled(results: Results) -> list[str]:
    """Count Table 6's own cells in which rows of unit length were chosen, for each method that could choose."""
    said = []
    for name in (name for name, method in METHODS.items() if method.has_norm_grid):
        norms = [
            parameters["norm"]
            for raw in results.raw
            for (method, budget), parameters in results.scaled(raw).chosen.items()
            if method == name and budget in BUDGETS
        ]
        if norms:
            said.append(f"{norms.count('l2')} of {len(norms)} for {name}")
    return said


def _changes(results: Results, method: str) -> list[Difference]:
    """Return how far rows as they are are above those of Table 6; the permutations are the same."""
    pairs = [(raw, results.scaled(raw), budget) for raw in results.raw for budget in BUDGETS]
    gaps = (Difference.of(raw.cell(method, b), scaled.cell(method, b)) for raw, scaled, b in pairs)
    return [gap for gap in gaps if gap is not None]


def dense_rows(results: Results) -> list[str]:
    """Return the section of rows without a zero."""
    told = results.sets["dense"]
    if not told.here:
        return []
    gaps = {
        rival: list(told.gaps("SOFS", rival, told.budgets).values()) for rival in told.methods if rival != "SOFS"
    }  # fmt: skip
    said = [f"against {rival} {spread(of)} points ({tally(of)})" for rival, of in gaps.items() if of]
    because = (
        " SOFS keeps the features of the highest precision, which grows with x² whether a column tells "
        "something or not; where every column is in every row, that says little of which to keep."
    )
    is_below = any(gap.is_below for of in gaps.values() for gap in of)
    return [
        "## Dense rows: accuracy where m = d",
        "",
        f"{told.config.title}. The paper has a bound on the time for such rows, and no figures. For times see the "
        "[five claims](#five-claims-of-the-text).",
        "",
        *table(by_budget(told.budgets), accuracies(told, told.methods, told.budgets)),
        *([f"SOFS has, over all B, {'; '.join(said)}." + because * is_below, ""] if said else []),
    ]
