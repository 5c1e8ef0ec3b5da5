"""Shows what the trusted crates depend on, and fails where that is more than it may be.

    python3 tests/trust.py
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# These depend on nothing at all.
ALONE = ("secateur-kernel", "secateur-runtime")
# Our crates that each of these is made of: no search, and in the checker nothing that knows a file of
# a model.
CHECKER = {"secateur-certificate", "secateur-checker", "secateur-kernel", "secateur-lower", "secateur-model"}
MADE_OF = {
    "secateur-checker": CHECKER,
    "secateur-check": CHECKER | {"secateur-check", "secateur-formats", "secateur-runtime", "secateur-source"},
}


def tree(crate: str, prefix: str = "none") -> str:
    """What cargo says that a crate depends on, one package a line, itself first."""
    command = ["cargo", "tree", "--package", crate, "--edges", "normal", "--prefix", prefix, "--locked"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def problem(crate: str, packages: list[str]) -> str | None:
    """What is wrong with what a crate is made of, itself included."""
    if crate in ALONE:
        others = sorted(set(packages) - {crate})
        return f"{crate} must depend on nothing, and depends on {', '.join(others)}" if others else None
    ours = {package for package in packages if package.startswith("secateur")}
    if ours == MADE_OF[crate]:
        return None
    return f"of our crates {crate} is made of {', '.join(sorted(ours))}, and should be of {', '.join(sorted(MADE_OF[crate]))}"


def main() -> int:
    for crate in MADE_OF:
        print(tree(crate, prefix="indent"))
    crates = (*ALONE, *MADE_OF)
    problems = filter(None, (problem(crate, [line.split()[0] for line in tree(crate).splitlines()]) for crate in crates))
    said = "\n".join(problems)
    if said:
        print(said, file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
