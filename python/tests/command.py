"""The commands, built once for the tests that run them."""

import functools
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


@functools.cache
def binary(program: str = "secateur") -> pathlib.Path:
    """The path of a release build."""
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "secateur-cli", "--bin", program]
    subprocess.run(build, cwd=ROOT, check=True)
    return ROOT / "target" / "release" / program


def run(*words: object, cwd: pathlib.Path, program: str = "secateur") -> str:
    """What the command prints; it must end well."""
    ran = subprocess.run([binary(program), *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
