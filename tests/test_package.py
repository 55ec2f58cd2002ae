"""The house: public names, stubs that match, and one kernel header, estimator, test file and docs page an algorithm."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import thresher
from thresher import _core, parameters

ROOT = Path(__file__).parents[1]


def test_public_names_resolve():
    assert set(dir(thresher)) >= set(thresher.__all__)
    for name in thresher.__all__:
        assert getattr(thresher, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'SOFT'"):
        _ = thresher.SOFT


def test_stub_names_what_the_core_has():
    tree = ast.parse((ROOT / "src/thresher/_core.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    shared = {"Selector", "TwoClassSelector"}  # bases that only the stub has
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(_core, node.name)
        elif isinstance(node, ast.ClassDef) and node.name not in shared:
            family = [node]
            for kin in family:
                family += [classes[base.id] for base in kin.bases]
            methods = {item.name for kin in family for item in kin.body if isinstance(item, ast.FunctionDef)}
            real = {name for name in vars(getattr(_core, node.name)) if not name.startswith("_")} | {"__init__"}
            assert methods == real, node.name
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} - shared
    assert named == {name for name in vars(_core) if not name.startswith("_")}


@pytest.mark.parametrize("method", parameters.OWN)
def test_an_algorithm_has_its_four_files(method):
    for path in (
        f"cpp/include/thresher/learners/{method}.hpp",
        f"src/thresher/online/{method}.py",
        f"tests/test_{method}.py",
        f"docs/{method}.md",
    ):
        assert (ROOT / path).exists(), path
