"""Writes python.md from the package's own signatures and docstrings, and json.md from the documentation of
the command line. A test compares both with what they are made from.

    python docs/reference/make.py
"""

from __future__ import annotations

import ast
import inspect
import pathlib

import secateur

HERE = pathlib.Path(__file__).parent
PACKAGE = HERE.parents[1] / "python" / "secateur"

FUNCTIONS = ["advise", "pack", "prune", "verify", "diff", "ask", "offers", "verify_many", "check", "inspect", "load", "ray_executor"]
CLASSES = [
    "Advice", "Pruning", "Unproved", "Verification", "ScoreVerification", "Difference", "Questions", "Answer", "Case", "PairResult", "Inspection", "Domain",
    "PackedModel", "PrunedClassifier",
]
OPENING = """\
# Reference of the Python package

Made by `make.py` from the package's docstrings; the examples in them are run by the tests.
[The guide](../guide/python.md) starts from tasks.
"""


JSON_OPENING = """\
# JSON of the command line

Made by `make.py` from the documentation of the crate `secateur-cli`. Results go to stdout as one object; keys stay as they are
([what stays](../versions.md)), and new ones may come.
"""


def main() -> None:
    (HERE / "python.md").write_text(page())
    (HERE / "json.md").write_text(json_page())


def json_page() -> str:
    """The sections of the command line's documentation about exit codes and JSON."""
    source = (HERE.parents[1] / "crates" / "front" / "cli" / "src" / "lib.rs").read_text()
    lines = [line[3:].removeprefix(" ") for line in source.splitlines() if line.startswith("//!")]
    sections = lines[lines.index("# Exit codes") :]
    headings = [f"#{line}" if line.startswith("# ") else line for line in sections]
    spaced = [f"{line}\n" if line.startswith("## ") else line for line in headings]
    return JSON_OPENING + "\n" + "\n".join(spaced) + "\n"


def page() -> str:
    """The whole page."""
    # Modules without an underscore are programs of their own (`kernel`, `audit`), and `testing`.
    sources = [ast.parse(path.read_text()) for path in sorted(PACKAGE.glob("_*.py"))]
    found = {node.name: node for tree in sources for node in tree.body if hasattr(node, "name")}
    parts = [OPENING, "## Functions\n"]
    parts += [function(found[name], "secateur.") for name in FUNCTIONS if name in secateur.__all__]
    tests = ast.parse((PACKAGE / "testing.py").read_text())
    parts.append(f"## `secateur.testing`\n\n{text(ast.get_docstring(tests))}\n")
    asserts = [node for node in tests.body if isinstance(node, ast.FunctionDef) and node.name.startswith("assert_")]
    parts += [function(node, "secateur.testing.") for node in asserts]
    parts.append("## What they return, and the estimator\n")
    parts += [class_(found[name]) for name in CLASSES]
    parts.append("## `secateur.Model`\n")
    parts.append(text(secateur.Model.__doc__) + "\n")
    parts += sorted(member(name, value) for name, value in vars(secateur.Model).items() if not name.startswith("_"))
    parts.append("\n## Errors\n")
    kinds = [getattr(secateur, name) for name in secateur.__all__ if name.endswith("Error")]
    for kind in sorted(kinds, key=lambda kind: (kind is not secateur.SecateurError, kind.__name__)):
        parts.append(f"- `secateur.{kind.__name__}`: {text(kind.__doc__)}")
    assert secateur.__all__ == sorted(secateur.__all__), "public names are kept in order"
    listed = {*FUNCTIONS, *CLASSES, "Model", "__version__", *(kind.__name__ for kind in kinds)}
    assert listed >= set(secateur.__all__), set(secateur.__all__) - listed
    return "\n".join(parts) + "\n"


def function(node: ast.FunctionDef, prefix: str, level: str = "###") -> str:
    """A function with its parameters."""
    signature = f"{prefix}{node.name}({parameters(node.args)})"
    if len(signature) > 100:
        signature = f"{prefix}{node.name}(\n    " + ",\n    ".join(listed(node.args)) + ",\n)"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{level} `{prefix}{node.name}`\n\n```text\n{signature}{returns}\n```\n\n{text(ast.get_docstring(node))}\n"


def class_(node: ast.ClassDef) -> str:
    """A class with its fields, properties and methods."""
    lines = [f"### `secateur.{node.name}`\n\n{text(ast.get_docstring(node))}\n"]
    for item, after in zip(node.body, [*node.body[1:], None]):
        if isinstance(item, ast.AnnAssign) and item.target.id.startswith("_"):
            continue
        if isinstance(item, ast.AnnAssign):
            documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            words = f": {text(inspect.cleandoc(after.value.value))}" if documented else ""
            lines.append(f"- `{item.target.id}: {ast.unparse(item.annotation)}`{words}")
        elif isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            is_property = any(ast.unparse(decorator) == "property" for decorator in item.decorator_list)
            shown = item.name if is_property else f"{item.name}({parameters(item.args, skip_self=True)})"
            words = ast.get_docstring(item)
            lines.append(f"- `{shown}`" + (f": {text(words)}" if words else ""))
        elif isinstance(item, ast.FunctionDef) and item.name == "__init__" and node.name == "PrunedClassifier":
            lines.append("```text\nPrunedClassifier(\n    " + ",\n    ".join(listed(item.args)[1:]) + ",\n)\n```\n")
    return "\n".join(lines) + "\n"


def member(name: str, value: object) -> str:
    """A line for what the extension module defines."""
    value = getattr(value, "__func__", value)
    shown = f"{name}{inspect.signature(value)}".replace("($self, /, ", "(").replace("($self, /)", "()") if callable(value) else name
    shown = shown.replace("(self, /, ", "(").replace("(self, /)", "()")
    return f"- `{shown}`: {text(value.__doc__)}"


def parameters(arguments: ast.arguments, skip_self: bool = False) -> str:
    return ", ".join(listed(arguments)[1 if skip_self else 0 :])


def listed(arguments: ast.arguments) -> list[str]:
    """Each parameter with annotation and default."""
    plain = list(zip(arguments.args, [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults))
    named = list(zip(arguments.kwonlyargs, arguments.kw_defaults))
    words = [one(argument, default) for argument, default in plain]
    if named:
        words += ["*", *(one(argument, default) for argument, default in named)]
    if arguments.kwarg:
        words.append(f"**{arguments.kwarg.arg}")
    return words


def one(argument: ast.arg, default: ast.expr | None) -> str:
    annotation = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
    return f"{argument.arg}{annotation}" + (f" = {ast.unparse(default)}" if default is not None else "")


def text(docstring: str | None) -> str:
    """A docstring as Markdown: examples become blocks of code."""
    lines, inside = [], False
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line.startswith(">>>") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line:
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


if __name__ == "__main__":
    main()
