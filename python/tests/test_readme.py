"""The README's examples are run as they stand there."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import command


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
