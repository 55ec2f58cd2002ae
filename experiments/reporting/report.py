"""REPORT.md: the static text of template.md, with tables, figures and verdicts in place of its placeholders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import protocol
from experiments.methods import METHODS
from experiments.paper import X2_NOISE
from experiments.reporting import evidence, paper_tables, tables
from experiments.reporting.claims import verdicts
from experiments.reporting.comparisons import paper_split
from experiments.results import REACHED, Record

TEMPLATE = Path(__file__).with_name("template.md")


def write_report(folder: Path) -> None:
    """Write REPORT.md from the results in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "REPORT.md").write_text(report(Record(folder / "results")))


def report(record: Record) -> str:
    """Return the text of the report."""
    return TEMPLATE.read_text().format(**placeholders(record))


def placeholders(record: Record) -> dict[str, Any]:
    """Return what stands for each placeholder of the template."""
    split, size = paper_split(record), record.x2_size
    return {
        "verdict": {name: verdict.value for name, verdict in verdicts(record).items()},
        "reached": f"{100 * REACHED:g}",
        "limit": f"{protocol.SECONDS_PER_CELL:.0f}",
        "n_runs": protocol.N_RUNS,
        "soon": f"{protocol.SOON:g}",
        "defaults": tables.settings(METHODS["ShadowSOFS defaults"].make(1, {}).get_params()),
        "x2": size,
        "x2_noise_rate": f"{size.n_train * X2_NOISE / size.n_features:g}",
        "news_split": split.title if split else "none",
        **{table.__name__: table(record) for table in (*paper_tables.ALL, *evidence.ALL)},
    }
