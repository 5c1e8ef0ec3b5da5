"""A search that goes wrong on purpose (`crates/search/oracle/src/fault.rs`), behind the Python package: what it calls proved is refused by
the checker, and nothing is handed out.

The switch is an environment variable that is read once, so a process of its own searches wrongly."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import secateur

MODEL = pathlib.Path(__file__).parents[2] / "testdata" / "models" / "lightgbm" / "rf_multiclass.txt"
SCRIPT = """
import sys, secateur
try:
    result = secateur.prune(sys.argv[1], **eval(sys.argv[2]))
except secateur.SecateurError as error:
    sys.exit(f"refused: {error}")
assert not result.checked
sys.stdout.buffer.write(result.model.to_bytes())
"""


def broken(**options: object) -> subprocess.CompletedProcess:
    environment = {**os.environ, "SECATEUR_TEST_FAULT": "IgnoreMissing"}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, MODEL, repr(options)], env=environment, capture_output=True, timeout=240
    )


@pytest.mark.parametrize("certificate", [False, True, "a file"])
def test_what_a_broken_search_calls_proved_is_not_handed_out(certificate, tmp_path):
    proof = tmp_path / "proof.cert"
    ran = broken(certificate=str(proof) if certificate == "a file" else certificate)
    assert ran.returncode == 1 and b"the checker refuses the certificate" in ran.stderr, ran.stderr
    assert ran.stdout == b"" and not proof.exists()


def test_without_the_check_the_wrong_model_would_get_out():
    """So the test above tests something; and a search without the fault is right."""
    ran = broken(self_check=False)
    assert ran.returncode == 0, ran.stderr
    assert secateur.verify(MODEL, secateur.Model.parse(ran.stdout)).different
    right = secateur.prune(MODEL)
    assert right.checked and secateur.verify(MODEL, right.model).identical
