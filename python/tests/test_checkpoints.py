"""`checkpoint=`: a search that was stopped, killed or ran out of time goes on where it was, and a file that is no checkpoint of it is refused."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest
import skops.io
from command import PATIENCE, pause, started, wait_for
from sklearn.ensemble import RandomForestClassifier

import secateur

PROGRAM = pathlib.Path(sys.executable).with_name("secateur")


@pytest.fixture(scope="module")
def forests(tmp_path_factory) -> tuple[pathlib.Path, pathlib.Path, float]:
    """Two forests whose scores are proved to be near each other by thousands of boxes, and how near."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 8)), 1).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=400) > 0).astype(int)
    folder = tmp_path_factory.mktemp("forests")
    paths = [folder / "first.skops", folder / "second.skops"]
    for path, rows in zip(paths, (400, 350)):
        skops.io.dump(RandomForestClassifier(24, max_depth=5, random_state=0).fit(X[:rows], y[:rows]), path)
    return *paths, secateur.verify(*paths, scores=True).at_most


@pytest.fixture(scope="module")
def expected(forests) -> secateur.ScoreVerification:
    first, second, within = forests
    return secateur.verify(first, second, scores=True, within=within, threads=1, certificate=True)


@pytest.fixture(scope="module")
def batches(expected) -> int:
    """No search of these two is done after so many batches of boxes; after a quarter of them there is something to keep, for the first
    two thousand boxes are not dealt out."""
    assert expected.nodes > 60 * 256, "too few boxes for a test"
    return expected.nodes // 256


def test_a_search_that_ran_out_of_time_goes_on(forests, expected, batches, tmp_path, monkeypatch):
    first, second, within = forests
    file = tmp_path / "search.checkpoint"
    asked = {"scores": True, "within": within, "certificate": True, "checkpoint": file}
    for run in range(30):
        monkeypatch.setenv(*pause_of(batches // 4, tmp_path / f"paused-{run}"))
        answer = secateur.verify(first, second, time_limit=4.0, **asked)
        if answer.outcome == "within":
            break
        assert answer.outcome == "undecided" and file.exists()
    assert 1 < run < 29
    assert answer.certificate == expected.certificate and answer.checked
    assert not file.exists(), "the answer is known"


def pause_of(count: int, file: pathlib.Path | None = None) -> tuple[str, str]:
    return next(iter(pause(count, file).items()))


def test_a_killed_search_goes_on(forests, expected, batches, tmp_path, monkeypatch):
    first, second, within = forests
    file, proof = tmp_path / "search.checkpoint", tmp_path / "proof"
    words = [PROGRAM, "verify", first, second, "--scores", "--within", repr(within), "--threads", "1"]
    words += ["--checkpoint", file, "--certificate", proof]
    # A search writes a checkpoint when its time is over, and then now and then.
    monkeypatch.setenv(*pause_of(batches // 4))
    limited = {"scores": True, "time_limit": 4.0, "threads": 1, "certificate": True, "checkpoint": file}
    assert secateur.verify(first, second, within=within, **limited).outcome == "undecided" and file.exists()
    run = started(words, environment=pause(batches // 4, tmp_path / "paused"))
    wait_for(tmp_path / "paused", run)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode == -signal.SIGKILL and not proof.exists() and file.exists()
    monkeypatch.delenv("SECATEUR_TEST_PAUSE")
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert proof.read_bytes() == expected.certificate
    assert not file.exists()


def test_an_interrupted_search_keeps_how_far_it_came(forests, batches, tmp_path):
    first, second, within = forests
    file = tmp_path / "search.checkpoint"
    words = [PROGRAM, "verify", first, second, "--scores", "--within", repr(within), "--threads", "1"]
    run = started([*words, "--checkpoint", file], environment=pause(batches // 2, tmp_path / "paused"))
    wait_for(tmp_path / "paused", run)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert file.exists()


def test_another_question_is_another_search(forests, batches, tmp_path, monkeypatch):
    first, second, within = forests
    file = tmp_path / "search.checkpoint"
    monkeypatch.setenv(*pause_of(batches // 2))
    limited = {"scores": True, "time_limit": 4.0, "threads": 1, "checkpoint": file}
    assert secateur.verify(first, second, within=within, **limited).outcome == "undecided"
    kept = file.read_bytes()
    with pytest.raises(secateur.SecateurError, match="about other models, another domain or another claim; remove it"):
        secateur.verify(second, first, within=within, **limited)
    with pytest.raises(secateur.SecateurError, match="about other models, another domain or another claim; remove it"):
        secateur.verify(first, second, within=within * 1.0001, **limited)
    damaged = bytearray(kept)
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(secateur.SecateurError, match="search.checkpoint: this checkpoint is damaged"):
        secateur.verify(first, second, within=within, **limited)
    assert file.read_bytes() == bytes(damaged), "a file that is refused stays as it is"
    with pytest.raises(secateur.OptionError, match="checkpoint goes with within"):
        secateur.verify(first, second, scores=True, checkpoint=file)


@pytest.mark.alone
def test_decisions_and_workers_keep_checkpoints_too(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    import test_verify

    first, second = test_verify.hard_pair()
    file = tmp_path / "search.checkpoint"
    answer = secateur.verify(first, second, band=0, time_limit=1.0, checkpoint=file)
    assert answer.undecided and file.exists()
    size = file.stat().st_size
    with ThreadPoolExecutor(2) as executor:
        answer = secateur.verify(first, second, band=0, time_limit=4.0, checkpoint=file, executor=executor)
    assert answer.undecided and file.stat().st_size > size, "it went on, and has come farther"
