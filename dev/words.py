#!/usr/bin/env python3
"""Finds idioms of a list, long comment lines and long paragraphs in the tracked files.

    python dev/words.py                  the folders that dev/words.txt calls clean
    python dev/words.py --only PATH...   these files and folders

It reads comments of Rust, Python, TOML and Makefiles, docstrings and Markdown; no strings, no fenced code.
Exits with 1 if it finds anything.
"""

import argparse
import bisect
import itertools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMENT_COLUMNS = 110
MARKDOWN_COLUMNS = 120
# Measurements and notes on released versions stay as they were written.
LEFT_OUT = ("bench/results/",)
RELEASED = re.compile(r"^## \d", re.MULTILINE)

# Strings are alternatives, too, so that a // or # inside of a string does not count as a comment.
SLASHES = re.compile(
    r"""(?s)\b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | "(?:[^"\\]|\\.)*" | '(?:[^'\\\n]|\\.[^'\n]*)'
    | (?P<comment>//[^\n]* | /\*.*?\*/)""",
    re.VERBOSE,
)
HASHES = re.compile(
    r"""(?ms)(?P<block>r?(?P<quotes>\"{3}|'{3})(?:[^\\]|\\.)*?(?P=quotes))
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | (?P<comment>(?:^|(?<=\s))\#[^\n]*)""",
    re.VERBOSE,
)
MARKER = re.compile(r"""\s*(?://[/!]?|/\*+|\*/?(?=\s|$)|\#+!?|r?\"{3}|r?'{3})?\s?""")
LINK_TARGET = re.compile(r"\]\([^)]*\)|^\s*\[[^\]]*\]:.*|<?https?://\S+")


def read_list(text):
    """The clean folders, and each idiom's expression with what to write instead."""
    clean = " ".join(re.findall(r"(?m)^clean:(.*)", text)).split()
    idioms = [line.split("\t") for line in text.splitlines() if "\t" in line and line[0] != "#"]
    return clean, [(re.compile(expression, re.IGNORECASE), advice) for expression, advice in idioms]


def comments(name, text):
    """The lines of comments and docstrings: number, text without marker, whether the line is too long."""
    lines = text.split("\n")
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))
    end, code = 0, ""
    for match in (SLASHES if name.endswith(".rs") else HASHES).finditer(text):
        code = text[end : match.start()].rstrip() or code
        end = match.end()
        first = bisect.bisect_right(starts, match.start()) - 1
        if match["comment"] is None:
            # A docstring begins a line, at the start of the file or after a colon.
            begins = not text[starts[first] : match.start()].strip() and code[-1:] in ("", ":")
            code = '"'
            if not (begins and name.endswith(".py") and match["block"]):
                continue
        for at, part in enumerate(match.group().split("\n"), first):
            yield at + 1, MARKER.sub("", part, count=1), len(lines[at]) > COMMENT_COLUMNS


def prose(name, text):
    """The lines of Markdown, in the same form; tables and the targets of links may be long."""
    released = RELEASED.search(text) if Path(name).name == "CHANGELOG.md" else None
    for number, line in enumerate(text[: released and released.start()].split("\n"), 1):
        yield number, line, line.lstrip()[:1] != "|" and len(LINK_TARGET.sub("", line)) > MARKDOWN_COLUMNS


def findings(name, text, idioms):
    """What has to be rewritten in a file: line numbers and messages."""
    markdown = name.endswith(".md")
    paragraphs, found, fence, before = [[]], set(), "", 0
    for number, part, too_long in (prose if markdown else comments)(name, text):
        part, gap, before = part.strip(), number != before + 1, number
        fence = "" if gap else fence
        mark = part[:3] if part.startswith(fence or ("```", "~~~")) else ""
        if gap or mark or not part:
            paragraphs.append([])
        if mark:
            fence = "" if fence else mark
        elif not fence:
            paragraphs[-1].append((number, part))
            if too_long:
                found.add((number, f"more than {MARKDOWN_COLUMNS if markdown else COMMENT_COLUMNS} columns"))
    for paragraph in paragraphs:
        joined = " ".join(part for _, part in paragraph)
        starts = list(itertools.accumulate((len(part) + 1 for _, part in paragraph), initial=0))
        for expression, advice in idioms:
            for match in expression.finditer(joined):
                number = paragraph[bisect.bisect_right(starts, match.start()) - 1][0]
                found.add((number, f'found "{match.group()}"; write: {advice}'))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="PATH", help="files and folders to check")
    clean, idioms = read_list((ROOT / "dev/words.txt").read_text(encoding="utf-8"))
    wanted = [Path(path).resolve() for path in parser.parse_args().only or []] or [ROOT / path for path in clean]
    for path in wanted:
        if not (path.exists() and path.is_relative_to(ROOT)):
            parser.error(f"{path} is not in the project")
    listed = subprocess.run(["git", "ls-files", "-z", "--", *wanted], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    report = []
    for name in listed.stdout.decode().split("\0"):
        path, known = ROOT / name, name.endswith((".rs", ".py", ".toml", ".md", "Makefile"))
        if known and path.is_file() and not name.startswith(LEFT_OUT):
            found = findings(name, path.read_text(encoding="utf-8"), idioms)
            report += [f"{name}:{number}: {message}\n" for number, message in found]
    print(*report, sep="", end="")
    sys.exit(1 if report else 0)


if __name__ == "__main__":
    main()
