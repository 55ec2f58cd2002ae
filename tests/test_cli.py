"""The command line as a user meets it: real processes, their output and exit codes."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

THRESHER = str(Path(sys.executable).with_name("thresher"))


def thresher(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([THRESHER, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_demo_prints_its_table_and_what_to_try_next():
    done = thresher("demo", "--rows", "5000")
    assert done.returncode == 0
    assert done.stderr == ""  # no terminal, no progress bar
    rows = re.findall(r"│\s+(\d+) │\s+(0\.\d+) │\s+(\d+) of 200 │\s+([\d.]+) │\s+(\d+) │", done.stdout)
    assert [row[0] for row in rows] == ["50", "100", "150", "200", "300", "400"]
    assert float(rows[3][1]) > 0.9
    assert int(rows[3][2]) == 200
    assert "Try next" in done.stdout


def test_demo_shows_progress_on_a_terminal():
    reader, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [THRESHER, "demo", "--rows", "5000"], stdout=subprocess.PIPE, stderr=terminal, env=environment
    )
    os.close(terminal)
    process.communicate(timeout=120)
    shown = b""
    try:
        while chunk := os.read(reader, 65536):
            shown += chunk
    except OSError:  # the terminal's end, on Linux
        pass
    os.close(reader)
    assert process.returncode == 0
    assert b"training, B = 400" in shown


def test_what_the_demo_says_to_try_works():
    from thresher.cli.demo import NEXT

    code = "\n".join(line.strip() for line in NEXT.splitlines() if line.startswith("    "))
    assert "SOFS" in code
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["demo", "--rows", "3"], "thresher: Invalid value for '--rows'"),
        (["demo", "--rows", "many"], "thresher: Invalid value for '--rows'"),
        (["demo", "--seed", "-1"], "thresher: Invalid value for '--seed'"),
        (["dmo"], "thresher: No such command 'dmo'"),
        (["demo", "--rwos", "3"], "thresher: No such option"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments, line):
    done = thresher(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


def test_help_and_version():
    assert "demo" in thresher("--help").stdout
    assert thresher().stdout == thresher("--help").stdout
    assert re.fullmatch(r"thresher \d+\.\d+\.\d+\n", thresher("--version").stdout)


HELP = """
import sys
from thresher.cli import main
sys.argv = ["thresher", "--help"]
try:
    main()
except SystemExit:
    pass
"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import thresher", {"numpy", "scipy", "sklearn", "typer", "rich"}),
        ("import thresher; thresher.datasets", {"sklearn", "typer"}),
        ("import thresher.model", {"scipy", "sklearn", "typer"}),
        (HELP, {"numpy", "scipy", "sklearn"}),
    ],
)
def test_start_up_imports_nothing_heavy(code, absent):
    """Seconds differ between machines; what is imported does not."""
    code += "\nimport sys; print('modules:', *sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert not absent & set(out.rsplit("modules:", 1)[1].split())
