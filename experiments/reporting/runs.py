"""On what it was run."""

from __future__ import annotations

from experiments.reporting.words import listed, table
from experiments.results import Results


def runs(results: Results) -> list[str]:
    """Return the section."""
    if not results.runs:
        return []
    columns = list(results.runs[0])
    rows = ([row[column] for column in columns] for row in results.runs)
    return ["## Commit, machine and versions", "", *table(columns, rows), *warnings(results), _SAID, ""]


_SAID = (
    "`commit` is the harness's when it wrote the table; cells that it took from its cache were made by the same "
    "library and protocol. `load` is how many processes wanted a core then, this run's own among them."
)


def warnings(results: Results) -> list[str]:
    """Say which times were taken on a busy machine, and which sets were run by code that no commit has."""
    busy = [f"{row['set']} ({row['load']})" for row in results.runs if float(row["load"]) > int(row["cores"]) + 1]
    changed = [row["set"] for row in results.runs if row["commit"].endswith("and changes")]
    lines = []
    if busy:
        lines += [
            f"**The machine was busy** at the end of {listed(busy)}: the load was above the number of cores by more "
            "than one, so most likely other work was there too, and times may be too long. Accuracies do not depend on "
            "it.",
            "",
        ]
    if changed:
        lines += [
            f"**No commit has the code** that ran {listed(changed)}: there were changes beside the commit named.",
            "",
        ]
    return lines
