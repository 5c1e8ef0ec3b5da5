"""The README's examples are run as they stand there."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

import command
from command import ROOT


def example(name: str) -> str:
    """The code block behind `<!-- test: NAME -->`."""
    text = (command.ROOT / "README.md").read_text()
    found = re.search(rf"<!-- test: {name} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert found, f"the README has no example {name}"
    return found.group(1)


def test_the_python_example_runs():
    exec(compile(example("python"), "README.md", "exec"), {})


def test_the_command_line_example_runs(tmp_path):
    command.run("demo", "--dir", "demo", cwd=tmp_path)
    commands = [line[2:] for line in example("cli").splitlines() if line.startswith("$ ")]
    assert commands
    for line in commands:
        name, *words = shlex.split(line)
        assert name in ("secateur", "secateur-check")
        assert command.run(*words, cwd=tmp_path / "demo", program=name)


def test_the_script_for_a_fresh_installation_runs(tmp_path):
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    words = [sys.executable, "-W", "error", "-c", example("fresh")]
    ran = subprocess.run(words, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert len(example("fresh").strip().splitlines()) <= 12


def test_every_published_crate_has_a_readme_of_its_own():
    """What promises something shows an example; the others say in their first paragraph that they promise nothing."""
    promised = {"secateur", "secateur-runtime", "secateur-checker", "secateur-source", "secateur-certificate", "secateur-c"}
    promised |= {"secateur-cli", "secateur-check"}
    seen = set()
    for manifest in sorted(ROOT.glob("crates/*/*/Cargo.toml")):
        package = tomllib.loads(manifest.read_text())["package"]
        if package.get("publish") is False:
            continue
        assert package["readme"] == "README.md", manifest
        title, first, *_ = manifest.with_name("README.md").read_text().split("\n\n")
        assert title == f"# {package['name']}"
        assert ("promises nothing of its own" in first) != (package["name"] in promised), manifest
        assert ("```" in manifest.with_name("README.md").read_text()) == (package["name"] in promised), manifest
        seen.add(package["name"])
    assert promised < seen
    # Cargo runs the examples in Rust, and a test the program in C; the commands are those of the README and of `black_box/guide.rs`.
    example = re.search(r"```c\n(.*?)```", (ROOT / "crates/run/c/README.md").read_text(), re.DOTALL)[1]
    assert example in (ROOT / "crates/run/c/example/predict.c").read_text()


def test_everything_that_people_meet_first_says_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tagline = project["description"]
    assert [tagline.index(word) for word in ("Fast", "small", "sure")] == [0, 6, 13]
    for name in ("secateur", "cli"):
        manifest = ROOT / "crates" / "front" / name / "Cargo.toml"
        assert tomllib.loads(manifest.read_text())["package"]["description"] == tagline
        assert tagline in manifest.with_name("README.md").read_text()
    for page in ("README.md", "docs/index.md", "python/secateur/__init__.py", "crates/front/secateur/src/lib.rs"):
        assert tagline in (ROOT / page).read_text(), page
    assert " ".join(command.run("--help", cwd=ROOT).split()).startswith(tagline)
