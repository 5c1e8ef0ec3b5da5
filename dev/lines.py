"""The table of sizes in SOUNDNESS.md: lines of Rust without blank lines, comments and tests.

    python3 dev/lines.py

prints what the table of a checkout must say; `python/tests/test_lines.py` compares. For another
checkout, such as an older commit, give its crates: `python3 dev/lines.py FOLDER...` counts each.
`python3 dev/lines.py crates/*/*/src` counts all crates, and their sum.
"""

from __future__ import annotations

import ast
import pathlib
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
FORMATS = ROOT / "crates" / "meaning" / "formats" / "src"

# For each library the folder of what is its own in the readers of files.
LIBRARIES = {
    "XGBoost": "xgboost",
    "LightGBM": "lightgbm",
    "scikit-learn": "sklearn",
    "ONNX": "onnx",
    "CatBoost": "catboost",
}


# The libraries whose files hold JSON, which one reader of ours reads for all of them.
WITH_JSON = ("XGBoost", "scikit-learn", "CatBoost")


def code_lines(text: str) -> int:
    """The lines of a Rust file, without blank lines, comments and what is only there for tests."""
    lines = iter(text.splitlines())
    count = 0
    for line in lines:
        if line.strip() == "#[cfg(test)]":
            _skip_item(line[: len(line) - len(line.lstrip())], lines)
        elif line.strip() and not line.lstrip().startswith("//"):
            count += 1
    return count


def _skip_item(indent: str, lines: Iterator[str]) -> None:
    """Leaves out the item that an attribute is about, up to its closing brace, which rustfmt puts
    where the item begins, or to a semicolon on its first line."""
    for line in lines:
        if line.startswith(f"{indent}}}") or line.startswith((f"{indent}mod ", f"{indent}use ")) and line.endswith(";"):
            return


def python_lines(text: str) -> int:
    """The lines of a Python file, without blank lines, comments and what only documents."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    owners = [node for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node) is not None]
    prose = {line for node in owners for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), start=1)
    return sum(1 for at, line in lines if line.strip() and not line.lstrip().startswith("#") and at not in prose)


def of_folder(folder: pathlib.Path) -> int:
    """All Rust files below a folder; files with the name of tests are tests."""
    files = (path for path in folder.rglob("*.rs") if path.name != "tests.rs")
    return sum(code_lines(path.read_text(encoding="utf-8")) for path in files)


def parts() -> dict[str, int]:
    """The parts that a certificate rests on."""
    proof, meaning = ROOT / "crates" / "proof", ROOT / "crates" / "meaning"
    sizes = {name: of_folder(proof / name / "src") for name in ("kernel", "lower", "checker", "certificate")}
    sizes["model"] = of_folder(meaning / "model" / "src")
    shared = sum(code_lines(path.read_text(encoding="utf-8")) for path in FORMATS.glob("*.rs"))
    sizes["shared"] = shared + of_folder(FORMATS / "domain")
    sizes["json"] = of_folder(FORMATS / "json")
    return sizes | {name: of_folder(FORMATS / folder) for name, folder in LIBRARIES.items()}


def kernel_in_python() -> int:
    return python_lines((ROOT / "python" / "secateur" / "kernel.py").read_text(encoding="utf-8"))


def trusted(sizes: dict[str, int], library: str) -> int:
    """The lines that a certificate about two files of a library rests on."""
    always = ("kernel", "lower", "checker", "certificate", "model", "shared")
    return sum(sizes[name] for name in always) + sizes[library] + (sizes["json"] if library in WITH_JSON else 0)


def main(folders: list[str]) -> None:
    if folders:
        found = {folder: of_folder(pathlib.Path(folder)) for folder in folders}
        for folder, size in found.items():
            print(f"{size:,} {folder}")
        if len(found) > 1:
            print(f"{sum(found.values()):,} together")
        return
    sizes = parts()
    for name, size in sizes.items():
        print(f"{size:,} {name}")
    print(f"{kernel_in_python():,} kernel in Python")
    for library in LIBRARIES:
        print(f"{trusted(sizes, library):,} for a certificate about two files of {library}")


if __name__ == "__main__":
    main(sys.argv[1:])
