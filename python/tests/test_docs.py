"""Every example in the documentation runs: docstrings, the guide, the scripts of its tasks. And the reference is
what the package says of itself."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import warnings

import pytest

import secateur

DOCS = pathlib.Path(__file__).parents[2] / "docs"
TASKS = sorted((DOCS / "guide" / "tasks").glob("*.py"))
MODULES = [name for _, name, _ in pkgutil.iter_modules(secateur.__path__) if name != "_secateur"]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_the_examples_in_docstrings_run(name):
    module = importlib.import_module(f"secateur.{name}" if name else "secateur")
    failed, _ = doctest.testmod(module, extraglobs={"secateur": secateur}, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_every_public_function_has_an_example():
    for name in ("advise", "prune", "offers", "verify", "verify_many", "check", "pack", "inspect", "load", "PrunedClassifier"):
        assert ">>>" in getattr(secateur, name).__doc__, name


@pytest.mark.parametrize("page, least", [("python.md", 6), ("live-objects.md", 1), ("small-machines.md", 1), ("web-page.md", 1), ("many-machines.md", 4), ("continuous-integration.md", 3), ("audit.md", 1), ("serve.md", 3), ("score-a-table.md", 4), ("given-a-certificate.md", 2)])
def test_the_guide_runs_from_start_to_end(page, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "guide" / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= least
    names: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_the_command_of_the_page_about_a_given_certificate_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "guide" / "given-a-certificate.md").read_text()
    exec(compile(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], "given-a-certificate.md", "exec"), {})
    command, output = re.search(r"```console\n\$ (.*?)\n(.*?)```", text, re.DOTALL).groups()
    program, *words = command.split(" ")
    place = pathlib.Path(sys.executable).parent / program
    ran = subprocess.run([str(place), *words], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    # Other versions of XGBoost train other trees: numbers are not compared.
    first, second = (re.sub(r"[0-9]+(\.[0-9]+)?(e-[0-9]+)?", "N", text) for text in (ran.stdout, output))
    assert first == second


def test_the_commands_of_the_guide_for_auditors_print_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "guide" / "audit.md").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "audit.md", "exec"), {})
    shown = re.findall(r"```console\n\$ python (.*?)\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 2
    for command, output in shown:
        ran = subprocess.run([sys.executable, *command.split(" ")], cwd=tmp_path, capture_output=True, text=True)
        # Other versions of XGBoost train other trees: numbers are not compared.
        first, second = (re.sub(r"[0-9]+(\.[0-9]+)?(e-[0-9]+)?", "N", text) for text in (ran.stdout + ran.stderr, output))
        assert first == second


@pytest.mark.parametrize("script", TASKS, ids=lambda path: path.stem)
def test_the_script_of_a_task_runs_and_draws_its_picture(script, tmp_path):
    # The package's commands are found where this Python's are.
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
    picture = (tmp_path / script.with_suffix(".svg").name).read_text()
    assert picture.startswith("<svg") and picture.endswith("</svg>")
    # The one in the documentation was made by this script, perhaps with other versions of the libraries.
    assert script.with_suffix(".svg").read_text().startswith("<svg")


def test_each_task_of_the_guide_has_a_script_and_a_picture():
    text = (DOCS / "guide" / "python.md").read_text()
    for script in TASKS:
        assert f"(tasks/{script.name})" in text and f"(tasks/{script.stem}.svg)" in text
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (DOCS / "guide" / link).exists(), link


def test_the_reference_is_what_the_package_says():
    specification = importlib.util.spec_from_file_location("make_reference", DOCS / "reference" / "make.py")
    make = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make)
    assert (DOCS / "reference" / "python.md").read_text() == make.page(), "run docs/reference/make.py"
    assert (DOCS / "reference" / "json.md").read_text() == make.json_page(), "run docs/reference/make.py"


def test_the_citation_is_of_this_version():
    versions = [
        re.search(pattern, (DOCS.parent / name).read_text(), re.MULTILINE).group(1)
        for name, pattern in [("Cargo.toml", r'^version = "(.*)"'), ("CITATION.cff", r"^version: (.*)")]
    ]
    assert versions == [secateur.__version__] * 2


def test_every_page_of_the_site_is_in_its_menu():
    listed = re.findall(r"```\{toctree\}\n.*?\n\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    menu = {name for block in listed for name in block.split() if not name.startswith("..")}
    pages = {str(page.relative_to(DOCS).with_suffix("")) for kind in ("*.md", "*.ipynb") for page in DOCS.rglob(kind)}
    assert menu == pages - {"index"}


@pytest.mark.parametrize("notebook", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_notebooks_run_and_show_what_they_computed(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]))
    names: dict = {}
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 4
    for cell in cells:
        assert cell["outputs"], "it was not executed: python3 tests/run.py notebooks"
        assert all(output["output_type"] != "error" for output in cell["outputs"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile("".join(cell["source"]), notebook.name, "exec"), names)


def test_the_first_example_of_the_rust_crate_can_be_copied():
    """It is compiled and run by cargo; what people copy has no lines that the page hides."""
    root = DOCS.parent
    text = (root / "crates" / "front" / "secateur" / "src" / "lib.rs").read_text()
    example = re.search(r"//! ```\n(.*?)//! ```", text, re.DOTALL)[1]
    assert "fn main()" in example and not re.search(r"^//! #( |$)", example, re.MULTILINE)
