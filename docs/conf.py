"""The site: `make docs` turns the Markdown of the repository into HTML, where it lies.

The source folder is the repository itself, so that pages are read on a code host as they are here: a link from a page
to a report, a figure or a source file is a plain relative path in both.
"""

from __future__ import annotations

from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

project = "thresher"
author = "the thresher developers"
copyright = author
version = release = version_of("thresher")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "*.md", "benchmarks/*.md", "experiments/*.md"]
exclude_patterns = [".*", "build", "cpp", "faults", "src", "tests"]

# The menu, by headings. A page that is missing here is a warning, and so an error of `make docs`.
MENU = {
    "Start": ["getting_started", "choosing", "examples"],
    "Coming from": ["from_scikit_learn", "from_vowpal_wabbit", "from_liblinear", "from_river", "from_libsol"],
    "How to": [
        "Text and other names <names>",
        "tables",
        "dense_tables",
        "single_cells",
        "imbalanced",
        "classes",
        "how_many",
        "how_sure",
        "explaining",
        "select_then_train",
        "pipelines",
        "river",
        "larger_than_memory",
        "resuming",
        "report",
        "scale",
    ],
    "Methods": ["shadow_sofs", "shadow_sofs_regressor", "sofs", "pet", "fofs", "arow", "ogd", "mrmr", "l1svm", "fgm"],
    "In depth": ["files", "order", "gamma", "probabilities", "memory", "performance", "reliability"],
    "Measurements": [
        "The paper's results <../experiments/REPORT>",
        "Speed <../benchmarks/RESULTS>",
        "Two layers, measured <../experiments/LAYERS>",
        "γ chosen in the pass <../experiments/GAMMA>",
        "Memory, measured <../experiments/MEMORY>",
        "Names, measured <../experiments/NAMES>",
        "Stability, measured <../experiments/STABILITY>",
        "Numbers, measured <../experiments/NUMBERS>",
    ],
    "Reference": [
        "api",
        "architecture",
        "README <../README>",
        "../CONTRIBUTING",
        "../SECURITY",
        "../CHANGELOG",
    ],
}

API = ["api/estimators", "api/training", "api/analysis", "api/data", "api/river"]

myst_heading_anchors = 4  # of the names that code hosts give to headings

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types, in words
napoleon_google_docstring = False
napoleon_use_param = False  # types are words, not links: "shape" is not that of a Batch
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
default_role = "code"

# What is ours must be found; other projects' classes have their own sites.
nitpick_ignore_regex = [("py:.*", r"(?!thresher\.).*")]

html_theme = "furo"
html_title = f"thresher {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]


def add_menu(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the menu to the pages that lead to others; on a code host it would be noise there."""
    menus = MENU if page == root_doc else {"Pages": API} if page == "docs/api" else {}
    for heading, pages in menus.items():
        source[0] += f"\n```{{toctree}}\n:caption: {heading}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def add_redirect(app: Sphinx, exception: Exception | None) -> None:
    """Write an index.html above docs/, where people look for one."""
    Path(app.outdir, "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>{project}</title>'
        '<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">docs/index.html</a>\n'
    )


def setup(app: Sphinx) -> None:
    """Connect the two steps above to the build."""
    app.connect("source-read", add_menu)
    app.connect("build-finished", add_redirect)
