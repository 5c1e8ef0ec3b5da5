"""`prune(checkpoint=)` and `prune --checkpoint`: a run that was stopped, killed or ran out of time goes on where it was, and a file of another run is refused.

That no answer of a forged file is believed is tested in Rust (`crates/front/secateur/src/prune/checkpoint_tests.rs`)."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest
from command import PATIENCE, pause, started, wait_for
from sklearn.ensemble import AdaBoostClassifier

import secateur

PROGRAM = pathlib.Path(sys.executable).with_name("secateur")
ROOT = pathlib.Path(__file__).parents[2]
MODELS = {
    "catboost": ROOT / "testdata/models/catboost/multiclass.cbm",
    "lightgbm": ROOT / "crates/front/secateur/demo/loans.txt",
    "sklearn": ROOT / "testdata/models/sklearn/boosting_three.skops",
}
# Searches of a run, or batches of their boxes, after which it waits: it has learned something, and is not done.
SOME = {"catboost": 40, "lightgbm": 6, "sklearn": 2}


@pytest.fixture(scope="module")
def expected() -> dict[str, secateur.Pruning]:
    return {name: secateur.prune(path, threads=1, certificate=True) for name, path in MODELS.items()}


def pause_of(count: int, file: pathlib.Path | None = None) -> tuple[str, str]:
    return next(iter(pause(count, file).items()))


@pytest.mark.parametrize("name", MODELS)
def test_a_run_that_ran_out_of_time_goes_on(name, expected, tmp_path, monkeypatch):
    file = tmp_path / "run.checkpoint"
    whole = expected[name]
    sizes = [whole.trees_before]
    for run in (1, 2):
        # The second run comes farther before it waits for its time to be over, if it does not come to the end.
        monkeypatch.setenv(*pause_of(run * SOME[name], tmp_path / f"paused-{run}"))
        result = secateur.prune(MODELS[name], threads=1, certificate=True, checkpoint=file, time_limit=6.0)
        assert run == 2 or result.outcome == "budget_reached" and file.exists()
        assert result.trees_after <= sizes[-1] or not result.checked, "what was found before is not lost"
        sizes.append(result.trees_after)
    monkeypatch.delenv("SECATEUR_TEST_PAUSE")
    if file.exists():
        result = secateur.prune(MODELS[name], threads=1, certificate=True, checkpoint=file)
    assert not file.exists(), "the work is done"
    assert (result.outcome, result.trees_after, result.leaves_after) == (whole.outcome, whole.trees_after, whole.leaves_after)
    assert (result.lower_bound, result.irreducible) == (whole.lower_bound, whole.irreducible)
    assert result.certificate == whole.certificate
    np.testing.assert_array_equal(result.weights, whole.weights)


def command(name: str, folder: pathlib.Path) -> list[str]:
    words = [PROGRAM, "prune", MODELS[name], "-o", folder / "out", "--certificate", folder / "proof"]
    return [str(word) for word in [*words, "--checkpoint", folder / "run.checkpoint", "--threads", "1", "--json"]]


def test_a_killed_run_goes_on(expected, tmp_path):
    words, file = command("catboost", tmp_path), tmp_path / "run.checkpoint"
    whole = expected["catboost"]
    # A run keeps what it has learned when its time is over, and then now and then.
    run = started([*words, "--time-limit", "10s"], environment=pause(SOME["catboost"]))
    printed, said = run.communicate(timeout=PATIENCE)
    assert run.returncode == 3 and json.loads(printed)["outcome"] == "budget_reached" and file.exists(), said
    (tmp_path / "out").unlink()
    (tmp_path / "proof").unlink()
    run = started(words, environment=pause(5, tmp_path / "paused"))
    wait_for(tmp_path / "paused", run)
    (tmp_path / "paused").unlink()
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=PATIENCE)
    assert run.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists() and not (tmp_path / "proof").exists() and file.exists()
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["checked"] and facts["trees"]["after"] == whole.trees_after
    assert (tmp_path / "proof").read_bytes() == whole.certificate
    assert not file.exists()


def test_an_interrupted_run_keeps_what_it_learned(expected, tmp_path):
    words, file = command("catboost", tmp_path), tmp_path / "run.checkpoint"
    run = started(words, environment=pause(SOME["catboost"], tmp_path / "paused"))
    wait_for(tmp_path / "paused", run)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 130, err
    assert json.loads(out)["interrupted"] and file.exists()
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "proof").read_bytes() == expected["catboost"].certificate


def test_another_run_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "run.checkpoint"
    monkeypatch.setenv(*pause_of(SOME["catboost"]))
    limited = {"threads": 1, "checkpoint": file, "time_limit": 6.0}
    assert secateur.prune(MODELS["catboost"], **limited).outcome == "budget_reached"
    kept = file.read_bytes()
    foreign = "run.checkpoint: this checkpoint is about another model, other rows, another domain or other options; remove it"
    X = np.zeros((3, len(secateur.load(MODELS["catboost"]).feature_names)))
    for other in ({"seed": 1}, {"effort": "minimum"}, {"moves": "weights"}, {"band": 0.5}, {"within": 0.1}, {"missing": False}, {"X": X}):
        with pytest.raises(secateur.SecateurError, match=foreign):
            secateur.prune(MODELS["catboost"], **limited, **other)
    with pytest.raises(secateur.SecateurError, match=foreign):
        secateur.prune(MODELS["lightgbm"], **limited)
    with pytest.raises(secateur.SecateurError, match="this is a checkpoint of prune, not of verify"):
        secateur.verify(MODELS["lightgbm"], MODELS["lightgbm"], checkpoint=file, certificate=True)
    damaged = bytearray(kept)
    damaged[len(damaged) // 2] ^= 1
    for bad, message in ((bytes(damaged), "is damaged"), (kept[:-1], "is damaged"), (b"my notes", "this is no checkpoint of secateur")):
        file.write_bytes(bad)
        with pytest.raises(secateur.SecateurError, match=message):
            secateur.prune(MODELS["catboost"], **limited)
        assert file.read_bytes() == bad, "a file that is refused stays as it is"
    with pytest.raises(secateur.SecateurError, match="no checkpoints can be kept there"):
        secateur.prune(MODELS["catboost"], checkpoint=tmp_path / "nowhere" / "file")
    with pytest.raises(secateur.OptionError, match="executor and checkpoint are for proofs"):
        secateur.prune(MODELS["catboost"], X, method="rows", accept_unproved=True, checkpoint=file)


def test_live_objects_keep_checkpoints_too(tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 5)), 1)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    fitted = AdaBoostClassifier(n_estimators=40, random_state=0).fit(X, y)
    file = tmp_path / "run.checkpoint"
    whole = secateur.prune(fitted, X, threads=1)
    result = secateur.prune(fitted, X, threads=1, checkpoint=file)
    assert result.trees_after == whole.trees_after and result.checked and not file.exists()
    np.testing.assert_array_equal(result.weights, whole.weights)
