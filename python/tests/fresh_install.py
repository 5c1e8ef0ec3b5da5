"""Installs the package as a user would, with pip and rustc alone, and runs the README's script.

Twice: from this folder, and from a source distribution. `python3 tests/run.py install` runs it; it is no part of the other
tests because it builds everything for release. Compiled dependencies are shared with `target`.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from test_readme import example

ROOT = pathlib.Path(__file__).parents[2]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        check(place / "folder", str(ROOT))
        maturin = pathlib.Path(sys.executable).with_name("maturin")
        run([maturin, "sdist", "--out", place / "sdist"], cwd=ROOT)
        (source,) = (place / "sdist").glob("*.tar.gz")
        check(place / "source", str(source))


def check(place: pathlib.Path, what: str) -> None:
    """A venv with nothing but pip, one installation, and then everything works."""
    started = time.monotonic()
    place.mkdir()
    run([sys.executable, "-m", "venv", place / "venv"], cwd=place)
    programs = place / "venv" / "bin"
    run([programs / "pip", "install", "--quiet", "--disable-pip-version-check", what], cwd=place)
    (place / "script.py").write_text(example("fresh"))
    run([programs / "python", "-W", "error", "script.py"], cwd=place)
    for command in ("secateur", "secateur-check"):
        assert "Usage" in run([programs / command, "--help"], cwd=place)
    print(f"{what}: installed and at work after {time.monotonic() - started:.0f} s")


def run(words: list, cwd: pathlib.Path) -> str:
    # Not the developer's venv: what counts is what the new one holds.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment["CARGO_TARGET_DIR"] = str(ROOT / "target")
    environment["PATH"] = os.pathsep.join([str(pathlib.Path(words[0]).parent), environment["PATH"]])
    ran = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, f"{words}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


if __name__ == "__main__":
    main()
