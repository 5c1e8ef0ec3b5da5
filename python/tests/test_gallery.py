"""Every page of the gallery runs from start to end and prints what it shows."""

from __future__ import annotations

import contextlib
import io
import pathlib
import re

import pytest

GALLERY = pathlib.Path(__file__).parents[2] / "docs" / "gallery"
# The converter takes most of the time of all pages.
FULL = {"lightgbm-to-onnx"}
PAGES = sorted(page.stem for page in GALLERY.glob("*.md") if page.stem != "README")


def told(text: str) -> list[str]:
    """What is printed, without its numbers: other versions of the libraries train other trees, and times differ."""
    return re.sub(r"[0-9][0-9,]*(\.[0-9]+)?(e-?[0-9]+)?", "N", text).split()


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.full if name in FULL else ()) for name in PAGES])
def test_a_page_prints_what_it_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": name}
    printed, shown = "", 0
    for kind, block in re.findall(r"```(\w+)\n(.*?)```", (GALLERY / f"{name}.md").read_text(), re.DOTALL):
        if kind == "python":
            assert not printed.strip(), f"the page does not show {printed}"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block, f"{name}.md", "exec"), names)
            printed = out.getvalue()
        elif kind == "text":
            assert told(printed) == told(block), printed
            printed, shown = "", shown + 1
    assert shown and not printed.strip()


def test_the_gallery_lists_its_pages():
    listed = re.findall(r"\]\(([\w-]+)\.md\)", (GALLERY / "README.md").read_text())
    assert sorted(listed) == PAGES and len(PAGES) == 6
