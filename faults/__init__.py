"""Faults, really done: what is promised in docs/reliability.md is broken here on purpose, and must hold."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "cpp" / "fuzz"))  # whose forged.py changes files as the fuzzers do
