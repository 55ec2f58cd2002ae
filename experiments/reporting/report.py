"""REPORT.md: the static text of template.md, with tables, figures and verdicts in place of its placeholders."""

from __future__ import annotations

from pathlib import Path

from experiments import protocol
from experiments.methods import METHODS
from experiments.paper import X2_NOISE
from experiments.reporting import findings, paper_tables, tables
from experiments.results import REACHED, Record

TEMPLATE = Path(__file__).with_name("template.md")


def write_report(folder: Path) -> None:
    """Write REPORT.md from the results in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "REPORT.md").write_text(report(Record(folder / "results")))


def report(record: Record) -> str:
    """Return the text of the report."""
    size, found = record.x2_size, {of.__name__: of(record) for of in findings.ALL}
    return TEMPLATE.read_text().format(
        reached=f"{100 * REACHED:g}",
        limit=f"{protocol.SECONDS_PER_CELL:.0f}",
        n_runs=protocol.N_RUNS,
        soon=f"{protocol.SOON:g}",
        defaults=tables.settings(METHODS["ShadowSOFS defaults"].make(1, {}).get_params()),
        x2=size,
        x2_noise_rate=f"{size.n_train * X2_NOISE / size.n_features:g}",
        verdict={name: verdict.value for _, verdicts in found.values() for name, verdict in verdicts.items()},
        **{name: shown for name, (shown, _) in found.items()},
        **{table.__name__: table(record) for table in paper_tables.ALL},
    )
