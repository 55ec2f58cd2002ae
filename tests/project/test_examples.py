"""The scripts in examples/ run as they are, and print what their first lines show."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_prints_what_it_shows(example, tmp_path):
    docstring = ast.get_docstring(ast.parse(example.read_text()))
    _, command, shown = docstring.partition(f"$ python {example.name}\n")
    assert command
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == shown.strip()
