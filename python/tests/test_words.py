"""`dev/words.py` finds idioms and long lines in comments and prose, and nothing in code."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "dev" / "words.py"
_spec = importlib.util.spec_from_file_location("words", SCRIPT)
words = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(words)

CLEAN, IDIOMS = words.read_list((ROOT / "dev" / "words.txt").read_text(encoding="utf-8"))
# An idiom of the list, in a form that this file's own check does not find.
IDIOM = "in place " + "of"


def found(name: str, text: str) -> list[tuple[int, str]]:
    """The findings in a file: line number, and the idiom or the limit."""
    findings = words.findings(name, text, IDIOMS)
    return [(number, re.sub(r'^found "(.*?)".*$', r"\1", message)) for number, message in findings]


def test_idioms_are_found_in_every_kind_of_comment():
    assert found("a.rs", f"//! A is used {IDIOM} b.\nfn f() {{}} // {IDIOM.upper()} c\n") == [
        (1, IDIOM),
        (2, IDIOM.upper()),
    ]
    assert found("a.rs", f"fn f() {{}}\n/* Two lines:\n * {IDIOM} b. */\n") == [(3, IDIOM)]
    assert found("a.py", f'#!/usr/bin/env python3\n"""Head.\n\nUsed {IDIOM} b."""\nx = 1  # {IDIOM} y\n') == [
        (4, IDIOM),
        (5, IDIOM),
    ]
    assert found("a.py", f"def f():\n    # why\n    r'''Text {IDIOM} b.'''\n") == [(3, IDIOM)]
    assert found("a.toml", f'key = "#"  # {IDIOM} b\n') == [(1, IDIOM)]
    assert found("Makefile", f"all: ## makes a {IDIOM} b\n\t@echo $#\n") == [(1, IDIOM)]
    assert found("a.md", f"| a | {IDIOM} b |\n") == [(1, IDIOM)]


def test_an_idiom_may_be_divided_by_the_end_of_a_line_but_not_of_a_paragraph():
    first, second = IDIOM.split()[0] + " place", IDIOM.split()[-1]
    assert found("a.rs", f"/// Used {first}\n/// {second} b.\n") == [(1, IDIOM)]
    assert found("a.rs", f"/// Used {first}\n///\n/// {second} b.\n") == []
    assert found("a.rs", f"/// Used {first}\nfn f() {{}}\n/// {second} b.\n") == []
    assert found("a.md", f"Text\nused {first}\n{second} b.\n") == [(2, IDIOM)]


def test_strings_are_no_comments():
    for text in (
        f'let url = "https://a // {IDIOM} b";\n',
        f'let text = r#"quote " // {IDIOM} b"#;\n',
        f'let text = br"\\";\nlet other = "// {IDIOM} b";\n',
        f'let text = "two lines\n    // {IDIOM} b";\n',
        f"let quote = '\"';\nlet text = \"// {IDIOM} b\";\nlet other = '\\'';\n",
    ):
        assert found("a.rs", text) == [], text
        # What follows the string is read again.
        assert found("a.rs", f"{text}// {IDIOM} c\n") == [(text.count("\n") + 1, IDIOM)], text
    assert found("a.rs", f"fn f<'a>(x: &'a str) {{}} // {IDIOM} b\n") == [(1, IDIOM)]
    assert found("a.py", f'x = "# {IDIOM} b"\ny = """\n# {IDIOM} b\n"""\nf(\n    """{IDIOM} b"""\n)\n') == []


def test_fenced_examples_are_code():
    assert found("a.md", f"Text.\n```text\n{IDIOM} b {'x' * 200}\n```\nIt is {IDIOM} b.\n") == [(5, IDIOM)]
    assert found("a.md", f"~~~\n```\n{IDIOM} b\n~~~\n") == []
    assert found("a.rs", f"/// ```\n/// // {IDIOM} b\n/// ```\n/// Used {IDIOM} b.\n") == [(4, IDIOM)]
    # A fence ends with its comment.
    assert found("a.rs", f"/// ```\nfn f() {{}}\n/// Used {IDIOM} b.\n") == [(3, IDIOM)]


def test_long_lines_are_found():
    comment, code = "// " + "x" * 107, "let text = \"" + "x" * 200 + "\";"
    assert len(comment) == words.COMMENT_COLUMNS
    assert found("a.rs", f"{comment}\n{code}\n") == []
    assert found("a.rs", f"{comment}x\n") == [(1, "more than 110 columns")]
    assert found("a.rs", f"{code} // why\n") == [(1, "more than 110 columns")]
    line = "x" * words.MARKDOWN_COLUMNS
    assert found("a.md", f"{line}\n") == []
    assert found("a.md", f"Text.\n{line}x\n") == [(2, "more than 120 columns")]
    # Tables and the targets of links may be long.
    assert found("a.md", f"| {line} |\n[text](https://a/{line})\n[text]: {line}\nSee https://a/{line}.\n") == []


def test_released_versions_of_the_changelog_are_left_out():
    text = f"# Changelog\n\n## Unreleased\n\n- A {IDIOM} b.\n\n## 0.2.0 (2026-11-16)\n\n- A {IDIOM} b.\n"
    assert found("CHANGELOG.md", text) == [(5, IDIOM)]
    assert len(found("other.md", text)) == 2


def test_honest_uses_are_not_found():
    for text in ("so many that it is full", "the reason behind it", "bounds that are no more than 5"):
        assert found("a.md", f"{text}\n") == [], text


def test_the_clean_folders_are_clean():
    assert CLEAN and all((ROOT / folder).exists() for folder in CLEAN)
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, ""), run.stdout + run.stderr


def test_paths_are_taken_from_the_command_line(tmp_path):
    run = [sys.executable, str(SCRIPT), "--only"]
    assert subprocess.run([*run, "dev", "python/tests/test_words.py"], cwd=ROOT).returncode == 0
    for path in (str(tmp_path), "crates/nowhere"):
        refused = subprocess.run([*run, path], cwd=ROOT, capture_output=True, text=True)
        assert refused.returncode == 2 and "is not in the project" in refused.stderr
