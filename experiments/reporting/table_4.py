"""Tables 3 and 4: news, rcv1 and url."""

from __future__ import annotations

from experiments.paper import NEWS_NONZEROS, NO_FGM_ON_URL, RHO, TABLE_4
from experiments.reporting.others import NEWS, beside_news, distance, split_of_the_paper
from experiments.reporting.words import absent, accuracy, difference, listed, seconds, spread, table, tally, where
from experiments.results import Cell, Results, SetResults, against_paper


def table_4(results: Results) -> list[str]:
    """Return the section."""
    lines = ["## Tables 3 and 4: news, rcv1 and url", "", "Accuracy, and CPU seconds in brackets.", ""]
    for name, paper in (*((name, "news") for name in NEWS), ("rcv1", "rcv1"), ("url", "url")):
        told = results.sets[name]
        rows = [
            row
            for method in ("PET", "PET perceptron", "SOFS", "ShadowSOFS", "FGM")
            for row in _rows(told, method, TABLE_4[paper].get(method))
        ]
        if name == "url":
            rows.append(["– paper", NO_FGM_ON_URL, *["–"] * (len(RHO) - 1)])
        lines += [f"### {told.config.title}", "", *table(["", *(f"ρ = {share}" for share in RHO)], rows)]
        if not told.here:
            lines += [where(told), ""]
    said = _about(results)
    return [*lines, " ".join(said), ""] if said else lines


def _rows(told: SetResults, method: str, theirs: tuple[tuple[float, float], ...] | None) -> list[list[str]]:
    cells = [told.at_share(method, share) for share in RHO]
    rows = [[method, *(map(_with_time, cells) if told.here else [absent(told)] * len(RHO))]]
    if theirs is not None:
        rows.append(["– paper", *(f"{found:.2f} ({seconds(took)} s)" for found, took in theirs)])
        if told.here:
            gaps = against_paper(cells, (found for found, _ in theirs))
            rows.append(["– difference", *(difference(gaps.get(cell.budget)) for cell in cells)])
    return rows


def _with_time(cell: Cell) -> str:
    return f"{accuracy(cell)} ({seconds(cell.seconds)} s)" if cell.done else accuracy(cell)


def _about(results: Results) -> list[str]:
    here = {told.config.title: far for told in results.here(*NEWS) if (far := distance(told)) is not None}
    told = split_of_the_paper(results)
    if told is None:
        return []
    parts = [
        f"{split.config.title}: {_nonzeros(split)}, SOFS {here[split.config.title]:.1f} points from the paper's on "
        f"average ({spread(beside_news(split, 'SOFS').values())})"
        for split in results.here(*NEWS)
        if split.config.title in here
    ]
    said = [
        f"**Which split is the paper's?** In its Table 3 there are {NEWS_NONZEROS:,} nonzeros to learn from. "
        f"{'; '.join(parts)}."
    ]
    if told.data and int(told.data["train_nonzeros"]) == NEWS_NONZEROS:
        said.append(f"So it is {told.config.title}: the number of nonzeros is the paper's to the last one.")
    said.append(f"The nearest to its accuracy is {min(here, key=lambda title: here[title])}.")
    gaps = list(told.gaps("ShadowSOFS", "SOFS", told.budgets).values())
    if gaps:
        said.append(f"ShadowSOFS there has {spread(gaps)} points against SOFS ({tally(gaps)} ρ).")
    fgm = [told.at_share("FGM", share) for share in RHO]
    if all(cell.done for cell in fgm):
        said.append(
            f"FGM takes {listed(seconds(cell.seconds) for cell in fgm)} s, where the paper's took up to two hours, and "
            f"ends with {listed(f'{cell.n_selected:,.0f}' for cell in fgm)} features: it stops once a group of "
            "features no longer helps, however many it may take."
        )
    pairs = [(told.at_share("SOFS", share), told.at_share("PET", share)) for share in RHO]
    faster = [sofs.seconds < pet.seconds for sofs, pet in pairs if sofs.done and pet.done]
    said.append(
        f"SOFS is faster than PET at {sum(faster)} of {len(faster)} ρ, in the paper at all of them; our PET "
        "does no work on d, and what that would add is [below]"
        "(#the-time-of-pet-and-fofs-what-a-full-truncation-would-add)."
    )
    return said


def _nonzeros(told: SetResults) -> str:
    return f"{int(told.data['train_nonzeros']):,} nonzeros" if told.data else "nonzeros not counted"
