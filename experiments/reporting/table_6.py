"""Table 6, Figs. 2 and 3: the medium sets."""

from __future__ import annotations

from experiments.paper import BUDGETS, MEDIUM, TABLE_5, TABLE_6
from experiments.reporting.others import of_sofs_and_mrmr, toward_the_paper
from experiments.reporting.words import absent, accuracies, by_budget, difference, listed, spread, table, tally, where
from experiments.results import Difference, Results, SetResults, against_paper

_OTHERS = ("ShadowSOFS", "FOFS", "PET", "PET perceptron", "l1-SVM", "FGM")


def table_6(results: Results) -> list[str]:
    """Return the section of Table 6."""
    lines = ["## Table 6: the medium sets", ""]
    for name in MEDIUM:
        told = results.sets[name]
        n_train, n_test, n_features = TABLE_5[name]
        lines += [f"### {name}", ""]
        lines += [f"The paper: {n_train:,} rows to learn, {n_test:,} to test, {n_features:,} columns."]
        if told.config.differs:
            lines += [f"Ours: {told.config.differs}."]
        lines += ["", *table(by_budget(BUDGETS), _rows(told)), _about(told) if told.here else where(told), ""]
    return lines


def _rows(told: SetResults) -> list[list[str]]:
    rows = []
    for method in ("mRMR", "SOFS"):
        paper = TABLE_6[told.config.name][method]
        rows += accuracies(told, [method], BUDGETS) if told.here else [[method, *[absent(told)] * len(BUDGETS)]]
        rows.append(["– paper", *(f"{value:.2f}" for value in paper)])
        if told.here:
            gaps = _beside(told, method)
            rows.append(["– difference", *(difference(gaps.get(budget)) for budget in BUDGETS)])
    return rows + (accuracies(told, _OTHERS, BUDGETS) if told.here else [])


def _beside(told: SetResults, method: str) -> dict[int, Difference]:
    return against_paper((told.cell(method, budget) for budget in BUDGETS), TABLE_6[told.config.name][method])


def _about(told: SetResults) -> str:
    said = []
    gaps = {method: list(_beside(told, method).values()) for method in ("SOFS", "mRMR")}
    for method, values in gaps.items():
        if values:
            said.append(f"{method} is {spread(values)} from the paper's: {tally(values)} cells.")
    if any(gap.is_told for gap in gaps["mRMR"]):
        said.append(
            "The paper does not say how it made the columns discrete for mRMR, nor how long its Perceptron learned, so "
            "that difference has no one cause to point to."
        )
    if toward_the_paper(told):
        said.append(f"Which of SOFS and mRMR is better: {of_sofs_and_mrmr(told)} cells.")
    if told.config.differs:
        said.append(f"Such differences are not the methods' alone: ours is {told.config.differs}.")
    return " ".join([*said, *_firsts(told)])


def _firsts(told: SetResults) -> list[str]:
    """Count which method is the best at a budget, and whether it can be told from the next."""
    first, n_told = [], 0
    for budget in BUDGETS:
        done = [name for name in told.methods if told.cell(name, budget).done]
        best, *rest = sorted(done, key=lambda name: -told.cell(name, budget).accuracy) if done else [""]
        if not rest:
            continue
        gap = Difference.of(told.cell(best, budget), told.cell(rest[0], budget))
        first.append(best)
        n_told += gap is not None and gap.is_told
    if not first:
        return []
    counts = listed(f"{method} {first.count(method)}" for method in dict.fromkeys(first))
    return [
        f"The highest mean of all methods, by the number of budgets: {counts}; from the next one it can be told at "
        f"{n_told} of {len(first)}."
    ]


def figures_2_and_3(results: Results) -> list[str]:
    """Return the section of the figures."""
    if not results.medium:
        return []
    without = [f"{name} ({absent(results.sets[name])})" for name in MEDIUM if not results.sets[name].here]
    short = [
        f"{method} on {told.config.name}"
        for told in results.medium
        for method in told.methods
        if len(told.reached_curve(method)) < len(told.curve(method))
    ]
    said = "Bands are one standard deviation; stars are the paper's SOFS of Table 6."
    if short:
        said += f" Curves that end where B is no longer reached: {listed(short)}."
    if without:
        said += f" Without: {listed(without)}."
    return [
        "## Figs. 2 and 3: accuracy and time against the share of features", "",
        "![Accuracy against the share of features](figures/fig2-accuracy.svg)", "",
        "![Time against the share of features](figures/fig3-time.svg)", "",
        said, "",
    ]  # fmt: skip
