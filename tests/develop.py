"""Puts the package of this folder into the venv that runs this script: the Python files stay where they
are, and the extension module comes from the build of the tests.

    .venv/bin/python tests/develop.py

`maturin develop` does the same with a build of its own. This script takes what is compiled for the
Rust tests anyway, with every debug assertion on, so that nothing is compiled twice.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "secateur"
# The targets that the Python tests need. The test selects the features that all tests have; without it
# cargo would build everything again with other features.
BUILD = ["cargo", "build", "--profile", "test", "--workspace", "--locked", "--features", "secateur-wheel/extension-module"]
TARGETS = ["--lib", "--bins", "--test", "sizes"]
COMMAND = """#!{python}
import sys
from secateur._cli import {function}
sys.exit({function}())
"""


def main() -> None:
    if sys.prefix == sys.base_prefix:
        sys.exit("tests/develop.py: run it with the Python of a venv (python3 dev/environment.py test)")
    subprocess.run([*BUILD, "--quiet", *TARGETS], cwd=ROOT, check=True)
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    names = {"darwin": "lib_secateur.dylib", "win32": "_secateur.dll"}
    built = folder / names.get(sys.platform, "lib_secateur.so")
    module = PACKAGE / ("_secateur.pyd" if sys.platform == "win32" else "_secateur.abi3.so")
    # Replaced, not written over: a process may have the old one open.
    new = module.with_suffix(".new")
    shutil.copy(built, new)
    new.replace(module)
    site = pathlib.Path(sysconfig.get_path("purelib"))
    (site / "secateur.pth").write_text(f"{PACKAGE.parent}\n")
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)
    for old in site.glob("secateur-*.dist-info"):
        shutil.rmtree(old)
    about = site / f"secateur-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: secateur\nVersion: {version}\n")
    (about / "INSTALLER").write_text("tests/develop.py\n")
    (about / "RECORD").write_text("")
    for command in ("secateur", "secateur-check"):
        path = pathlib.Path(sysconfig.get_path("scripts")) / command
        path.write_text(COMMAND.format(python=sys.executable, function=command.replace("-", "_")))
        path.chmod(0o755)


if __name__ == "__main__":
    main()
