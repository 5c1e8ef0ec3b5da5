"""A search that goes wrong on purpose, behind the Python package: what it calls proved is refused by the checker.

    python broken_search.py LIBRARY

LIBRARY is the extension module, built with the feature `_broken` (`make test-broken` does that). It is put beside a
copy of the package, so that the installed one stays what it is.
"""

from __future__ import annotations

import importlib
import pathlib
import shutil
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).parents[1] / "secateur"
MODEL = pathlib.Path(__file__).parents[2] / "testdata" / "models" / "lightgbm" / "rf_multiclass.txt"


def main(library: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        shutil.copytree(PACKAGE, place / "secateur", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        shutil.copy(library, place / "secateur" / "_secateur.abi3.so")
        sys.path.insert(0, str(place))
        secateur = importlib.import_module("secateur")
        assert pathlib.Path(secateur.__file__).parent == place / "secateur", secateur.__file__
        broken = importlib.import_module("secateur._secateur").break_search
        proof = place / "proof.cert"

        for options in ({}, {"certificate": True}, {"certificate": str(proof)}):
            try:
                broken(lambda: secateur.prune(str(MODEL), **options))
            except secateur.SecateurError as refused:
                assert "the checker refuses the certificate" in str(refused), refused
            else:
                raise AssertionError(f"a wrong model was handed out with {options}")
        assert not proof.exists()

        # Without the check the wrong model gets out: the test above tests something.
        wrong = broken(lambda: secateur.prune(str(MODEL), self_check=False))
        assert not wrong.checked
        assert secateur.verify(str(MODEL), wrong.model).different
        right = secateur.prune(str(MODEL))
        assert right.checked and secateur.verify(str(MODEL), right.model).identical
    print("what the broken search called proved was refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
