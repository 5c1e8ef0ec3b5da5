"""The sizes in SOUNDNESS.md are those of the code: `dev/lines.py` counts them."""

from __future__ import annotations

import importlib.util
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("lines", ROOT / "dev" / "lines.py")
lines = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lines)

PAGE = (ROOT / "SOUNDNESS.md").read_text(encoding="utf-8")
SIZES = lines.parts()
# A number on the page may differ from the code by this share, so that small changes need no new table.
NEAR = 0.02


def near(said: str, counted: int) -> bool:
    return abs(int(said.replace(",", "")) - counted) <= NEAR * counted


def row(*names: str) -> list[str]:
    """The column of sizes in the row of the page's table that begins with these names."""
    found = re.search(rf"^\| {', '.join(f'`{name}`' for name in names)}[^|]*\| ([0-9, ]+) \|", PAGE, re.MULTILINE)
    assert found, names
    return re.findall("[0-9,]*[0-9]", found[1])


def test_blank_lines_comments_and_tests_do_not_count():
    text = '''//! Head.

use a::b;

/// Says something.
fn f() {
    // Why.
    g(); // Counts.
}

#[cfg(test)]
mod tests;

#[cfg(test)]
#[allow(dead_code)]
mod more {
    fn t() {
        f();
    }
}

fn g() {}
'''
    assert lines.code_lines(text) == 5
    assert lines.python_lines('"""Head.\n\nMore."""\n\n# Why.\nx = """one\ntwo"""\n\ndef f():\n    "Says."\n    return 1\n') == 4


def test_the_table_says_what_there_is():
    for names in (["kernel"], ["lower"], ["checker", "certificate"], ["model"], ["json"]):
        said = row(*names)
        assert len(said) == len(names)
        for name, number in zip(names, said):
            assert near(number, SIZES[name]), f"{name}: {SIZES[name]:,} lines, and the page says {number}"
    said = row("formats")
    assert near(said[0], SIZES["shared"]), f"formats, shared parts: {SIZES['shared']:,}, and the page says {said[0]}"
    table = re.search(r"^\| \.\.\. ([^|]*) \| ([0-9,/ ]+) \|", PAGE, re.MULTILINE)
    libraries, said = table[1].split(" / "), table[2].split(" / ")
    assert libraries == list(lines.LIBRARIES)
    for library, number in zip(libraries, said):
        assert near(number, SIZES[library]), f"{library}: {SIZES[library]:,} lines, and the page says {number}"


def test_what_a_certificate_rests_on():
    said = dict(re.findall(r"([A-Za-z-]+) +([0-9]+,[0-9]{3})(?=[,.;)]| and)", re.search(r"rests on about (.*?)\.\s", PAGE, re.DOTALL)[1] + "."))
    assert said.keys() == lines.LIBRARIES.keys()
    for library, number in said.items():
        assert near(number, lines.trusted(SIZES, library)), f"{library}: {lines.trusted(SIZES, library):,}"


def test_both_kernels_stay_small():
    assert SIZES["kernel"] <= 2_000
    assert lines.kernel_in_python() <= 500
