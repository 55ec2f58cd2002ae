"""A study: what is measured into CSV files, and the page that is written from them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from experiments.config import HOME
from experiments.store import Found, Methods, note_run, read_csv, write_csv
from thresher.progress import steps_bar

Table = list[dict[str, str]]
Step = tuple[str, Callable[[], Iterable[Found]]]  # a few words for the bar, and what measures rows of a table


@dataclass(frozen=True)
class Study:
    """Tables, and a page with the text of reporting/NAME.md."""

    name: str
    what: str  # it measures
    page: Path
    methods: tuple[str, ...]
    tables: Mapping[str, Callable[[bool], list[Step]]]  # by the CSV file's name; True asks for the smallest form
    placeholders: Callable[[Mapping[str, Table]], Mapping[str, str]]  # of the text, from the tables

    def run(self, folder: Path, smallest: bool, only: Collection[str]) -> Path:
        """Measure these tables, and return the page; all data must be there."""
        due = {name: steps(smallest) for name, steps in self.tables.items() if name in only}
        with steps_bar(self.name, sum(map(len, due.values())), True) as bar:
            n_done = 0
            for name, steps in due.items():
                found: list[Found] = []
                for title, measure in steps:
                    bar.done(n_done, title)
                    found += measure()
                    write_csv(folder / "results" / f"{name}.csv", found[0], found)
                    n_done += 1
        note_run(self.name, Methods(self.methods, self.methods), folder / "results")
        return self.write_page(folder)

    def write_page(self, folder: Path) -> Path:
        """Write the page from the tables in `folder`/results; in another folder than the record's, beside them."""
        page = self.page if folder == HOME else folder / self.page.name
        text = (HOME / "reporting" / f"{self.name}.md").read_text()
        tables = {name: read_csv(folder / "results" / f"{name}.csv") for name in (*self.tables, "runs")}
        page.write_text(text.format(**self.placeholders(tables)))
        return page


def means(
    rows: Table, keys: Collection[str], figures: Collection[str]
) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """Yield each cell of a table, rows that have the same keys, with the means of its figures."""
    cells: dict[tuple[str, ...], Table] = {}
    for row in rows:
        cells.setdefault(tuple(row[name] for name in keys), []).append(row)
    for key, cell in cells.items():
        yield key, [statistics.fmean(float(row[name]) for row in cell) for name in figures]
