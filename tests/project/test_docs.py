"""The documents are true: what they show runs. `make docs` follows their links."""

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

from docs.links import broken_links

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("THRESHER_DATA", ROOT.parent / "shared" / "data"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {page: re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL) for page in PAGES}


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks], ids=lambda page: page.name)
def test_python_runs(page, tmp_path, monkeypatch):
    """Run the blocks of a page, which go on from one another.

    The comment of a line that is an expression, where it starts with a value, is what it must give.
    """
    monkeypatch.chdir(tmp_path)
    known = {"__name__": "block", "near": _is_near}
    for number, block in enumerate(BLOCKS[page]):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            exec(compile(_with_claims(block), f"<block {number} of {page.name}>", "exec"), known)


def _with_claims(block):
    program = []
    for line in block.splitlines():
        claim = re.match(r"(\s*)(\S.*?)\s+# (True|False|[\d.]+|\([\d, ]+\)|\[.*?\]|array\(.*\))(?=$|:| )", line)
        if claim and _is_expression(claim[2]):
            expected = repr(claim[3]) if claim[3].startswith("array") else claim[3]
            given = f"repr({claim[2]})" if claim[3].startswith("array") else f"({claim[2]})"
            line = f"{claim[1]}assert near({given}, {expected}), {given}"
        program.append(line)
    return "\n".join(program)


def _is_near(a, b):
    return a == b or str(a) == b or (isinstance(a, float) and abs(a - b) < 0.005)


def _is_expression(code):
    try:
        ast.parse(code.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


# `cat >` writes the data of a page.
COMMANDS = {page: re.findall(r"```sh\n((?:thresher|cat >) .*?)```", page.read_text(), re.DOTALL) for page in PAGES}
# Pages that name train.svm go on with the README's files.
GOING_ON = [page for page in PAGES if any("train.svm" in block for block in COMMANDS[page])]


def _run(blocks, folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in blocks:
        script = "set -euo pipefail\n" + block
        subprocess.run(["bash", "-c", script], check=True, timeout=120, cwd=folder, env={**os.environ, "PATH": path})


def test_commands_run(tmp_path):
    """The commands of the README, and of pages that go on from it, work as they are typed, in their order."""
    _run((block for page in GOING_ON for block in COMMANDS[page]), tmp_path)
    assert len((tmp_path / "labels.txt").read_text().split()) == 5_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page, blocks in COMMANDS.items() if blocks and page not in GOING_ON], ids=lambda page: page.name
)
def test_commands_of_a_page_run(page, tmp_path):
    _run(COMMANDS[page], tmp_path)
    for output in re.findall(r" -o ([^-\s]\S*)", "".join(COMMANDS[page])):
        assert (tmp_path / output).stat().st_size > 0, output


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
        without_seconds = [re.sub(r"^[\d.]+ s(, .*)?$", "", text, flags=re.MULTILINE) for text in (done.stdout, shown)]
        assert without_seconds[0] == without_seconds[1]


KINDS = (".py", ".hpp", ".cpp", ".html", ".js")


def test_the_architecture_names_what_there_is():
    """Guards the first page of a new developer against a file or function that was renamed without it."""
    text = (ROOT / "docs/architecture.md").read_text()
    files = [path for folder in ("src", "cpp") for path in (ROOT / folder).rglob("*.*") if path.suffix in KINDS]
    named = set(re.findall(r"\b[a-z_]+\.(?:py|hpp|html|js)\b", text)) - {"write_estimators.py"}  # which is in tools/
    assert named <= {path.name for path in files}
    sources = "".join(path.read_text() for path in files)
    for name in re.findall(r"`(?:\w+\.)*(\w+)`", text[text.index("## The journey") :]):
        assert re.search(rf"\b{name}\b", sources), name


def test_make_targets_exist():
    """Guards pages against the Makefile: a command that a reader types is there."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"^make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets


def test_every_page_is_in_the_menu_and_on_the_first_page():
    """Guards against a page that nobody finds. The menu is in docs/conf.py, which only sphinx can import."""
    menu = (ROOT / "docs/conf.py").read_text()
    first = (ROOT / "docs/index.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        if page.stem != "index":
            assert re.search(rf"[\"<]{page.stem}[\">]", menu), page.name
            assert f"]({page.name}" in first, page.name


def test_broken_links_of_the_site_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top">a</h1><a href="b.html#there">b</a><a href="https://x.org/#y">x</a>')
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1><a href="a.html">a</a><img src="figure%201.svg">')
    (tmp_path / "figure 1.svg").write_text("<svg/>")
    assert broken_links(tmp_path) == []
    (tmp_path / "c.html").write_text('<a href="a.html#gone">a</a>\n<a href="gone.html">d</a><a href="#gone">here</a>')
    assert [line.split(": ", 1)[1] for line in broken_links(tmp_path)] == [
        "a.html#gone: the page has no such anchor.",
        "gone.html: there is no such file.",
        "#gone: the page has no such anchor.",
    ]
