"""Time limits and signals: what they end, what is kept, and what they leave behind.

Nothing here says how long something takes, beyond a generous multiple: `python -m bench limits` measures that.
"""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xgboost
from command import ROOT, SIGNALS, binary, own_signals, pause, started, wait_for
from prunable import CASES, case, saved_and_loaded

import secateur

# Far more than any limit asked for here, and far less than what the work would take.
LATE = 20.0
BAND = 0.12
# Batches of boxes after which a search of these tests waits.
SOME = 3


@pytest.fixture(scope="module")
def long() -> pathlib.Path:
    """A model whose pruning comes to many searches over boxes."""
    return ROOT / "testdata" / "models" / "catboost" / "multiclass.cbm"


@pytest.fixture(scope="module")
def long_pair(tmp_path_factory) -> tuple[pathlib.Path, pathlib.Path]:
    """Two models whose comparison with `BAND` comes to a search over boxes: it is too small for a bound, and too large for a
    counterexample that is easy to find."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(4_000, 8))
    target = (np.sin(3 * rows).sum(axis=1) + 0.5 * random.normal(size=4_000) > 0).astype(int)
    model = xgboost.XGBClassifier(n_estimators=60, max_depth=5, learning_rate=0.3, n_jobs=1, random_state=0)
    folder = tmp_path_factory.mktemp("pair")
    path, other = folder / "model.json", folder / "changed.json"
    model.fit(rows, target).save_model(path)
    read = secateur.load(path)
    weights = 1.0 + 0.02 * random.normal(size=read.tree_count)
    other.write_bytes(read.edit([(tree, float(weight)) for tree, weight in enumerate(weights)]).to_bytes())
    return path, other


def files(folder: pathlib.Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("limit", ["0s", "1ms", "0.5ms", "0m"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "Pipeline"])
def test_no_time_is_an_honest_answer(name, limit, tmp_path):
    """The model as it is, or nothing said of two; no panic, and no usage error."""
    path = saved_and_loaded(case(name).model, tmp_path)[1]
    out = tmp_path / f"out{path.suffix}"
    words = [binary(), "prune", path, "-o", out, "--time-limit", limit, "--json"]
    ran = subprocess.run(words, capture_output=True, text=True)
    printed = json.loads(ran.stdout)
    # A millisecond may be enough for a small model, and then everything is proved.
    assert ran.returncode in (0, 3), ran.stderr
    if limit in ("0s", "0m"):
        assert (ran.returncode, printed["outcome"]) == (3, "budget_reached")
        # Trees that the library does not use go even then.
        assert out.read_bytes() == path.read_bytes() or printed["trees"]["unused"] > 0
        assert printed["trees"]["before"] == printed["trees"]["after"] and printed["lower_bound"] == 0
    words = [binary(), "verify", path, out, "--time-limit", limit, "--json"]
    ran = subprocess.run(words, capture_output=True, text=True)
    printed = json.loads(ran.stdout)
    assert ran.returncode in (0, 3), ran.stderr
    assert printed["outcome"] == ("identical" if ran.returncode == 0 else "undecided")
    assert files(tmp_path) == {path.name, out.name}


def test_no_time_in_python():
    model = case("AdaBoostClassifier").model
    for limit in (0, 0.0, "0s", "0ms", "1ms"):
        result = secateur.prune(model, time_limit=limit, certificate=True)
        assert result.outcome in ("budget_reached", "proved", "already_minimal")
        if limit not in ("1ms",):
            # A small proof may be done before anybody looks at the clock; then it is one.
            assert result.outcome == "budget_reached"
            if result.certificate is not None:
                secateur.check(model, result.model, result.certificate)
            assert result.trees_after == result.trees_before
            assert secateur.verify(model, result.model, time_limit=limit).outcome in ("undecided", "identical")
    for wrong in ("1 ms", "ms", "-1s", -1, "1d", float("nan")):
        with pytest.raises(secateur.OptionError):
            secateur.verify(model, model, time_limit=wrong)


@pytest.mark.parametrize("words", [["prune"], ["prune", "--effort", "minimum"], ["verify"]])
def test_a_limit_ends_every_command(words, long, long_pair, tmp_path):
    out = tmp_path / "out.cbm"
    places = [long, "-o", out] if words[0] == "prune" else [*long_pair, "--band", str(BAND)]
    began = time.monotonic()
    process = started([binary(), *words, *places, "--time-limit", "500ms", "--json"], environment=pause(SOME))
    printed, said = process.communicate(timeout=6 * LATE)
    assert time.monotonic() - began < LATE
    assert process.returncode == 3, said
    if words[0] == "prune":
        assert json.loads(printed)["outcome"] == "budget_reached"
        secateur.load(out)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_keeps_what_is_proved(number, long, tmp_path):
    out = tmp_path / "out.cbm"
    command = [binary(), "prune", long, "-o", out, "--json", "--certificate", tmp_path / "out.certificate"]
    paused = tmp_path.parent / f"{tmp_path.name}-paused"
    process = started(command, environment=pause(SOME, paused))
    wait_for(paused, process)
    process.send_signal(number)
    printed, said = process.communicate(timeout=6 * LATE)
    assert process.returncode == SIGNALS[number], said
    assert "interrupted" in said
    result = json.loads(printed)
    assert result["interrupted"] is True
    # What is written is a model, and proved: small enough a change to be seen at once.
    assert secateur.load(out).tree_count == result["trees"]["after"]
    assert files(tmp_path) <= {out.name, "out.certificate"}
    if "out.certificate" in files(tmp_path):
        secateur.check(long, out, tmp_path / "out.certificate")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_leaves_nothing(number, long, tmp_path):
    out = tmp_path / "out.cbm"
    command = [binary(), "prune", long, "-o", out, "--report", tmp_path / "page.html", "--certificate", tmp_path / "c"]
    paused = tmp_path.parent / f"{tmp_path.name}-paused"
    process = started(command, environment=pause(SOME, paused))
    wait_for(paused, process)
    process.send_signal(number)
    process.send_signal(number)
    # Two that come at once may be one for the process, so they go on coming.
    until = time.monotonic() + 2 * LATE
    while process.poll() is None and time.monotonic() < until:
        process.send_signal(number)
        time.sleep(0.01)
    printed, _ = process.communicate(timeout=LATE)
    assert process.returncode == SIGNALS[number]
    if not printed:
        assert files(tmp_path) == set()


@pytest.mark.parametrize("number", SIGNALS)
def test_what_has_no_result_ends_at_once(number, long_pair, tmp_path):
    command = [binary(), "verify", *long_pair, "--band", BAND, "--certificate", tmp_path / "c"]
    paused = tmp_path.parent / f"{tmp_path.name}-paused"
    process = started(command, environment=pause(SOME, paused))
    wait_for(paused, process)
    process.send_signal(number)
    printed, _ = process.communicate(timeout=LATE)
    assert (process.returncode, printed) == (SIGNALS[number], "")
    assert files(tmp_path) == set()


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="only Linux says what is ignored")
def test_an_ignored_signal_stays_ignored(long, tmp_path):
    """`nohup`: a terminal that is closed ends nothing."""

    def ignoring() -> None:
        own_signals()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    out = tmp_path / "out.cbm"
    command = [binary(), "prune", long, "-o", out, "--time-limit", "1s", "--json"]
    paused = tmp_path.parent / f"{tmp_path.name}-paused"
    process = started(command, environment=pause(SOME, paused), preexec_fn=ignoring)
    wait_for(paused, process)
    process.send_signal(signal.SIGHUP)
    printed, said = process.communicate(timeout=6 * LATE)
    assert process.returncode == 3, said
    assert json.loads(printed)["interrupted"] is False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_in_python(number, long, tmp_path):
    """Ctrl-C gives the best so far within some seconds; SIGTERM ends Python as it always does, and leaves nothing behind."""
    script = (
        "import secateur, sys\n"
        "try:\n"
        "    result = secateur.prune(sys.argv[1])\n"
        "    print('interrupted' if result.interrupted else 'done', flush=True)\n"
        "except KeyboardInterrupt:\n"
        "    print('raised', flush=True)\n"
    )
    command = [sys.executable, "-c", script, long]
    paused = tmp_path.parent / f"{tmp_path.name}-paused"
    process = started(command, environment=pause(SOME, paused))
    wait_for(paused, process)
    process.send_signal(number)
    printed, said = process.communicate(timeout=2 * LATE)
    if number == signal.SIGINT:
        assert (process.returncode, printed) == (0, "interrupted\n"), said
    else:
        assert process.returncode == -signal.SIGTERM
    assert files(tmp_path) == set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_packages_own_command_is_ended_alike(number, long, tmp_path):
    out = tmp_path / "out.cbm"
    command = [sys.executable, "-c", "from secateur._cli import secateur; secateur()", "prune", long, "-o", out, "--json"]
    paused = tmp_path.parent / f"{tmp_path.name}-paused"
    process = started(command, environment=pause(SOME, paused))
    wait_for(paused, process)
    process.send_signal(number)
    printed, said = process.communicate(timeout=6 * LATE)
    assert process.returncode == SIGNALS[number], said
    assert json.loads(printed)["interrupted"] is True
    assert files(tmp_path) == {out.name}
