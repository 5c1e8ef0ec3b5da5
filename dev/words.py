#!/usr/bin/env python3
"""Finds idioms of a list, long comment lines and long paragraphs in the tracked files.

    python dev/words.py                  the folders that dev/words.txt calls clean
    python dev/words.py --only PATH...   these files and folders

It reads comments of Rust, Python, TOML and Makefiles, Python's docstrings, and Markdown. It does not
read strings or fenced examples. It also finds an idiom that a line end divides. It exits with 1 if it
reports anything.
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
# What was measured or released stays as it was written.
LEFT_OUT = ("bench/results",)
RELEASED = re.compile(r"^## \d", re.MULTILINE)

# Strings come first, so that a // or # inside of a string is not taken for a comment.
SLASHES = re.compile(
    r"""(?s)\b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | "(?:[^"\\]|\\.)*" | '(?:[^'\\\n]|\\.[^'\n]*)'
    | (?P<comment>//[^\n]* | /\*.*?\*/)""",
    re.VERBOSE,
)
HASHES = re.compile(
    r"""(?ms)(?P<block>r?(?P<quotes>\"{3}|'{3})(?:[^\\]|\\.)*?(?P=quotes)) | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
    | (?P<comment>(?:^|(?<=\s))\#[^\n]*)""",
    re.VERBOSE,
)
MARKER = re.compile(r"""\s*(?://[/!]?|/\*+|\*/?(?=\s|$)|\#+!?|r?\"{3}|r?'{3})?\s?""")
LINK_TARGET = re.compile(r"\]\([^)]*\)|^\s*\[[^\]]*\]:.*|<?https?://\S+")


def read_list(text):
    """The folders that are clean, and for each idiom its expression and what to write instead."""
    clean = [folder for line in text.splitlines() if line.startswith("clean:") for folder in line.split()[1:]]
    idioms = [line.split("\t") for line in text.splitlines() if "\t" in line and not line.startswith("#")]
    return clean, [(re.compile(expression, re.IGNORECASE), advice) for expression, advice in idioms]


def comments(name, text):
    """Each line that has a comment or a docstring: its number, that text, and whether the line is too long."""
    lines = text.split("\n")
    starts = [0, *(at + 1 for at in (match.start() for match in re.finditer("\n", text)))]
    end, last = 0, ""
    for match in (SLASHES if name.endswith(".rs") else HASHES).finditer(text):
        # The last character of code before the match: a docstring opens the file or a block.
        last = (text[end : match.start()].rstrip() or last)[-1:]
        end = match.end()
        first = bisect.bisect_right(starts, match.start()) - 1
        alone = not text[starts[first] : match.start()].strip()
        if match["comment"] is None:
            docstring = name.endswith(".py") and match["block"] and alone and last in ("", ":")
            last = '"'
            if not docstring:
                continue
        for at, part in enumerate(match.group().split("\n"), first):
            yield at + 1, MARKER.sub("", part, count=1), len(lines[at]) > COMMENT_COLUMNS


def prose(name, text):
    """Each line of Markdown, in the same way; tables and the targets of links may be long."""
    released = RELEASED.search(text) if Path(name).name == "CHANGELOG.md" else None
    for number, line in enumerate(text[: released and released.start()].split("\n"), 1):
        table = line.lstrip().startswith("|")
        yield number, line, not table and len(LINK_TARGET.sub("", line)) > MARKDOWN_COLUMNS


def findings(name, text, idioms):
    """What is to be rewritten in a file: line number and message."""
    markdown = name.endswith(".md")
    paragraphs, found, fenced, before = [[]], set(), "", 0
    for number, part, too_long in (prose if markdown else comments)(name, text):
        part = part.strip()
        gap, before = number != before + 1, number
        fenced = "" if gap else fenced
        fence = part[:3] if part.startswith(fenced or ("```", "~~~")) else ""
        if gap or fence or not part:
            paragraphs.append([])
        if fence:
            fenced = "" if fenced else fence
        elif not fenced:
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


def tracked(root, folders):
    """The tracked files below these folders whose words are checked."""
    names = subprocess.run(["git", "ls-files", "-z", "--", *folders], cwd=root, capture_output=True, check=True)
    for name in names.stdout.decode().split("\0"):
        if name.endswith((".rs", ".py", ".toml", ".md")) or Path(name).name == "Makefile":
            if not name.startswith(LEFT_OUT) and (root / name).is_file():
                yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="PATH", help="files and folders, from the project's root")
    only = parser.parse_args().only
    clean, idioms = read_list((ROOT / "dev/words.txt").read_text(encoding="utf-8"))
    count = 0
    for name in tracked(ROOT, only or clean):
        for number, message in findings(name, (ROOT / name).read_text(encoding="utf-8"), idioms):
            print(f"{name}:{number}: {message}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
