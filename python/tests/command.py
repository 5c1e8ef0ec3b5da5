"""The `secateur` command, built once for the tests that run it."""

import functools
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


@functools.cache
def binary() -> pathlib.Path:
    """The path of a release build."""
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--bin", "secateur"]
    subprocess.run(build, cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "secateur"


def run(*words: object, cwd: pathlib.Path) -> str:
    """What the command prints; it must end well."""
    ran = subprocess.run([binary(), *map(str, words)], cwd=cwd, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
