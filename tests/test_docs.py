"""The documents are true: every block of Python in them runs, and every link leads somewhere."""

from __future__ import annotations

import ast
import lzma
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("THRESHER_DATA", ROOT.parent / "shared" / "data"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_runs(block, tmp_path, monkeypatch):
    """Run a block; the comment of a line that is an expression, where it starts with a value, is what it must give."""
    program = ["def near(a, b):", "    return a == b or str(a) == b or (isinstance(a, float) and abs(a - b) < 0.005)"]
    for line in block.splitlines():
        claim = re.match(r"(\s*)(\S.*?)\s+# (True|False|[\d.]+|\([\d, ]+\)|\[.*?\]|array\(.*\))(?=$|:| )", line)
        if claim and _is_expression(claim[2]):
            expected = repr(claim[3]) if claim[3].startswith("array") else claim[3]
            given = f"repr({claim[2]})" if claim[3].startswith("array") else f"({claim[2]})"
            line = f"{claim[1]}assert near({given}, {expected}), {given}"
        program.append(line)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        exec(compile("\n".join(program), "<block>", "exec"), {"__name__": "block"})


def _is_expression(code):
    try:
        ast.parse(code.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


COMMANDS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```sh\n(thresher .*?)```", page.read_text(), re.DOTALL))
]


def test_commands_run(tmp_path):
    """Every command of the documents works as it is typed, in their order."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in COMMANDS:
        script = "set -euo pipefail\n" + block.values[0]
        subprocess.run(["bash", "-c", script], check=True, timeout=120, cwd=tmp_path, env={**os.environ, "PATH": path})
    assert len((tmp_path / "labels.txt").read_text().split()) == 5_000


@pytest.mark.parametrize(
    ("page", "file", "n"),
    [
        ("docs/how_many.md", "basehock.svm.xz", 3),
        ("docs/names.md", "enron1.jsonl.xz", 1),
        ("README.md", "enron1.jsonl.xz", 1),
    ],
)
def test_a_session_is_as_shown(tmp_path, page, file, n):
    """The commands of a page print what stands below them, but for the seconds."""
    if not (DATA / file).exists():
        pytest.skip(f"{file} is not among the data")
    (tmp_path / file).write_bytes((DATA / file).read_bytes())
    (tmp_path / file.removesuffix(".xz")).write_bytes(lzma.decompress((DATA / file).read_bytes()))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    sessions = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert len(sessions) == n
    for session in sessions:
        command, _, shown = session.removeprefix("$ ").partition("\n")
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=120, cwd=tmp_path,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        without_seconds = [re.sub(r"^[\d.]+ s, .*", "", text, flags=re.MULTILINE) for text in (done.stdout, shown)]
        assert without_seconds[0] == without_seconds[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"^make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets
