"""The package: public names, matching stubs, and for each method a kernel header, estimator, test file and page."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import thresher
from thresher import _core, methods

ROOT = Path(__file__).parents[2]


def test_public_names_resolve():
    assert set(dir(thresher)) >= set(thresher.__all__)
    for name in thresher.__all__:
        assert getattr(thresher, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'SOFT'"):
        _ = thresher.SOFT


def test_documents_import_nothing_from_deeper_than_a_package():
    """What a page or an example teaches has a short name: `thresher.NAME`, or NAME in a package of thresher."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    for page in pages:
        text = page.read_text()
        assert not re.findall(r"thresher\.[a-z_]+\.[a-z_]+(?: import|\.).*", text), page


def test_every_file_has_the_version_of_pyproject():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert thresher.__version__ == version, "the installed package is of another version: run make again"
    heading = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    assert re.fullmatch(rf"{re.escape(version)}, (unreleased|\d{{4}}-\d\d-\d\d)", heading[1])
    # Whoever cites a version adds it; a line here would be a second place to keep up to date.
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text()


def test_make_and_pip_do_not_share_a_build_folder():
    """The paths in an isolated build's cache are gone when it has ended, and the other would compile all again."""
    of_pip = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["build-dir"]
    (of_make,) = re.findall(r"PIP\) install .*-C build-dir='([^']+)' -e \.", (ROOT / "Makefile").read_text())
    assert "{wheel_tag}" in of_make  # each Python its own
    assert of_make != of_pip


def test_stub_names_what_the_core_has():
    tree = ast.parse((ROOT / "src/thresher/_core.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    shared = {"TwoClassSelector", "State", "Changes"}  # that only the stub has
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(_core, node.name)
        elif isinstance(node, ast.ClassDef) and node.name not in shared | {"Selector"}:  # which is only a base
            family = [node]
            for kin in family:
                family += [classes[base.id] for base in kin.bases if base.id != "ValueError"]
            expected = {item.name for kin in family for item in kin.body if isinstance(item, ast.FunctionDef)}
            kinds = [kind for kind in getattr(_core, node.name).__mro__ if kind.__module__ == _core.__name__]
            real = {name for kind in kinds for name in vars(kind) if not name.startswith("_")}
            real |= set() if node.name == "FoundRows" else {"__init__"}  # only the core makes these
            assert expected == real, node.name
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} - shared
    named |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert named == {name for name in vars(_core) if not name.startswith("_")}


@pytest.mark.parametrize("method", methods.METHODS.values(), ids=lambda method: method.name)
def test_a_method_has_its_files(method):
    paths = [
        f"src/thresher/estimators/{method.name}.py",
        f"tests/estimators/test_{method.name}.py",
        f"docs/{method.name}.md",
    ]
    if not method.is_batch:
        paths.append(f"cpp/include/thresher/learners/{method.name.removesuffix('_regressor')}.hpp")  # of any target
    for path in paths:
        assert (ROOT / path).exists(), path


def test_every_method_of_the_table_is_public():
    assert {method.estimator for method in methods.METHODS.values()} <= set(thresher.__all__)
    for method in methods.METHODS.values():
        estimator = getattr(thresher, method.estimator)
        assert estimator._method == method.name  # no public name: it is what makes a class this method's
        assert set(estimator().get_params()) == set(method.parameters)


def test_every_method_is_in_the_reference():
    for expected, page, home in (
        (methods.METHODS.values(), "estimators", "thresher"),
        ((*methods.ONLINE, *methods.REGRESSORS), "river", "thresher.river"),
    ):
        text = (ROOT / "docs" / "api" / f"{page}.md").read_text()
        classes = re.findall(rf"(?m)^[.][.] autoclass:: {re.escape(home)}[.](\w+)$", text)
        assert {method.estimator for method in expected} <= set(classes), page


def test_every_make_target_is_run_by_ci():
    """A target that nothing runs breaks unnoticed."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))  # others are parts of these
    scripts = (ROOT / ".ci" / "run").read_text() + (ROOT / "tests" / "system" / "run").read_text()
    lists = re.findall(r"^\s*(?:make|for target in) ([^;\n]*)", scripts, re.MULTILINE)
    run = {target for line in lists for target in line.split()}
    assert targets - run == {"clean", "format"}
