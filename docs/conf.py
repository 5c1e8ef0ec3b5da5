"""The documentation site, from the same Markdown that the repository shows (`make docs`).

The source folder is the whole repository, so that links between documents, results and notes work as they
do there.
"""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[1]

project = "secateur"
author = "The secateur developers"
copyright = "the secateur developers; MIT or Apache-2.0"
release = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)

extensions = ["myst_nb"]
# Notebooks are shown as `python3 tests/run.py notebooks` executed them.
nb_execution_mode = "off"
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**.svg",
    "docs/notebooks/*.ipynb",
    "*.md",
    "bench/results/**.md",
    "experiments/README.md",
    "fuzz/README.md",
    "proofs/README.md",
    "tests/README.md",
]
myst_enable_extensions = ["colon_fence"]
# Links to headings: as deep as pages have them.
myst_heading_anchors = 4
# Results are reached by links, not by the menu.
suppress_warnings = ["toc.not_included"]

html_theme = "furo"
html_title = f"secateur {release}"
html_baseurl = ""
html_show_sourcelink = False
html_copy_source = False
