"""docs/reliability.md: what is promised, how each promise is tested, and the figures of the record."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from faults import record

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
TEMPLATE = Path(__file__).with_name("page.md")


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(record.read()))


def page(found: dict[str, Any]) -> str:
    """Return the page for a record."""
    faults = found["faults"]
    kills, malformed = faults["kills"], faults["malformed"]
    return TEMPLATE.read_text().format(
        versions=_versions(found["versions"].values()),
        seed=found["seed"],
        kills=kills,
        finished=sum(run["finished"] for run in kills["runs"].values()),
        kill_table=_table(
            ("run", "kills", "before the first checkpoint", "between checkpoints", "while a file was written"),
            [
                (name, run["kills"], run["at_start"], run["between"], run["while_writing"])
                for name, run in kills["runs"].items()
            ],
        ),
        full_disk=faults["full disk"],
        read_only=_or_skipped(
            faults["read-only folder"], "{writes} writes failed with one line that names the file. It was {by}."
        ),
        same_path=faults["same path"],
        changing=faults["changing files"],
        change_table=_change_table(faults["changing files"]["outcomes"]),
        read_errors=_or_skipped(
            faults["read errors"],
            "{reads} reads of files of all formats, models and checkpoints that failed with EIO were reported with the "
            "file, and never taken for its end.",
        ),
        pipes=faults["slow pipes"],
        memory=faults["little memory"],
        threads=faults["threads"],
        forks=faults["forks"],
        damage_table=_table(
            ("file", "bytes", "bits flipped", "truncations", "loaded as equal", "largest allocation, bytes"),
            [
                (kind, *(each[name] for name in ("bytes", "flips", "truncations", "equal")), each["largest_allocation"])
                for kind, each in faults["damage"].items()
            ],
        ),
        malformed=malformed,
        real=", most of them made from real data," if malformed["real_data"] else "",
        outcomes=_sentence(malformed["outcomes"]),
        malformed_table=_malformed_table(malformed["formats"]),
        unpacking_table=_table(
            ("archive", "unpacked, MB", "ratio", "CPU seconds", "peak memory, MB"),
            [
                (ending, each["megabytes"], f"{each['ratio']:,} : 1", each["cpu_seconds"], each["peak_megabytes"])
                for ending, sizes in faults["unpacking"].items()
                for each in sizes
            ],
        ),
        fuzz=_fuzz(found.get("fuzz")),
    )


def _versions(of_faults: Iterable[dict[str, str]]) -> str:
    """List what the faults were run with; of a part that was run later, the versions are others."""
    seen: dict[str, set[str]] = {}
    for versions in of_faults:
        for name, version in versions.items():
            seen.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(each))}" for name, each in sorted(seen.items()))


def _or_skipped(figures: dict[str, Any], sentence: str) -> str:
    if "skipped" in figures:
        return f"not tested in the last run: {figures['skipped']}."
    return sentence.format(**figures)


def _sentence(outcomes: dict[str, int]) -> str:
    read, with_line, with_name = (outcomes[name] for name in ("read", "refused with its line", "refused"))
    return (
        f"{read:,} were read (exit code 0). {with_line:,} were refused (exit code 2) with the file and the line, row "
        f"or block, and {with_name:,} with the file, such as an archive that can't be unpacked"
    )


def _change_table(outcomes: dict[str, int]) -> str:
    changes = sorted({name.partition(": ")[0] for name in outcomes})
    rows = [(what, outcomes.get(f"{what}: old rows", 0), outcomes.get(f"{what}: refused", 0)) for what in changes]
    return _table(("after the first batch", "files whose old rows were read", "files that were refused"), rows)


def _malformed_table(formats: dict[str, int]) -> str:
    kinds: dict[str, dict[str, int]] = {}
    for name, count in formats.items():
        kind, _, outcome = name.rpartition(": ")
        kinds.setdefault(kind, {})[outcome] = count
    rows = [
        (kind, sum(of.values()), of.get("read", 0), of.get("refused with its line", 0), of.get("refused", 0))
        for kind, of in sorted(kinds.items())
    ]
    return _table(("file", "variants", "read", "refused with its line", "refused with its name"), rows)


def _fuzz(targets: list[dict[str, Any]] | None) -> str:
    """Return the section on fuzzing, if the fuzzers have run."""
    if not targets:
        return ""
    total = sum(each["executions"] for each in targets)
    rows = [(each["target"], f"{each['executions']:,}", each["seconds"], each["findings"]) for each in targets]
    return (
        f"**Readers are fuzzed.** libFuzzer, with the sanitizers on, gave the readers {total:,} inputs of up to 64 KB "
        f"(`make fuzz`):\n\n{_table(('target', 'executions', 'seconds', 'open findings'), rows)}\n\n"
    )


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(f'{cell:,}' if type(cell) is int else str(cell) for cell in line)} |" for line in lines
    )
