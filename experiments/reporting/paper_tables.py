"""The tables of the report that rest on no verdict, each under the name of its placeholder in template.md.

Most are the paper's, with our figures beside its own.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator

from experiments import x2
from experiments.methods import GAMMA_POWERS, METHODS, POWERS, TABLE_4_METHODS, TABLE_6_METHODS
from experiments.paper import (
    BUDGETS,
    MEDIUM,
    NEWS,
    NEWS_NONZEROS,
    RHO,
    TABLE_2,
    TABLE_4,
    TABLE_6,
    TABLE_7,
    X1,
    X2_NOISE,
)
from experiments.reporting import tables
from experiments.reporting.differences import against_paper, error_of_share
from experiments.reporting.tables import NONE, points, seconds, signed, table
from experiments.results import Record, SetResults

_BUDGET_7 = 500  # of Table 7


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

    def count(name: str, chosen: dict[str, float], ends: dict[str, tuple[float, float]]) -> None:
        for parameter, (low, high) in ends.items():
            place = {low: "smallest", high: "largest"}.get(chosen[parameter], "between")
            found.setdefault((name, parameter), Counter())[place] += 1

    for results in record.sets.values():
        for (name, _), chosen in results.chosen.items():
            count(name, chosen, METHODS[name].ends(results.config.gamma_powers))
    for name, on_x2 in record.x2.items():
        count(f"{name} on X2", on_x2.parameters, METHODS[name].ends())
    rows = (
        [name, tables.GREEK[parameter], *(str(n) for n in (counts.total(), counts["smallest"], counts["largest"]))]
        for (name, parameter), counts in found.items()
    )
    return table(["", "parameter", "choices", "smallest value", "largest value"], rows)


def fig_1_accuracy(record: Record) -> dict[str, str]:
    """Show accuracy on X1."""
    return {name: _accuracies(record.sets[name]) for name in X1}


def fig_1_seconds(record: Record) -> dict[str, str]:
    """Show CPU seconds on X1."""
    found = {}
    for name in X1:
        results = record.sets[name]
        cells = {method: [results.cell(method, budget) for budget in results.budgets] for method in results.methods}
        rows = ([method, *map(tables.cell_seconds, of)] for method, of in cells.items())
        found[name] = table(tables.by_budget(results.budgets), rows)
    return found


def table_2_sparsity(record: Record) -> str:
    """Show sparsity and updates of the methods that keep all features."""
    head = ["", "updates", "untouched columns expected, %", "zero weights found, %", "se", "paper, %"]
    head.append("updates that would leave the paper's")
    size, rows = record.x2_size, []
    for name in (name for name in ("OGD", "AROW") if name in record.x2):
        ours, paper = record.x2[name], TABLE_2[name][2]
        untouched = 100 * math.exp(-ours.n_updates * X2_NOISE / size.n_features)
        theirs = -math.log(paper / 100) * x2.Size().n_features / X2_NOISE
        error = error_of_share(ours.sparsity, size.probes)
        row = [name, f"{ours.n_updates:,}", f"{untouched:.2f}", f"{ours.sparsity:.2f}", f"{error:.2g}"]
        rows.append([*row, f"{paper:.2f}", f"{round(theirs, -3):,.0f}"])
    return table(head, rows)


def table_4(record: Record) -> dict[str, str]:
    """Show news, rcv1 and url beside the paper."""
    papers = {**dict.fromkeys(NEWS, "news"), "rcv1": "rcv1", "url": "url"}
    head = ["", *(f"ρ = {share}" for share in RHO)]
    return {name: table(head, _rows_4(record.sets[name], paper)) for name, paper in papers.items()}


def _rows_4(results: SetResults, paper: str) -> Iterator[list[str]]:
    for method in TABLE_4_METHODS:
        cells = [results.at_share(method, share) for share in RHO]
        ours = map(tables.accuracy_and_seconds, cells) if results.present else [tables.absent(results)] * len(RHO)
        yield [method, *ours]
        if method in TABLE_4[paper]:
            theirs = TABLE_4[paper][method]
            yield ["– paper", *(f"{accuracy:.2f} ({seconds(took)} s)" for accuracy, took in theirs)]
            if results.present:
                gaps = against_paper(cells, (accuracy for accuracy, _ in theirs))
                yield ["– difference", *(points(gaps.get(cell.budget)) for cell in cells)]


def news_splits(record: Record) -> dict[str, str]:
    """Show how near each split of news is to the paper's: the one with its nonzeros, or else the nearest, is taken."""
    found: dict[str, tuple[SetResults, list[float]]] = {}
    for results in record.present(*NEWS):
        cells, paper = (results.at_share("SOFS", share) for share in RHO), (of for of, _ in TABLE_4["news"]["SOFS"])
        if means := [gap.mean for gap in against_paper(cells, paper).values()]:
            found[results.title] = results, means
    distances = {title: statistics.fmean(map(abs, means)) for title, (_, means) in found.items()}
    exact = [title for title, (results, _) in found.items() if results.train_nonzeros == NEWS_NONZEROS]
    rows = (
        [title, f"{results.train_nonzeros:,}", signed(min(means)), signed(max(means)), f"{distances[title]:.1f}"]
        for title, (results, means) in found.items()
    )
    head = ["", "training nonzeros", "SOFS − paper, lowest", "highest", "mean distance"]
    taken = min(exact or found, key=lambda title: distances[title], default="none")
    return {"table": table(head, rows), "taken": taken}


def table_6(record: Record) -> dict[str, str]:
    """Show the medium sets beside the paper."""
    return {name: table(tables.by_budget(BUDGETS), _rows_6(record.sets[name])) for name in MEDIUM}


