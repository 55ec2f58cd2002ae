"""Print the oldest version of each dependency that pyproject.toml allows, as pip's requirements.

The tools that only run the tests are not pinned.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TOOLS = {"pytest", "pytest-xdist", "hypothesis"}


def main() -> None:
    """Print one requirement per line."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    libraries = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["arrow"]]
    peers = [item for item in project["dependency-groups"]["test"] if isinstance(item, str)]
    for requirement in dict.fromkeys([*libraries, *(item for item in peers if item.startswith(("pandas", "polars")))]):
        found = re.fullmatch(r"([a-z.-]+)>=([\d.]+)(;.*)?", requirement)
        assert found is not None, f"{requirement}: the oldest version is not given as NAME>=VERSION"
        print(f"{found[1]}=={found[2]}{found[3] or ''}")
    print("\n".join(sorted(TOOLS)))


if __name__ == "__main__":
    main()
