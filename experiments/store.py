"""The results: a cache of finished cells, from which a stopped run resumes, and the CSV files in results/.

The cache holds the cells of the present code only; the CSV files keep the rows of each method until it is run again.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import thresher
from experiments.config import HOME, Config
from thresher import _core

CACHE = HOME.parent / "build" / "experiments"
RESULTS = HOME / "results"
Found = dict[str, Any]

CHOICES = ("set", "method", "budget", "status", "parameters", "cv_accuracy")
_KEY = ("set", "method", "budget", "permutation")
FITS = ("set", "method", "budget", "permutation", "status", "accuracy", "seconds", "n_selected", "n_updates")


@dataclass(frozen=True)
class Methods:
    """All methods of a data set, in the order of its tables, and those that are run now."""

    all: tuple[str, ...]
    run: tuple[str, ...]

    @classmethod
    def chosen(cls, all_methods: tuple[str, ...], names: Collection[str] | None) -> Methods:
        """Return those with these names to run; without names, all."""
        return cls(all_methods, tuple(name for name in all_methods if names is None or name in names))

    def merged(self, old: Iterable[Found], new: Iterable[Found]) -> list[Found]:
        """Return the new rows of those that are run and, unless all are, the old rows of others; in their order."""
        kept = [row for row in old if row["method"] not in self.run] if self.run != self.all else []
        places = {name: place for place, name in enumerate(self.all)}
        return sorted([*kept, *new], key=lambda row: places.get(row["method"], len(places)))


class Store:
    """The finished cells of a data set: one JSON object per line, written as soon as it is known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cells: dict[tuple[Any, ...], Found] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    self._keep(json.loads(line))
                except json.JSONDecodeError:  # the run was stopped while it wrote
                    continue

    @classmethod
    def of(cls, config: Config, folder: Path = CACHE) -> Store:
        """Return the store of a data set; results of other code or another config are not in it."""
        # Method and permutation are in the key of a cell: more of them leave finished cells as they are.
        in_keys = ("methods", "permutations", "once_above")
        settings = {name: value for name, value in asdict(config).items() if name not in in_keys}
        return cls.named(config.name, settings, folder)

    @classmethod
    def named(cls, name: str, settings: Mapping[str, Any], folder: Path = CACHE) -> Store:
        """Return the store of an experiment with these settings."""
        return cls(folder / digest(settings) / f"{name}.jsonl")

    def get(self, *key: Any) -> Found | None:
        """Return a finished cell, or None."""
        return self._cells.get(key)

    def recall(self, kind: str, rows: Iterable[Mapping[str, str]], methods: Collection[str]) -> None:
        """Take rows of some methods in a table of results for finished cells; they do not go to the cache on disk."""
        for row in rows:
            places = [int(row[name]) for name in ("budget", "permutation") if name in row]
            if row["method"] in methods and self.get(kind, row["method"], *places) is None:
                self._cells[kind, row["method"], *places] = {name: row[name] for name in row if name not in _KEY}

    def put(self, key: tuple[Any, ...], found: Found) -> None:
        """Keep a cell, in memory and on disk."""
        cell = {"key": list(key), **found}
        self._keep(cell)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write("\n" * self._ends_in_mid_line() + json.dumps(cell) + "\n")

    def _keep(self, cell: Found) -> None:
        self._cells[tuple(cell["key"])] = {name: value for name, value in cell.items() if name != "key"}

    def _ends_in_mid_line(self) -> bool:
        return self._path.exists() and self._path.read_bytes()[-1:] not in (b"\n", b"")


def digest(settings: Mapping[str, Any]) -> str:
    """Return a name for all that results depend on: the settings, the libraries, and the protocol."""
    found = hashlib.sha256(json.dumps([settings, platform.python_version(), _versions()], sort_keys=True).encode())
    for path in sources():
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def sources() -> list[Path]:
    """Return the files of code that results depend on."""
    package = Path(thresher.__file__).parent
    protocol = (HOME / f"{name}.py" for name in ("config", "data", "forks", "methods", "protocol", "x2"))
    return [*sorted(package.rglob("*.py")), Path(_core.__file__), *protocol]


def write_csv(path: Path, columns: Iterable[str], rows: Iterable[Found]) -> None:
    """Write a table; the file appears only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def write_methods(path: Path, columns: Iterable[str], rows: Iterable[Found], methods: Methods) -> None:
    """Write the rows of the methods that were run into a table, in place of their old ones; those of others stay."""
    write_csv(path, columns, methods.merged(read_csv(path), rows))


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a table; a file that does not exist is an empty one."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def note_run(name: str, methods: Methods, folder: Path = RESULTS, added: bool = False) -> None:
    """Record on what the methods were run on a data set: commit, machine and versions.

    Where cells were added to those of earlier runs, all commits are named; the rest is that of the last run.
    """
    path = folder / "runs.csv"
    old = read_csv(path)
    earlier = {row["method"]: row["commit"] for row in old if row["set"] == name and added}
    found = {"machine": _machine(), "cores": os.cpu_count(), "load": _load(), "python": platform.python_version()}
    found |= _versions()
    new = []
    for method in methods.run:
        commits = filter(None, (earlier.get(method), commit()))
        new.append({"set": name, "method": method, "commit": ", ".join(dict.fromkeys(commits)), **found})
    rows = methods.merged((row for row in old if row["set"] == name), new)
    rows += [row for row in old if row["set"] != name]
    write_csv(path, ("set", "method", "commit", *found), sorted(rows, key=lambda row: str(row["set"])))


def _versions() -> dict[str, str]:
    return {package: version(package) for package in ("thresher", "numpy", "scipy", "scikit-learn")}


def commit() -> str:
    """Return the commit that is checked out, and whether files that results depend on have changed."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=HOME, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--", "../src", "../cpp", "*.py", "configs")
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + (" and changes" if changed else "")


def _machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"