def _rows_6(results: SetResults) -> Iterator[list[str]]:
    for method in TABLE_6_METHODS:
        paper = TABLE_6[results.name].get(method)
        if results.present:
            yield from tables.accuracy_rows(results, [method], BUDGETS)
        elif paper:
            yield [method, *[tables.absent(results)] * len(BUDGETS)]
        if paper:
            yield ["– paper", *(f"{value:.2f}" for value in paper)]
            if results.present:
                gaps = against_paper((results.cell(method, budget) for budget in BUDGETS), paper)
                yield ["– difference", *(points(gaps.get(budget)) for budget in BUDGETS)]


def unscaled(record: Record) -> dict[str, str]:
    """Show the medium sets with rows as they are."""
    found = {}
    for name in (name for name, results in record.sets.items() if results.config.table == "raw"):
        results = record.sets[name]
        rows = tables.accuracy_rows(results, results.methods, BUDGETS)
        if rows:
            paper = TABLE_6[record.scaled(results).name]["SOFS"]
            rows.append(["SOFS, the paper's", *(f"{value:.2f}" for value in paper)])
        found[name] = table(tables.by_budget(BUDGETS), rows)
    return found


def dense_accuracy(record: Record) -> str:
    """Show accuracy on rows without a zero."""
    return _accuracies(record.sets["dense"])


def table_7(record: Record) -> str:
    """Show seconds to select 500 features."""
    rows, sets = [], [record.sets[name] for name in MEDIUM]
    for method in ("SOFS", "mRMR"):
        cells = ((results, results.cell(method, _BUDGET_7)) for results in sets)
        rows.append([method, *(tables.cell_seconds(cell) if of.present else tables.absent(of) for of, cell in cells)])
        rows.append(["– paper", *(seconds(TABLE_7[method][name]) for name in MEDIUM)])
    pairs = [(results.cell("mRMR", _BUDGET_7), results.cell("SOFS", _BUDGET_7)) for results in sets]
    ratios = (f"{mrmr.seconds / sofs.seconds:,.1f}" if mrmr.done and sofs.done else NONE for mrmr, sofs in pairs)
    rows.append(["mRMR's time / SOFS's", *ratios])
    rows.append(["– paper", *(f"{TABLE_7['mRMR'][name] / TABLE_7['SOFS'][name]:,.0f}" for name in MEDIUM)])
    return table(["", *MEDIUM], rows)


def truncation(record: Record) -> str:
    """Show what a full truncation per update would add to PET and FOFS."""
    head = ["", "d", "B", "µs per truncation", "SOFS, s"]
    head += ["PET, s", "PET, truncating d", "FOFS, s", "FOFS, truncating d"]
    rows = []
    for results in [*record.medium, *record.present("x1", "news-last", "dense")]:
        budget = _BUDGET_7 if _BUDGET_7 in results.budgets else results.budgets[len(results.budgets) // 2]
        if budget not in results.truncation:
            continue
        cost = f"{1e6 * results.truncation[budget]:,.0f}"
        row = [results.name, f"{results.n_features:,}", f"{budget:,}", cost]
        row.append(tables.cell_seconds(results.cell("SOFS", budget)))
        for method in ("PET", "FOFS"):
            row.append(tables.cell_seconds(results.cell(method, budget)))
            row.append(seconds(results.truncating_seconds(method, budget)))
        rows.append(row)
    return table(head, rows)


def truncation_on_news(record: Record) -> str:
    """Show PET's time on news with a full truncation per update, beside the paper's."""
    news = record.sets["news-last"]
    cells = [news.at_share("PET", share) for share in RHO]
    if not all(cell.done for cell in cells):
        return table([], [])
    ours = (seconds(news.truncating_seconds("PET", cell.budget)) for cell in cells)
    paper = (seconds(took) for _, took in TABLE_4["news"]["PET"])
    return table(["", *(f"ρ = {share}" for share in RHO)], [["PET, truncating d", *ours], ["– paper", *paper]])


def not_present(record: Record) -> str:
    """Show where the data can be had that are not here."""
    absent = [results.config for results in record.sets.values() if results.config.home and not results.present]
    return table(["", "file", "from"], ([of.name, f"`{of.file}`", f"<{of.home}>"] for of in absent))


def runs(record: Record) -> str:
    """Show on what it was run: one row for the methods of a set that were run together."""
    together: dict[tuple[str, ...], list[str]] = {}
    for row in record.runs:
        place = tuple(value for name, value in row.items() if name != "method")
        together.setdefault(place, []).append(row["method"])
    rows = []
    columns = [name for name in record.runs[0] if name != "method"] if record.runs else []
    for place, methods in together.items():
        row = dict(zip(columns, place, strict=True))
        busy = "busy" if float(row["load"]) > int(row["cores"]) + 1 else ""
        changed = "uncommitted" if row["commit"].endswith("and changes") else ""
        rows.append([place[0], ", ".join(methods), *place[1:], ", ".join(filter(None, (busy, changed)))])
    return table([*columns[:1], "methods", *columns[1:], "note"], rows)


def _accuracies(results: SetResults) -> str:
    rows = tables.accuracy_rows(results, results.methods, results.budgets)
    return table(tables.by_budget(results.budgets), rows)


ALL = (
    gammas, grid_ends, fig_1_accuracy, fig_1_seconds, table_2_sparsity, table_4, news_splits, table_6, unscaled,
    dense_accuracy, table_7, truncation, truncation_on_news, not_present, runs,
)  # fmt: skip
