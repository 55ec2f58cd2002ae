"""The list "Adding an algorithm" of CONTRIBUTING.md is complete: a script that follows it adds a learner to a copy.

The learner, `extra`, is OGD under another name. The copy uses the compiled core, in which OGD's classes get the names
that the new ones would have.
"""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from thresher import _core

ROOT = Path(__file__).parents[2]
COPIED = ("CMakeLists.txt", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml", "cpp", "docs", "src", "tests", "tools")

# In the copy, whose package must not be the one that is installed.
CHECKS = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
sys.path[:0] = ["src", "tests", "."]
from thresher import _core
_core.Extra, _core.ManyExtra = _core.Ogd, _core.ManyOgd
from tools import write_estimators
write_estimators.main()
import pytest
tests = ["tests/project/test_package.py", "tests/estimators/test_extra.py", "tests/estimators/test_online.py"]
chosen = "stub or public or reference or files or test_extra or has_an_oracle"
sys.exit(pytest.main(["-p", "no:cacheprovider", "-k", chosen, *tests]))
"""


def renamed(text):
    return text.replace("OGD", "EXTRA").replace("Ogd", "Extra").replace("ogd", "extra")


class Copy:
    """A copy of the repository, to which a learner is added."""

    def __init__(self, folder):
        self.folder = folder
        for name in COPIED:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "corpus", "regressions")
                shutil.copytree(ROOT / name, folder / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, folder / name)

    def add_file(self, path):
        """Add a file of the new learner, made from OGD's."""
        (self.folder / renamed(path)).write_text(renamed((self.folder / path).read_text()))

    def add(self, path, pattern, separator=""):
        """Add to a file what OGD has there."""
        text = (self.folder / path).read_text()
        found = re.search(pattern, text, re.MULTILINE)
        assert found is not None, f"{path}: OGD is not there as the list says"
        new = found[0] + separator + renamed(found[0])
        (self.folder / path).write_text(text[: found.start()] + new + text[found.end() :])

    def changed(self):
        """Return the files that are new, or not as in the repository."""
        found = set()
        for path in (path for path in self.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            name = path.relative_to(self.folder)
            if not (ROOT / name).exists() or not filecmp.cmp(path, ROOT / name, shallow=False):
                found.add(str(name))
        return found


@pytest.fixture
def copy(tmp_path):
    """Return a copy to which the learner was added, step by step."""
    copy = Copy(tmp_path)
    copy.add_file("cpp/include/thresher/learners/ogd.hpp")

    copy.add_file("cpp/bindings/ogd.cpp")
    copy.add("cpp/bindings/arrays.hpp", r"^void bind_ogd.*\n")
    copy.add("cpp/bindings/module.cpp", r"^ *bind_ogd\(m\);\n")
    copy.add("CMakeLists.txt", r" cpp/bindings/ogd.cpp|(?<= )cpp/bindings/ogd.cpp ")
    copy.add("src/thresher/_core.pyi", r"^class Ogd\(.*\n^class ManyOgd\(.*\n")

    copy.add("src/thresher/methods.py", r'^        Method\(\n            "ogd"(.*\n)*?        \),\n')

    copy.add_file("src/thresher/estimators/ogd.py")
    estimator = tmp_path / "src/thresher/estimators/extra.py"
    text = re.sub(r"(    Parameters\n    -+\n)(.*\n)*?(?=\n    Attributes)", r"\1", estimator.read_text())
    text = re.sub(r"    def __init__\((.*\n)*", "    def __init__(self) -> None:\n        pass\n", text)
    estimator.write_text(text)
    copy.add("src/thresher/__init__.py", r"^    from thresher.estimators.ogd import OGD\n")
    copy.add("src/thresher/__init__.py", r'^    "OGD",\n')

    copy.add("tests/oracles.py", r"^class OgdOracle\(.*\n(?:(?:    .*)?\n)*(?=\S)")
    copy.add("tests/oracles.py", r'^    "OGD": OgdOracle,\n')

    copy.add_file("tests/estimators/test_ogd.py")
    copy.add("cpp/tests/test_selectors.cpp", r"^TEST\(ogd_gives_its_bits\).*\n")

    copy.add_file("docs/ogd.md")
    copy.add("docs/conf.py", '"ogd"', ", ")
    copy.add("docs/index.md", r"\[OGD\]\(ogd.md\)", ", ")
    copy.add("docs/api/estimators.md", r"^.. autoclass:: thresher.OGD\n", "\n")
    copy.add("docs/api/river.md", r"^.. autoclass:: thresher.river.OGD\n", "\n")
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("unreleased\n\n", "unreleased\n\n- `EXTRA`.\n", 1))
    return copy


def listed():
    """Return the files that the list names; some by their name alone, after the folder of the one before."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = re.search(r"## Adding an algorithm, step by step\n.*?(?=\n\n`tests/)", text, re.DOTALL)[0]
    names = set(re.findall(r"`([\w./]+\.(?:hpp|cpp|txt|pyi|py|md))`", steps))
    return {renamed(path) for path in map(whole_path, names) if path is not None}


def whole_path(name):
    """Return the path of a file in the repository; None for one that is only read."""
    if name in ("arow.hpp", "pet.hpp", "concepts.hpp"):
        return None
    folders = ("", "src", "src/thresher", "cpp/bindings", "docs/api")
    (path,) = {f"{folder}/{name}".lstrip("/") for folder in folders if (ROOT / folder / name).is_file()}
    return path


def test_the_list_names_all_files_of_a_learner(copy):
    added = copy.changed()
    assert added == listed()
    core = Path(_core.__file__)
    (copy.folder / "src/thresher" / core.name).symlink_to(core)
    done = subprocess.run(
        [sys.executable, "-c", CHECKS], cwd=copy.folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
