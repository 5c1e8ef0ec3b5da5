"""What the source distribution holds: all that the package is made of, and nothing else. `python3 tests/run.py install` builds it, too, which takes a
compiler minutes; here its list of files is compared with git's."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tarfile

import pytest
from command import PATIENCE, ROOT

# Written by maturin: a description of the package, and a copy of the README for each crate that shows it.
WRITTEN = re.compile(r"PKG-INFO|crates/\w+/\w+/README\.md")
# Code that only tests compile reads test data, which is no part of the package.
OF_TESTS = re.compile(r"crates/test/testkit/|/tests?\.rs$|_tests\.rs$|crates/\w+/\w+/(tests|examples)/")


@pytest.fixture(scope="module")
def held(tmp_path_factory) -> dict[str, bytes]:
    """The files of the source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    maturin = pathlib.Path(sys.executable).with_name("maturin")
    made = subprocess.run([maturin, "sdist", "--out", folder], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert made.returncode == 0, made.stderr
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        found = {member.name.partition("/")[2]: archive.extractfile(member).read() for member in archive if member.isfile()}
    return found


@pytest.fixture(scope="module")
def known() -> set[str]:
    """The files that git knows, or would with `git add`."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    return {name for name in told.splitlines() if (ROOT / name).is_file()}


def test_the_sdist_has_no_file_that_git_does_not_know(held, known):
    assert not [name for name in set(held) - known if not WRITTEN.fullmatch(name)]


def test_the_sdist_has_all_files_of_the_package(held, known):
    crates = {"/".join(name.split("/")[1:3]) for name in held if name.startswith("crates/")}
    assert {"front/wheel", "front/python", "front/cli", "proof/checker", "search/oracle", "run/runtime"} <= crates
    parts = tuple(f"crates/{crate}/" for crate in crates)
    needed = {name for name in known if name.startswith((*parts, "python/secateur/"))} | {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md"}
    assert not needed - set(held)
    for name in ("Cargo.lock", "crates/search/oracle/src/lib.rs", "python/secateur/__init__.py"):
        assert held[name] == (ROOT / name).read_bytes(), name


def test_what_the_code_includes_is_in_the_sdist(held):
    looked_at = 0
    for name, data in held.items():
        if not name.endswith(".rs") or OF_TESTS.search(name):
            continue
        for path in re.findall(r'include(?:_str|_bytes)?!\(\s*"([^"]+)"\s*\)', data.decode()):
            looked_at += 1
            place = (ROOT / name).parent.joinpath(path).resolve().relative_to(ROOT)
            assert str(place) in held, f"{name} includes {path}"
    assert looked_at > 5
