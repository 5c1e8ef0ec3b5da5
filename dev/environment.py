"""Makes the virtual environment of a dependency group of `pyproject.toml`, or brings it up to date.

    python3 dev/environment.py GROUP...

The group `test` is installed in `.venv`, any other one in `target/GROUP-venv`. pip runs only when the
requirements of the group have changed since it ran last. pip itself reads groups since version 25.1, which
a new environment may not have yet; hence the function that reads them here.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

if sys.version_info < (3, 11):
    sys.exit("working on secateur needs Python 3.11 or newer: make PYTHON=python3.12 ...")

import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Groups that no other Python can install.
PYTHONS = {"fipe": "python3.12", "catboost-rows": "python3.11"}


def groups() -> dict[str, list]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]


def requirements(group: str) -> list[str]:
    """What a group asks for, with the groups that it includes."""
    wanted = []
    for item in groups()[group]:
        wanted += requirements(item["include-group"]) if isinstance(item, dict) else [item]
    return wanted


def environment(group: str) -> pathlib.Path:
    """The Python of the group's environment, which has all that the group asks for."""
    wanted = requirements(group)
    folder = ROOT / (".venv" if group == "test" else f"target/{group}-venv")
    python, stamp = folder / "bin" / "python", folder / ".installed"
    if not stamp.exists() or stamp.read_text().splitlines() != wanted:
        if not python.exists():
            interpreter = PYTHONS.get(group, sys.executable)
            if shutil.which(interpreter) is None:
                raise OSError(f"the group {group} needs {interpreter}, which is not installed")
            subprocess.run([interpreter, "-m", "venv", folder], check=True)
        # Python compiles a module when it is imported first; most of what is installed never is.
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*pip, *wanted], check=True)
        stamp.write_text("\n".join(wanted))
    return python


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if name not in groups():
            sys.exit(f"pyproject.toml has no dependency group {name}; it has {', '.join(groups())}")
        try:
            environment(name)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"dev/environment.py: {error}")
