"""The README's examples are run as they stand there."""

import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


def example(name: str) -> str:
    """The code block behind `<!-- test: NAME -->`."""
    text = (ROOT / "README.md").read_text()
    found = re.search(rf"<!-- test: {name} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert found, f"the README has no example {name}"
    return found.group(1)


def test_the_python_example_runs():
    exec(compile(example("python"), "README.md", "exec"), {})


def test_the_command_line_example_runs(tmp_path):
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--bin", "secateur"], cwd=ROOT, check=True)
    binary = ROOT / "target" / "release" / "secateur"
    demo = tmp_path / "demo"
    subprocess.run([binary, "demo", "--dir", demo], check=True, stdout=subprocess.DEVNULL)
    commands = [line[2:] for line in example("cli").splitlines() if line.startswith("$ ")]
    assert commands
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "secateur"
        ran = subprocess.run([binary, *words[1:]], cwd=demo, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout
