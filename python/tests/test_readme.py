"""The README's examples are run as they stand there."""

import re
import shlex

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
        assert name == "secateur"
        assert command.run(*words, cwd=tmp_path / "demo")
