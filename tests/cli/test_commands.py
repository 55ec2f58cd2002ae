"""The commands in commands.txt do what stands below them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_line import in_a_process, thresher

ROWS = "1 1:1\n-1 2:1\n" * 20
TEXT = re.sub("(?m)^#.*\n", "", Path(__file__).with_name("commands.txt").read_text())
PARAGRAPHS = [paragraph.strip("\n") for paragraph in re.split("\n{2,}", TEXT) if paragraph.strip()]


def unescaped(text):
    return text.encode().decode("unicode_escape")


def run(command):
    given = shlex.split(command.replace("\\", "\\\\"))
    return in_a_process(*given, stdin=ROWS) if "-" in given[:2] else thresher(*given)


@pytest.mark.parametrize("paragraph", PARAGRAPHS, ids=lambda text: re.search("(?m)^[$] (.*)", text)[1])
def test_commands(paragraph, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files, *steps = re.split("(?m)^[$] ", paragraph)
    Path("rows.svm").write_text(ROWS)
    for name, content in re.findall("(?m)^> (.*?): (.*)", files):
        Path(name).write_bytes(unescaped(content).encode("latin-1"))
    for step in steps:
        command, *expected = step.rstrip("\n").split("\n")
        before = {path: path.read_bytes() for path in Path().iterdir()}
        done = run(command)
        if expected and expected[0].startswith("! "):
            assert (done.returncode, done.stdout) == (2, ""), command
            assert done.stderr.startswith(f"thresher: {expected[0][2:]}"), command
            assert done.stderr.count("\n") == 1
            assert {path: path.read_bytes() for path in Path().iterdir()} == before
        else:
            assert done.returncode == 0, done
            for line in expected:
                assert unescaped(line) in done.stdout + done.stderr, command
